"""The command ``dpwitness verify``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click
from rich.console import Console

from algorithms.problems import SettingError
from verify.commands.command_options import (
    json_option,
    problem_option,
    seed_option,
    set_option,
    shown_progress,
    unique,
)
from verify.conduct.effort import EFFORTS, FALSE_ALARM
from verify.conduct.time_limit import SECONDS
from verify.subjects.named_subject import named_subject
from verify.subjects.resolve import every_learner
from verify.verdict.output import check_plot, print_json
from verify.verdict.report import render
from verify.verification import verify


@click.command("verify")
@click.argument("subject", required=False)
@click.option("--epsilon", type=float, help="The claimed epsilon; only a specimen of the zoo has its own.")
@click.option("--delta", type=float, help="The claimed delta; default: 0, or the specimen's own.")
@problem_option
@set_option
@click.option(
    "--horizon", type=int, help="Rounds of the learner and of every accounting run; default: by effort."
)
@click.option("--effort", default="default", show_default=True, help=f"One of {', '.join(EFFORTS)}.")
@click.option("--command", help="A command to verify in place of SUBJECT: data and outputs are JSON.")
@click.option("--data", "domain", help="Of a command or function: the domain, as in 'interval(0, 1)'.")
@click.option("--neighbours", help="Or which data are neighbours: 'within(box(-10, 10, 5), linf=1)'.")
@click.option(
    "--adversary",
    help="Of a learner or bandit: who reacts to its actions, as in 'challenge(0, 1)' or 'file.py:object'.",
)
@click.option("--samples", type=int, help="Draws of the black-box test in all; default: by effort.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of sampled lower bounds.")
@click.option(
    "--false-alarm",
    type=float,
    default=FALSE_ALARM,
    show_default=True,
    help="Chance that a true claim is refuted.",
)
@click.option("--floating-point", is_flag=True, help="What only floating-point arithmetic leaks counts too.")
@click.option(
    "--time-limit",
    type=float,
    default=SECONDS,
    show_default=True,
    help="Seconds after which to stop, and report what was found.",
)
@click.option("--workers", type=int, default=1, show_default=True, help="Processes of the black-box test.")
@click.option(
    "--anytime",
    is_flag=True,
    help="Bet against the claim while drawing, and stop as soon as it is refuted; no --plot.",
)
@click.option(
    "--wealth",
    type=click.Path(path_type=Path),
    help="A file that carries what --anytime won from run to run; of one subject, claim and settings.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the privacy-loss band to a PNG file.")
@seed_option
@json_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    subject: str | None,
    epsilon: float | None,
    delta: float | None,
    problem: str | None,
    settings: tuple[tuple[str, str], ...],
    horizon: int | None,
    effort: str,
    command: str | None,
    domain: str | None,
    neighbours: str | None,
    adversary: str | None,
    samples: int | None,
    confidence: float,
    false_alarm: float,
    floating_point: bool,
    time_limit: float,
    workers: int,
    anytime: bool,
    wealth: Path | None,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Verify SUBJECT: a learner's name, zoo/<name>, path/to/file.py:object, or a file.toml about a command.

    Exit codes: 0 certified, 1 refuted, 3 unproven, 2 usage or input error.
    """
    named, adjacency = named_subject(subject, command, domain, neighbours)
    if plot is not None:
        if anytime or wealth is not None:
            raise SettingError("--plot: bets (--anytime, --wealth) give a bound and no band to draw")
        check_plot(plot)
    with (
        redirect_stdout(sys.stderr),
        shown_progress(subject or str(command)) as tell,
    ):  # stdout is the result's alone
        result = verify(
            named,
            epsilon=epsilon,
            delta=delta,
            problem=problem,
            settings=unique(settings),
            horizon=horizon,
            seed=seed,
            effort=effort,
            samples=samples,
            confidence=confidence,
            false_alarm=false_alarm,
            floating_point=floating_point,
            time_limit=time_limit,
            neighbours=adjacency,
            adversary=adversary,
            workers=workers,
            anytime=anytime,
            wealth=wealth,
            isolated=not _is_ours(named),
            progress=tell,
        )
    if plot is not None:
        from verify.verdict.plot_band import plot_verification

        if not plot_verification(result, plot):
            click.echo(f"dpwitness: --plot {plot}: nothing was sampled, there is no band to draw", err=True)
    if as_json:
        print_json(result.json())
    else:
        render(result, Console())
    ctx.exit(result.exit_code)


def _is_ours(subject: object) -> bool:
    """Whether the subject is one of this library's own, which end when they should."""
    return isinstance(subject, str) and (subject in every_learner or subject.startswith("zoo/"))
