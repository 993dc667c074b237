"""Regret at the end of a learner's runs: what growth, scaling and a claim of local privacy are judged by."""

from __future__ import annotations

from typing import Any

from algorithms.blocks import BlockStore, Executor
from algorithms.catalogue.structured_entries import learner_builder
from algorithms.problems import Problem
from algorithms.simulate import simulate
from mechanisms.arrays import FloatArray


def final_regret(
    make: type[Any],
    problem: Problem,
    *,
    epsilon: float,
    horizon: int,
    runs: int,
    seed: int,
    workers: int | Executor,
    store: BlockStore | None,
) -> FloatArray:
    """Return the pseudo-regret of every run after `horizon` rounds, shape (runs,).

    Parameters
    ----------
    make, epsilon
        The learner's class, and what it is built with, if it takes one.
    problem, horizon, runs, seed, workers, store
        As `algorithms.simulate.simulate` takes them.
    """
    trace = simulate(
        learner_builder(make, problem, epsilon=epsilon, horizon=horizon),
        problem,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=1,
        workers=workers,
        store=store,
    )
    final: FloatArray = trace.regret[-1]
    return final
