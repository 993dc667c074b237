"""Disjoint paths: with identical outcomes on a path, a local lower bound has the square of K."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.problems.problem_errors import require_count
from algorithms.problems.super_arms import checked_weights, linear_reward
from mechanisms.arrays import FloatArray, IntArray

__all__ = ["DisjointPaths"]


@dataclass(frozen=True)
class DisjointPaths:
    """`paths` super arms of `length` base arms each, none in two of them; the reward is the sum of the means.

    Path p consists of the arms ``p length, ..., (p + 1) length - 1``. The oracle is exact; ties go to the first path.

    Raises
    ------
    ProblemError
        Unless both numbers are whole and at least 1.
    """

    paths: int
    length: int
    alpha: ClassVar[float] = 1.0
    beta: ClassVar[float] = 1.0
    smoothness_l1: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_count("paths", self.paths)
        require_count("length", self.length)

    @property
    def arms(self) -> int:
        """The base arms of all paths."""
        return self.paths * self.length

    @property
    def size(self) -> int:
        """K, the length of a path."""
        return self.length

    @property
    def smoothness_linf(self) -> float:
        """B_inf = K."""
        return float(self.length)

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the arms of the path of largest weight."""
        whole = checked_weights(weights, self.arms).reshape(-1, self.paths, self.length).sum(axis=2)
        path: IntArray = whole.argmax(axis=1)[:, np.newaxis] * self.length + np.arange(self.length)
        return path

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield every path."""
        for path in range(self.paths):
            yield tuple(range(path * self.length, (path + 1) * self.length))

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the sum of a path's means."""
        return linear_reward(super_arm, means)

    def optimum(self, means: FloatArray) -> float:
        """Return the largest sum of a path's means."""
        return float(np.asarray(means).reshape(self.paths, self.length).sum(axis=1).max())
