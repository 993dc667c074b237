"""The command ``dpwitness verify``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from algorithms.problems import SettingError
from verify.commands.command_options import (
    check_plot,
    flags,
    json_option,
    show,
    shown_progress,
)
from verify.commands.completed_names import SUBJECT
from verify.conduct.interrupts import interrupts
from verify.printable import print_on_stderr
from verify.subjects.named_subject import named_subject
from verify.subjects.resolve import is_registered, names_file
from verify.verdict.verification_document import print_verification
from verify.verification import verify


@click.command("verify")
@click.argument("subject", required=False, type=SUBJECT)
@click.option("--command", help="A command to verify in place of SUBJECT: data and outputs are JSON.")
@click.option("--data", "domain", help="Of a command or function: the domain, as in 'interval(0, 1)'.")
@click.option("--neighbours", help="Or which data are neighbours: 'within(box(-10, 10, 5), linf=1)'.")
@flags()
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the privacy-loss band to a PNG file.")
@click.option(
    "--verbose", is_flag=True, help="Show what is for specialists, too: the privacy curve, the test's power."
)
@json_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    /,
    subject: str | None,
    command: str | None,
    domain: str | None,
    neighbours: str | None,
    plot: Path | None,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Verify SUBJECT: a learner's name, zoo/<name>, path/to/file.py:object, or a file.toml about a command.

    Exit codes: 0 certified, 1 refuted, 3 unproven, 2 usage or input error, 4 an error of dpwitness's own.
    """
    named, adjacency = named_subject(subject, command, domain, neighbours)
    if plot is not None:
        if options["anytime"] or options["wealth"] is not None:
            raise SettingError("--plot: bets (--anytime, --wealth) give a bound and no band to draw")
        check_plot(plot)
    isolated = not _is_ours(named, options["adversary"], options["problem"])
    with interrupts():  # until the report is printed
        with shown_progress(subject or str(command)) as tell:
            result = verify(named, neighbours=adjacency, isolated=isolated, progress=tell, **options)
        show(
            as_json, result.json, partial(print_verification, result, verbose=verbose)
        )  # before the picture, whose file may fail
        if plot is not None:
            from verify.verdict.plot_band import plot_band

            if not plot_band(result, plot):
                print_on_stderr(f"--plot {plot}: nothing was sampled, there is no band to draw")
    ctx.exit(result.exit_code)


def _is_ours(subject: object, *named: str | None) -> bool:
    """Whether no code but this library's takes part, which ends when it should."""
    return is_registered(subject) and not any(name is not None and names_file(name) for name in named)
