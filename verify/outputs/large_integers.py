"""Whole numbers that are too large for floats, as two columns of numbers that are not."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mechanisms.arrays import FloatArray
from verify.outputs.output_readings import WholeArray

LOW_BITS = 12
"""Of a whole number that is too large even after a subtraction: with these, 64 bits are exact."""

_LONGEST_NUMBER = 24  # digits of a number that are said


def digits(whole: int) -> str:
    """Say a whole number; of a long one, how it begins and ends, in hexadecimal."""
    if abs(whole) < 10**_LONGEST_NUMBER:
        return str(whole)
    said = f"{whole:#x}"
    return said if len(said) <= _LONGEST_NUMBER else f"{said[:12]}...{said[-8:]} ({len(said)} characters)"


def integers_of(values: FloatArray, whole: WholeArray | None) -> list[int | None]:
    """Return whole numbers exactly; None where there is none."""
    known: Sequence[int | None] = [None] * len(values) if whole is None else whole.tolist()
    return [
        exact if exact is not None else (int(value) if math.isfinite(value) and value == int(value) else None)
        for exact, value in zip(known, values.tolist(), strict=True)
    ]


def less(values: FloatArray, whole: WholeArray | None, offset: int) -> FloatArray:
    """Return numbers minus a whole number, rounded once; of fractions, both are rounded before."""
    if whole is not None and whole.dtype.kind in "iu":
        smallest, largest = int(whole.min()), int(whole.max())
        if max(abs(smallest - offset), abs(largest - offset)) < 2**63:
            wrapped = whole.astype(np.uint64) - np.uint64(offset % 2**64)  # exact modulo 2^64
            return wrapped.view(np.int64).astype(np.float64)
    integers = integers_of(values, whole)
    rounded = _float(offset)
    return np.array(
        [
            value - rounded if x is None else _float(x - offset)
            for x, value in zip(integers, values.tolist(), strict=True)
        ]
    )


def low_bits(values: FloatArray, whole: WholeArray | None) -> FloatArray:
    """Return whole numbers modulo 2^12; NaN where there is none."""
    mask = 2**LOW_BITS - 1
    if whole is not None and whole.dtype.kind in "iu":
        return (whole.astype(np.uint64) & np.uint64(mask)).astype(np.float64)
    return np.array([np.nan if x is None else float(x & mask) for x in integers_of(values, whole)])


def _float(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf
