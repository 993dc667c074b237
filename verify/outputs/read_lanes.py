"""The value that a function returned for several lanes at once, read as `verify.outputs.read_outputs` does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.outputs.output_readings import Readings, UnreadableOutput
from verify.outputs.read_arrays import read_arrays
from verify.outputs.read_outputs import read_outputs

_WANTED = (
    "must be an array whose leading axis is the lanes, a tuple or a dictionary of such arrays, or a list of one output "
    "for each"
)


def read_lanes(result: Any, lanes: int, known: Collection[str] | None = None) -> Readings:
    """Read the value that a function returned for several lanes.

    It is an array, arrays in a tuple or dictionary, or a list of outputs.
    `known` is as for `read_outputs`; arrays have no other entries.

    Raises
    ------
    UnreadableOutput
        If the leading axis is not one output for each lane.
    """
    if isinstance(result, list) and len(result) == lanes:
        return read_outputs(result, known)
    keys = list(result) if isinstance(result, Mapping) else None
    parts = result if isinstance(result, tuple) else (result,)
    arrays = [_array(part, lanes) for part in (parts if keys is None else result.values())]
    if not arrays or any(
        array.dtype.kind not in "biufUS" or isinstance(array, np.ma.MaskedArray) for array in arrays
    ):
        single = len(arrays) == 1
        rows = list(arrays[0]) if single else list(zip(*arrays, strict=True))
        if keys is not None:
            return read_outputs(
                [dict(zip(keys, row, strict=True)) for row in zip(*arrays, strict=True)], known
            )
        if single and arrays[0].ndim > 1:
            rows = [row[0] if np.shape(row) == (1,) else row for row in rows]
        return read_outputs(rows, known)
    return read_arrays(arrays, keys)


def _array(part: Any, lanes: int) -> npt.NDArray[Any]:
    """Return a function's result as an array, masked if it is; refuse another leading axis than the lanes."""
    if part is None or isinstance(part, Mapping | str | bytes | set | frozenset):
        said = "None" if part is None else f"a {type(part).__name__}, {part!r:.60},"
        raise UnreadableOutput(f"returned {said} for {lanes} lanes: {_WANTED}")
    if isinstance(part, list) and len(part) != lanes:
        raise UnreadableOutput(f"returned a list of {len(part)} for {lanes} lanes: {_WANTED}")
    try:
        array: npt.NDArray[Any] = np.asanyarray(part)
    except ValueError:  # a list of outputs of several shapes
        array = np.empty(lanes, dtype=object)
        array[:] = part
    if not isinstance(part, np.ndarray) and array.ndim == 0:
        raise UnreadableOutput(f"returned one value, {part!r:.60}, for {lanes} lanes: {_WANTED}")
    if array.ndim == 0 or array.shape[0] != lanes:
        raise UnreadableOutput(
            f"returned an array of shape {array.shape} for {lanes} lanes: its leading axis must be the lanes"
        )
    return array if isinstance(array, np.ma.MaskedArray) else np.asarray(array)
