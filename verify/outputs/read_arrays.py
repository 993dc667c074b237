"""Outputs in one array, with one output along the leading axis, read as `verify.outputs.read_outputs` does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.outputs.output_readings import (
    Readings,
    WholeArray,
    all_marked,
    distinct_names,
    flat_names,
    floats_and_whole,
)
from verify.outputs.shapes import Shape, shape_of
from verify.outputs.word_columns import Words


def read_arrays(arrays: Sequence[npt.NDArray[Any]], keys: Sequence[Any] | None = None) -> Readings:
    """Read outputs that are one array, or several in a tuple or, with keys, in a dictionary; each of shape (n, ...)."""
    n = len(arrays[0])
    values: list[FloatArray] = []
    words: dict[int, Words] = {}
    whole: dict[int, WholeArray] = {}
    truths: set[int] = set()
    integers: set[int] = set()
    start = 0
    for array in arrays:
        flat = array.reshape(n, -1)
        if array.dtype.kind in "US":
            words |= {start + j: Words.of_array(flat[:, j]) for j in range(flat.shape[1])}
            values.append(np.full(flat.shape, np.nan))
        else:
            numbers, beyond = floats_and_whole(flat)
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
        all_marked(n, truths),
        whole=whole,
        integers=all_marked(n, integers),
    )


def _shape(arrays: Sequence[npt.NDArray[Any]], keys: Sequence[Any] | None) -> Shape:
    """Return the shape of one output."""
    first = [array[0] for array in arrays]
    if keys is not None:
        return shape_of(dict(zip(keys, first, strict=True)))
    return shape_of(first[0]) if len(first) == 1 else Shape(" and ".join(map(shape_of, first)))


def _names(arrays: Sequence[npt.NDArray[Any]], keys: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the places of one output, as `read_outputs` names them."""
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
