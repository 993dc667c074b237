"""Disjoint paths of identical weights: the instance on which a local lower bound has the square of K."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.problems.problem_errors import ProblemError, require_count
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.super_arms import checked_weights, linear_reward
from mechanisms import Randomness
from mechanisms.arrays import FloatArray, IntArray

__all__ = ["DisjointPaths", "IdenticalPaths"]


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


@dataclass(frozen=True, eq=False)
class IdenticalPaths(SemiBandit):
    """`DisjointPaths` on which all arms of a path have the same outcome, 0 or 1, in a round.

    The instance of Chen et al. 2020, Theorem 6: K outcomes tell no more than one, which shows a K-th of a path's gap.

    Raises
    ------
    ProblemError
        If the structure is another, or means differ within a path.
    """

    structure: DisjointPaths

    def __post_init__(self) -> None:
        if not isinstance(self.structure, DisjointPaths):
            raise ProblemError(f"structure={self.structure!r}: must be DisjointPaths")
        super().__post_init__()
        means = self.means.reshape(self.structure.paths, self.structure.length)
        if (means != means[:, :1]).any():
            raise ProblemError("means: must be the same for all arms of a path, whose outcomes are")

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw one outcome for each path, and give it to all its arms."""
        drawn = randomness.random((lanes, self.structure.paths)) < self.means[:: self.structure.length]
        return np.repeat(drawn.astype(np.float64), self.structure.length, axis=1)

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the outcome of the path played."""
        drawn = randomness.random((len(super_arm), 1)) < self.means[super_arm[:, :1]]
        return np.repeat(drawn.astype(np.float64), self.structure.length, axis=1)

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw how many outcomes of the path played are 1."""
        ones: IntArray = randomness.binomial(rounds[:, np.newaxis], self.means[super_arm[:, :1]])
        return np.repeat(ones.astype(np.float64), self.structure.length, axis=1)
