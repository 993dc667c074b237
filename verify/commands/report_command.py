"""The command ``dpwitness report``: one report of several results, to be handed in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accountant.audit import Audit, AuditQuestion
from accountant.audit.audit_question import DEFAULT_DELTA
from accountant.files.data_files import from_json
from accountant.files.json_object import FromJson, JsonError, load_text_file
from accountant.provenance import file_digest
from algorithms.problems import SettingError
from verify.commands.audit_command import audit_file
from verify.commands.shown_results import check_outputs, write_outputs, written_by
from verify.deployments.deployment import Deployment
from verify.deployments.nist_sheet import nist_sheet
from verify.deployments.proved_facts import ProvedFacts, check_declarations, read_proved_facts
from verify.deployments.registry_entry import RegistryEntry, registry_document, registry_entry
from verify.document.elements import Document
from verify.document.markdown_text import markdown
from verify.verdict.result_kinds import KINDS, document_of, read_result

_LISTS = ("files", "experiments")
"""Keys of lists of results of one kind in a file."""
_ON_ALGORITHMS = ("Verification", "Certificate")
_NAMES = frozenset(known.partition(",")[0] for known in KINDS)


def report_command(
    *, files: tuple[Path, ...], sheet: str | None, deployment: Path | None, outputs: tuple[Path, ...]
) -> None:
    """Make one report of results, certificates, releases, ledgers and stores; or a sheet on one deployment of them."""
    check_outputs(outputs, ".html", ".md", *([".yaml", ".yml"] if sheet == "registry" else []))
    entry: RegistryEntry | None = None
    if sheet is None:
        if deployment is not None:
            raise SettingError(f"--deployment {deployment}: must come with --format")
        documents = [each for file in files for each in _documents(file)]
    else:
        declared = Deployment() if deployment is None else Deployment.load(deployment)
        facts = _proved_facts(files, declared)
        check_declarations(declared, facts)
        if sheet == "registry" and facts.audit is None:
            raise SettingError("--format registry: FILES must have a ledger, releases, or their audit")
        declaring = [] if deployment is None else ["--deployment", str(deployment)]
        command = shlex.join(["dpwitness", "report", *map(str, files), "--format", sheet, *declaring])
        if sheet == "nist":
            documents = [nist_sheet(declared, facts, command)]
        else:
            entry = registry_entry(declared, facts)
            documents = [registry_document(entry, facts, command)]
    if outputs:
        text = b"" if entry is None else entry.yaml().encode()
        write_outputs(
            outputs,
            documents=lambda: documents,
            yaml=lambda path: _write(path, text),
            yml=lambda path: _write(path, text),
        )
    elif entry is not None:
        click.echo(entry.yaml().encode(), nl=False)
    else:
        click.echo(markdown(documents, written_by()).encode(), nl=False)


def _write(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def _proved_facts(files: Sequence[Path], declared: Deployment) -> ProvedFacts:
    """Return the facts that files on one deployment prove; at most one file may bound its total privacy loss."""
    found: ProvedFacts | None = None
    results: list[Document] = []
    utility: list[Document] = []
    for file in files:
        stored = _stored(file)
        audits = [ProvedFacts(each) for (each, *_) in stored if isinstance(each, Audit)]
        for one in audits if stored else [read_proved_facts(file, declared)]:
            if found is not None:
                raise SettingError(
                    f"{file}: must be the only file of releases, ledger or audit: what several lose together is not "
                    "known"
                )
            found = one
        for group in stored:
            if not isinstance(group[0], Audit):
                (results if type(group[0]).__name__ in _ON_ALGORITHMS else utility).append(
                    document_of(*group)
                )
    return replace(found or ProvedFacts(), results=tuple(results), utility=tuple(utility))


def _documents(file: Path) -> list[Document]:
    stored = _stored(file)
    if stored:
        digests = {file.name: file_digest(file)}
        return [document_of(*group, **digests) for group in stored]
    _, audited = audit_file(file, AuditQuestion(delta=DEFAULT_DELTA))
    return [document_of(audited)]


def _stored(file: Path) -> list[tuple[FromJson, ...]]:
    """Return the results in a file, those together that one document shows; nothing if it holds no result."""
    if file.suffix.lower() != ".json":
        return []
    return load_text_file(file, lambda text: _results(from_json(text)))


def _results(data: Any) -> list[tuple[FromJson, ...]]:
    """Return a command's result, or each if it has several; nothing if these data are no result."""
    if not isinstance(data, dict):
        return []
    if "simulations" in data:  # together: they are compared
        from verify.experiments.simulation_result import (
            SimulationResult,  # a report of others needs no experiments
        )

        return [tuple(SimulationResult.from_json(each) for each in _result_list(data, "simulations"))]
    for key in _LISTS:
        if key in data and isinstance(data[key], list):
            return [(_result(each, f"one of {key}"),) for each in _result_list(data, key)]
    if str(data.get("format", "")).partition(",")[0] in _NAMES:
        return [(_result(data, ""),)]
    if "verdict" in data or "theorems" in data:
        raise JsonError(f"has no format; a result of this version has {' or '.join(map(repr, KINDS))}")
    return []


def _result_list(data: dict[str, Any], key: str) -> list[Any]:
    found = data[key]
    if not isinstance(found, list) or not found or data.keys() != {key}:
        raise JsonError(f"{key} must be a list of at least one result, and stand alone")
    return found


def _result(data: Any, where: str) -> FromJson:
    known = data.get("format") if isinstance(data, dict) else None
    if known not in KINDS:
        of = f" of {where}" if where else ""
        raise JsonError(f"format{of} must be one of {', '.join(map(repr, KINDS))}, got {known!r}")
    return read_result({key: value for key, value in data.items() if not (where and key == "file")})
