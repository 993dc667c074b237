"""Probabilistic maximum coverage: choose left nodes of a bipartite graph to reach many right nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb, exp

import numpy as np

from algorithms.problems.problem_errors import ProblemError, checked_count, checked_size
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray

_LARGEST_ENUMERATION = 2_000_000
_CHUNK = 1 << 14


@dataclass(frozen=True)
class MaximumCoverage(Structure):
    """Choose `chosen` of `left` nodes; each reaches a right node v over its edge with probability ``p_uv``.

    The base arms are the edges of the complete bipartite graph, ``(u, v)`` having the id ``u * right + v``;
    the super arm of a set S of left nodes holds all their edges. The reward is the expected number of right
    nodes reached, ``r_p(S) = sum_v (1 - prod_{u in S} (1 - p_uv))`` (Chen, Wang and Yuan 2013).

    It is submodular, so the greedy oracle reaches ``alpha = 1 - 1/e`` of the optimum (Nemhauser, Wolsey and
    Fisher 1978), which itself is NP-hard; regret is measured against ``alpha * optimum``. Each partial
    derivative is a product of probabilities, hence ``B_1 = 1``.

    Raises
    ------
    ProblemError
        Unless ``1 <= chosen <= left`` and ``right >= 1``.
    """

    left: int
    right: int
    chosen: int
    alpha = 1.0 - exp(-1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", checked_count("left", self.left))
        object.__setattr__(self, "right", checked_count("right", self.right))
        object.__setattr__(self, "chosen", checked_size("chosen", self.chosen, self.left, "left nodes"))

    @property
    def arms(self) -> int:
        """The number of edges."""
        return self.left * self.right

    @property
    def size(self) -> int:
        """The number of edges of a super arm."""
        return self.chosen * self.right

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the edges of greedily chosen left nodes, in increasing order of id.

        Each step takes the node of largest gain ``sum_v miss_v p_uv``, where ``miss_v`` is the probability
        that v is not reached yet; ties go to the lowest node. Weights outside [0, 1] are not probabilities
        and are clipped first.

        Raises
        ------
        ProblemError
            If a weight is NaN or -inf, or the shape is another.
        """
        weights = checked_weights(weights, self.arms)
        lanes = weights.shape[0]
        probability = np.clip(weights, 0.0, 1.0).reshape(lanes, self.left, self.right)
        every = np.arange(lanes)
        miss = np.ones((lanes, self.right))
        taken = np.zeros((lanes, self.left), dtype=bool)
        for _ in range(self.chosen):
            gain = (miss[:, np.newaxis] * probability).sum(axis=2)
            gain[taken] = -1.0
            best = gain.argmax(axis=1)
            taken[every, best] = True
            miss *= 1.0 - probability[every, best]
        return self._edges(np.nonzero(taken)[1].reshape(lanes, self.chosen))

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return ``sum_v (1 - prod_{u in S} (1 - p_uv))``."""
        edges = super_arm.reshape(-1, self.chosen, self.right)
        return np.asarray((1.0 - (1.0 - means[edges]).prod(axis=1)).sum(axis=1))

    def optimum(self, means: FloatArray) -> float:
        """Return the best reward over all sets of left nodes, by enumeration.

        Raises
        ------
        ProblemError
            If there are more than 2,000,000 sets.
        """
        sets = comb(self.left, self.chosen)
        if sets > _LARGEST_ENUMERATION:
            raise ProblemError(
                f"left = {self.left}, chosen = {self.chosen}: the optimum is found by enumeration, and "
                f"{sets} sets are more than {_LARGEST_ENUMERATION}"
            )
        return max(float(self.reward(self._edges(chunk), means).max()) for chunk in self._node_sets())

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield the edges of every set of left nodes."""
        for nodes in self._node_sets():
            yield from map(tuple, self._edges(nodes).tolist())

    def _node_sets(self) -> Iterator[IntArray]:
        """Yield all sets of left nodes, a chunk of rows at a time."""
        remaining = combinations(range(self.left), self.chosen)
        while rows := list(islice(remaining, _CHUNK)):
            yield np.array(rows, dtype=np.int64)

    def _edges(self, nodes: IntArray) -> IntArray:
        """Return the edges ``(lanes, size)`` of the left nodes ``(lanes, chosen)``."""
        edges = nodes[:, :, np.newaxis] * self.right + np.arange(self.right)
        return edges.reshape(-1, self.size)
