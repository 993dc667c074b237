"""Batches of doubling or growing size, each released once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.lanes import gather, scatter_add
from mechanisms import Mechanism
from mechanisms.arrays import FloatArray, IntArray


class DoublingBatches:
    """Per element, the noisy mean of the last full batch; batch sizes double and older data is forgotten.

    Every observation enters exactly one batch, and a batch's sum is released once, when it is full. So a
    record that shows K elements is in at most K released coordinates, however long the run (one-record
    reduction; no composition over batches). Batch ends depend on counts of actions only.

    Parameters
    ----------
    gate
        The gate of the sums.
    elements
        The number of elements.
    mechanism
        Adds the noise to a batch's sum; None to publish sums as they are, for a learner that claims no privacy.
    first_size
        The size of every element's first batch.
    """

    def __init__(self, gate: Gate, elements: int, mechanism: Mechanism | None, first_size: int) -> None:
        self.mean: FloatArray = np.zeros((gate.lanes, elements))
        self.size: FloatArray = np.zeros((gate.lanes, elements))  # of the released batch; 0: none yet
        self._gate = gate
        self._mechanism = mechanism
        self._sums = gate.sums(elements)
        self._filled: FloatArray = np.zeros((gate.lanes, elements))
        self._next_size: FloatArray = np.full((gate.lanes, elements), float(first_size))

    def values_until_full(self, elements: IntArray) -> IntArray:
        """Return after how many more values of `elements`, shape (lanes, k), the first of them is full."""
        missing = gather(self._next_size - self._filled, elements)
        missing[elements < 0] = np.inf
        first = missing.min(axis=1)
        # A full batch was interrupted (Ctrl-C) before its release: it takes one more value, and is released with that.
        return np.where(np.isfinite(first), np.maximum(first, 1.0), 1.0).astype(np.int64)

    def add(
        self, elements: IntArray, values: Private, rounds: IntArray | None = None
    ) -> npt.NDArray[np.bool_] | None:
        """Put values of `elements`, shape (lanes, k), in their batches and release the full ones.

        Parameters
        ----------
        elements
            Distinct elements of each lane, negative for none.
        values
            A value of each, or the total of a lane's `rounds` values.
        rounds
            The number of values a lane's totals are of, at most `values_until_full`; shape (lanes,), 1 by default.

        Returns
        -------
        ndarray or None
            True where a batch was released, shape (lanes, elements); None if nowhere.
        """
        self._sums.add(values, at=elements, release=self._awaited(elements))
        return self._close_full(elements, rounds)

    def _close_full(self, elements: IntArray, rounds: IntArray | None) -> npt.NDArray[np.bool_] | None:
        """Count the values just put in, and release the batches that are full."""
        counted = np.ones((1, 1)) if rounds is None else rounds[:, np.newaxis].astype(np.float64)
        scatter_add(self._filled, elements, np.broadcast_to(counted, elements.shape))
        full = self._filled >= self._next_size
        if not full.any():
            return None
        try:
            sums = self._released(full)
            self._learn(full, sums[full], self._filled[full])
            self._next_size[full] = self._following(full)
        finally:  # if a record spent its budget elsewhere meanwhile, the batch is lost, and the next one starts
            self._filled[full] = 0.0
            self._clear(full)
        return full

    def _clear(self, full: npt.NDArray[np.bool_]) -> None:
        """Empty the batches that have ended."""
        self._sums.clear(full)

    def _awaited(self, elements: IntArray) -> Mechanism | None:
        """Return the mechanism that will release the open batches of some elements."""
        return self._mechanism

    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        """Release the sums of full batches."""
        if self._mechanism is None:
            return self._gate.declassify(
                self._sums, "without privacy the sums of batches are used as they are"
            )
        return self._gate.release(self._mechanism, self._sums, where=full)

    def _following(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the sizes of the batches that follow those just released."""
        return 2.0 * self._next_size[full]

    def _learn(self, full: npt.NDArray[np.bool_], sums: FloatArray, sizes: FloatArray) -> None:
        """Keep the means of the released batches."""
        self.size[full] = sizes
        self.mean[full] = sums / sizes


class BatchSizes(NamedTuple):
    """Sizes of growing batches.

    Attributes
    ----------
    first
        Values in the first batch.
    growth
        Size of a later batch, as a share of the values released before, rounded up.
    falling
        After j releases the share is ``falling / j`` as long as that is more.
    """

    first: int
    growth: float
    falling: float = 0.0


class GrowingBatches(DoublingBatches):
    """Batches of which nothing is forgotten; each later one is a share of the values released before.

    On n values in j releases, ``n >= (1 + growth)^(j - 1) first_size``: the number of noises depends on
    ``n / first_size``. An element with n released values has been given at most as many as the next of
    `released_counts`, or `first_size`.

    Parameters
    ----------
    gate, elements, mechanism, first_size
        As for `DoublingBatches`.
    growth
        The share, in (0, 1].
    falling
        The share is ``falling / j`` after j releases as long as that is more: in the first few releases the noise
        matters most, in the others the number of values that a batch takes beyond those needed.
    """

    def __init__(self, gate: Gate, elements: int, mechanism: Mechanism | None, sizes: BatchSizes) -> None:
        super().__init__(gate, elements, mechanism, sizes.first)
        self.total: FloatArray = np.zeros((gate.lanes, elements))
        self.releases: FloatArray = np.zeros((gate.lanes, elements))
        self.growth, self.falling = sizes.growth, sizes.falling

    def _following(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        """Return ``max(1, ceil(share n))``."""
        share = np.maximum(self.growth, self.falling / self.releases[full])
        return np.maximum(np.ceil(share * self.size[full]), 1.0)

    def _learn(self, full: npt.NDArray[np.bool_], sums: FloatArray, sizes: FloatArray) -> None:
        """Add the released sums to the totals; `size` counts the values in them."""
        self.total[full] += sums
        self.size[full] += sizes
        self.releases[full] += 1.0
        self.mean[full] = self.total[full] / self.size[full]


class PublicBatches(GrowingBatches):
    """Growing batches of numbers that are public when they are put in, as messages are: when one is full it is read.

    Parameters
    ----------
    gate, elements, first_size, growth, falling
        As for `GrowingBatches`.
    """

    def __init__(self, gate: Gate, elements: int, sizes: BatchSizes) -> None:
        super().__init__(gate, elements, None, sizes)
        self._open: FloatArray = np.zeros_like(self.total)

    def add_numbers(self, elements: IntArray, numbers: FloatArray) -> npt.NDArray[np.bool_] | None:
        """Put a number of each of `elements`, shape (lanes, k), in its batch; return as `add`."""
        scatter_add(self._open, elements, numbers)
        return self._close_full(elements, None)

    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        return self._open

    def _clear(self, full: npt.NDArray[np.bool_]) -> None:
        self._open[full] = 0.0


def released_counts(most: int, first_size: int, growth: float, falling: float = 0.0) -> list[int]:
    """Return how many values `GrowingBatches` has of an element after each of its releases, up to `most` values.

    Examples
    --------
    >>> released_counts(20, 1, 0.5)
    [1, 2, 3, 5, 8, 12, 18]
    """
    counts, n = [], first_size
    while n <= most:
        counts.append(n)
        n += max(1, math.ceil(max(growth, falling / len(counts)) * n))
    return counts
