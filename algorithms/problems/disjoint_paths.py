"""Disjoint paths with identical outcomes on a path: the instance of a local lower bound that grows as K²."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from algorithms.problems.problem_errors import checked_count
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class DisjointPaths(Structure):
    """`paths` super arms of `length` base arms each, none in two of them; the reward is the sum of the means.

    Path p consists of the arms ``p length, ..., (p + 1) length - 1``. The oracle is exact; ties go to the first path.

    Raises
    ------
    ProblemError
        Unless both numbers are whole and at least 1.
    """

    paths: int
    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", checked_count("paths", self.paths))
        object.__setattr__(self, "length", checked_count("length", self.length))
        checked_count("paths times length", self.arms)

    @property
    def arms(self) -> int:
        """The base arms of all paths."""
        return self.paths * self.length

    @property
    def size(self) -> int:
        """K, the length of a path."""
        return self.length

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the arms of the path of largest weight."""
        whole = checked_weights(weights, self.arms).reshape(-1, self.paths, self.length).sum(axis=2)
        return np.asarray(whole.argmax(axis=1)[:, np.newaxis] * self.length + np.arange(self.length))

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield every path."""
        for path in range(self.paths):
            yield tuple(range(path * self.length, (path + 1) * self.length))
