"""All sets of K base arms with a linear reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.problems.largest import largest_elements
from algorithms.problems.problem_errors import require_count, require_size
from algorithms.problems.super_arms import checked_weights, linear_reward
from mechanisms.arrays import FloatArray, IntArray

__all__ = ["TopK"]


@dataclass(frozen=True)
class TopK:
    """Every set of `size` out of `arms` base arms; the reward is the sum of the means.

    The oracle is exact. Its rows are in increasing order of id.

    Raises
    ------
    ProblemError
        Unless ``1 <= size <= arms``.
    """

    arms: int
    size: int
    alpha: ClassVar[float] = 1.0
    beta: ClassVar[float] = 1.0
    smoothness_l1: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_count("arms", self.arms)
        require_size("size", self.size, self.arms, "arms")

    @property
    def smoothness_linf(self) -> float:
        """B_inf = K: K coordinates may each move by the same amount."""
        return float(self.size)

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the `size` arms of largest weight, ties by the lowest id, in increasing order of id."""
        return largest_elements(checked_weights(weights, self.arms), self.size)

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return ``sum_{i in S} mu_i``."""
        return linear_reward(super_arm, means)

    def optimum(self, means: FloatArray) -> float:
        """Return the sum of the `size` largest means."""
        return float(self.reward(self.solve(means[np.newaxis]), means)[0])
