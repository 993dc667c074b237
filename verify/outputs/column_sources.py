"""Where the columns of a view come from: each source has some columns, and reads their values from outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.output_readings import Readings
from verify.outputs.seen_place import SeenPlace
from verify.outputs.spelling import Spelling
from verify.outputs.words import WordCodes

_ANOTHER = -1.0  # stands for all words that were not seen at first, where their parts are columns, too


class ColumnSource(Protocol):
    """Some columns of a view."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""

    def values(self, readings: Readings) -> FloatArray:
        """Return the columns' values for n outputs, shape (n, columns); NaN where there is nothing."""


@dataclass(frozen=True)
class LabelColumn:
    """The words at one place as labels; one label for all that were not seen at first, if `closed`."""

    name: str
    columns: tuple[Column]
    codes: WordCodes
    closed: bool

    @classmethod
    def of(cls, place: SeenPlace, codes: WordCodes, *, closed: bool) -> LabelColumn:
        """Return the column of a place; beside a column of its numbers, if it has one."""
        key, said = place.key, place.said
        if place.holds_numbers:
            key, said = f"{key}:word", f"{said} as a word"
        another = ((_ANOTHER, "another word than those seen at first"),) if closed else ()
        return cls(place.name, (Column(key, said, "category", (*another, *codes.labels())),), codes, closed)

    def values(self, readings: Readings) -> FloatArray:
        """Return the words' codes, shape (n, 1)."""
        words = readings.words_at(self.name)
        if words is None:
            return np.full((len(readings), 1), np.nan)
        known = self.codes.codes
        number = (lambda word: float(known.get(word, _ANOTHER))) if self.closed else self.codes.number
        return words.numbers(number)[:, None]


@dataclass(frozen=True)
class SpelledColumns:
    """The words at one place, taken apart."""

    name: str
    columns: tuple[Column, ...]
    spelling: Spelling

    def values(self, readings: Readings) -> FloatArray:
        """Return what the words are made of, shape (n, columns)."""
        words = readings.words_at(self.name)
        if words is None:
            return np.full((len(readings), len(self.columns)), np.nan)
        return self.spelling.values(words)


@dataclass(frozen=True)
class KeyOrder:
    """The order in which a dictionary's keys come."""

    codes: WordCodes

    @property
    def columns(self) -> tuple[Column, ...]:
        """One column."""
        return (Column("order", "the order of the output's keys", "category", self.codes.labels()),)

    def values(self, readings: Readings) -> FloatArray:
        """Return the orders' codes, shape (n, 1)."""
        if readings.orders is None:
            return np.full((len(readings), 1), np.nan)
        return readings.orders.numbers(self.codes.number)[:, None]


@dataclass(frozen=True)
class OutputShape:
    """The shape of an output, and how many entries it has beside those at known places."""

    codes: WordCodes
    places: frozenset[str]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Two columns."""
        return (
            Column("shape", "the shape of the output", "category", self.codes.labels("a single value")),
            Column("unknown", "the number of entries that the first outputs did not have", "category"),
        )

    def values(self, readings: Readings) -> FloatArray:
        """Return the shapes' codes, and the counts; shape (n, 2)."""
        shapes = [self.codes.number(shape) for shape in readings.shape_of_each]
        count = np.zeros(len(readings)) if readings.beyond is None else readings.beyond.astype(np.float64)
        for place, name in enumerate(readings.names):
            if name not in self.places:
                present = ~np.isnan(readings.values[:, place])
                if place in readings.words:
                    present |= readings.words[place].present
                count += present
        return np.stack([shapes, count], axis=1)


@dataclass(frozen=True)
class RaisedError:
    """What a call raised."""

    codes: WordCodes

    @property
    def columns(self) -> tuple[Column, ...]:
        """One column."""
        return (Column("raised", "what the call raised", "category", self.codes.labels()),)

    def values(self, readings: Readings) -> FloatArray:
        """Return the errors' codes, shape (n, 1)."""
        values = np.full((len(readings), 1), np.nan)
        for i, raised in readings.raised.items():
            values[i] = self.codes.number(raised.error)
        return values
