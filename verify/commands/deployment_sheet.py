"""Sheets on one deployment, from its files and its declaration: ``dpwitness report --format``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from accountant.audit import Audit
from algorithms.problems.problem_errors import SettingError
from verify.deployments.deployment import Deployment
from verify.deployments.nist_sheet import nist_sheet
from verify.deployments.proved_facts import ProvedFacts, check_declarations, read_proved_facts
from verify.deployments.registry_entry import registry_document, registry_entry
from verify.document.elements import Document
from verify.verdict.result_kinds import document_of, stored_results

_ON_ALGORITHMS = ("Verification", "Certificate")


def deployment_sheet(files: Sequence[Path], sheet: str, deployment: Path | None) -> tuple[Document, bytes]:
    """Return a sheet on a deployment, and the same as YAML: b"" unless it is an entry of the registry."""
    declared = Deployment() if deployment is None else Deployment.load(deployment)
    facts = _proved_facts(files, declared)
    check_declarations(declared, facts)
    if sheet == "registry" and facts.audit is None:
        raise SettingError("--format registry: FILES must have a ledger, releases, or their audit")
    declaring = [] if deployment is None else ["--deployment", str(deployment)]
    command = shlex.join(["dpwitness", "report", *map(str, files), "--format", sheet, *declaring])
    if sheet == "nist":
        return nist_sheet(declared, facts, command), b""
    entry = registry_entry(declared, facts)
    return registry_document(entry, facts, command), entry.yaml().encode()


def _proved_facts(files: Sequence[Path], declared: Deployment) -> ProvedFacts:
    """Return the facts that files on one deployment prove; at most one file may bound its total privacy loss."""
    found: ProvedFacts | None = None
    results: list[Document] = []
    utility: list[Document] = []
    for file in files:
        stored = stored_results(file)
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
