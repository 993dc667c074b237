"""Matroids: independence, and the greedy basis of largest weight for many lanes at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import BoolArray, FloatArray, IntArray

MatroidState = npt.NDArray[Any]  # a matroid's state for one set per lane; leading axis: lanes

_LARGEST_TABLE = 12  # elements: up to 2**12 sets are kept in a table
_MOST_BASES = 2_000_000


class Matroid(Structure, ABC):
    """A matroid on the elements ``0 .. arms - 1``; its super arms are its bases.

    The reward is the sum of the means. The greedy algorithm (Edmonds 1971) takes elements by decreasing
    weight whenever the set stays independent; it finds a basis of largest weight for every weighting, so
    ``alpha = beta = 1``. Ties go to the lowest id, an element of weight +inf (not observed yet) goes before
    all others, and a loop is never taken.

    A subclass says how one set per lane grows, in `_empty` and `_extend`.

    Raises
    ------
    ProblemError
        On construction, if the rank is 0: there is then no basis with an element to play.
    """

    def __post_init__(self) -> None:
        if self.size == 0:
            raise ProblemError(f"{self!r}: a matroid without a basis (rank 0, every element is a loop)")

    @property
    @abstractmethod
    def arms(self) -> int:
        """The number of elements L."""

    @abstractmethod
    def _empty(self, lanes: int) -> MatroidState:
        """Return the state of the empty set in every lane."""

    @abstractmethod
    def _extend(self, state: MatroidState, elements: IntArray) -> BoolArray:
        """Add ``elements[i]`` to the set of lane i, in place, where that set stays independent; say where."""

    @cached_property
    def size(self) -> int:
        """The rank K: the number of elements of every basis."""
        return self.rank_of(range(self.arms))

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """The elements that are in no independent set."""
        every = np.arange(self.arms)
        return tuple(int(e) for e in np.flatnonzero(~self._extend(self._empty(self.arms), every)))

    def rank_of(self, elements: Iterable[int]) -> int:
        """Return the size of the largest independent subset of `elements`.

        Raises
        ------
        ProblemError
            If an element is not one of ``0 .. arms - 1``.
        """
        state = self._empty(1)
        return sum(bool(self._extend(state, np.array([e]))[0]) for e in self._set(elements))

    def independent(self, elements: Iterable[int]) -> bool:
        """Say whether the set `elements` is independent.

        Raises
        ------
        ProblemError
            If an element is not one of ``0 .. arms - 1``.
        """
        members = self._set(elements)
        return self.rank_of(members) == len(members)

    def are_bases(self, rows: IntArray) -> BoolArray:
        """Say of each row of elements, shape (lanes, size), whether it is a basis; one with -1 as padding is none.

        Elements must be different ones of ``0 .. arms - 1``.
        """
        state = self._empty(len(rows))
        bases: BoolArray = np.all(rows >= 0, axis=1)
        for elements in np.where(bases[:, np.newaxis], rows, 0).T:
            bases &= self._extend(state, elements)
        return bases

    def bases(self) -> Iterator[tuple[int, ...]]:
        """Yield every basis, in increasing and lexicographic order.

        Raises
        ------
        ProblemError
            If more than 2,000,000 sets would have to be tried.
        """
        tries = comb(self.arms, self.size)
        if tries > _MOST_BASES:
            raise ProblemError(f"bases: {tries} sets of {self.size} elements are more than {_MOST_BASES}")
        return (members for members in combinations(range(self.arms), self.size) if self.independent(members))

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the greedy basis of each lane, its elements in increasing order of id.

        Raises
        ------
        ProblemError
            If a weight is NaN or -inf, or the shape is not ``(lanes, arms)``.
        """
        order = np.argsort(-checked_weights(weights, self.arms), axis=1, kind="stable")
        taken = self._greedy_by_table(order) if self.arms <= _LARGEST_TABLE else self._greedy(order)
        return np.nonzero(taken)[1].reshape(-1, self.size)

    def _greedy(self, order: IntArray) -> BoolArray:
        """Run the greedy algorithm in all lanes side by side; say which elements each lane took."""
        lanes = order.shape[0]
        every = np.arange(lanes)
        taken = np.zeros(order.shape, dtype=bool)
        state = self._empty(lanes)
        missing = lanes * self.size
        for elements in order.T:
            added = self._extend(state, elements)
            taken[every, elements] = added
            missing -= np.count_nonzero(added)
            if not missing:
                break
        return taken

    def _greedy_by_table(self, order: IntArray) -> BoolArray:
        """Run the greedy algorithm on sets written as bit masks, one table look-up a step."""
        mask = np.zeros(order.shape[0], dtype=np.int64)
        for elements in order.T:
            mask = self._extension.take(mask * self.arms + elements)
        return np.asarray((mask[:, np.newaxis] >> np.arange(self.arms)) & 1 == 1)

    @cached_property
    def _extension(self) -> IntArray:
        """``_extension[mask * arms + e]``: the set `mask` with e if that stays independent, else `mask`."""
        independent = np.ones(1, dtype=bool)
        state = self._empty(1)
        for element in range(self.arms):  # the sets with `element` as their last one, from all sets before it
            longer = state.copy()
            added = self._extend(longer, np.full(len(longer), element))
            independent = np.concatenate([independent, independent & added])
            state = np.concatenate([state, longer])
        mask = np.arange(1 << self.arms)[:, np.newaxis]
        larger = mask | (1 << np.arange(self.arms))
        return np.where(independent[larger], larger, mask).reshape(-1)

    def _set(self, elements: Iterable[int]) -> set[int]:
        members = set(elements)
        for element in members:
            if not 0 <= element < self.arms:
                raise ProblemError(f"element {element}: must be one of 0 .. {self.arms - 1}")
        return members
