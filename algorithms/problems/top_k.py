"""All sets of K base arms with a linear reward."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.problems.largest import largest_elements
from algorithms.problems.problem_errors import checked_count, checked_size
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class TopK(Structure):
    """Every set of `size` out of `arms` base arms; the reward is the sum of the means.

    The oracle is exact. Its rows are in increasing order of id.

    Raises
    ------
    ProblemError
        Unless ``1 <= size <= arms``.
    """

    arms: int
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", checked_count("arms", self.arms))
        object.__setattr__(self, "size", checked_size("size", self.size, self.arms, "arms"))

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the `size` arms of largest weight, ties by the lowest id, in increasing order of id."""
        return largest_elements(checked_weights(weights, self.arms), self.size)
