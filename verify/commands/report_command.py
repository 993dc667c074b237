"""The command ``dpwitness report``: results as one page that can be handed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from accountant.audit import AuditQuestion
from accountant.files.data_files import from_json
from accountant.files.json_object import JsonError, load_text_file
from accountant.provenance import file_digest
from verify.commands.audit_command import DEFAULT_DELTA, audit_file
from verify.commands.shown_results import check_outputs, write_outputs, written_by
from verify.document.elements import Document
from verify.document.markdown_text import markdown
from verify.verdict.result_kinds import KINDS, document_of, read_result

_LISTS = ("files", "experiments")
"""Keys under which several results of one kind stand in one file."""
_NAMES = frozenset(known.partition(",")[0] for known in KINDS)


def report_command(*, files: tuple[Path, ...], outputs: tuple[Path, ...]) -> None:
    """Make one report of results, certificates, releases, ledgers and stores."""
    check_outputs(outputs, ".html", ".md")
    documents = [each for file in files for each in _documents(file)]
    if outputs:
        write_outputs(outputs, documents=lambda: documents)
    else:
        click.echo(markdown(documents, written_by()).encode(), nl=False)


def _documents(file: Path) -> list[Document]:
    if file.suffix.lower() == ".json":
        found = load_text_file(file, lambda text: _results(from_json(text), file))
        if found:
            return found
    _, audited = audit_file(file, AuditQuestion(delta=DEFAULT_DELTA))
    return [document_of(audited)]


def _results(data: Any, file: Path) -> list[Document]:
    """Return what is said of a command's result, or of each if it has several; nothing if these data are no result."""
    if not isinstance(data, dict):
        return []
    files = {file.name: file_digest(file)}
    if "simulations" in data:  # together: they are compared
        from verify.experiments.simulation_result import (
            SimulationResult,  # a report of others needs no experiments
        )

        every = [SimulationResult.from_json(each) for each in _listed(data, "simulations")]
        return [document_of(*every, **files)]
    for key in _LISTS:
        if key in data and isinstance(data[key], list):
            return [_result(each, files, f"one of {key}") for each in _listed(data, key)]
    if str(data.get("format", "")).partition(",")[0] in _NAMES:
        return [_result(data, files, "")]
    if "verdict" in data or "theorems" in data:
        raise JsonError(f"has no format; a result of this version has {' or '.join(map(repr, KINDS))}")
    return []


def _listed(data: dict[str, Any], key: str) -> list[Any]:
    found = data[key]
    if not isinstance(found, list) or not found or data.keys() != {key}:
        raise JsonError(f"{key} must be a list of at least one result, and stand alone")
    return found


def _result(data: Any, files: dict[str, str], where: str) -> Document:
    known = data.get("format") if isinstance(data, dict) else None
    if known not in KINDS:
        of = f" of {where}" if where else ""
        raise JsonError(f"format{of} must be one of {', '.join(map(repr, KINDS))}, got {known!r}")
    own = {key: value for key, value in data.items() if not (where and key == "file")}
    return document_of(read_result(own), **files)
