"""The value that a function returned for several lanes at once, read as `verify.outputs.read_outputs` does."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.outputs.output_readings import (
    Readings,
    UnreadableOutput,
    WholeArray,
    all_marked,
    distinct_names,
    flat_names,
    floats_and_whole,
)
from verify.outputs.read_outputs import read_outputs
from verify.outputs.shapes import Shape, shape_of
from verify.outputs.word_columns import NO_WORD, Words

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
    if not arrays or any(array.dtype.kind not in "biufUS" for array in arrays):
        single = len(arrays) == 1
        rows = list(arrays[0]) if single else list(zip(*arrays, strict=True))
        if keys is not None:
            return read_outputs(
                [dict(zip(keys, row, strict=True)) for row in zip(*arrays, strict=True)], known
            )
        if single and arrays[0].ndim > 1:
            rows = [row[0] if np.shape(row) == (1,) else row for row in rows]
        return read_outputs(rows, known)
    if len(arrays) == 1 and math.prod(arrays[0].shape[1:]) == 0:
        raise UnreadableOutput(f"returned an array of shape {arrays[0].shape}: there is no output in it")
    values: list[FloatArray] = []
    words: dict[int, Words] = {}
    whole: dict[int, WholeArray] = {}
    truths: set[int] = set()
    integers: set[int] = set()
    start = 0
    for array in arrays:
        flat = array.reshape(lanes, -1)
        if array.dtype.kind in "US":
            words |= {start + j: _unmasked_words(flat[:, j]) for j in range(flat.shape[1])}
            values.append(np.full(flat.shape, np.nan))
        else:
            numbers, beyond = _unmasked(flat)
            values.append(numbers)
            whole |= {start + j: column for j, column in beyond.items()}
            truths |= {start + j for j in range(flat.shape[1]) if array.dtype.kind == "b"}
            integers |= {start + j for j in range(flat.shape[1]) if array.dtype.kind in "iu"}
        start += flat.shape[1]
    return Readings(
        values[0] if len(values) == 1 else np.concatenate(values, axis=1),
        words,
        (_shape(arrays, keys),),
        _names(arrays, keys),
        all_marked(lanes, truths),
        whole=whole,
        integers=all_marked(lanes, integers),
    )


def _shape(arrays: Sequence[npt.NDArray[Any]], keys: Sequence[Any] | None) -> Shape:
    """Return the shape of one lane's output."""
    first = [array[0] for array in arrays]
    if keys is not None:
        return shape_of(dict(zip(keys, first, strict=True)))
    return shape_of(first[0]) if len(first) == 1 else Shape(" and ".join(map(shape_of, first)))


def _names(arrays: Sequence[npt.NDArray[Any]], keys: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the places of one lane's output, as `read_outputs` names them."""
    if keys is None and len(arrays) == 1 and arrays[0].ndim == 1:
        return ("",)
    sizes = [math.prod(array.shape[1:]) for array in arrays]
    if keys is None:
        return flat_names(sum(sizes))
    return distinct_names(
        f".{key}{inner}"
        for key, array, size in zip(keys, arrays, sizes, strict=True)
        for inner in (("",) if array.ndim == 1 else flat_names(size))
    )


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


def _unmasked(flat: npt.NDArray[Any]) -> tuple[FloatArray, Mapping[int, WholeArray]]:
    """Return numbers as `floats_and_whole` does; masked ones are absent."""
    numbers, whole = floats_and_whole(np.ma.getdata(flat))
    if not isinstance(flat, np.ma.MaskedArray):
        return numbers, whole
    hidden = np.ma.getmaskarray(flat)
    objects: dict[int, WholeArray] = {}
    for place, column in whole.items():
        kept: npt.NDArray[Any] = column.astype(object)
        kept[hidden[:, place]] = None
        objects[place] = kept
    numbers[hidden] = np.nan
    return numbers, objects


def _unmasked_words(column: npt.NDArray[Any]) -> Words:
    """Return a column of texts as words; none where it is masked."""
    words = Words.of_array(np.ma.getdata(column))
    if not isinstance(column, np.ma.MaskedArray):
        return words
    return Words(words.vocabulary, np.where(np.ma.getmaskarray(column), NO_WORD, words.codes))
