"""A test of the growth of regret with the horizon: like log T, or like a power of it.

Learners know their horizon, so regret along one run saturates and shows nothing: independent runs are played for T0,
q T0 and q^2 T0 rounds instead. For regret ``a + b log T`` the two increments are the same, for ``c T^a`` the second is
q^a times the first. The null hypothesis is that it is at most twice the first in expectation. With one run of each,
``Z = g3 - 3 g2 + 2 g1`` has an expectation of at most 0 then, and is never below ``-3 q T0`` times the gap: a betting
test of that is exact for any distribution of regret. It follows from no theorem: it is a question of its own. It has an
answer only beyond the rounds that a learner needs to distinguish the arms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.theory.regret_bound import Instance
from verify.conduct.progress import Progress, no_progress
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.simulated_regret import check_numbers, simulated_regret
from verify.regret_claims.speaking_instances import StatedBound, smallest_horizon
from verify.sampling.betting_means import mean_at_least

_MEANS = np.array([0.2, 0.8])
_FIRST, _FACTOR, _RUNS = 128, 16, 1536
_LONGEST = 1 << 12  # rounds of the first horizon


@dataclass(frozen=True)
class GrowthReport:
    """Regret at three horizons, each a factor beyond the one before.

    Attributes
    ----------
    learner, epsilon, runs, seed
        The learner's name and parameters; the problem has two arms with means 0.2 and 0.8.
    horizons
        T0, q T0 and q^2 T0.
    means
        Mean regret at each.
    excess
        A lower limit on the excess of the second increment of expected regret over twice the first; below 0 if it may
        not exceed it.
    error
        The probability that regret like log T is called faster, at most.
    """

    learner: str
    epsilon: float
    runs: int
    seed: int
    horizons: tuple[int, int, int]
    means: tuple[float, float, float]
    excess: float
    error: float

    @property
    def ratio(self) -> float:
        """The second increment of mean regret over the first: 1 for log T, q^a for c T^a; infinite at no increment."""
        first, second = self.means[1] - self.means[0], self.means[2] - self.means[1]
        return second / first if first > 0 else math.inf

    @property
    def faster(self) -> bool:
        """True if regret grows faster than log T; wrong with probability at most `error`."""
        return self.excess > 0


def measure_growth(
    make: type[Any],
    *,
    name: str = "",
    bound: StatedBound | None = None,
    epsilon: float = 1.0,
    runs: int | None = None,
    seed: int = 0,
    error: float = 1e-4,
    progress: Progress = no_progress,
    **where: Any,
) -> GrowthReport:
    """Play a learner at three horizons.

    Parameters
    ----------
    make, name
        The learner's class, and its name.
    bound
        Its theorem, if it has one: T0 is where that speaks then, at least 128.
    epsilon
        The epsilon of the learner, if it takes one.
    runs
        The number of runs at each horizon; by default 1536.
    seed
        The seed of all randomness.
    error
        The probability that regret like log T is called faster, at most.
    progress
        Function that is called with the share done.
    where
        Workers and store, as `algorithms.simulate.simulate` takes them.

    Raises
    ------
    ProblemError
        If the learner plays neither arms nor lists: others have regret like the square root of T.
    SettingError
        If a number is out of range.
    """
    check_numbers(epsilon=epsilon, runs=runs, seed=seed, error=error)
    problem = plain_problem(make.family, _MEANS)
    first = _FIRST
    if bound is not None:
        spoken = smallest_horizon(bound, Instance(problem, epsilon, first), _LONGEST)
        first = max(first, spoken or first)
    horizons = (first, first * _FACTOR, first * _FACTOR**2)
    runs, regrets = _RUNS if runs is None else runs, []
    for number, horizon in enumerate(horizons):
        instance = Instance(problem, epsilon, horizon)
        trace = simulated_regret(make, instance, runs=runs, seed=3 * seed + number, **where)
        regrets.append(trace.regret[-1])
        progress(horizon / horizons[-1], f"played {horizon:,} rounds")
    least = 3 * horizons[1] * float(_MEANS[1] - _MEANS[0])
    contrast = regrets[2] - 3 * regrets[1] + 2 * regrets[0]
    means = tuple(float(values.mean()) for values in regrets)
    return GrowthReport(
        name or make.__name__,
        epsilon,
        runs,
        seed,
        horizons,
        (means[0], means[1], means[2]),
        mean_at_least(contrast + least, error) - least,
        error,
    )
