"""Nonvacuous instances of a regret bound: it is at most a third of the worst possible regret there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from algorithms.learner import Family
from algorithms.problems import LinearBandit, LinearContexts, Problem, Value
from algorithms.restarts import restart_epoch, restart_horizon
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.plain_problem import plain_problem

StatedBound = Callable[[Instance], float]

_SHARE = 1 / 3
"""The largest share of the worst possible regret that a nonvacuous bound has."""

_EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
_MEANS = (0.05, 0.95)  # the best arm last: ties go to the lowest id, so to the worst


def nonvacuous_problem(family: Family, *, dimension: int) -> Problem | LinearBandit | LinearContexts:
    """Return the easiest problem of a family: two arms, one at a time, far apart.

    A bound divided by T times the largest regret grows with 1 / gap^2 and with K, so that nothing speaks earlier.
    Linear bandits have actions e1 and -e1, and theta* = e1; those with contexts two actions that are either.
    """
    if family == "contextual":
        return LinearContexts(np.eye(dimension)[0], 2)
    if family == "linear":
        e1 = np.eye(dimension)[0]
        return LinearBandit(np.array([e1, -e1]), e1, 0.0, 1, "signs")
    return plain_problem(family, _MEANS)


def smallest_horizon(bound: StatedBound, instance: Instance, most: int) -> int | None:
    """Return about the smallest T, to 1 %, at which a bound is at most a third of the worst possible regret.

    Parameters
    ----------
    bound, instance
        The bound, and the instance but for its horizon.
    most
        The largest T to consider; None is returned if the bound says nothing up to there.
    """

    def speaks(horizon: int) -> bool:
        there = replace(instance, horizon=horizon)
        return bound(there) <= _SHARE * there.trivial_regret > 0.0

    high = next((1 << power for power in range(2, most.bit_length()) if speaks(1 << power)), None)
    if high is None:
        return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if speaks(middle) else (middle, high)
    return high


def nonvacuous_instance(
    bound: StatedBound,
    covers: Callable[[Instance], bool],
    start: Instance,
    *,
    epsilon: float | None,
    most: int,
) -> Instance | None:
    """Return the nonvacuous instance of least epsilon and horizon of a bound; None if there is none up to `most`.

    Parameters
    ----------
    bound, covers
        The bound, and where it applies.
    start
        Problem, delta and settings.
    epsilon
        The epsilon, or None for the least of 1, 2, 5, ..., 2000 at which there is such a horizon.
    most
        The longest horizon that can be run.

    Raises
    ------
    GapsUnavailable
        If the problem's gaps are not available.
    """
    for number in _EPSILONS if epsilon is None else (epsilon,):
        there = replace(start, epsilon=number, horizon=most)
        if not covers(there):
            continue
        horizon = smallest_horizon(bound, there, most)
        if horizon is not None:
            return replace(there, horizon=horizon)
    return None


def with_clients(problem: LinearBandit, horizon: int, settings: Mapping[str, Value]) -> LinearBandit:
    """Return a linear problem with as many clients as a distributed learner asks within a horizon."""
    alpha, fixed = float(settings.get("alpha", 0.8)), int(settings.get("fixed_clients", 0))
    horizons = [horizon]
    if settings.get("anytime") == "yes":
        ended = range(restart_epoch(horizon - 1))
        horizons += [restart_horizon(epoch) for epoch in ended]
    phases = [phase for each in horizons for phase in range(1, max(2, each).bit_length())]
    return replace(
        problem, population=1 + sum(fixed or math.ceil(2.0 ** (alpha * phase)) for phase in phases)
    )
