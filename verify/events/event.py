"""Events of an adversary's view, as data that a test can count.

An event is code-free data: it can be written as JSON (`Event.to_dict`), read back (`Event.rebuild`) and described
in words (`Event.description`), so that a witness can be checked without trust in anything of this package but NumPy.
Readings of a view are in `verify.events.readings`, the search for events in `verify.events.search`.
"""
# ruff: noqa: D102 (the methods of every event are documented once, at `Event`)

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray
from verify.events.readings import ColumnValue, Reading, format_value, join_names
from verify.events.view_sample import ViewSample
from verify.events.written import Written

KeyArray = npt.NDArray[np.uint64]

_MOST_VALUES = 8  # of one reading that are described
_MOST_ROWS, _MOST_NAMES = 4, 3  # of several readings together
_MOST_PARTS = 6  # of one row


class Event(Written):
    """A set of views. Its `description` is a clause: "the noisy count is at most 0.31"."""

    __slots__ = ()

    @abc.abstractmethod
    def holds(self, sample: ViewSample) -> BoolArray:
        """Return True for each of the n draws in the event; shape (n,)."""

    @property
    def rounding(self) -> float:
        """Largest part of a loss shown by the event that may come from rounding alone, which is no part of a claim."""
        return 0.0


@dataclass(frozen=True, slots=True)
class HalfLine(Event):
    """A reading is at most, or at least, a threshold."""

    kind: ClassVar[str] = "half_line"
    reading: Reading
    threshold: float
    above: bool

    def holds(self, sample: ViewSample) -> BoolArray:
        values = sample.read_values(self.reading)
        return values >= self.threshold if self.above else values <= self.threshold

    @property
    def description(self) -> str:
        return f"{self.reading.description} {'≥' if self.above else '≤'} {format_value(self.threshold)}"


@dataclass(frozen=True, slots=True)
class Near(Event):
    """A reading is a given number, to within a tolerance: one noise draw shared by two values shows so.

    For the complement, it is present and is not.
    """

    kind: ClassVar[str] = "near"
    reading: Reading
    centre: float
    tolerance: float
    complement: bool = False

    def holds(self, sample: ViewSample) -> BoolArray:
        with np.errstate(invalid="ignore"):
            away = np.abs(sample.read_values(self.reading) - self.centre)
        held: BoolArray = away > self.tolerance if self.complement else away <= self.tolerance
        return held

    @property
    def description(self) -> str:
        side = ">" if self.complement else "≤"
        return f"|{self.reading.description} − {format_value(self.centre)}| {side} {self.tolerance:.1g}"


@dataclass(frozen=True, slots=True)
class RowTable(Event):
    """Some readings, taken together, are (or, for the complement, are not) one of the listed rows.

    Rows are compared exactly; NaN equals NaN, so that "nothing was sent there" can be listed.
    """

    kind: ClassVar[str] = "row_table"
    readings: tuple[Reading, ...]
    rows: tuple[tuple[float, ...], ...]
    complement: bool = False

    def holds(self, sample: ViewSample) -> BoolArray:
        table = np.asarray(self.rows, dtype=np.float64).reshape(len(self.rows), len(self.readings))
        table_keys = row_keys([table[:, j] for j in range(len(self.readings))])
        order = np.argsort(table_keys, kind="stable")
        values = [sample.read_values(reading) for reading in self.readings]
        keys = row_keys(values)
        place = np.minimum(np.searchsorted(table_keys[order], keys), len(order) - 1)
        inside = table_keys[order][place] == keys
        # Equal keys are almost certainly equal rows; the comparison makes it certain.
        found = np.flatnonzero(inside)
        match = order[place[found]]
        for j, column in enumerate(values):
            left, right = column[found], table[match, j]
            inside[found] &= (left == right) | (np.isnan(left) & np.isnan(right))
        result: BoolArray = ~inside if self.complement else inside
        return result

    @property
    def readable(self) -> bool:
        names = _MOST_PARTS if len(self.rows) == 1 and not self.complement else _MOST_NAMES
        most = 1 if self.complement else most_readable(self.readings)
        short = len(self.rows) <= most and len(self.readings) <= names
        return short and all(reading.readable for reading in self.readings)

    @property
    def description(self) -> str:
        equal, inside = ("≠", "not in") if self.complement else ("=", "in")
        ordered = sorted(self.rows, key=lambda row: [(math.isnan(value), value) for value in row])
        said = [list(map(value_words, self.readings, row)) for row in ordered]
        names, one = [reading.description for reading in self.readings], len(self.readings) == 1
        if one and len(said) == 1 and math.isnan(self.rows[0][0]):
            return f"{names[0]} is {'present' if self.complement else 'absent'}"
        if not one and len(said) == 1 and not self.complement:
            return join_names(
                [f"{name} = {word}" for name, word in zip(names, said[0], strict=True)], _MOST_PARTS
            )
        read = names[0] if one else f"({join_names(names, _MOST_NAMES)})"
        rows = [words[0] if one else f"({', '.join(words)})" for words in said]
        if len(rows) == 1:
            return f"{read} {equal} {rows[0]}"
        return f"{read} {inside} {_members(rows, _MOST_VALUES if one else _MOST_ROWS)}"


def most_readable(readings: Sequence[Reading]) -> int:
    """Return the largest number of rows of a table of these readings that is readable.

    Of an ordered reading that is one: its half-lines say more.
    """
    if len(readings) > 1:
        return _MOST_ROWS
    labels = isinstance(readings[0], ColumnValue) and readings[0].column.kind == "category"
    return _MOST_VALUES if labels else 1


def _members(parts: Sequence[str], limit: int) -> str:
    """Return the members of a set; those beyond `limit` as their number."""
    more = f", … ({len(parts) - limit} more)" if len(parts) > limit else ""
    return f"{{{', '.join(parts[:limit])}{more}}}"


def value_words(reading: Reading, value: float) -> str:
    """Return a reading's value in words: its label where its column has one."""
    labels = dict(reading.column.labels) if isinstance(reading, ColumnValue) else {}
    return labels.get(value, format_value(value))


def row_keys(values: Sequence[FloatArray]) -> KeyArray:
    """A 64-bit key of each row of some columns, shape (n,); equal rows have one key (NaN equals NaN)."""
    return mixed_keys(map(_bits, values), len(values[0]))


def mixed_keys(columns: Iterable[KeyArray], rows: int) -> KeyArray:
    """A 64-bit key of each row of some columns of bits, shape (rows,); no two rows of one column have one key."""
    keys = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        keys ^= column
        keys *= np.uint64(0x9E3779B97F4A7C15)  # odd; wraps modulo 2^64
        keys ^= keys >> np.uint64(29)
    return keys


def _bits(values: FloatArray) -> KeyArray:
    """The bits of numbers; equal numbers have the same."""
    column = values + 0.0  # a copy, in which -0.0 has become 0.0
    column[np.isnan(column)] = np.nan  # one bit pattern for all NaN
    return column.view(np.uint64)
