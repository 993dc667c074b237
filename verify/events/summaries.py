"""Summaries of several columns of a view in one number: sum, maximum and its place, counts and others.

Draws are read many millions of times: columns are worked on whole, marks are counted in bytes, and no draw needs a
branch, as branch prediction would fail for every other one.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from verify.events.readings import Reading, format_value, join_names
from verify.events.sequences import sequences
from verify.events.view_sample import Column, ViewSample

_BLOCK = 1 << 15  # draws that are summed up at once
_NAMED = 4  # columns that a description names: of others it is complete only if they are one list

SummaryOperation = Literal[
    "sum",
    "largest",
    "smallest",
    "place of largest",
    "place of smallest",
    "count of",
    "count from",
    "first of",
    "first change",
    "present",
]

_PHRASES: dict[SummaryOperation, str] = {
    "sum": "the sum of {of}",
    "largest": "the largest of {of}",
    "smallest": "the smallest of {of}",
    "place of largest": "the place (from 1) of the largest of {of}",
    "place of smallest": "the place (from 1) of the smallest of {of}",
    "count of": "the number of {value} among {of}",
    "count from": "the number of values of at least {value} among {of}",
    "first of": "the place (from 1; 0 if none) of the first {value} among {of}",
    "first change": "the place (from 1; 0 if none) of the first of {of} that differs from the one before",
    "present": "the number of {kind} present (of {count})",
}


@dataclass(frozen=True, slots=True)
class ColumnSummary(Reading):
    """One number that sums up several columns, in their order; absent values are passed over.

    Attributes
    ----------
    operation
        The summary that is read (see `description`). Of equal largest or smallest values the first counts. Sums and
        extremes of nothing are absent.
    columns
        The columns.
    value
        The number looked for by ``"count of"``, ``"count from"`` and ``"first of"``; for places of the largest and
        the smallest, the distance from it at which values are taken to be equal to it; 0 for the others.
    """

    kind: ClassVar[str] = "summary"
    operation: SummaryOperation
    columns: tuple[Column, ...]
    value: float = 0.0

    def values(self, sample: ViewSample) -> FloatArray:
        result, places = np.empty(len(sample.values)), sample.places_of(self.columns)
        for start in range(0, len(result), _BLOCK):  # blocks that stay in the processor's cache
            block = sample.values[start : start + _BLOCK]
            columns = [np.ascontiguousarray(block[:, i]) for i in places]
            result[start : start + _BLOCK] = self._of_columns(columns)
        return result

    def _of_columns(self, values: Sequence[FloatArray]) -> FloatArray:
        match self.operation:
            case "sum":
                return _sum(values)
            case "largest":
                return _extreme(values, 1.0)
            case "smallest":
                return _extreme(values, -1.0)
            case "place of largest" | "place of smallest":
                sign = 1.0 if self.operation == "place of largest" else -1.0
                best = _extreme(values, sign)
                # In real arithmetic, values that differ by rounding may be equal.
                least = best if self.value == 0.0 else best - sign * self.value
                place = _first(column >= least if sign > 0.0 else column <= least for column in values)
                place[np.isnan(best)] = np.nan
                return place
            case "count of":
                return _count(column == self.value for column in values)
            case "count from":
                return _count(column >= self.value for column in values)
            case "first of":
                return _first(column == self.value for column in values)
            case "first change":
                return _first(_changes(values))
            case "present":
                return _count(~np.isnan(column) for column in values)

    @property
    def readable(self) -> bool:
        whole = [len(entries) for entries in sequences(self.columns)]
        return self.operation == "present" or len(self.columns) in (*range(_NAMED + 1), *whole)

    @property
    def description(self) -> str:
        names = join_names([column.words for column in self.columns], _NAMED)
        labels = {value: word for column in self.columns for value, word in column.labels}
        value = labels.get(self.value, format_value(self.value))
        kind = "entries" if all(column.is_entry for column in self.columns) else "values"
        return _PHRASES[self.operation].format(of=names, value=value, count=len(self.columns), kind=kind)


def _sum(values: Sequence[FloatArray]) -> FloatArray:
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN: such a sum is absent
        total = 0.0 + values[0]
        for column in values[1:]:
            total += column
        if not np.isnan(total).any():
            return total
        total, present = np.zeros(values[0].size), np.zeros(values[0].size, dtype=np.bool_)
        for column in values:
            # One of these is the value, the other is 0; both are 0 where it is absent. No draw needs a branch.
            total += np.fmax(column, 0.0)
            total += np.fmin(column, 0.0)
            present |= column == column
    total[~present] = np.nan
    return total


def _extreme(values: Sequence[FloatArray], sign: float) -> FloatArray:
    """The largest (sign 1) or smallest (sign -1) value; NaN if all are absent."""
    better = np.fmax if sign > 0.0 else np.fmin  # they pass over NaN
    best = values[0].copy()
    for column in values[1:]:
        better(best, column, out=best)
    return best


def _changes(values: Sequence[FloatArray]) -> Iterator[BoolArray]:
    """Yield, for each column, True where it is present and differs from the last present one before it."""
    present = [~np.isnan(column) for column in values]
    later = [np.zeros(values[0].size, dtype=np.bool_)]  # from the end: True if any from here on is present
    for here in reversed(present):
        later.append(later[-1] | here)
    last = np.full(values[0].size, np.nan)
    for column, here, after in zip(values, present, later[-2::-1], strict=True):
        yield here & (last == last) & (column != last)
        # Where no value follows, the last one does not matter.
        last = np.where(here, column, last) if np.any(after & ~here) else column


def _count(marks: Iterable[BoolArray]) -> FloatArray:
    count = np.zeros(0, dtype=np.uint8)
    for number, mark in enumerate(marks):
        if number == 0:
            count = mark.astype(np.uint8)
        else:
            if number == 255:  # bytes are added up several times faster, as long as they can hold the number
                count = count.astype(np.uint32)
            np.add(count, mark.view(np.uint8), out=count)
    return count.astype(np.float64)


def _first(marks: Iterable[BoolArray]) -> FloatArray:
    """The place, from 1, of the first mark; 0 if there is none."""
    missing: list[BoolArray] = []  # up to each place
    for mark in marks:
        missing.append(~mark if not missing else missing[-1] & ~mark)
    place = 1.0 + _count(missing)
    place[missing[-1]] = 0.0
    return place
