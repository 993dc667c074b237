"""Columns of the numbers at the places of a function's outputs; also of whole numbers that are too large for floats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.column_source import ColumnSource, values_at_places
from verify.outputs.output_readings import LEAST_INEXACT, Readings, WholeArray, as_float
from verify.outputs.seen_place import SeenPlace

_FEW_VALUES = 12  # different whole numbers up to which a place holds labels
_LOW_BITS = 12  # of a whole number that is too large even after a subtraction: with these, 64 bits are exact
_LONGEST_NUMBER = 24  # digits of a number that are shown
_NEAR = 16  # times the range of whole numbers, that a round number may lie apart
_NEAREST = 1_000  # at least


def _numbers(names: tuple[str, ...], offsets: Mapping[str, int], readings: Readings) -> FloatArray:
    """Return the numbers at places of n outputs, some of them less an offset; shape (n, places)."""
    if readings.names == names and not offsets:
        return readings.values
    values = np.full((len(readings), len(names)), np.nan)
    places = readings.places
    known = [(at, places[name]) for at, name in enumerate(names) if name in places]
    if known:
        columns, sources = map(list, zip(*known, strict=True))
        values[:, columns] = readings.values[:, sources]
    for at, place in known:
        if (offset := offsets.get(names[at])) is not None:
            values[:, at] = _subtract(readings.values[:, place], readings.whole.get(place), offset)
    return values


def number_columns(places: Sequence[SeenPlace]) -> tuple[ColumnSource, ColumnSource]:
    """Return the columns of the numbers at some places, and of the low bits of those that need them.

    Low bits are those of numbers so far apart that no subtraction makes all of them floats.
    """
    columns: list[Column] = []
    offsets: dict[str, int] = {}
    low: dict[str, Column] = {}
    for place in places:
        key, said = place.key, f"{place.description} as a number" if place.holds_words else place.description
        numbers = [(r.values[:, at], r.whole.get(at)) for r, at in place.outputs]
        values = np.concatenate([floats for floats, _ in numbers])
        if any(whole is not None for _, whole in numbers):
            integers = [x for both in numbers for x in _integers_of(*both) if x is not None]
            smallest, largest = min(integers), max(integers)
            offset, offset_words = _round_number(smallest, largest)
            offsets[place.name] = offset
            values = np.concatenate([_subtract(*both, offset) for both in numbers])
            if largest - smallest >= LEAST_INEXACT:
                bits = np.concatenate([_low_bits(*each) for each in place.outputs])
                few = np.unique(bits[~np.isnan(bits)]).size <= _FEW_VALUES
                low[place.name] = Column(
                    f"{key}:low",
                    f"{said} modulo 2^{_LOW_BITS}",
                    "category" if few else "real",
                    is_entry=False,
                )
            if offset != 0:
                key, said = f"{key} - {offset_words}", f"{said} minus {offset_words}"
        truth = not place.holds_words and all(
            (r.truth_at(at) | np.isnan(r.values[:, at])).all() for r, at in place.outputs
        )
        distinct = np.unique(values[~np.isnan(values)])
        labels = 0 < distinct.size <= _FEW_VALUES and bool((distinct == np.round(distinct)).all())
        truths = ((0.0, "False"), (1.0, "True")) if truth and distinct.size else ()
        columns.append(Column(key, said, "category" if labels else "real", truths, place.is_entry))
    names = tuple(place.name for place in places)
    lowest = ColumnSource(tuple(low.values()), partial(values_at_places, tuple(low), _low_bits))
    return ColumnSource(tuple(columns), partial(_numbers, names, offsets)), lowest


def _round_number(smallest: int, largest: int) -> tuple[int, str]:
    """Return a round number near some numbers, and its words: of a long one, a power of ten or of two, times a few.

    It has the most zeros at its end, in decimal or, if its words are shorter, in binary digits. Numbers whose range is
    below 2^53 are floats once it is subtracted.
    """
    spread, middle = largest - smallest, (smallest + largest) // 2
    around = spread // 2
    if spread < LEAST_INEXACT:
        around = min(max(_NEAR * spread, _NEAREST), int(LEAST_INEXACT) - 1 - spread)
    least, most = middle - around, middle + around
    if least <= 0 <= most:
        return 0, ""
    found = []
    for base in (10, 2):
        power = 0
        while most // base ** (power + 1) * base ** (power + 1) >= least:
            power += 1
        found.append((most // base**power, base, power))
    decimal, binary = found
    short = abs(most) < 10**_LONGEST_NUMBER and abs(binary[0]) != 1
    times, base, power = decimal if short else min(found, key=lambda each: len(str(each[0])))
    number, said = times * base**power, str(times)
    if short:
        return number, str(number)
    if len(said) > _LONGEST_NUMBER:
        said = f"{said[:6]}...{said[-6:]} ({len(said)} characters)"
    return number, {1: "", -1: "-"}.get(times, f"{said} · ") + f"{base}^{power}"


def _integers_of(values: FloatArray, whole: WholeArray | None) -> list[int | None]:
    """Return whole numbers exactly; None where there is none."""
    known: Sequence[int | None] = [None] * len(values) if whole is None else whole.tolist()
    return [
        exact if exact is not None else (int(value) if math.isfinite(value) and value == int(value) else None)
        for exact, value in zip(known, values.tolist(), strict=True)
    ]


def _subtract(values: FloatArray, whole: WholeArray | None, offset: int) -> FloatArray:
    """Return numbers minus a whole number, rounded once; of fractions, both are rounded before."""
    if whole is not None and whole.dtype.kind in "iu":
        smallest, largest = int(whole.min()), int(whole.max())
        if max(abs(smallest - offset), abs(largest - offset)) < 2**63:
            wrapped = whole.astype(np.uint64) - np.uint64(offset % 2**64)  # exact modulo 2^64
            return wrapped.view(np.int64).astype(np.float64)
    integers = _integers_of(values, whole)
    rounded = as_float(offset)
    return np.array(
        [
            value - rounded if x is None else as_float(x - offset)
            for x, value in zip(integers, values.tolist(), strict=True)
        ]
    )


def _low_bits(readings: Readings, place: int) -> FloatArray:
    """Return the whole numbers at a place modulo 2^12; NaN where there is none."""
    values, whole = readings.values[:, place], readings.whole.get(place)
    mask = 2**_LOW_BITS - 1
    if whole is not None and whole.dtype.kind in "iu":
        return (whole.astype(np.uint64) & np.uint64(mask)).astype(np.float64)
    return np.array([np.nan if x is None else float(x & mask) for x in _integers_of(values, whole)])
