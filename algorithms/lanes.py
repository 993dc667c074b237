"""Reads and writes of each lane's own elements: arrays with a leading lane axis, indexed by super arms.

Many independent runs ("lanes") are simulated at once, so the state of a learner is an array of shape
``(lanes, arms)`` and a super arm an integer array of shape ``(lanes, size)``, one row of distinct arms for
every lane. Shorter super arms are padded with a negative index: padding reads 0 and writes nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import IntArray

_AnyArray = npt.NDArray[Any]


@lru_cache(maxsize=256)
def row_starts(lanes: int, arms: int) -> IntArray:
    """Return the flat position of every lane's first element, as a read-only ``(lanes, 1)`` column."""
    starts = np.arange(0, lanes * arms, arms, dtype=np.int64).reshape(lanes, 1)
    starts.flags.writeable = False
    return starts


def gather(array: _AnyArray, index: IntArray) -> _AnyArray:
    """Read each lane's elements at that lane's indices.

    Parameters
    ----------
    array
        Shape ``(..., lanes, arms)``.
    index
        Shape ``(lanes, size)``; a negative entry is padding.

    Returns
    -------
    ndarray
        Shape ``(..., lanes, size)``, a copy; ``out[..., i, k] = array[..., i, index[i, k]]``, 0 at padding.

    Raises
    ------
    IndexError
        If an index is not below ``arms``.
    """
    padded = index.size > 0 and index.min() < 0
    safe = np.maximum(index, 0) if padded else index
    values = array.take(_flat(array, safe)) if array.ndim == 2 else array[..., _rows(array), safe]
    if padded:
        values[..., index < 0] = 0
    return values


def lookup(vector: _AnyArray, index: IntArray) -> _AnyArray:
    """Read one vector, the same for all lanes, at every lane's indices: ``vector[index]``, 0 at padding."""
    values = vector.take(index)
    # Padding is at the end of a row, so the last column shows whether there is any.
    if index.size and index[:, -1].min() < 0:
        values[index < 0] = 0
    return values


def positions(array: _AnyArray, index: IntArray) -> IntArray:
    """Return where each lane's elements lie in the flattened array, for several reads and writes of one place.

    Parameters
    ----------
    array
        Any array of the shape ``(lanes, arms)`` that is meant.
    index
        Shape ``(lanes, size)``, without padding.

    Raises
    ------
    IndexError
        If an index is negative or not below ``arms``.
    """
    if index.size and index.min() < 0:
        raise IndexError("positions are defined for indices without padding")
    return _flat(array, index)


def places(array: _AnyArray, index: IntArray) -> tuple[IntArray, Any]:
    """Return as `positions` where each lane's elements lie, without those of padding, and which of `index` they are.

    Returns
    -------
    positions, which
        ``array.reshape(-1)[positions]`` are the elements at ``index[which]``.

    Raises
    ------
    IndexError
        If an index is not below ``arms``.
    """
    at = _flat(array, index)
    if index.size and index.min() < 0:
        kept = index >= 0
        return at[kept], kept
    return at, ...


def scatter_add(array: _AnyArray, index: IntArray, values: npt.ArrayLike) -> None:
    """Add `values` to each lane's elements at that lane's (distinct) indices, in place.

    Parameters
    ----------
    array
        Shape ``(..., lanes, arms)``; changed in place.
    index
        Shape ``(lanes, size)``; a negative entry is padding, for which nothing is written.
    values
        Broadcast to ``(..., lanes, size)``.

    Raises
    ------
    IndexError
        If an index is not below ``arms``.
    """
    target, where, values = _addressed(array, index, values)
    target[where] += values


def scatter_set(array: _AnyArray, index: IntArray, values: npt.ArrayLike) -> None:
    """Write `values` over each lane's elements at that lane's (distinct) indices, in place.

    Parameters and errors are those of `scatter_add`.
    """
    target, where, values = _addressed(array, index, values)
    target[where] = values


def _rows(array: _AnyArray) -> IntArray:
    return row_starts(array.shape[-2], 1)


def _flat(array: _AnyArray, index: IntArray) -> IntArray:
    """Positions in the flattened array, after the bounds check that flat positions can no longer make."""
    lanes, arms = array.shape
    if lanes != index.shape[0]:
        raise IndexError(f"index has {index.shape[0]} lanes, the array has {lanes}")
    if index.size and index.max() >= arms:
        raise IndexError(f"index {index.max()} is out of bounds for {arms} arms")
    return row_starts(lanes, arms) + index


def _addressed(
    array: _AnyArray, index: IntArray, values: npt.ArrayLike
) -> tuple[_AnyArray, Any, npt.ArrayLike]:
    """Return ``(target, where, values)`` such that ``target[where] = values`` writes into `array`.

    Flat positions are two to three times faster than a pair of index arrays, but need a contiguous array.
    """
    padded = index.size > 0 and index.min() < 0
    if array.ndim == 2 and array.flags.c_contiguous:
        target = array.reshape(-1)
        where = _flat(array, index)
        if padded:
            kept = index >= 0
            return target, where[kept], np.broadcast_to(values, index.shape)[kept]
        return target, where, values
    if padded:
        kept = index >= 0
        rows = np.broadcast_to(_rows(array), index.shape)[kept]
        shape = (*array.shape[:-1], index.shape[1])
        return array, (..., rows, index[kept]), np.broadcast_to(values, shape)[..., kept]
    return array, (..., _rows(array), index), values
