"""Simulation of an experiment's configurations, each stored when it is done, so that a stopped run resumes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from algorithms.blocks import Executor
from verify.conduct.progress import Progress, subprogress
from verify.experiments.configuration import Configuration, simulated
from verify.experiments.experiment import FigureLine, Results
from verify.experiments.simulated_runs import SimulatedRuns


def run_all(lines: Sequence[FigureLine], store: Path, *, executor: Executor, progress: Progress) -> Results:
    """Simulate the configurations that are not stored yet, and return all results.

    Parameters
    ----------
    lines
        The configurations; one that occurs twice is simulated once.
    store
        The folder of results, which experiments share: a file for each configuration, named by its key.
    executor
        Each of its workers simulates one configuration at a time.
    progress
        Function that is called with the share done, by the costs of the configurations.

    Raises
    ------
    SubjectError, ProblemError, ValueError, OSError
        As `simulated`, or if a file cannot be written.
    """
    wanted = {configuration.key: configuration for line in lines for _, configuration in line.points}
    done = {key: runs for key in wanted if (runs := _stored(store, key)) is not None}
    # The dearest first: no worker is left with it at the end.
    missing = sorted(
        (key for key in wanted if key not in done), key=lambda key: _cost(wanted[key]), reverse=True
    )
    total = sum(map(_cost, wanted.values())) or 1.0
    before = sum(_cost(wanted[key]) for key in done) / total
    if executor.parallel_tasks == 1:  # in this process, where every hundredth is reported
        for key in missing:
            after = before + _cost(wanted[key]) / total
            done[key] = _run_one(wanted, key, subprogress(progress, before, after))
            done[key].save(_path(store, key))
            before = after
    else:
        with executor.open(functools.partial(_run_one, wanted), len(missing)) as workers:
            for number, runs in workers.completed(missing):
                runs.save(_path(store, missing[number]))
                done[missing[number]] = runs
                before += _cost(wanted[missing[number]]) / total
                progress(before, _progress_text(wanted[missing[number]]))
    return {line.name: [(x, done[configuration.key]) for x, configuration in line.points] for line in lines}


def _run_one(wanted: dict[str, Configuration], key: str, progress: Progress | None = None) -> SimulatedRuns:
    configuration = wanted[key]

    def tell(share: float, doing: str) -> None:
        if progress is not None:
            progress(share, _progress_text(configuration))

    with threadpool_limits(1):  # a configuration is one thread's work: two at once must not contend
        return simulated(configuration, progress=tell)


def _stored(store: Path, key: str) -> SimulatedRuns | None:
    path = _path(store, key)
    if not path.exists():
        return None
    try:
        return SimulatedRuns.load(path)
    except (OSError, ValueError):  # changed after `save`: it is simulated again
        return None


def _path(store: Path, key: str) -> Path:
    return store / f"{key}.json"


def _cost(configuration: Configuration) -> float:
    """Return the approximate cost for the progress: rounds, which many runs share except of linear bandits."""
    rounds = float(configuration.horizon)
    return rounds if configuration.problem != "linear" else rounds * configuration.runs


def _progress_text(configuration: Configuration) -> str:
    return f"{configuration.learner}, ε = {configuration.epsilon:g}"


def with_data(lines: Sequence[FigureLine], folder: Path) -> tuple[FigureLine, ...]:
    """Return the lines with the user's MovieLens in place of the synthetic movies."""

    def real(configuration: Configuration) -> Configuration:
        if configuration.problem != "synthetic-movies":
            return configuration
        return replace(configuration, problem="movielens", settings={"folder": str(folder.resolve())})

    return tuple(
        replace(line, points=tuple((x, real(configuration)) for x, configuration in line.points))
        for line in lines
    )
