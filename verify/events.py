"""What an adversary's view is, and the events of it that a test can watch.

An event is code-free data: it can be written down as JSON (`Event.to_dict`), read back (`event_from_dict`)
and said in words (`Event.words`), so that a witness can be checked by somebody who trusts nothing of this
package but NumPy. How an event is found is told in `verify.event_search`.
"""
# ruff: noqa: D102 (the methods of every event are documented once, at `Event`)

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a view.

    Attributes
    ----------
    name
        Short and unique within the view, such as ``"action[1,0]"``.
    words
        What it is, as part of a sentence: ``"the item shown at position 1 in round 1"``.
    kind
        ``"category"`` for labels, ``"real"`` for measurements.
    """

    name: str
    words: str
    kind: Literal["category", "real"]


@dataclass(frozen=True, slots=True, eq=False)
class ViewSample:
    """Independent draws of an adversary's view.

    Attributes
    ----------
    values
        Shape (n, p): row i is one whole view. NaN means that nothing was sent at that place.
    columns
        The p columns.

    Raises
    ------
    ValueError
        If the shapes do not agree, or two columns have one name.
    """

    values: FloatArray
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns) or not self.columns:
            raise ValueError(
                f"values must have shape (n, {len(self.columns)}): a place for each of at least one column, "
                f"got {self.values.shape}"
            )
        if len({column.name for column in self.columns}) != len(self.columns):
            raise ValueError("columns must have different names")

    def rows(self, start: int, stop: int) -> ViewSample:
        """The draws start, ..., stop - 1 (no copy)."""
        return ViewSample(self.values[start:stop], self.columns)


class Event(abc.ABC):
    """A set of views."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def holds(self, sample: ViewSample) -> BoolArray:
        """For each of the n draws, whether it lies in the event; shape (n,)."""

    @property
    @abc.abstractmethod
    def words(self) -> str:
        """The event as a clause: "the noisy count is at most 0.31"."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """JSON-able data from which `event_from_dict` rebuilds the event (NaN is null, infinity "inf")."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number read from a view: one column, or the difference of two. Absent (NaN) where a column is."""

    index: int
    column: Column
    minus_index: int | None = None
    minus_column: Column | None = None

    def of(self, sample: ViewSample) -> FloatArray:
        values = sample.values[:, self.index]
        if self.minus_index is None:
            return values
        with np.errstate(invalid="ignore"):  # inf - inf is NaN: such a difference is absent
            return values - sample.values[:, self.minus_index]

    @property
    def words(self) -> str:
        if self.minus_column is None:
            return self.column.words
        return f"the difference of {self.column.words} and {self.minus_column.words}"

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column.name, "minus": self.minus_column.name if self.minus_column else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Reading:
        index = _index(data["column"], columns)
        if data["minus"] is None:
            return cls(index, columns[index])
        minus = _index(data["minus"], columns)
        return cls(index, columns[index], minus, columns[minus])


@dataclass(frozen=True, slots=True)
class ReportCount(Event):
    """The number of places at which something was sent is at most, or at least, `limit`."""

    kind: ClassVar[str] = "report_count"
    limit: int
    at_least: bool
    places: int

    def holds(self, sample: ViewSample) -> BoolArray:
        count = report_counts(sample)
        return count >= self.limit if self.at_least else count <= self.limit

    @property
    def words(self) -> str:
        side = "at least" if self.at_least else "at most"
        return f"the number of reports sent is {side} {self.limit} (of {self.places} possible)"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "limit": self.limit, "at_least": self.at_least, "places": self.places}


@dataclass(frozen=True, slots=True)
class HalfLine(Event):
    """A reading is at most, or at least, a threshold."""

    kind: ClassVar[str] = "half_line"
    reading: Reading
    threshold: float
    above: bool

    def holds(self, sample: ViewSample) -> BoolArray:
        values = self.reading.of(sample)
        return values >= self.threshold if self.above else values <= self.threshold

    @property
    def words(self) -> str:
        return f"{self.reading.words} is {'at least' if self.above else 'at most'} {_number(self.threshold)}"

    def to_dict(self) -> dict[str, Any]:
        reading = self.reading.to_dict()
        return {"kind": self.kind, **reading, "threshold": _encode(self.threshold), "above": self.above}


@dataclass(frozen=True, slots=True)
class Near(Event):
    """A reading is a given number, to within a tolerance: one noise draw shared by two values shows so."""

    kind: ClassVar[str] = "near"
    reading: Reading
    centre: float
    tolerance: float

    def holds(self, sample: ViewSample) -> BoolArray:
        inside: BoolArray = np.abs(self.reading.of(sample) - self.centre) <= self.tolerance
        return inside

    @property
    def words(self) -> str:
        return f"{self.reading.words} is {_number(self.centre)} to within {self.tolerance:.1g}"

    def to_dict(self) -> dict[str, Any]:
        reading = self.reading.to_dict()
        return {"kind": self.kind, **reading, "centre": self.centre, "tolerance": self.tolerance}


@dataclass(frozen=True, slots=True)
class RowTable(Event):
    """Some columns, read together, are (or, for the complement, are not) one of the listed rows.

    Rows are compared exactly; NaN equals NaN, so that "nothing was sent there" can be listed.
    """

    kind: ClassVar[str] = "row_table"
    indices: tuple[int, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[float, ...], ...]
    complement: bool = False

    def holds(self, sample: ViewSample) -> BoolArray:
        table = np.asarray(self.rows, dtype=np.float64).reshape(len(self.rows), len(self.indices))
        table_keys = row_keys(table, range(len(self.indices)))
        order = np.argsort(table_keys, kind="stable")
        keys = row_keys(sample.values, self.indices)
        place = np.minimum(np.searchsorted(table_keys[order], keys), len(order) - 1)
        inside = table_keys[order][place] == keys
        # Equal keys are almost certainly equal rows; the comparison makes it certain.
        found = np.flatnonzero(inside)
        match = order[place[found]]
        for j, index in enumerate(self.indices):
            left, right = sample.values[found, index], table[match, j]
            inside[found] &= (left == right) | (np.isnan(left) & np.isnan(right))
        result: BoolArray = ~inside if self.complement else inside
        return result

    @property
    def words(self) -> str:
        negation = " not" if self.complement else ""
        if len(self.columns) == 1:
            values = [row[0] for row in self.rows]
            if len(values) == 1 and math.isnan(values[0]):
                return f"{self.columns[0].words} is {'present' if self.complement else 'absent'}"
            listed = _listed([_number(value) for value in values], 8)
            return f"{self.columns[0].words} is{negation} {'' if len(values) == 1 else 'one of '}{listed}"
        if len(self.rows) == 1 and not self.complement:
            parts = zip(self.columns, self.rows[0], strict=True)
            return _listed([f"{column.words} is {_number(value)}" for column, value in parts], 6)
        names = _listed([column.words for column in self.columns], 3)
        shown = _listed(["(" + ", ".join(map(_number, row)) + ")" for row in self.rows], 4)
        return f"the combination of {names} is{negation} {'' if len(self.rows) == 1 else 'one of '}{shown}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": [column.name for column in self.columns],
            "rows": [[_encode(value) for value in row] for row in self.rows],
            "complement": self.complement,
        }


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """What one column adds to a score.

    Attributes
    ----------
    cuts
        Increasing; bin i holds the values v with cuts[i-1] ≤ v < cuts[i].
    weights
        One for each of the len(cuts) + 1 bins.
    absent
        The weight of NaN.
    """

    index: int
    column: Column
    cuts: tuple[float, ...]
    weights: tuple[float, ...]
    absent: float


@dataclass(frozen=True, slots=True)
class AdditiveScore(Event):
    """A sum of one table entry per column (a naive-Bayes likelihood ratio) passes a threshold."""

    kind: ClassVar[str] = "additive_score"
    tables: tuple[ScoreTable, ...]
    threshold: float
    above: bool

    def holds(self, sample: ViewSample) -> BoolArray:
        score = additive_score(self.tables, sample)
        return score >= self.threshold if self.above else score <= self.threshold

    @property
    def words(self) -> str:
        most = sorted(self.tables, key=lambda table: min(table.weights) - max(table.weights))
        names = _listed([table.column.words for table in most], 3)
        side = "at least" if self.above else "at most"
        return (
            f"a score that adds one table entry for each of {len(self.tables)} values "
            f"(those that weigh most first: {names}) is {side} {_number(self.threshold)}"
        )

    def to_dict(self) -> dict[str, Any]:
        tables = [
            {
                "column": table.column.name,
                "cuts": [_encode(cut) for cut in table.cuts],
                "weights": list(table.weights),
                "absent": table.absent,
            }
            for table in self.tables
        ]
        return {"kind": self.kind, "tables": tables, "threshold": self.threshold, "above": self.above}


def event_from_dict(data: Mapping[str, Any], columns: Sequence[Column]) -> Event:
    """Rebuild an event from `Event.to_dict`, for a view with these columns.

    Raises
    ------
    ValueError
        If the kind is unknown, or a column is not in the view.
    """
    kind = data["kind"]
    if kind == ReportCount.kind:
        return ReportCount(data["limit"], data["at_least"], data["places"])
    if kind == HalfLine.kind:
        return HalfLine(Reading.from_dict(data, columns), _decode(data["threshold"]), data["above"])
    if kind == Near.kind:
        return Near(Reading.from_dict(data, columns), data["centre"], data["tolerance"])
    if kind == RowTable.kind:
        indices = tuple(_index(name, columns) for name in data["columns"])
        rows = tuple(tuple(_decode(value) for value in row) for row in data["rows"])
        return RowTable(indices, tuple(columns[i] for i in indices), rows, data["complement"])
    if kind == AdditiveScore.kind:
        tables = tuple(
            ScoreTable(
                index := _index(table["column"], columns),
                columns[index],
                tuple(_decode(cut) for cut in table["cuts"]),
                tuple(table["weights"]),
                table["absent"],
            )
            for table in data["tables"]
        )
        return AdditiveScore(tables, data["threshold"], data["above"])
    raise ValueError(f"kind must name an event, got {kind!r}")


def report_counts(sample: ViewSample) -> npt.NDArray[np.int64]:
    """How many values of each draw are present; shape (n,)."""
    absent = np.zeros(len(sample.values), dtype=np.int64)
    for index in range(len(sample.columns)):
        absent += np.isnan(sample.values[:, index])
    return len(sample.columns) - absent


def row_keys(values: FloatArray, indices: Sequence[int]) -> KeyArray:
    """A 64-bit key of some columns of each row, shape (n,); equal rows have one key (NaN equals NaN)."""
    keys = np.zeros(len(values), dtype=np.uint64)
    for index in indices:
        column = values[:, index] + 0.0  # a copy, in which -0.0 has become 0.0
        column[np.isnan(column)] = np.nan  # one bit pattern for all NaN
        keys ^= column.view(np.uint64)
        keys *= np.uint64(
            0x9E3779B97F4A7C15
        )  # odd, so that no two single values share a key; wraps modulo 2^64
        keys ^= keys >> np.uint64(29)
    return keys


def additive_score(tables: Sequence[ScoreTable], sample: ViewSample) -> FloatArray:
    """The sum over tables of the weight of the bin that each draw's value falls into; shape (n,)."""
    score = np.zeros(len(sample.values))
    for table in tables:
        weights = np.asarray((*table.weights, table.absent))
        score += weights[bin_of(np.asarray(table.cuts), sample.values[:, table.index])]
    return score


def bin_of(cuts: FloatArray, values: FloatArray) -> npt.NDArray[np.intp]:
    """Bin of each value: i if cuts[i-1] ≤ value < cuts[i], len(cuts) + 1 if the value is absent (NaN)."""
    bins = np.searchsorted(cuts, values, side="right")
    return np.where(np.isnan(values), len(cuts) + 1, bins)


def _index(name: str, columns: Sequence[Column]) -> int:
    for index, column in enumerate(columns):
        if column.name == name:
            return index
    raise ValueError(f"column must be one of the view's columns, got {name!r}")


def _number(value: float) -> str:
    return "absent" if math.isnan(value) else f"{value:.6g}"


def _listed(parts: Sequence[str], limit: int) -> str:
    if len(parts) > limit:
        return ", ".join(parts[:limit]) + f" and {len(parts) - limit} more"
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _encode(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _decode(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
