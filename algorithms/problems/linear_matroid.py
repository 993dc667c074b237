"""Linear matroids: linearly independent subsets of a list of vectors, decided exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod

import numpy as np

from algorithms.problems.matroid import Matroid, MatroidState
from algorithms.problems.problem_errors import ProblemError, whole_rows
from mechanisms.arrays import BoolArray, IntArray

PRIME = 2**31 - 1
_OVERFLOW = 2**32  # a number below p times entries that sum to less fits in 64 bits


@dataclass(frozen=True, init=False)
class LinearMatroid(Matroid):
    """A set of vectors is independent if it is linearly independent over the rationals.

    Arithmetic is modulo the prime ``p = 2**31 - 1`` in 64-bit integers, and exact all the same: by
    Hadamard's inequality no minor is larger than the product of the largest norms of its rows, and if that
    product is below p, a minor is 0 modulo p only if it is 0. Vectors for which the bound is not below p
    are refused.

    Parameters
    ----------
    vectors
        Vectors of integers, all of the same length; element e is ``vectors[e]``. A zero vector is a loop,
        multiples of one vector are parallel.

    Raises
    ------
    ProblemError
        If lengths differ, an entry is no integer, the entries are too large for exact arithmetic, or all
        vectors are zero.
    """

    vectors: tuple[tuple[int, ...], ...]

    def __init__(self, vectors: Sequence[Sequence[int]]) -> None:
        object.__setattr__(self, "vectors", whole_rows("vectors", vectors, least=-_OVERFLOW))
        if not self.vectors or not self.vectors[0]:
            raise ProblemError("vectors: a matroid without a basis (no vectors, or vectors without entries)")
        length = len(self.vectors[0])
        for number, vector in enumerate(self.vectors):
            if len(vector) != length:
                raise ProblemError(f"vectors[{number}] = {vector}: all vectors must have {length} entries")
            if sum(abs(entry) for entry in vector) >= _OVERFLOW:
                raise ProblemError(
                    f"vectors[{number}] = {vector}: the entries must sum to less than {_OVERFLOW}"
                )
        bound = _hadamard(self.vectors, min(len(self.vectors), length))
        if bound >= PRIME:
            raise ProblemError(
                f"vectors: a minor may be as large as {bound}; exact independence needs a bound "
                f"below {PRIME}, so use smaller entries"
            )
        super().__post_init__()

    @property
    def arms(self) -> int:
        """The number of vectors L."""
        return len(self.vectors)

    def _empty(self, lanes: int) -> MatroidState:
        """For each lane a matrix N with ``N v = 0`` just for the v in the span: at first the identity."""
        dimension = self._coordinates.shape[1]
        return np.tile(np.eye(dimension, dtype=np.int64), (lanes, 1, 1))

    def _extend(self, state: MatroidState, elements: IntArray) -> BoolArray:
        image = np.einsum("ijk,ik->ij", state, self._coordinates[elements]) % PRIME
        added: BoolArray = image.any(axis=1)
        grown = np.flatnonzero(added)
        if grown.size:
            # With y = N v and y_i != 0, the rows y_i N_k - y_k N_i vanish on v too, and row i becomes 0.
            y = image[grown]
            every = np.arange(grown.size)
            pivot = (y != 0).argmax(axis=1)
            pivot_row = state[grown, pivot][:, np.newaxis, :]
            pivot_image = y[every, pivot][:, np.newaxis, np.newaxis]
            state[grown] = (pivot_image * state[grown] - y[:, :, np.newaxis] * pivot_row) % PRIME
        return added

    @cached_property
    def _coordinates(self) -> IntArray:
        """The vectors on a largest set of independent coordinates, which alone decide independence."""
        everything = np.array(self.vectors, dtype=np.int64)
        kept: list[int] = []
        remaining = everything % PRIME
        for coordinate in range(everything.shape[1]):
            column = remaining[:, coordinate]
            if column.any():
                kept.append(coordinate)
                pivot = int((column != 0).argmax())
                remaining = (
                    column[pivot] * remaining % PRIME - column[:, np.newaxis] * remaining[pivot] % PRIME
                ) % PRIME
        return everything[:, kept]


def _hadamard(vectors: tuple[tuple[int, ...], ...], order: int) -> int:
    """Return an integer that no minor of at most `order` rows exceeds: the product of the largest norms."""
    squares = sorted((sum(entry * entry for entry in vector) for vector in vectors), reverse=True)
    largest = prod(max(square, 1) for square in squares[:order])
    return isqrt(largest)
