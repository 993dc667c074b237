"""Experts: one of them is followed in a round, and the outcomes of all are observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.problems.problem_errors import checked_count
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Experts(Structure):
    """Rankings of all `arms` experts; the reward is the first one's mean. The oracle is exact.

    So learning from all experts is a semi-bandit that plays all arms.

    Raises
    ------
    ProblemError
        Unless there is an expert.
    """

    arms: int
    smoothness_linf: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", checked_count("arms", self.arms))

    @property
    def size(self) -> int:
        """All experts."""
        return self.arms

    def solve(self, weights: FloatArray) -> IntArray:
        """Return all experts by falling weight, ties by the lowest id."""
        return np.argsort(-checked_weights(weights, self.arms), axis=1, kind="stable")

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield, for each expert, the ranking that it leads: the others earn nothing."""
        for first in range(self.arms):
            yield (first, *(other for other in range(self.arms) if other != first))

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the mean of each ranking's first expert."""
        return np.asarray(np.asarray(means, dtype=np.float64)[super_arm[:, 0]])
