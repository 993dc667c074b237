"""Suboptimality gaps of an instance, as regret theorems count them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorithms.problems import Matroid, Problem, RankedLists, TopK


class GapsUnavailable(ValueError):
    """The gaps of this structure are not available in closed form."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The gaps of one arm.

    Attributes
    ----------
    least, largest
        The least and the largest positive gap.
    count
        How many optimal arms are better (matroids), or 1.
    """

    least: float
    largest: float
    count: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps of an instance.

    Attributes
    ----------
    suboptimal
        One `Gap` per arm that is worse than some arm of the best super arm.
    optimal
        For each arm of the best super arm that is better than some arm outside, its least such gap.
    members
        For every arm but loops, a lower bound on the least regret of a bad super arm that holds it
        (``Delta^i_min`` of Chen et al. 2020), if the reward is the sum of the means. A bad super arm may hold
        arms of the best one, so theirs is a sum over all arms. Exact for top-K sets and an arm outside that
        ties with none inside.
    largest_regret
        The largest regret of one round.
    """

    suboptimal: tuple[Gap, ...]
    optimal: tuple[float, ...]
    members: tuple[float, ...]
    largest_regret: float


def exchange_gaps(problem: Problem) -> Gaps:
    """Return the gaps ``w(a*) - w(e)`` between arms inside and outside the best super arm.

    For structures in which the best super arm consists of the best arms by exchange: top-K sets,
    matroids (loops, which no basis holds, do not count) and ranked lists.

    Raises
    ------
    GapsUnavailable
        For other structures.
    """
    structure = problem.structure
    if not isinstance(structure, TopK | Matroid | RankedLists):
        raise GapsUnavailable(f"{type(structure).__name__}: gaps are defined by exchange of single arms only")
    best = structure.solve(problem.means[np.newaxis])[0]
    worst = structure.solve(-problem.means[np.newaxis])[0]
    outside = np.setdiff1d(np.arange(structure.arms), best)
    if isinstance(structure, Matroid):
        outside = np.setdiff1d(outside, np.asarray(sorted(structure.loops), dtype=np.int64))
    suboptimal = []
    alone = []  # outside arms whose place in a super arm costs their least gap at least
    for arm in outside:
        above = problem.means[best] - problem.means[arm]
        tied = bool((above == 0).any())
        above = above[above > 0]
        if above.size:
            suboptimal.append(Gap(float(above.min()), float(above.max()), int(above.size)))
            if not tied:
                alone.append(float(above.min()))
    optimal = []
    for arm in best:
        below = problem.means[arm] - problem.means[outside]
        below = below[below > 0]
        if below.size:
            optimal.append(float(below.min()))
    # Any other arm is in a bad super arm only beside an exchange that costs the least gap of all.
    least_of_all = min((gap.least for gap in suboptimal), default=0.0)
    others = len(best) + len(outside) - len(alone) if suboptimal else 0
    members = (*alone, *(least_of_all,) * others)
    largest = problem.optimum - float(problem.expected_reward(worst[np.newaxis])[0])
    return Gaps(tuple(suboptimal), tuple(optimal), members, largest)
