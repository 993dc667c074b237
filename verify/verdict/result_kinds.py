"""The kinds of results: the class and the document of each format, loaded by name when needed.

A new kind is a line here: `dpwitness report` reads it, and notebooks show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accountant.files.json_object import FromJson
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


def read_result(data: Mapping[str, Any]) -> FromJson:
    """Return the result in JSON data of a known format.

    Raises
    ------
    ParameterError
        If a key is missing, unknown or of another type.
    """
    module, _, name = KINDS[data["format"]][0].partition(":")
    result: FromJson = getattr(library_module(module), name).from_json(data)
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
