"""The K largest numbers of each row, ties by the lowest id: the oracle of lists, top-K sets and uniform matroids.

For few lanes a stable sort of each row is fastest. For many lanes, K sweeps over all rows (take each row's
first maximum, strike it out) are: at 20 arms and K = 4 they cost half of a stable sort, and unlike a
partition they need no repair where weights are equal. Many short rows are swept arm by arm, all rows at once:
finding the first maximum of a row costs about 50 ns, however short the row is.
"""

from __future__ import annotations

import numpy as np

from algorithms.lanes import row_starts
from mechanisms.arrays import FloatArray, IntArray


def ranked_elements(weights: FloatArray, size: int) -> IntArray:
    """Return the `size` largest of each row in decreasing order, equal ones by id.

    Parameters
    ----------
    weights
        Shape ``(lanes, arms)``, neither NaN nor -inf (see `checked_weights`).
    size
        At most ``arms``.

    Returns
    -------
    ndarray
        Shape ``(lanes, size)``.
    """
    if sorting_is_faster(weights, size):
        return np.argsort(-weights, axis=1, kind="stable")[:, :size]
    return strike(weights, size)[0]


def largest_elements(weights: FloatArray, size: int) -> IntArray:
    """Return the same elements as `ranked_elements`, each row in increasing order of id (a set's canonical form)."""
    if sorting_is_faster(weights, size):
        return np.sort(np.argsort(-weights, axis=1, kind="stable")[:, :size], axis=1)
    return np.sort(strike(weights, size)[0], axis=1)


def strike(weights: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Strike out each row's first maximum `size` times.

    Returns
    -------
    order, remaining
        The struck ids ``(lanes, size)`` in order, and a copy of the weights in which exactly these are -inf.
    """
    lanes, arms = weights.shape
    if lanes >= _MANY_ROWS and arms <= _SHORT_ROW:
        return _strike_by_arms(weights, size)
    remaining = weights.copy(order="C")
    flat = remaining.reshape(-1)
    starts = row_starts(lanes, arms)[:, 0]
    order = np.empty((lanes, size), dtype=np.int64)
    for k in range(size):
        first = remaining.argmax(axis=1)
        order[:, k] = first
        first += starts
        flat[first] = -np.inf
    return order, remaining


def _strike_by_arms(weights: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return the result of `strike`, computed arm by arm, for rows of at most 255."""
    lanes, arms = weights.shape
    remaining = weights.T.copy(order="C")
    flat = remaining.reshape(-1)
    each = np.arange(lanes)
    earlier = np.arange(arms, 0, -1, dtype=np.uint8)[:, np.newaxis]  # the lower the id, the larger
    largest = np.empty(remaining.shape, dtype=np.bool_)
    rank = largest.view(np.uint8)
    order = np.empty((lanes, size), dtype=np.int64)
    for k in range(size):
        np.equal(remaining, remaining.max(axis=0), out=largest)
        rank *= earlier
        first = np.subtract(arms, rank.max(axis=0), dtype=np.int64)
        order[:, k] = first
        first *= lanes
        first += each
        flat[first] = -np.inf
    return order, remaining.T


_MANY_ROWS = 256  # at this many rows of 20, and at rows of 32, both ways cost the same
_SHORT_ROW = 24


def sorting_is_faster(weights: FloatArray, size: int) -> bool:
    """Say whether stable sorts of the rows beat `size` sweeps over all of them."""
    # A sweep costs about 1 us per call, a sort about 10 ns per element.
    return weights.size < 100 * size or 2 * size > weights.shape[1]
