"""The simplest problem of a family, or of a theorem: sets, bases, lists or paths of given means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from algorithms.problems import (
    Arms,
    Cascade,
    DisjointPaths,
    Experts,
    ProblemError,
    SemiBandit,
    TopK,
    UniformMatroid,
)
from algorithms.theory.regret_bound import Instance, RegretBound


def plain_problem(family: str, means: npt.ArrayLike, size: int = 1) -> SemiBandit | Cascade:
    """Return the problem in which `size` of the arms (items) of these means are played (shown).

    Raises
    ------
    ProblemError
        If the family plays neither arms, bases nor lists, or not so many arms at a time.
    """
    given = np.asarray(means, dtype=np.float64)
    arms = len(given)
    if family == "cascade":
        return Cascade(arms, size, given)
    if family == "bandit":
        if size > 1:
            raise ProblemError(f"size = {size}: this learner plays one arm at a time")
        return SemiBandit(Arms(arms), given)
    if family == "matroid":
        return SemiBandit(UniformMatroid(arms, size), given)
    if family == "experts":
        return SemiBandit(Experts(arms), given)
    if family == "semi-bandit":
        return SemiBandit(TopK(arms, size), given)
    raise ProblemError(f"family = {family!r}: must be learners of arms, bases or lists")


def plain_instance(
    family: str, bound: RegretBound, played: Instance, means: npt.ArrayLike, size: int = 1
) -> Instance:
    """Return the same with the plainest problem: that of the family, or disjoint paths if a theorem is of those only.

    Raises
    ------
    ProblemError
        As `plain_problem`.
    """
    given = np.asarray(means, dtype=np.float64)
    plain = replace(played, problem=plain_problem(family, given, size))
    if family != "semi-bandit" or bound.covers(plain):
        return plain
    paths = replace(played, problem=SemiBandit(DisjointPaths(len(given) // size, size), given))
    return paths if bound.covers(paths) else plain
