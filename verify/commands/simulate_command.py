"""The command ``dpwitness simulate``: regret of a learner on a problem."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from algorithms.blocks import BlocksMissing, BlockStore, Executor, Part, make_executor
from algorithms.catalogue.structured_entries import learner_builder
from algorithms.learner import DEFAULT_DELTA
from algorithms.simulate import Trace, simulate
from verify.commands.command_options import (
    block_store,
    check_plot,
    flags,
    json_option,
    show,
    shown_progress,
    store_options,
    stored_runs,
    unique,
)
from verify.conduct.isolation import in_own_process
from verify.conduct.progress import Progress
from verify.findings import Finding
from verify.learners.learner_subject import LearnerSubject, blaming, choose_problem, initial_records
from verify.linear.linear_subject import build_linear, is_linear, simulate_linear
from verify.printable import printable
from verify.subject_error import SubjectError
from verify.subjects.resolve import is_registered, resolve

_ERRORS = (SubjectError, BlocksMissing, ValueError, OSError)
_REAL = (int, float)
_CURVES = {"rounds": (int,), "regret_mean": _REAL, "regret_sem": (*_REAL, type(None)), "return_mean": _REAL}
_FURTHER: dict[str, tuple[type, ...]] = {"best_kept": _REAL, "communication": (dict,), "phases": (dict,)}
_NUMBERS = ("runs", "seed", "seconds", "lane_rounds_per_second")
_WORDS = ("learner", "neighbours", "problem")


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
@flags("workers", "backend", "scheduler")
@store_options
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
    backend: str,
    scheduler: str | None,
    store: Path | None,
    part: Part | None,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate LEARNER (a name, or path/to/file.py:object) and report its regret."""
    executor, blocks = make_executor(workers, backend, scheduler), block_store(store, part)
    asked = _Asked(
        learner, problem, unique(settings), epsilon, delta, horizon, runs, checkpoints, executor, blocks, seed
    )
    if plot is not None:
        check_plot(plot)
    with stored_runs(blocks), redirect_stdout(sys.stderr), shown_progress(learner) as tell:
        if is_registered(learner):
            found = _simulated(asked, tell)
        else:
            data = in_own_process(
                lambda reports: _simulated(asked, reports.progress), tell, math.inf, errors=_ERRORS
            )
            found = _checked(data, learner)
    if plot is not None:
        from verify.commands.regret_plot import plot_regret

        plot_regret(found, plot)
    show(as_json, lambda: found, partial(_render, found))


@dataclass(frozen=True)
class _Asked:
    """What is simulated, and how often."""

    learner: str
    problem: str | None
    settings: Mapping[str, str]
    epsilon: float
    delta: float
    horizon: int
    runs: int
    checkpoints: int
    executor: Executor
    store: BlockStore | None
    seed: int


def _simulated(asked: _Asked, tell: Progress) -> dict[str, Any]:
    """Simulate, and return what the command prints as JSON; NaN is null."""
    found = resolve(asked.learner)
    if not isinstance(found, LearnerSubject):
        raise SubjectError(f"{asked.learner}: only learners can be simulated")
    numbers: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta, "horizon": asked.horizon}
    run: Callable[..., tuple[Trace, dict[str, Any]]]
    if is_linear(found):
        phased, linear, problem_name = build_linear(found, asked.problem, asked.settings, **numbers)
        run = partial(simulate_linear, phased, linear)
    else:
        played, own, problem_name = choose_problem(found, asked.problem, asked.settings)
        build = learner_builder(found.make, played, settings=own, **numbers)
        initial_records(build, found)

        def run(**keywords: Any) -> tuple[Trace, dict[str, Any]]:
            return simulate(build, played, **keywords), {}

    with blaming(found):
        trace, further = run(
            horizon=asked.horizon,
            runs=asked.runs,
            seed=asked.seed,
            checkpoints=asked.checkpoints,
            workers=asked.executor,
            store=asked.store,
            progress=lambda share: tell(share, "simulating"),
        )
    return {
        "learner": found.name,
        "neighbours": found.form.neighbours.value,
        "problem": problem_name,
        "rounds": trace.rounds.tolist(),
        "regret_mean": trace.regret_mean.tolist(),
        "regret_sem": [None if value != value else value for value in trace.regret_sem.tolist()],
        "return_mean": trace.return_mean.tolist(),
        "runs": trace.runs,
        "seed": asked.seed,
        "seconds": trace.seconds,
        "lane_rounds_per_second": trace.lane_rounds_per_second,
        **further,
    }


def _checked(data: Any, learner: str) -> dict[str, Any]:
    """Return what a user's learner did in a process of its own, if it has the form of a simulation.

    Raises
    ------
    SubjectError
        If it has another form, or the process left nothing.
    """
    if isinstance(data, Finding):
        raise SubjectError(f"{learner}: {data.message}")
    told = data if isinstance(data, dict) else {}
    lists: list[Any] = [told.get(name) for name in _CURVES]
    good = (
        all(isinstance(values, list) and values for values in lists)
        and len({len(values) for values in lists}) == 1
        and all(type(value) in _CURVES[name] for name in _CURVES for value in told[name])
        and all(type(told.get(name)) is str for name in _WORDS)
        and all(type(told.get(name)) in _REAL for name in _NUMBERS)
        and all(_is_known(name, told[name]) for name in told.keys() - {*_CURVES, *_NUMBERS, *_WORDS})
    )
    if not good:
        raise SubjectError(f"{learner}: the process in which it ran reported what is no simulation")
    return told


def _is_known(name: str, value: Any) -> bool:
    """Whether this may stand beside the curves, as it does for linear learners."""
    numbers = value.values() if isinstance(value, dict) else [value]
    if name == "phases":
        numbers = [each for values in numbers for each in (values if isinstance(values, list) else [None])]
    return (
        name in _FURTHER
        and isinstance(value, _FURTHER[name])
        and all(type(each) in _REAL for each in numbers)
    )


def _render(found: Mapping[str, Any], console: Console) -> None:
    title = printable(f"{found['learner']} on {found['problem']}, {found['runs']} runs")
    table = Table("round", "regret", "± s.e.", "reward per round", title=Text(title), title_justify="left")
    rounds = found["rounds"]
    for i in sorted({round(i * (len(rounds) - 1) / 11) for i in range(12)}):
        error = found["regret_sem"][i]
        table.add_row(
            f"{rounds[i]:,}",
            f"{found['regret_mean'][i]:.4g}",
            "-" if error is None else f"{error:.2g}",
            f"{found['return_mean'][i]:.4g}",
        )
    console.print(table)
    speed = f"{found['lane_rounds_per_second']:,.0f} lane-rounds per second"
    console.print(f"{found['seconds']:.2f} s, {speed}")
    console.print(f"what it claims is for neighbours: {printable(found['neighbours'])}", highlight=False)
    if "communication" in found:
        sent = " and ".join(f"{count:,.0f} {unit}" for unit, count in found["communication"].items() if count)
        console.print(
            f"clients sent {sent or 'nothing'} a run; best action kept in {found['best_kept']:.0%} of runs"
        )
