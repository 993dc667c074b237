"""Ordered lists of K items, shown one after the other until the first attractive one (cascades)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.lanes import gather, lookup
from algorithms.problems.largest import ranked_elements, sorting_is_faster, strike
from algorithms.problems.problem_errors import checked_count, checked_size
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class RankedLists(Structure):
    """Every ordered list of `positions` out of `items` items; the reward is the probability of a click.

    ``f(A, w) = 1 - prod_k (1 - w(a_k))`` (Kveton et al. 2015). The order of a list does not change its
    reward, but it decides which positions are examined.

    Raises
    ------
    ProblemError
        Unless ``1 <= positions <= items``.
    """

    items: int
    positions: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", checked_count("items", self.items))
        object.__setattr__(self, "positions", checked_size("positions", self.positions, self.items, "items"))

    @property
    def arms(self) -> int:
        """The number of items L."""
        return self.items

    @property
    def size(self) -> int:
        """The length K of a list."""
        return self.positions

    def solve(self, weights: FloatArray, tie_break: npt.NDArray[np.generic] | None = None) -> IntArray:
        """Return the items of largest weight in decreasing order of weight.

        Parameters
        ----------
        weights
            Shape ``(lanes, items)``; +inf is allowed.
        tie_break
            Public numbers of the same shape (such as display counts): of equal weights the least goes first.
            Remaining ties go by the lowest id.

        Raises
        ------
        ProblemError
            If a weight is NaN or -inf, or the shape of either argument is another.
        """
        weights = checked_weights(weights, self.items)
        if tie_break is None:
            return ranked_elements(weights, self.positions)
        keys = checked_weights(tie_break, self.items)
        if sorting_is_faster(weights, self.positions):
            return np.lexsort((keys, -weights), axis=-1)[:, : self.positions]
        order, remaining = strike(weights, self.positions)
        # Sorting by two keys is slow and seldom needed: only for lanes in which a tie touches the list.
        shown = gather(weights, order)
        tied = shown[:, -1] <= remaining.max(axis=1)
        for k in range(1, self.positions):
            tied |= shown[:, k - 1] == shown[:, k]
        lanes = np.flatnonzero(tied)
        if lanes.size:
            order[lanes] = np.lexsort((keys[lanes], -weights[lanes]), axis=-1)[:, : self.positions]
        return order

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return ``1 - prod_k (1 - w(a_k))``."""
        unclicked = 1.0 - lookup(means, super_arm)
        for k in range(1, unclicked.shape[1]):  # faster than a product along the rows
            unclicked[:, 0] *= unclicked[:, k]
        return 1.0 - unclicked[:, 0]
