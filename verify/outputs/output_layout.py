"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries of a name that was not seen, words at a place where
there were none, most of the entries of a very long list) makes events coarser, never wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter, methodcaller
from typing import Protocol

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column, ViewSample
from verify.outputs.number_columns import number_columns
from verify.outputs.number_marks import marked_numbers
from verify.outputs.output_readings import Readings
from verify.outputs.seen_place import SeenPlace, seen_places
from verify.outputs.spelling import Spelling
from verify.outputs.wide_outputs import MOST_PLACES, BlockSums, most_telling_names
from verify.outputs.word_columns import WordCodes, Words

_MOST_SPELLED = (
    4  # places with words up to which each word is taken apart: a list of words is a sequence already
)
# Part of the numbers to which their steps are rounded: a sum of many terms is rounded, too.
_ROUNDED = 2.0**-40
_ANOTHER = -1.0  # the code of all words that were not seen at first, where their parts are columns, too


class _ColumnSource(Protocol):
    """Some columns of a view."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""

    def values(self, readings: Readings) -> FloatArray:
        """Return the columns' values for n outputs, shape (n, columns); NaN where there is nothing."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Columns read as changes from the output before.

    Attributes
    ----------
    units
        The unit to a multiple of which each change is rounded, by the sources' columns' numbers; 0 for whole numbers.
    """

    units: Mapping[int, float]

    def apply(self, values: FloatArray, before: FloatArray) -> FloatArray:
        """Return values, of these columns less those before."""
        changed = np.array(values)
        for i, unit in self.units.items():
            with np.errstate(invalid="ignore", over="ignore"):  # of infinite numbers: there is none, or it is
                change = values[:, i] - before[:, i]
            changed[:, i] = np.round(change / unit) * unit if unit else change
        return changed

    def step_columns(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns, these as changes."""
        named = list(columns)
        for i in self.units:
            column = named[i]
            named[i] = replace(
                column, name=f"{column.name}:step", words=f"the step from the one before to {column.words}"
            )
        return named


@dataclass(frozen=True, eq=False)
class OutputLayout:
    """The columns of a view, with their sources.

    Attributes
    ----------
    sources
        The sources of the columns, in order.
    places
        Names of all places that were seen.
    left_out
        Numbers of the sources' columns that are none of the view's.
    steps
        Columns that are read as steps; None if there are none.
    """

    sources: tuple[_ColumnSource, ...]
    places: tuple[str, ...]
    left_out: frozenset[int] = frozenset()
    steps: Steps | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns."""
        every = self._every_column if self.steps is None else self.steps.step_columns(self._every_column)
        return tuple(every[i] for i in self._view_columns)

    @cached_property
    def _every_column(self) -> tuple[Column, ...]:
        return tuple(column for source in self.sources for column in source.columns)

    @cached_property
    def _view_columns(self) -> list[int]:
        return [i for i in range(len(self._every_column)) if i not in self.left_out]

    def without(self, columns: Collection[int]) -> OutputLayout:
        """Return the layout without some of its columns, by their numbers."""
        return replace(self, left_out=self.left_out | {self._view_columns[i] for i in columns})

    def stepping(self, units: Mapping[int, float]) -> OutputLayout:
        """Return the layout with some of its columns read as steps; see `Steps`."""
        return replace(self, steps=Steps({self._view_columns[i]: unit for i, unit in units.items()}))

    @property
    def width(self) -> int:
        """Number of places of the outputs."""
        return max(1, len(self.places))

    @property
    def has_varied_shapes(self) -> bool:
        """True if words are taken apart, or outputs have several shapes: a few outputs hardly show all of these."""
        return any(isinstance(source, _SpelledColumns | _OutputShape) for source in self.sources)

    def sample(self, readings: Readings, before: Readings | None = None) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns); steps are those since the n outputs `before`."""
        values = self._values(readings)
        if self.steps is not None and before is not None:
            values = self.steps.apply(values, self._values(before))
        return ViewSample(values[:, self._view_columns] if self.left_out else values, self.columns)

    def _values(self, readings: Readings) -> FloatArray:
        """Return the values of all sources' columns."""
        if len(self.sources) == 1:
            return self.sources[0].values(readings)
        values, at = np.empty((len(readings), len(self._every_column))), 0
        for source in self.sources:
            values[:, at : at + len(source.columns)] = source.values(readings)
            at += len(source.columns)
        return values


def step_unit(values: FloatArray, reached: float = 0.0) -> float:
    """Return the unit to which steps of numbers up to the largest, or `reached`, are rounded; 0 for whole ones."""
    present = np.abs(values[np.isfinite(values)])
    if (present == np.round(present)).all():
        return 0.0
    largest = max(reached, float(present.max()), sys.float_info.min)
    return 2.0 ** math.ceil(math.log2(_ROUNDED * largest))


def layout_of(seen: Sequence[Readings]) -> OutputLayout:
    """Return the layout for outputs like those seen, some on each of several data sets.

    Of more than 256 places with numbers (or words), only those stay columns that differ most between the data sets;
    beside them, sums of all numbers in blocks. Words of which many are seen are taken apart, too.
    """
    places = {place.name: place for place in seen_places(seen)}
    numbered = [name for name, place in places.items() if place.holds_numbers]
    spoken = [
        places[name] for name in most_telling_names([n for n, p in places.items() if p.holds_words], seen)
    ]
    telling = [places[name] for name in most_telling_names(numbered, seen)]
    numbers, low_bits = number_columns(telling)
    codes = WordCodes.from_words(word for place in spoken for word in place.seen_words)
    labels: list[_ColumnSource] = []
    spelled: list[_ColumnSource] = []
    for place in spoken:
        spelling = Spelling.from_words(*place.words_apart) if len(spoken) <= _MOST_SPELLED else None
        labels.append(_label_column(place, codes, closed=spelling is not None))
        if spelling is not None:
            spelled.append(
                _SpelledColumns(place.name, spelling.columns(place.key, place.description), spelling)
            )
    sources: list[_ColumnSource] = [numbers, *labels, *spelled, low_bits, *marked_numbers(telling)]
    if len(numbered) > MOST_PLACES:
        sources.append(BlockSums.from_names(numbered))
    orders = _codes(r.orders for r in seen)
    if len({frozenset(order.split(", ")) for order in orders.codes}) < len(orders):
        column = Column("order", "the order of the output's keys", "category", orders.labels())
        sources.append(_WordColumn(column, attrgetter("orders"), orders.code_of))
    shapes = WordCodes.from_words(shape for r in seen for shape in r.shapes)
    if len(shapes) > 1:
        sources.append(_OutputShape(shapes, frozenset(places)))
    errors = _codes(r.errors for r in seen)
    if len(errors):
        column = Column("raised", "the raised error", "category", errors.labels())
        sources.append(_WordColumn(column, attrgetter("errors"), errors.code_of))
    return OutputLayout(tuple(source for source in sources if source.columns), tuple(places))


@dataclass(frozen=True)
class _WordColumn:
    """Words of outputs as the labels of one column.

    Attributes
    ----------
    column
        The column.
    words
        The words, or None if no output has any.
    number
        Returns the code of a word.
    """

    column: Column
    words: Callable[[Readings], Words | None]
    number: Callable[[str], float]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The one column."""
        return (self.column,)

    def values(self, readings: Readings) -> FloatArray:
        """Return the words' numbers, shape (n, 1)."""
        words = self.words(readings)
        if words is None:
            return np.full((len(readings), 1), np.nan)
        return words.numbers(self.number)[:, None]


def _label_column(place: SeenPlace, codes: WordCodes, *, closed: bool) -> _WordColumn:
    """Return the words at a place as labels; if `closed`, one label for all words that were not seen at first."""
    key, said = place.key, place.description
    if place.holds_numbers:  # they have a column, too
        key, said = f"{key}:word", f"{said} as a word"
    another = ((_ANOTHER, "another word than those seen at first"),) if closed else ()
    column = Column(key, said, "category", (*another, *codes.labels()))
    number = partial(codes.code_of, unseen=_ANOTHER) if closed else codes.code_of
    return _WordColumn(column, methodcaller("words_at", place.name), number)


def _codes(columns: Iterable[Words | None]) -> WordCodes:
    """Return a code for each word that occurs."""
    return WordCodes.from_words(
        word for words in columns if words is not None for word in words.distinct_words
    )


@dataclass(frozen=True)
class _SpelledColumns:
    """The columns of the parts of the words at one place."""

    name: str
    columns: tuple[Column, ...]
    spelling: Spelling

    def values(self, readings: Readings) -> FloatArray:
        """Return the columns' values from the parts of the words, shape (n, columns); NaN where there is no word."""
        words = readings.words_at(self.name)
        if words is None:
            return np.full((len(readings), len(self.columns)), np.nan)
        return self.spelling.values(words)


@dataclass(frozen=True)
class _OutputShape:
    """The shape of an output, and how many entries it has beside those at known places."""

    codes: WordCodes
    places: frozenset[str]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Two columns."""
        return (
            Column("shape", "the shape of the output", "category", self.codes.labels("a single value")),
            Column("unknown", "the number of entries that the first outputs did not have", "category"),
        )

    def values(self, readings: Readings) -> FloatArray:
        """Return the shapes' codes, and the counts; shape (n, 2)."""
        shapes = [self.codes.code_of(shape) for shape in readings.shape_of_each]
        count = np.zeros(len(readings)) if readings.beyond is None else readings.beyond.astype(np.float64)
        for place, name in enumerate(readings.names):
            if name not in self.places:
                present = ~np.isnan(readings.values[:, place])
                if place in readings.words:
                    present |= readings.words[place].has_word
                count += present
        return np.stack([shapes, count], axis=1)
