"""The command ``dpwitness report``: one report of several results, to be handed in."""

from __future__ import annotations

from pathlib import Path

import click

from accountant.provenance import file_digest
from algorithms.problems.problem_errors import SettingError
from verify.commands.shown_results import check_outputs, write_outputs, written_by
from verify.document.elements import Document
from verify.document.markdown_text import markdown
from verify.verdict.result_kinds import document_of, stored_results


def report_command(
    *, files: tuple[Path, ...], sheet: str | None, deployment: Path | None, outputs: tuple[Path, ...]
) -> None:
    """Make one report of results, certificates, releases, ledgers and stores; or a sheet on one deployment of them."""
    check_outputs(outputs, ".html", ".md", *([".yaml", ".yml"] if sheet == "registry" else []))
    yaml = b""
    if sheet is None:
        if deployment is not None:
            raise SettingError(f"--deployment {deployment}: must come with --format")
        documents = [each for file in files for each in _documents(file)]
    else:
        from verify.commands.deployment_sheet import (
            deployment_sheet,  # it audits: a report of results does not
        )

        document, yaml = deployment_sheet(files, sheet, deployment)
        documents = [document]

    def write_yaml(path: Path) -> None:
        path.write_bytes(yaml)

    if outputs:
        write_outputs(outputs, documents=lambda: documents, yaml=write_yaml, yml=write_yaml)
    else:
        click.echo(yaml or markdown(documents, written_by()).encode(), nl=False)


def _documents(file: Path) -> list[Document]:
    stored = stored_results(file)
    if stored:
        digests = {file.name: file_digest(file)}
        return [document_of(*group, **digests) for group in stored]
    # Only here is something computed.
    from accountant.audit.audit_question import DEFAULT_DELTA, AuditQuestion
    from accountant.audit.releases import ReleaseFileError
    from verify.commands.audit_command import audit_file

    try:
        _, audited = audit_file(file, AuditQuestion(delta=DEFAULT_DELTA))
    except ReleaseFileError as error:
        raise ReleaseFileError(f"{error} (the file is no stored result)") from None
    return [document_of(audited)]
