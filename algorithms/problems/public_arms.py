"""One super arm by itself, and many that differ in a single arm: the instance of a central lower bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from algorithms.problems.problem_errors import ProblemError, checked_count
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class PublicArms(Structure):
    """K arms that are a super arm, and K - 1 *public* arms that are one with each of ``m - 2 K + 1`` *private* arms.

    The arms ``0 .. K - 2`` are public, ``K - 1 .. m - K - 1`` private, and the last K are the super arm by itself.
    The reward is the sum of the means. The oracle is exact; ties go to the first private arm. The structure of Chen
    et al. 2020, Theorem 9, the names of its arms included: they are *public* only in that every super arm but one holds
    them.

    Raises
    ------
    ProblemError
        Unless both numbers are whole and at least 1, and ``m >= 2 K``.
    """

    arms: int
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", checked_count("arms", self.arms))
        object.__setattr__(self, "size", checked_count("size", self.size))
        if self.arms < 2 * self.size:
            raise ProblemError(
                f"arms = {self.arms}: must be at least 2 size = {2 * self.size}: size arms by themselves, size - 1 "
                "public ones and a private one"
            )

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the arms of the super arm of largest weight, in increasing order."""
        weights = checked_weights(weights, self.arms)
        public, last = np.arange(self.size - 1), np.arange(self.arms - self.size, self.arms)
        private = self.size - 1 + weights[:, self.size - 1 : -self.size].argmax(axis=1)[:, np.newaxis]
        with_private = weights[:, public].sum(axis=1) + np.take_along_axis(weights, private, axis=1)[:, 0]
        chosen = np.concatenate([np.tile(public, (len(weights), 1)), private], axis=1)
        better = weights[:, last].sum(axis=1) > with_private
        chosen[better] = last
        return chosen

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield every super arm."""
        for private in range(self.size - 1, self.arms - self.size):
            yield (*range(self.size - 1), private)
        yield tuple(range(self.arms - self.size, self.arms))
