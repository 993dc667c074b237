"""The kinds of results: the class and the document of each format, loaded by name when needed.

A new kind is a line here: `dpwitness report` reads it, and notebooks show it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from accountant.files.data_files import from_json
from accountant.files.json_object import FromJson, JsonError, load_text_file
from dpwitness import library_module
from verify.document.elements import Document
from verify.document.html_page import fragment

KINDS: Mapping[str, tuple[str, str]] = {
    f"dpwitness {name}, version 1": (result, document)
    for name, result, document in (
        ("verification", "verify.verdict.result:Verification", "verify.verdict.verification_document"),
        ("regret", "verify.regret_claims.regret_report:RegretReport", "verify.regret_claims.regret_document"),
        ("audit", "accountant.audit.audit_result:Audit", "verify.verdict.audit_document"),
        (
            "proof",
            "verify.certificates.certificate:Certificate",
            "verify.certificates.certificate_document",
        ),
        (
            "reproduction",
            "verify.experiments.reproduce:Reproduced",
            "verify.experiments.reproduction_document",
        ),
        (
            "simulation",
            "verify.experiments.simulation_result:SimulationResult",
            "verify.experiments.simulation_document",
        ),
    )
}
"""For each format the class of its results, and the module of the function, of the same name, that shows them."""


_NAMES = frozenset(known.partition(",")[0] for known in KINDS)
_COMPARED = "simulations"
_LISTS: Mapping[str, Collection[str]] = {
    "files": KINDS,
    "experiments": KINDS,
    _COMPARED: [known for known in KINDS if known.startswith("dpwitness simulation,")],
}
"""The keys of lists of results in a file, and the formats that these may have."""


def stored_results(file: Path) -> list[tuple[FromJson, ...]]:
    """Return the results in a file, those together that one document shows; nothing if it holds no result.

    Raises
    ------
    JsonError
        If it is no JSON though it is called so, or a result has a format that is unknown, a key that is missing,
        unknown or of another type, or a value that contradicts another; the message names the file and the rule.
    """
    if file.suffix.lower() != ".json":
        return []
    return load_text_file(file, lambda text: _results(from_json(text)))


def _results(data: Any) -> list[tuple[FromJson, ...]]:
    """Return a command's result, or each if it has several; nothing if these data are no result."""
    if not isinstance(data, dict):
        return []
    for key, known in _LISTS.items():
        if isinstance(data.get(key), list):
            if not data[key] or data.keys() != {key}:
                raise JsonError(f"{key} must be a list of at least one result, and stand alone")
            found = [read_result(each, known, f" of one of {key}") for each in data[key]]
            return [tuple(found)] if key == _COMPARED else [(each,) for each in found]
    if str(data.get("format", "")).partition(",")[0] in _NAMES:
        return [(read_result(data),)]
    if "verdict" in data or "theorems" in data:
        raise JsonError(f"has no format; a result of this version has {' or '.join(map(repr, KINDS))}")
    return []


def read_result(data: Any, known: Collection[str] = KINDS, where: str = "") -> FromJson:
    """Return the result in JSON data.

    Parameters
    ----------
    data
        Its JSON data; in a list, they may have the name of its file.
    known
        The formats that it may have.
    where
        The list that it is in, as the message about its format names it.

    Raises
    ------
    JsonError
        If it has another format, or a key is missing, unknown or of another type.
    """
    its_format = data.get("format") if isinstance(data, dict) else None
    if not isinstance(its_format, str) or its_format not in known:
        raise JsonError(f"format{where} must be one of {', '.join(map(repr, known))}, got {its_format!r}")
    module, _, name = KINDS[its_format][0].partition(":")
    result: FromJson = getattr(library_module(module), name).from_json(
        {key: value for key, value in data.items() if not (where and key == "file")}
    )
    return result


class ShownResult(FromJson):
    """Base class of results that notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The result's document, as notebooks show it."""
        return fragment(document_of(self))


def document_of(*results: FromJson, **files: str) -> Document:
    """Return the document of a result, or of several simulations, which are compared.

    Parameters
    ----------
    results
        Results of one kind.
    files
        Digests of the files they were read from, by name.
    """
    its_class = type(results[0])
    name = f"{its_class.__module__}:{its_class.__qualname__}"
    module = next(document for result, document in KINDS.values() if result == name)
    document: Document = getattr(library_module(module), module.rpartition(".")[2])(*results, **files)
    return document
