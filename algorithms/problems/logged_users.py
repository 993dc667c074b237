"""Semi-bandits whose users are drawn from a log: the outcomes of one user's arms belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.lanes import gather
from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.super_arms import SuperArms
from mechanisms import Randomness
from mechanisms.arrays import FloatArray, IntArray

__all__ = ["LoggedUsers"]


@dataclass(frozen=True, eq=False, init=False)
class LoggedUsers(SemiBandit):
    """Every round a user is drawn uniformly from a log, with replacement: all outcomes are that user's.

    Unlike those of `SemiBandit`, the outcomes of one round are dependent, as they are in the log.

    Parameters
    ----------
    structure
        The super arms.
    outcomes
        Zeros and ones, one row for each user, one column for each base arm.

    Raises
    ------
    ProblemError
        If there is no user, the number of columns is not that of the arms, or an entry is neither 0 nor 1.
    """

    outcomes: FloatArray

    def __init__(self, structure: SuperArms, outcomes: npt.ArrayLike) -> None:
        table = np.array(outcomes, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != structure.arms or not len(table):
            raise ProblemError(
                f"outcomes of shape {table.shape}: must have a row for each user, at least one, and a column for "
                f"each of the {structure.arms} arms"
            )
        if not ((table == 0) | (table == 1)).all():
            raise ProblemError("outcomes: every entry must be 0 or 1")
        table.flags.writeable = False
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "outcomes", table)
        object.__setattr__(self, "means", table.mean(axis=0))
        super().__post_init__()

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw a user for each lane: the outcomes of all base arms, ``(lanes, arms)``."""
        drawn: FloatArray = self.outcomes[randomness.integers(0, len(self.outcomes), (lanes,))]
        return drawn

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw a user for each lane: the outcomes of the base arms played, ``(lanes, size)``; 0 at padding."""
        users = randomness.integers(0, len(self.outcomes), (len(super_arm),))
        outcomes: FloatArray = self.outcomes[users[:, np.newaxis], super_arm]
        return np.where(super_arm >= 0, outcomes, 0.0)

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw how often each user comes in some rounds, and return the sums for the arms played."""
        totals: FloatArray = self._visits(rounds, randomness) @ self.outcomes
        summed: FloatArray = gather(totals, super_arm)
        return summed

    def _visits(self, rounds: IntArray, randomness: Randomness) -> npt.NDArray[Any]:
        """Draw multinomial counts, ``(lanes, users)``: groups of users are halved, and so are their visits."""
        counts: IntArray = rounds[:, np.newaxis]
        sizes = np.array([len(self.outcomes)])
        while sizes.max() > 1:
            left = (sizes + 1) // 2
            share = np.broadcast_to(left / sizes, counts.shape)
            first: IntArray = randomness.binomial(counts, share)
            counts = np.stack([first, counts - first], axis=-1).reshape(len(rounds), -1)
            sizes = np.stack([left, sizes - left], axis=-1).ravel()
            counts, sizes = counts[:, sizes > 0], sizes[sizes > 0]
        return counts
