"""The command ``dpwitness simulate``: regret of a learner on a problem."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from algorithms.catalogue.structured_entries import learner_builder
from algorithms.learner import DEFAULT_DELTA
from algorithms.simulate import Trace, simulate
from verify.commands.command_options import check_plot, flags, json_option, print_json, shown_progress, unique
from verify.learners.learner_subject import LearnerSubject, choose_problem, initial_records
from verify.linear.linear_subject import build_linear, is_linear, simulate_linear
from verify.subject_error import SubjectError, failing_place
from verify.subjects.resolve import resolve


@click.command("simulate")
@click.argument("learner")
@flags("problem", "settings")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy of a private learner.")
@click.option(
    "--delta", type=float, default=DEFAULT_DELTA, show_default=True, help="Of learners that need a delta."
)
@click.option("--horizon", type=int, default=10_000, show_default=True, help="Rounds per run.")
@click.option("--runs", type=int, default=20, show_default=True, help="Independent runs.")
@click.option("--checkpoints", type=int, default=50, show_default=True, help="At how many rounds to report.")
@click.option("--workers", type=int, default=1, show_default=True, help="Worker processes.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw mean and band to a PNG file.")
@flags("seed")
@json_option
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
            found, problem, unique(settings), epsilon=epsilon, delta=delta, horizon=horizon
        )
        run = partial(simulate_linear, phased, linear)
    else:
        played, own, problem_name = choose_problem(found, problem, unique(settings))
        build = learner_builder(
            found.make, played, epsilon=epsilon, delta=delta, horizon=horizon, settings=own
        )
        initial_records(build, found)

        def run(**keywords: Any) -> tuple[Trace, dict[str, Any]]:
            return simulate(build, played, **keywords), {}

    if plot is not None:
        check_plot(plot)
    with redirect_stdout(sys.stderr), shown_progress(found.name) as tell, _blaming(found):
        trace, further = run(
            horizon=horizon,
            runs=runs,
            seed=seed,
            checkpoints=checkpoints,
            workers=workers,
            progress=lambda share: tell(share, "simulating"),
        )
    if plot is not None:
        from verify.commands.regret_plot import plot_regret

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
