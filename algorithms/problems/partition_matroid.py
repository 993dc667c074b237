"""Partition matroids (at most so many elements of each part) and uniform ones (a single part)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.problems.largest import largest_elements
from algorithms.problems.matroid import Matroid, MatroidState
from algorithms.problems.problem_errors import ProblemError, checked_count, checked_size, whole_rows
from algorithms.problems.super_arms import checked_weights
from mechanisms.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, init=False)
class PartitionMatroid(Matroid):
    """A set is independent if it has at most ``capacities[p]`` elements of part p.

    Parameters
    ----------
    parts
        The elements of each part; every element ``0 .. L - 1`` in exactly one part, no part empty.
    capacities
        One nonnegative integer for each part; 0 makes its elements loops.

    Raises
    ------
    ProblemError
        If the parts are no partition, a capacity is missing or negative, or all capacities are 0.
    """

    parts: tuple[tuple[int, ...], ...]
    capacities: tuple[int, ...]

    def __init__(self, parts: Sequence[Sequence[int]], capacities: Sequence[int]) -> None:
        object.__setattr__(self, "parts", tuple(tuple(sorted(part)) for part in whole_rows("parts", parts)))
        object.__setattr__(self, "capacities", whole_rows("capacities", (capacities,))[0])
        members = sorted(element for part in self.parts for element in part)
        if members != list(range(len(members))) or not all(self.parts):
            raise ProblemError(
                f"parts = {self.parts}: every element 0 .. L - 1 must be in exactly one part, no part empty"
            )
        if len(self.capacities) != len(self.parts):
            raise ProblemError(
                f"capacities = {self.capacities}: there must be one for each of the {len(self.parts)} parts"
            )
        super().__post_init__()

    @cached_property
    def arms(self) -> int:
        """The number of elements L."""
        return sum(len(part) for part in self.parts)

    @cached_property
    def size(self) -> int:
        """The rank K: of each part, as many elements as it has and may have in a basis."""
        return sum(min(len(part), most) for part, most in zip(self.parts, self.capacities, strict=True))

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the elements of largest weight of each part, all in increasing order of id.

        Ties go to the lowest id. This is the greedy basis: parts do not restrict each other.

        Raises
        ------
        ProblemError
            If a weight is NaN or -inf, or the shape is not ``(lanes, arms)``.
        """
        weights = checked_weights(weights, self.arms)
        if len(self.parts) == 1:
            return largest_elements(weights, self.size)
        lanes = weights.shape[0]
        chosen = []
        for elements, capacity in self._alike:  # (parts, elements of each)
            each = weights[:, elements].reshape(-1, elements.shape[1])
            best = largest_elements(each, capacity).reshape(lanes, -1, capacity)
            chosen.append(elements[np.arange(len(elements))[:, np.newaxis], best].reshape(lanes, -1))
        return np.sort(np.concatenate(chosen, axis=1), axis=1)

    def _empty(self, lanes: int) -> MatroidState:
        return np.zeros((lanes, len(self.parts)), dtype=np.int64)

    def _extend(self, state: MatroidState, elements: IntArray) -> BoolArray:
        every = np.arange(len(state))
        part = self._part_of[elements]
        added: BoolArray = state[every, part] < np.array(self.capacities)[part]
        state[every, part] += added
        return added

    @cached_property
    def _part_of(self) -> IntArray:
        part_of = np.empty(self.arms, dtype=np.int64)
        for number, part in enumerate(self.parts):
            part_of[list(part)] = number
        return part_of

    @cached_property
    def _alike(self) -> tuple[tuple[IntArray, int], ...]:
        """Parts of the same length and capacity together: they are solved in one call."""
        groups: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
        for part, capacity in zip(self.parts, self.capacities, strict=True):
            if capacity:
                groups[len(part), min(capacity, len(part))].append(part)
        return tuple((np.array(parts, dtype=np.int64), used) for (_, used), parts in groups.items())


class UniformMatroid(PartitionMatroid):
    """Every set of at most `rank` of the `elements` elements is independent; K = `rank`.

    Raises
    ------
    ProblemError
        Unless ``1 <= rank <= elements``.
    """

    def __init__(self, elements: int, rank: int) -> None:
        elements = checked_count("elements", elements)
        rank = checked_size("rank", rank, elements, "elements")
        super().__init__((range(elements),), (rank,))

    def __repr__(self) -> str:
        return f"UniformMatroid(elements={self.arms}, rank={self.size})"
