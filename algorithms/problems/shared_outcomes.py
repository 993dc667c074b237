"""Semi-bandits on which groups of base arms have one outcome in common: instances of lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.lanes import gather
from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.semi_bandit import SemiBandit
from mechanisms import Randomness
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SharedOutcomes(SemiBandit):
    """`SemiBandit` in which the base arms of one group have the same outcome, 0 or 1, in a round.

    The instances of Chen et al. 2020, Theorems 6 (a group for each of several disjoint paths) and 9 (one group of
    public arms): K outcomes of a group tell no more than one.

    Parameters
    ----------
    groups
        The group of each base arm, numbered from 0; an arm by itself has a group of its own.

    Raises
    ------
    ProblemError
        If there is not one whole number for each arm, or means differ within a group.
    """

    groups: Sequence[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        groups = np.asarray(self.groups)
        if groups.shape != (self.structure.arms,) or groups.dtype.kind not in "iu" or groups.min() < 0:
            raise ProblemError(
                f"groups = {self.groups!r}: must be {self.structure.arms} whole numbers, the group of each arm from 0"
            )
        if (self.means != self._means_of_groups[groups]).any():
            raise ProblemError("means: must be the same for all arms of a group, whose outcomes are")

    @cached_property
    def _groups(self) -> IntArray:
        return np.asarray(self.groups, dtype=np.int64)

    @cached_property
    def _means_of_groups(self) -> FloatArray:
        means = np.zeros(self._groups.max() + 1)
        means[self._groups] = self.means
        return means

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw one outcome for each group, and give it to all its arms."""
        means = self._means_of_groups
        drawn = (randomness.random((lanes, len(means))) < means).astype(np.float64)
        return np.asarray(drawn[:, self._groups])

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the outcomes of the arms played, ``(lanes, size)``; 0 at padding."""
        return gather(self.draw_records(randomness, len(super_arm)), super_arm)

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw how many outcomes of each arm played are 1, ``(lanes, size)``; 0 at padding."""
        means = np.broadcast_to(self._means_of_groups, (len(super_arm), len(self._means_of_groups)))
        counts = np.repeat(rounds[:, np.newaxis], means.shape[1], axis=1)
        ones: IntArray = randomness.binomial(counts, means)
        return gather(ones[:, self._groups].astype(np.float64), super_arm)
