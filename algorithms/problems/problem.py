"""The interface of problems: a structure to play on, and the law of the records."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.super_arms import SuperArms
from mechanisms import Box, Domain, Randomness
from mechanisms.arrays import FloatArray, IntArray


class Problem(Protocol):
    """A stochastic environment: records are independent from round to round and identically distributed.

    One record is all private data of one round: the outcome of every base arm, of which the learner sees the part that
    `feedback` returns for the super arm played.
    """

    @property
    def structure(self) -> SuperArms:
        """The super arms and their oracle: all that a learner knows."""

    @property
    def means(self) -> FloatArray:
        """The mean outcome of each base arm, ``(arms,)``."""

    @property
    def record_domain(self) -> Domain:
        """The domain of one record."""

    @property
    def feedback_domain(self) -> Domain:
        """Domain of the observations of one record."""

    @property
    def optimum(self) -> float:
        """The largest expected reward of a super arm, exact."""

    @property
    def benchmark(self) -> float:
        """Reward against which regret is measured in each round, ``alpha beta optimum``."""

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw one record for each lane, ``(lanes, arms)``."""

    def feedback(self, records: FloatArray, super_arm: IntArray) -> FloatArray:
        """Return the observations of given records: each depends on the record's own outcomes and action only.

        Parameters
        ----------
        records
            Shape ``(..., lanes, arms)``.
        super_arm
            Shape ``(lanes, size)``, padded with -1 at the end of a row.

        Returns
        -------
        ndarray
            Shape ``(..., lanes, size)``, 0 at padding.
        """

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw feedback ``(lanes, size)`` with the law of ``feedback(draw_records(...), super_arm)``.

        Only observed outcomes are drawn, so the numbers themselves differ from those.
        """

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the sum of `rounds` independent rounds' feedback on one super arm, exactly, ``(lanes, size)``.

        Parameters
        ----------
        super_arm
            Shape ``(lanes, size)``.
        rounds
            The number of rounds of each lane, at least 0; shape ``(lanes,)``. The cost does not grow with it.
        randomness
            The source of the draws.
        """

    def expected_reward(self, super_arm: IntArray) -> FloatArray:
        """Return the expected reward ``(lanes,)`` of each lane's super arm."""


class BernoulliProblem:
    """Base of problems with Bernoulli outcomes of base arms, independent of each other.

    Attributes
    ----------
    structure
        The super arms and their oracle.
    means
        The means of the outcomes, shape (arms,).
    """

    structure: SuperArms
    means: FloatArray

    @cached_property
    def record_domain(self) -> Box:
        """The cube ``[0, 1]^m``: its corners are the records."""
        return Box(0.0, 1.0, self.structure.arms)

    @cached_property
    def optimum(self) -> float:
        """The largest expected reward of a super arm."""
        return self.structure.optimum(self.means)

    @property
    def benchmark(self) -> float:
        """``alpha beta optimum``: regret is ``sum_t (alpha beta opt - r(S_t))``."""
        return self.structure.alpha * self.structure.beta * self.optimum

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw the outcomes of all base arms, ``(lanes, arms)``."""
        return (randomness.random((lanes, self.structure.arms)) < self.means).astype(np.float64)

    def expected_reward(self, super_arm: IntArray) -> FloatArray:
        """Return ``r_mu(S)`` for each lane."""
        return self.structure.reward(super_arm, self.means)


def checked_means(means: npt.ArrayLike, arms: int) -> FloatArray:
    """Return a read-only copy of the means of Bernoulli outcomes.

    Raises
    ------
    ProblemError
        If there is not one mean for each arm, or one is NaN or outside [0, 1].
    """
    try:
        checked = np.array(means, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(
            f"means = {means!r}: must be a number in [0, 1] for each of the {arms} arms"
        ) from None
    if checked.shape != (arms,):
        raise ProblemError(f"means of shape {checked.shape}: there must be one for each of the {arms} arms")
    wrong = np.flatnonzero(~((checked >= 0.0) & (checked <= 1.0)))
    if wrong.size:
        raise ProblemError(f"means[{wrong[0]}] = {checked[wrong[0]]}: every mean must be in [0, 1]")
    checked.flags.writeable = False
    return checked
