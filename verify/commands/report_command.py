"""The command ``dpwitness report``: results as one page that can be handed in."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from accountant.audit import Audit, Question
from accountant.audit.audit_result import FORMAT as AUDIT
from accountant.data_files import from_json
from accountant.json_object import JsonError, loaded
from accountant.provenance import file_digest, made_now
from algorithms.problems import SettingError
from verify.audit_document import audit_document
from verify.certificates.certificate import FORMAT as CERTIFICATE
from verify.certificates.certificate import Certificate
from verify.certificates.certificate_document import certificate_document
from verify.commands.audit_command import DEFAULT_DELTA, neighbours_option
from verify.commands.audit_file import audit_file
from verify.document.blocks import Document
from verify.document.html_page import page
from verify.document.markdown_text import markdown
from verify.regret_claims.regret_document import regret_document
from verify.regret_claims.regret_report import FORMAT as REGRET
from verify.regret_claims.regret_report import RegretReport
from verify.verdict.result import FORMAT as VERIFICATION
from verify.verdict.result import Verification
from verify.verdict.verification_document import verification_document

_LOADS: dict[str, Callable[[Any, dict[str, str]], Document]] = {
    VERIFICATION: lambda data, files: verification_document(Verification.from_json(data), **files),
    REGRET: lambda data, files: regret_document(RegretReport.from_json(data), **files),
    AUDIT: lambda data, files: audit_document(Audit.from_json(data), **files),
    CERTIFICATE: lambda data, files: certificate_document(Certificate.from_json(data), **files),
}


@click.command("report")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path, dir_okay=False)
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write: .html or .md [default: Markdown on standard output].",
)
@click.option(
    "--delta",
    type=float,
    default=DEFAULT_DELTA,
    show_default=True,
    help="Of releases and ledgers: audit epsilon at this delta.",
)
@click.option("--budget", type=float, help="Of releases and ledgers: an epsilon, to say what is left of it.")
@neighbours_option
def report_command(
    files: tuple[Path, ...], output: Path | None, delta: float, budget: float | None, neighbours: str | None
) -> None:
    """Make one report of FILES: results in JSON, certificates, releases, ledgers and stores.

    The verdict comes first, then the claim in words, both bounds, what they rest on, how sure they are, and the command
    that repeats it. An HTML file needs nothing else: pictures are in it, and no script.
    """
    if output is not None and output.suffix.lower() not in (".html", ".md"):
        raise SettingError(f"--output {output}: must end in .html or .md")
    documents = [_document(file, delta, budget, neighbours) for file in files]
    made = made_now()
    words = f"Written {made.date} by dpwitness {metadata.version('dpwitness')} with dpwitness report."
    write = page if output is not None and output.suffix.lower() == ".html" else markdown
    text = write(documents, words)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def _document(file: Path, delta: float, budget: float | None, neighbours: str | None) -> Document:
    if file.suffix.lower() == ".json":
        result = loaded(file, lambda text: _result(from_json(text), file))
        if result is not None:
            return result
    _, audited = audit_file(file, Question(delta=delta), budget, neighbours, risk=True)
    return audit_document(audited)


def _result(data: Any, file: Path) -> Document | None:
    """Return what is said of a result of verify or regret; None if these data are something else."""
    if not isinstance(data, dict):
        return None
    known = data.get("format", "")
    if str(known).startswith(("dpwitness verif", "dpwitness regret", "dpwitness certif", "dpwitness audit")):
        if known not in _LOADS:
            raise JsonError(f"format must be one of {', '.join(map(repr, _LOADS))}, got {known!r}")
        return _LOADS[known](data, {file.name: file_digest(file)})
    if "files" in data:
        raise JsonError("holds the audits of several files; name those files, or audit each by itself")
    if "verdict" in data or "theorems" in data:
        known = " or ".join(map(repr, _LOADS))
        raise JsonError(f"has no format; a result of this version has {known}")
    return None
