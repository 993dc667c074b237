"""The commands ``dpwitness certify`` and ``dpwitness certificate check``."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from accountant.files.whole_file import whole_file
from algorithms.problems import SettingError
from verify.certificates.certificate import SAID, Certificate
from verify.certificates.certificate_check import CertificateCheck
from verify.certificates.certification import NotCertified, certify
from verify.commands.command_options import flags, json_option, show, shown_progress
from verify.commands.completed_names import SUBJECT
from verify.conduct.exit_codes import OPEN
from verify.conduct.interrupts import count_interrupts
from verify.printable import print_on_stderr, printable
from verify.subjects.resolve import is_registered

_STYLES = {"valid": "bold green", "invalid": "bold red", "unproven": "bold yellow"}


@click.command("certify")
@click.argument("subject", type=SUBJECT)
@flags("epsilon", "delta", "composition", *SAID, "workers", "backend", "scheduler")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write [default: standard output].",
)
@click.pass_context
def certify_command(ctx: click.Context, /, subject: str, output: Path | None, **options: Any) -> None:
    """Verify SUBJECT, and write its certificate if it is certified: a learner's name, or path/to/file.py:object.

    The certificate is JSON: the claim, the proof with every charge of the records that paid most, versions, digests
    of the code that the proof reaches, and the command that repeats it. What rests on an assumption gets none.

    Exit codes: 0 written; 1 refuted; 3 unproven; 2 usage or input error; 4 an error of dpwitness's own.
    """
    if output is not None and not output.absolute().parent.is_dir():
        raise SettingError(f"--output {output}: its folder does not exist")
    try:
        with count_interrupts(), shown_progress(subject) as tell:
            made = certify(subject, isolated=not is_registered(subject), progress=tell, **options)
    except NotCertified as refused:
        print_on_stderr(str(refused))
        ctx.exit(refused.verification.exit_code or OPEN)
    text = json.dumps(made.json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        with whole_file(output) as file:
            file.write(text.encode())


@click.group("certificate")
def certificate_group() -> None:
    """Prove certificates again that `dpwitness certify` wrote."""


@certificate_group.command("check")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--subject", help="Where its code lies here, if not where it was: path/to/file.py:object.")
@json_option
@click.pass_context
def check_command(ctx: click.Context, /, file: Path, subject: str | None, as_json: bool) -> None:
    """Prove the certificate in FILE again on the installed code; the subject's own code is run for it.

    The code that the proof reaches must be the one that is installed, and its claim, its bounds and every charge what
    comes out again; other versions of libraries are named, and change nothing as long as that is so.

    Exit codes: 0 valid; 1 invalid: something else comes out; 3 unproven: other code is installed, or the proof did not
    come to its end; 2 FILE is no certificate, or another input error; 4 an error of dpwitness's own.
    """
    certificate = Certificate.load(file)
    with count_interrupts(), redirect_stdout(sys.stderr):
        checked = certificate.check(subject)
    show(as_json, checked.json, partial(_render, checked))
    ctx.exit(checked.exit_code)


def _render(checked: CertificateCheck, console: Console) -> None:
    certificate = checked.certificate
    console.print(
        Text.assemble(
            (checked.verdict.upper(), _STYLES[checked.verdict]),
            f"  {printable(certificate.subject)}: {printable(certificate.claim_words)}",
        ),
        soft_wrap=True,
    )
    for reason in checked.reasons:
        console.print(Text(f"  - {printable(str(reason))}"), soft_wrap=True)
