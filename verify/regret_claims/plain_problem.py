"""The plainest problem of a family: sets of so many arms, bases of a uniform matroid, or lists, of given means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from algorithms.problems import Arms, Cascade, ProblemError, SemiBandit, TopK, UniformMatroid


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
            raise ProblemError(f"size={size}: this learner plays one arm at a time")
        return SemiBandit(Arms(arms), given)
    if family == "matroid":
        return SemiBandit(UniformMatroid(arms, size), given)
    if family == "semi-bandit":
        return SemiBandit(TopK(arms, size), given)
    raise ProblemError(f"family={family!r}: must be learners of arms, bases or lists")
