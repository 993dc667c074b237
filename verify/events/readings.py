"""Numbers that can be read from a view: a value, a difference, a sum, the place of the largest value ...

A reading is code-free data, as an event is: `Reading.to_dict` writes it down, `reading_from_dict` reads it
back, and `Reading.words` says it as part of a sentence.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from verify.events.view_sample import Column, FloatArray, ViewSample, column_index

BoolArray = npt.NDArray[np.bool_]

BLOCK = 4096  # draws that are summed up at once


class Reading(abc.ABC):
    """A number read from each draw of a view; absent (NaN) where what it is read from is absent."""

    __slots__ = ()
    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Reading]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Reading.kinds[cls.kind] = cls

    @abc.abstractmethod
    def of(self, sample: ViewSample) -> FloatArray:
        """The reading of each of the n draws; shape (n,). It may share memory with the sample."""

    @property
    @abc.abstractmethod
    def words(self) -> str:
        """The reading as part of a sentence: "the largest of output 1 and output 2"."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """JSON-able data from which `reading_from_dict` rebuilds the reading."""

    @classmethod
    @abc.abstractmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Reading:
        """Rebuild a reading of this class from `to_dict`."""


def reading_from_dict(data: Mapping[str, Any], columns: Sequence[Column]) -> Reading:
    """Rebuild a reading from `Reading.to_dict`, for a view with these columns.

    Raises
    ------
    ValueError
        If the kind is unknown, or a column is not in the view.
    """
    kind = data["kind"]
    if kind not in Reading.kinds:
        raise ValueError(f"kind must name a reading, got {kind!r}")
    return Reading.kinds[kind].from_dict(data, columns)


@dataclass(frozen=True, slots=True)
class Value(Reading):
    """The value of one column."""

    kind: ClassVar[str] = "value"
    index: int
    column: Column

    def of(self, sample: ViewSample) -> FloatArray:
        return sample.values[:, self.index]

    @property
    def words(self) -> str:
        return self.column.words

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column.name}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Value:
        index = column_index(data["column"], columns)
        return cls(index, columns[index])


@dataclass(frozen=True, slots=True)
class Difference(Reading):
    """The value of one column minus that of another."""

    kind: ClassVar[str] = "difference"
    index: int
    column: Column
    minus_index: int
    minus_column: Column

    def of(self, sample: ViewSample) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN: such a difference is absent
            return sample.values[:, self.index] - sample.values[:, self.minus_index]

    @property
    def words(self) -> str:
        return f"the difference of {self.column.words} and {self.minus_column.words}"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column.name, "minus": self.minus_column.name}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Difference:
        index, minus = column_index(data["column"], columns), column_index(data["minus"], columns)
        return cls(index, columns[index], minus, columns[minus])


Operation = Literal[
    "sum",
    "largest",
    "smallest",
    "place of largest",
    "place of smallest",
    "count of",
    "count from",
    "first of",
    "first change",
    "changes",
    "present",
    "last",
]

_PHRASES: dict[Operation, str] = {
    "sum": "the sum of {of}",
    "largest": "the largest of {of}",
    "smallest": "the smallest of {of}",
    "place of largest": "the place (from 1) of the largest of {of}",
    "place of smallest": "the place (from 1) of the smallest of {of}",
    "count of": "the number of {value:.6g} among {of}",
    "count from": "the number of values of at least {value:.6g} among {of}",
    "first of": "the place (from 1; 0 if none) of the first {value:.6g} among {of}",
    "first change": "the place (from 1; 0 if none) of the first of {of} that differs from the one before",
    "changes": "the number of {of} that differ from the one before",
    "present": "how many of {of} are present",
    "last": "the last of {of} that is present",
}


@dataclass(frozen=True, slots=True)
class Summary(Reading):
    """One number that sums up several columns, in their order; absent values are passed over.

    Attributes
    ----------
    operation
        What is read (`words` says it). Of equal largest or smallest values the first counts. Sums and
        extremes of nothing are absent.
    indices, columns
        The columns.
    value
        The number looked for by ``"count of"``, ``"count from"`` and ``"first of"``; 0 for the others.
    """

    kind: ClassVar[str] = "summary"
    operation: Operation
    indices: tuple[int, ...]
    columns: tuple[Column, ...]
    value: float = 0.0

    def of(self, sample: ViewSample) -> FloatArray:
        result = np.empty(len(sample.values))
        indices = list(self.indices)
        for start in range(0, len(result), BLOCK):  # blocks that stay in the processor's cache
            block = np.ascontiguousarray(sample.values[start : start + BLOCK, indices].T)
            result[start : start + BLOCK] = self._of_columns(list(block))
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
                best = _extreme(values, 1.0 if self.operation == "place of largest" else -1.0)
                place = _first(column == best for column in values)
                place[np.isnan(best)] = np.nan
                return place
            case "count of":
                return _count(column == self.value for column in values)
            case "count from":
                return _count(column >= self.value for column in values)
            case "first of":
                return _first(column == self.value for column in values)
            case "changes":
                return _count(_changes(values))
            case "first change":
                return _first(_changes(values))
            case "present":
                return _count(~np.isnan(column) for column in values)
            case "last":
                last = values[0]
                for column in values[1:]:
                    last = np.where(np.isnan(column), last, column)
                return last

    @property
    def words(self) -> str:
        names = listed([column.words for column in self.columns], 4)
        return _PHRASES[self.operation].format(of=names, value=self.value)

    def to_dict(self) -> dict[str, Any]:
        names = [column.name for column in self.columns]
        return {"kind": self.kind, "operation": self.operation, "columns": names, "value": encode(self.value)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Summary:
        operation = data["operation"]
        if operation not in _PHRASES:
            raise ValueError(f"operation must be one of {', '.join(_PHRASES)}, got {operation!r}")
        indices = tuple(column_index(name, columns) for name in data["columns"])
        return cls(operation, indices, tuple(columns[i] for i in indices), decode(data["value"]))


@dataclass(frozen=True, slots=True)
class Where(Reading):
    """A reading of those draws in which another reading has a given value; absent in the others."""

    kind: ClassVar[str] = "where"
    reading: Reading
    condition: Reading
    value: float

    def of(self, sample: ViewSample) -> FloatArray:
        return np.where(self.condition.of(sample) == self.value, self.reading.of(sample), np.nan)

    @property
    def words(self) -> str:
        return f"{self.reading.words} (where {self.condition.words} is {spoken(self.value)})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "reading": self.reading.to_dict(),
            "condition": self.condition.to_dict(),
            "value": encode(self.value),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Where:
        reading, condition = (reading_from_dict(data[key], columns) for key in ("reading", "condition"))
        return cls(reading, condition, decode(data["value"]))


def _sum(values: Sequence[FloatArray]) -> FloatArray:
    total, present = np.zeros(values[0].size), np.zeros(values[0].size, dtype=np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN: such a sum is absent
        for column in values:
            here = ~np.isnan(column)
            total += np.where(here, column, 0.0)
            present |= here
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
    """For each column, where it is present and differs from the last present one before it."""
    last = np.full(values[0].size, np.nan)
    for column in values:
        present = ~np.isnan(column)
        yield present & ~np.isnan(last) & (column != last)
        last = np.where(present, column, last)


def _count(marks: Iterator[BoolArray]) -> FloatArray:
    count = next(marks).astype(np.float64)
    for mark in marks:
        count += mark
    return count


def _first(marks: Iterator[BoolArray]) -> FloatArray:
    """The place, from 1, of the first mark; 0 if there is none."""
    first = next(marks).astype(np.float64)
    missing = first == 0.0
    for number, mark in enumerate(marks, start=2):
        here = mark & missing
        first[here] = number
        missing &= ~here
    return first


def listed(parts: Sequence[str], limit: int) -> str:
    """Parts with commas and "and"; all those beyond `limit` as their number."""
    if len(parts) > limit:
        return ", ".join(parts[:limit]) + f" and {len(parts) - limit} more"
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def spoken(value: float) -> str:
    """A number as it is said: NaN is "absent"."""
    return "absent" if math.isnan(value) else f"{value:.6g}"


def encode(value: float) -> float | str | None:
    """A number as JSON knows it: NaN is null, infinity "inf"."""
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def decode(value: float | str | None) -> float:
    """The inverse of `encode`."""
    return math.nan if value is None else float(value)
