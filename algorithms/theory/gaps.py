"""Suboptimality gaps of an instance, as regret theorems count them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from algorithms.lanes import lookup
from algorithms.problems import Matroid, Problem, ProblemError, RankedLists, SuperArms, TopK
from algorithms.problems.super_arms import check_super_arms
from mechanisms.arrays import IntArray
from mechanisms.parameters import DPWitnessError

_GapMethod = Literal["closed form", "enumeration", "oracle"]

_MOST_SUPER_ARMS = 2_000_000
_CHUNK = 1 << 14
_MOST_QUESTIONS = 200_000  # to an oracle
_ROUNDING = 1e-12  # a super arm that is worse by no more than a sum's rounding is as good


class GapsUnavailable(DPWitnessError, ValueError):
    """The gaps of this structure have no closed form, and neither enumeration nor its oracle gives them."""


@runtime_checkable
class _Enumerable(Protocol):
    """A structure that lists its super arms."""

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield every super arm as its arms."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """The gaps of one arm.

    Attributes
    ----------
    least, largest
        The least and the largest positive gap.
    count
        How many optimal arms are better (matroids), or 1; of an optimal arm, how many outside are worse.
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
        One `_Gap` per arm that is worse than some arm of the best super arm. Empty where arms are not exchanged one by
        one (`method` is no closed form).
    optimal
        One `_Gap` per arm of the best super arm that is better than some arm outside: count is of those; empty
        likewise.
    members
        For every arm that some bad super arm holds, a lower bound on the least regret of one that does
        (``Delta^i_min`` of Chen et al. 2020). Exact by enumeration and by the oracle, and in closed form for top-K
        sets and arms outside that tie with none inside.
    largest_regret
        The largest regret of one round, ``alpha opt - min r``.
    method
        How they were found.
    """

    suboptimal: tuple[_Gap, ...]
    optimal: tuple[_Gap, ...]
    members: tuple[float, ...]
    largest_regret: float
    method: _GapMethod = "closed form"

    @property
    def least_gap(self) -> float:
        """The least gap of all; 1 where there is none."""
        return min((*(gap.least for gap in self.suboptimal), *self.members), default=1.0)


def problem_gaps(problem: Problem) -> Gaps:
    """Return the gaps of an instance: in closed form, else by enumeration, else from its oracle.

    Raises
    ------
    GapsUnavailable
        If the structure is of no known kind, does not list its super arms (``super_arms()``) or too many, and its
        oracle or reward is not as `_oracle_gaps` needs them.
    """
    means = np.asarray(problem.means).tobytes()
    try:
        known = _found.get(problem)
    except TypeError:  # it has no hash, or no weak references
        return _any_gaps(problem)
    if known is None or known[0] != means:
        known = _found[problem] = (means, _any_gaps(problem))
    return known[1]


_found: WeakKeyDictionary[Problem, tuple[bytes, Gaps]] = WeakKeyDictionary()
"""Gaps by problem, with the means that they are of: a search for a horizon asks for them dozens of times."""


def _any_gaps(problem: Problem) -> Gaps:
    """Return the gaps in closed form, else by enumeration, else from the oracle."""
    if isinstance(problem.structure, TopK | Matroid | RankedLists):
        return _exchange_gaps(problem)
    try:
        return _enumerated_gaps(problem)
    except GapsUnavailable as error:
        return _oracle_gaps(problem, str(error))


def _exchange_gaps(problem: Problem) -> Gaps:
    """Return the gaps ``w(a*) - w(e)`` between arms inside and outside the best super arm.

    For structures in which the best super arm consists of the best arms by exchange: top-K sets,
    matroids (loops, which no basis holds, do not count) and ranked lists.

    Members. Let A be a bad basis and A* the best. Brualdi's bijection from ``A - A*`` to ``A* - A`` makes A's regret a
    sum of nonnegative ``w(a*) - w(e)`` with a positive one. If A holds e outside A*, one of them is e's; if it holds i
    of A*, all of them exchange arms a* other than i. So i is in no bad super arm unless another arm of A* is better
    than some arm outside, and then at the least such price; with K = 1, in none.

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
    gap = problem.means[best][:, np.newaxis] - problem.means[outside]  # one row for each arm of the best
    positive = np.where(gap > 0, gap, np.inf)
    suboptimal, members = [], []
    for column in range(len(outside)):
        above = gap[gap[:, column] > 0, column]
        if above.size:
            suboptimal.append(_Gap(float(above.min()), float(above.max()), int(above.size)))
            tied = bool((gap[:, column] == 0).any())  # its own exchange may be free, and another one cost
            members.append(float(positive.min() if tied else above.min()))
        elif len(best) > 1 and np.isfinite(positive).any():
            members.append(float(positive.min()))
    least_of_row = positive.min(axis=1, initial=np.inf)
    for row in range(len(best)):
        others = np.delete(least_of_row, row)
        if others.size and np.isfinite(others.min()):
            members.append(float(others.min()))
    optimal = tuple(
        _Gap(float(row[row > 0].min()), float(row.max()), int((row > 0).sum()))
        for row in gap
        if (row > 0).any()
    )
    largest = problem.optimum - float(problem.expected_reward(worst[np.newaxis])[0])
    return Gaps(tuple(suboptimal), optimal, tuple(members), largest)


def _enumerated_gaps(problem: Problem) -> Gaps:
    """Return the gaps of a structure that lists its super arms, against alpha times the optimum.

    Raises
    ------
    GapsUnavailable
        If it does not, or lists more than 2,000,000.
    ProblemError
        If what it lists are no super arms, or the best is not among them.
    """
    structure = problem.structure
    name = type(structure).__name__
    if not isinstance(structure, _Enumerable):
        raise GapsUnavailable(
            f"{name}: its gaps have no closed form here, and it has no super_arms() to enumerate"
        )
    benchmark = structure.alpha * problem.optimum
    least = np.full(structure.arms, np.inf)
    largest, best, seen = 0.0, -np.inf, 0
    remaining = iter(structure.super_arms())
    while rows := list(islice(remaining, _CHUNK)):
        seen += len(rows)
        if seen > _MOST_SUPER_ARMS:
            raise GapsUnavailable(f"{name}: it has more than {_MOST_SUPER_ARMS:,} super arms to enumerate")
        padded = _padded(rows, structure)
        rewards = problem.expected_reward(padded)
        best = max(best, float(rewards.max()))
        regret = benchmark - rewards
        largest = max(largest, float(regret.max()))
        bad = regret > _ROUNDING * max(1.0, abs(benchmark))
        held = padded[bad]
        np.minimum.at(least, held[held >= 0], np.repeat(regret[bad], (held >= 0).sum(axis=1)))
    optimum = problem.optimum
    if abs(best - optimum) > 1e-9 * max(1.0, abs(optimum)):
        raise ProblemError(
            f"{name}: super_arms lists {seen:,} super arms, the best of which earns {best:.6g}, but optimum is "
            f"{optimum:.6g}; must list all"
        )
    members = tuple(least[np.isfinite(least)].tolist())
    return Gaps((), (), members, largest, "enumeration")


def _padded(rows: list[tuple[int, ...]], structure: SuperArms) -> IntArray:
    longest = max(structure.size, *(len(arms) for arms in rows))
    padded = np.full((len(rows), longest), -1, dtype=np.int64)
    for row, arms in enumerate(rows):
        padded[row, : len(arms)] = arms
    return check_super_arms(padded, len(rows), structure, f"{type(structure).__name__}: super_arms")


def _oracle_gaps(problem: Problem, otherwise: str = "") -> Gaps:
    """Return the gaps of a structure with an exact oracle for a reward that sums its arms' means.

    The super arm of largest reward that holds some arms and lacks others is the oracle's answer to weights that are
    far larger for those and far smaller for these. So for every arm the best super arm that holds it is asked for;
    while that is an optimal one, what is left without it falls into parts (Lawler 1972): those that lack an arm of it
    and hold the arms before, and those that hold another arm besides. The best super arm of a part, if it is bad, is
    the least bad of that part.

    Parameters
    ----------
    problem
        The instance.
    otherwise
        Why other ways are closed, for the error.

    Raises
    ------
    GapsUnavailable
        If the oracle or the reward is another, or so many super arms are optimal that it takes too many questions.
    """
    structure, means = problem.structure, problem.means
    name = type(structure).__name__
    offset = None if isinstance(structure, RankedLists) else _offset(structure)
    if offset is None or structure.alpha != 1 or structure.beta != 1:
        raise GapsUnavailable(
            f"{otherwise or name}; and its oracle does not help: it is not exact, or the reward no sum of means"
        )
    far = 4.0 * structure.arms * (1.0 + abs(offset))
    tolerance = _ROUNDING * max(1.0, abs(problem.benchmark))
    least = np.full(structure.arms, np.inf)
    parts: list[tuple[int, frozenset[int], frozenset[int]]] = [
        (arm, frozenset([arm]), frozenset()) for arm in range(structure.arms)
    ]
    asked = 0
    while parts:
        asked += len(parts)
        if asked > _MOST_QUESTIONS:
            raise GapsUnavailable(f"{name}: too many super arms are optimal for questions to its oracle")
        weights = np.tile(means, (len(parts), 1))
        for row, (_, held, lacked) in enumerate(parts):
            weights[row, list(held)] += far
            weights[row, list(lacked)] -= far
        answers = np.concatenate(
            [structure.solve(weights[start : start + _CHUNK]) for start in range(0, len(parts), _CHUNK)]
        )
        regrets = problem.benchmark - problem.expected_reward(answers)
        following = []
        for (arm, held, lacked), answer, regret in zip(
            parts, answers.tolist(), regrets.tolist(), strict=True
        ):
            chosen = [one for one in answer if one >= 0]
            if not held.issubset(chosen) or not lacked.isdisjoint(chosen):
                continue  # the part is empty
            if regret > tolerance:
                least[arm] = min(least[arm], regret)
                continue
            free = [one for one in chosen if one not in held]
            following += [
                (arm, held | frozenset(free[:place]), lacked | {without})
                for place, without in enumerate(free)
            ]
            others = set(range(structure.arms)) - lacked - set(chosen)
            following += [(arm, held | frozenset(chosen) | {another}, lacked) for another in others]
        parts = following
    worst = structure.solve((-means - 2 * offset)[np.newaxis])
    largest = problem.optimum - float(problem.expected_reward(worst)[0])
    return Gaps((), (), tuple(least[np.isfinite(least)].tolist()), largest, "oracle")


def _offset(structure: SuperArms) -> float | None:
    """Return c where a super arm's reward is the sum of its means, and c for each of its arms; None where it is not.

    As far as can be seen of a few super arms, at means drawn at random: of functions that are smooth in the means only
    sums pass.
    """
    rng = np.random.default_rng(0)
    means = rng.random((8, structure.arms))
    chosen = structure.solve(means)
    counts = (chosen >= 0).sum(axis=1)
    seen = np.array([structure.reward(chosen, row) - lookup(row, chosen).sum(axis=1) for row in means])
    offset = float(seen[0, 0] / counts[0])
    return offset if np.allclose(seen, offset * counts, rtol=0, atol=1e-9) else None
