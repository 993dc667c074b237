"""The commands ``dpwitness audit`` and ``dpwitness calibrate``: what a written-down composition costs."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from accountant.audit import (
    Audit,
    AuditQuestion,
    Calibration,
    Releases,
    audit,
    calibrate,
    calibrate_advantage,
    calibrate_risk,
    plot_privacy,
    read_releases,
)
from accountant.audit.releases import POWER
from accountant.provenance import file_digest, made_now
from mechanisms.printed_numbers import as_given, at_least, at_most
from verify.commands.audit_comparison import render_side_by_side
from verify.commands.command_options import check_plot, json_option, show
from verify.conduct.exit_codes import BAD, GOOD, OPEN, worst
from verify.document.terminal_text import plain_table, print_document
from verify.printable import printable

DEFAULT_DELTA = 1e-6
_TITLE = 100  # characters
_DIGITS = 10  # of a calibration

_time_limit_option = click.option(
    "--time-limit",
    "time_limit",
    type=float,
    default=math.inf,
    help="Seconds, then the answer is what is proved: certified, and wider [default: none].",
)
_STOPPED = "stopped at the time limit: what is said holds, more time may say it closer"

neighbours_option = click.option(
    "--neighbours",
    help="When two data sets are neighbours; needed where FILE cannot say it (of dp-accounting or Opacus): "
    '"replace one", "add or remove one" or "zero out".',
)

_group_size_option = click.option(
    "--group-size",
    type=click.IntRange(min=1),
    default=1,
    help="What so many people lose together who take part in the same releases, a household for example [default: 1].",
)

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("audit")
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@click.option("--delta", type=float, help=f"Answer with epsilon at this delta [default: {DEFAULT_DELTA:g}].")
@click.option("--epsilon", type=float, help="Answer with delta at this epsilon instead.")
@click.option("--budget", type=float, help="An epsilon: say what is left of it, and what still fits.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw privacy profile and trade-off curve to a PNG file."
)
@click.option("--risk", is_flag=True, help="Say what attacks on a person can reach at most.")
@neighbours_option
@_group_size_option
@_time_limit_option
@json_option
@click.pass_context
def audit_command(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    delta: float | None,
    epsilon: float | None,
    budget: float | None,
    plot: Path | None,
    risk: bool,
    neighbours: str | None,
    group_size: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Say what the releases in FILE cost: [[release]] tables, a ledger, or what other libraries write.

    Every number is an interval that contains the truth. Several files are shown side by side. FILE is TOML, JSON or CSV
    with tables, a ledger (a store, or its export), or in JSON an event of dp-accounting or the history of an accountant
    of Opacus. Tables have the keys
    mechanism, its parameters (scale; sigma; epsilon and k; ...), sensitivity, count, sampling_rate, sampling (poisson
    or fixed size), and records or partition for groups of records that do not share everything. The key neighbours
    says when two data sets are neighbours: "replace one" (the default), "add or remove one" or "zero out"; with a
    sampled release it is needed.

    Exit codes: 0 done, or within the budget; 1 the budget is exceeded; 2 usage or input error; 3 whether the budget is
    exceeded is not known; 4 an error of dpwitness's own.
    """
    if epsilon is None and delta is None:
        delta = DEFAULT_DELTA
    question = AuditQuestion(delta, epsilon)
    if plot is not None:
        if len(files) > 1:
            raise click.UsageError("--plot draws one file")
        check_plot(plot)
    read, results = zip(
        *(
            audit_file(
                file, question, budget, neighbours, risk=risk, group_size=group_size, time_limit=time_limit
            )
            for file in files
        ),
        strict=True,
    )
    if plot is not None:
        title = printable(f"{files[0].name}: {results[0].worst.name}", _TITLE)
        plot_privacy(read[0].profile_counts(results[0].worst), title, plot)
    if len(files) == 1:
        show(as_json, results[0].json, partial(_render, results[0]))
    else:
        names = [str(file) for file in files]
        show(
            as_json,
            lambda: {
                "files": [{"file": name, **one.json()} for name, one in zip(names, results, strict=True)]
            },
            partial(render_side_by_side, names, results, read),
        )
    ctx.exit(worst(_BUDGET_CODES[result.within] for result in results))


_BUDGET_CODES = {True: GOOD, False: BAD, None: OPEN}


def audit_file(
    file: Path,
    question: AuditQuestion,
    budget: float | None,
    neighbours: str | None,
    *,
    risk: bool,
    group_size: int = 1,
    time_limit: float = math.inf,
) -> tuple[Releases, Audit]:
    """Return the releases of a file, and their audit with the file's name and digest and the command that repeats it.

    `accountant.audit.audit` says what is asked.
    """
    releases = read_releases(file, neighbours).for_groups_of(group_size)
    found = audit(releases, question, budget, risk=risk, time_limit=time_limit)
    again = ["dpwitness", "audit", str(file)]
    for flag, number in (("--delta", question.delta), ("--epsilon", question.epsilon), ("--budget", budget)):
        again += [] if number is None else [flag, str(number).removesuffix(".0")]
    again += [] if neighbours is None else ["--neighbours", neighbours]
    again += ["--group-size", str(group_size)] if group_size > 1 else []
    again += ["--risk"] if risk else []
    made = made_now(file=file_digest(file))
    return releases, replace(found, name=file.name, repeat=shlex.join(again), provenance=made)


def _render(result: Audit, console: Console) -> None:
    from verify.audit_document import audit_document  # a document's words are all of verify's

    print_document(audit_document(result), console)


@click.command("calibrate")
@click.argument("file", type=_FILE)
@click.option("--epsilon", type=float, help="The target epsilon, for every record.")
@click.option("--delta", type=float, default=DEFAULT_DELTA, show_default=True, help="The target delta.")
@click.option("--advantage", type=float, help="Instead: what attacks may gain over guessing, at most.")
@click.option("--tpr", type=float, help="Instead: the true positive rate of attacks, at most, at --fpr.")
@click.option("--fpr", type=float, help="The false positive rate that --tpr is for.")
@neighbours_option
@_group_size_option
@_time_limit_option
@json_option
def calibrate_command(
    file: Path,
    epsilon: float | None,
    delta: float,
    advantage: float | None,
    tpr: float | None,
    fpr: float | None,
    neighbours: str | None,
    group_size: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Find the least noise with which the releases in FILE meet a target.

    All noise is multiplied by one factor: scale and sigma grow with it, the epsilon of randomized response
    falls. The target is an epsilon at --delta, or what attacks on a person may reach.
    """
    if sum(target is not None for target in (epsilon, advantage, tpr)) != 1:
        raise click.UsageError("give one target: --epsilon, --advantage, or --tpr with --fpr")
    if (tpr is None) != (fpr is None):
        raise click.UsageError("--tpr and --fpr go together")
    releases = read_releases(file, neighbours).for_groups_of(group_size)
    if epsilon is not None:
        result = calibrate(releases, epsilon, delta, time_limit=time_limit)
    elif advantage is not None:
        result = calibrate_advantage(releases, advantage, delta, time_limit=time_limit)
    else:
        assert tpr is not None
        assert fpr is not None
        result = calibrate_risk(releases, tpr, fpr, delta, time_limit=time_limit)
    show(as_json, partial(_calibration_json, result), partial(_render_calibration, result))


def _render_calibration(result: Calibration, console: Console) -> None:
    console.print(f"multiply all noise by {at_most(result.factor, _DIGITS)}")
    if not result.complete:
        console.print(_STOPPED)
    console.print(
        f"then epsilon is at most {at_most(result.epsilon, _DIGITS)} at delta = {as_given(result.delta)} "
        f"({result.relation})"
    )
    console.print()
    rows = [
        (name, ", ".join(f"{key} = {_enough(key, value)}" for key, value in parameters.items()) or "-")
        for name, parameters in result.parameters.items()
    ]
    console.print(plain_table(("release", "calibrated"), rows))


def _enough(name: str, value: float) -> str:
    """Return a noise parameter to ten digits, rounded to where there is more noise."""
    return at_most(value, _DIGITS) if POWER[name] > 0 else at_least(value, _DIGITS)


def _calibration_json(result: Calibration) -> dict[str, Any]:
    """Return a calibration as a JSON object."""
    return {
        "neighbours": result.neighbouring.value,
        "group_size": result.group_size,
        "factor": result.factor,
        "complete": result.complete,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "parameters": {name: dict(parameters) for name, parameters in result.parameters.items()},
    }
