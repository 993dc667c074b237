"""The command line: ``dpwitness list | verify | simulate | audit | calibrate``.

Results go to standard output (with ``--json`` one JSON object and nothing else), progress and errors to
standard error. Exit codes of ``verify``: 0 certified, 1 refuted, 3 unproven; 2 for usage and input errors.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from algorithms.catalogue import learner_builder
from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import ParameterError
from algorithms.simulate import Trace, simulate
from verify.composition.audit_command import audit_command, calibrate_command
from verify.effort import EFFORTS, FALSE_ALARM
from verify.functions.verify_function import SECONDS
from verify.learners.accounting_run import failing_place
from verify.list_command import list_command
from verify.reporting.output import check_plot, print_json
from verify.reporting.report import render
from verify.subjects.learner_subject import choose_problem, initial_records
from verify.subjects.linear_subject import build_linear, is_linear, simulate_linear
from verify.subjects.named_subject import named_subject
from verify.subjects.subject import LearnerSubject, SubjectError, every_learner, resolve
from verify.verification import verify

Tell = Callable[[float, str], None]


class _Settings(click.ParamType[tuple[str, str]]):
    """``key=value``, checked for its form only; the problem checks the rest."""

    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        key, equals, text = str(value).partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"--set {value}: must be key=value")
        return key.strip(), text.strip()


_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of all randomness.")
_problem_option = click.option("--problem", help="A problem of the catalogue; default: the learner's own.")
_set_option = click.option(
    "--set", "settings", type=_Settings(), multiple=True, help="A parameter of the problem or learner."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpwitness")
def cli() -> None:
    """Certify, refute and audit differential-privacy claims of online learners."""


@cli.command("verify")
@click.argument("subject", required=False)
@click.option("--epsilon", type=float, help="The claimed epsilon; only a specimen of the zoo has its own.")
@click.option("--delta", type=float, help="The claimed delta; default: 0, or the specimen's own.")
@_problem_option
@_set_option
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
@_seed_option
@_json_option
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
            raise ParameterError("--plot: bets (--anytime, --wealth) give a bound and no band to draw")
        check_plot(plot)
    with (
        redirect_stdout(sys.stderr),
        _progress(subject or str(command)) as tell,
    ):  # stdout is the result's alone
        result = verify(
            named,
            epsilon=epsilon,
            delta=delta,
            problem=problem,
            settings=_unique(settings),
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
        from verify.reporting.plot_band import plot_verification

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


@cli.command("simulate")
@click.argument("learner")
@_problem_option
@_set_option
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy of a private learner.")
@click.option(
    "--delta", type=float, default=DEFAULT_DELTA, show_default=True, help="Of learners that need a delta."
)
@click.option("--horizon", type=int, default=10_000, show_default=True, help="Rounds per run.")
@click.option("--runs", type=int, default=20, show_default=True, help="Independent runs.")
@click.option("--checkpoints", type=int, default=50, show_default=True, help="At how many rounds to report.")
@click.option("--workers", type=int, default=1, show_default=True, help="Worker processes.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw mean and band to a PNG file.")
@_seed_option
@_json_option
def simulate_command(
    learner: str,
    problem: str | None,
    settings: tuple[tuple[str, str], ...],
    epsilon: float,
    delta: float,
    horizon: int,
    runs: int,
    checkpoints: int,
    workers: int,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate LEARNER (a name, or path/to/file.py:object) and report its regret."""
    with redirect_stdout(sys.stderr):
        found = resolve(learner)
    if not isinstance(found, LearnerSubject):
        raise SubjectError(f"{learner}: only learners can be simulated")
    run: Callable[..., tuple[Trace, dict[str, Any]]]
    if is_linear(found):
        phased, linear, problem_name = build_linear(
            found, problem, _unique(settings), epsilon=epsilon, delta=delta, horizon=horizon
        )
        run = partial(simulate_linear, phased, linear)
    else:
        played, own, problem_name = choose_problem(found, problem, _unique(settings))
        build = learner_builder(
            found.make, played, epsilon=epsilon, delta=delta, horizon=horizon, settings=own
        )
        initial_records(build, found)

        def run(**keywords: Any) -> tuple[Trace, dict[str, Any]]:
            return simulate(build, played, **keywords), {}

    if plot is not None:
        check_plot(plot)
    with redirect_stdout(sys.stderr), _progress(found.name) as tell, _blaming(found):
        trace, further = run(
            horizon=horizon,
            runs=runs,
            seed=seed,
            checkpoints=checkpoints,
            workers=workers,
            progress=lambda share: tell(share, "simulating"),
        )
    if plot is not None:
        from verify.reporting.plot import plot_regret

        plot_regret(trace, f"{found.name} on {problem_name}", plot)
    if as_json:
        print_json(
            {
                "learner": found.name,
                "problem": problem_name,
                "rounds": trace.rounds.tolist(),
                "regret_mean": trace.regret_mean.tolist(),
                "regret_sem": [None if value != value else value for value in trace.regret_sem.tolist()],
                "return_mean": trace.return_mean.tolist(),
                "runs": trace.runs,
                "seed": seed,
                "seconds": trace.seconds,
                "lane_rounds_per_second": trace.lane_rounds_per_second,
                **further,
            }
        )
        return
    table = Table(
        "round",
        "regret",
        "± s.e.",
        "reward per round",
        title=f"{found.name} on {problem_name}, {runs} runs",
        title_justify="left",
    )
    shown = sorted({round(i * (len(trace.rounds) - 1) / 11) for i in range(12)})
    for i in shown:
        error = trace.regret_sem[i]
        table.add_row(
            f"{trace.rounds[i]:,}",
            f"{trace.regret_mean[i]:.4g}",
            "-" if error != error else f"{error:.2g}",
            f"{trace.return_mean[i]:.4g}",
        )
    console = Console()
    console.print(table)
    console.print(f"{trace.seconds:.2f} s, {trace.lane_rounds_per_second:,.0f} lane-rounds per second")
    if further:
        sent = " and ".join(
            f"{count:,.0f} {unit}" for unit, count in further["communication"].items() if count
        )
        console.print(
            f"clients sent {sent or 'nothing'} a run; best action kept in {further['best_kept']:.0%} of runs"
        )


def _unique(settings: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Refuse a parameter that is set twice: one of the values would be lost."""
    keys = [key for key, _ in settings]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ParameterError(f"--set {twice[0]}: given more than once")
    return dict(settings)


@contextmanager
def _blaming(subject: LearnerSubject) -> Iterator[None]:
    """Turn whatever a user's learner raises into an input error that names its line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if subject.entry is not None or isinstance(error, ValueError):
            raise
        raise SubjectError(
            f"{subject.name} raised {type(error).__name__}: {error} (at {failing_place(error)})"
        ) from error


@contextmanager
def _progress(name: str) -> Iterator[Tell]:
    """Show progress on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda share, doing: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share, doing: bar.update(task, completed=share, description=f"{name}: {doing}")


cli.add_command(list_command)
cli.add_command(audit_command)
cli.add_command(calibrate_command)


def main() -> None:
    """Run the command line; input errors are one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for what it lacks
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        message = error.format_message().splitlines()
        click.echo(f"dpwitness: {' '.join(message)}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("dpwitness: interrupted", err=True)
        sys.exit(130)
    except (ValueError, OSError) as error:
        click.echo(f"dpwitness: {' '.join(str(error).splitlines())}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
