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
from verify.conduct.interrupts import count_interrupts
from verify.mutants.mutant_options import MutantOptions
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
@flags(of=MutantOptions)
@click.option(
    "--mutants", is_flag=True, help="Plant faults in SUBJECT and say what catches each; see --fault."
)
@click.option("--markdown", is_flag=True, help="With --mutants: print a table in Markdown.")
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
    mutants: bool,
    markdown: bool,
    plot: Path | None,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Verify SUBJECT: a learner's name, zoo/<name>, path/to/file.py:object, or a file.toml about a command.

    With --mutants, faults are planted in it one by one, and each mutant is verified, too: without a SUBJECT, in every
    certified learner.

    Exit codes: 0 certified, 1 refuted, 3 unproven, 2 usage or input error, 4 an error of dpwitness's own. With
    --mutants: 1 if one is certified whose true loss exceeds the claim, else 0.
    """
    if mutants:
        if plot is not None:
            raise SettingError("--plot: not with --mutants, which has many results")
        ctx.exit(_show_mutants(subject, command, domain, neighbours, markdown, as_json, options))
    if options.pop("faults") or markdown:
        raise SettingError(f"{'--markdown' if markdown else '--fault'}: with --mutants only")
    named, adjacency = named_subject(subject, command, domain, neighbours)
    if plot is not None:
        if options["anytime"] or options["wealth"] is not None:
            raise SettingError("--plot: bets (--anytime, --wealth) give a bound and no band to draw")
        check_plot(plot)
    isolated = not _is_ours(named, options["adversary"], options["problem"])
    with count_interrupts():  # until the report is printed
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


def _show_mutants(
    subject: str | None,
    command: str | None,
    domain: str | None,
    neighbours: str | None,
    markdown: bool,
    as_json: bool,
    options: dict[str, Any],
) -> int:
    """Verify mutants, show what catches them, and return the exit code."""
    from verify.mutants.catalogue_mutants import catalogue_mutants
    from verify.mutants.mutant_report import as_markdown, render_all
    from verify.mutants.verify_mutants import verify_mutants

    with count_interrupts():
        with shown_progress(subject or "mutants") as tell:
            if subject is None and command is None:
                runs = catalogue_mutants(MutantOptions(progress=tell, **options))
            else:
                named, adjacency = named_subject(subject, command, domain, neighbours)
                isolated = not _is_ours(named, options["adversary"], options["problem"])
                runs = [
                    verify_mutants(named, neighbours=adjacency, isolated=isolated, progress=tell, **options)
                ]
        if markdown:
            click.echo(as_markdown(runs))
        else:
            show(as_json, lambda: {"subjects": [run.json() for run in runs]}, partial(render_all, runs))
    return max((run.exit_code for run in runs), default=0)


def _is_ours(subject: object, *named: str | None) -> bool:
    """Whether no code but this library's takes part, which ends when it should."""
    return is_registered(subject) and not any(name is not None and names_file(name) for name in named)
