"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: omissions (entries of a name that was not seen, words at a place where
there were none, most of the entries of a very long list) make events coarser, never wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter, methodcaller

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column, ViewSample
from verify.outputs.column_source import ColumnSource
from verify.outputs.entries import SORTED
from verify.outputs.number_columns import number_columns
from verify.outputs.number_marks import marked_numbers
from verify.outputs.output_readings import Readings
from verify.outputs.raised import ERRORS, KIND, MESSAGE
from verify.outputs.seen_place import SeenPlace, describe_place, seen_places
from verify.outputs.shapes import AN_ERROR, Shape, format_shape
from verify.outputs.spelling import Spelling
from verify.outputs.wide_outputs import MOST_PLACES, block_sums, most_telling_names
from verify.outputs.word_columns import WordCodes, Words

# places with words up to which each word is taken apart: a list of words is a sequence already
_MOST_SPELLED = 4
# Part of the numbers to which their steps are rounded: a sum of many terms is rounded, too.
_ROUNDED = 2.0**-40
_MOST_LENGTHS = 8  # lists of which the length is a column


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
        The sources' columns, by their numbers, that are read as changes from the output before, and the unit to a
        multiple of which each change is rounded, 0 for whole numbers; None if there are none.
    """

    sources: tuple[ColumnSource, ...]
    places: tuple[str, ...]
    left_out: frozenset[int] = frozenset()
    steps: Mapping[int, float] | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns."""
        every, steps = self._every_column, self.steps or {}
        return tuple(_as_step(every[i]) if i in steps else every[i] for i in self._view_columns)

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
        """Return the layout with some of its columns read as steps: their numbers and units."""
        return replace(self, steps={self._view_columns[i]: unit for i, unit in units.items()})

    @property
    def width(self) -> int:
        """Number of places of the outputs."""
        return max(1, len(self.places))

    def sample(self, readings: Readings, before: Readings | None = None) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns); steps are those since the n outputs `before`."""
        values = self._values(readings)
        if self.steps is not None and before is not None:
            values, earlier = np.array(values), self._values(before)
            for i, unit in self.steps.items():
                with np.errstate(
                    invalid="ignore", over="ignore"
                ):  # of infinite numbers: there is none, or it is
                    change = values[:, i] - earlier[:, i]
                values[:, i] = np.round(change / unit) * unit if unit else change
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


def _as_step(column: Column) -> Column:
    words = f"the step from the one before to {column.words}"
    return replace(column, name=f"{column.name}:step", words=words)


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
    codes = WordCodes.from_words(word for place in spoken for words in place.words_apart for word in words)
    labels = [_label_column(place, codes) for place in spoken]
    spelled = []
    few = sum(place.name not in ERRORS for place in spoken) <= _MOST_SPELLED
    for place in spoken:
        if (few or place.name == MESSAGE) and (spelling := Spelling.from_words(*place.words_apart)):
            columns, width = spelling.columns(place.key, place.description), spelling.width
            spelled.append(
                ColumnSource(
                    columns, partial(_of_words, methodcaller("words_at", place.name), spelling.values, width)
                )
            )
    sources = [numbers, *labels, *spelled, low_bits, *marked_numbers(telling)]
    if len(numbered) > MOST_PLACES:
        sources.append(block_sums(numbered))
    orders = WordCodes.from_words(o for r in seen if r.orders is not None for o in r.orders.distinct_words)
    if len({frozenset(order.split(", ")) for order in orders.codes}) < len(orders):
        column = Column("order", "the order of the output's keys", "category", orders.labels("order"), False)
        sources.append(_word_column(column, attrgetter("orders"), orders))
    shapes = {shape: shape for r in seen for shape in r.shapes if shape != AN_ERROR}
    if len(shapes) > 1:
        sources.insert(0, _shape_columns(list(shapes), places))
    return OutputLayout(tuple(source for source in sources if source.columns), tuple(places))


_GetWords = Callable[[Readings], Words | None]
"""Function that returns the words of outputs; None if no output has any."""


def _of_words(
    words_of: _GetWords, read: Callable[[Words], FloatArray], width: int, readings: Readings
) -> FloatArray:
    """Return the readings of the words of n outputs, shape (n, width); NaN where there is no word."""
    words = words_of(readings)
    return np.full((len(readings), width), np.nan) if words is None else read(words)


def _word_column(column: Column, words_of: _GetWords, codes: WordCodes) -> ColumnSource:
    """Return the column of words as labels."""
    return ColumnSource((column,), partial(_of_words, words_of, codes.values, 1), varies=True)


def _label_column(place: SeenPlace, codes: WordCodes) -> ColumnSource:
    """Return the words at a place as labels, those of the kind of an error without quotation marks."""
    key, said = place.key, place.description
    if place.holds_numbers:  # they have a column, too
        key, said = f"{key}:word", f"{said} as a word"
    labels = codes.labels("error", format_shape) if place.name == KIND else codes.labels()
    return _word_column(
        Column(key, said, "category", labels, place.is_entry), methodcaller("words_at", place.name), codes
    )


def _shape_columns(shapes: Sequence[Shape], places: Collection[str]) -> ColumnSource:
    """Return the lengths of lists, and the shape where these do not say as much, of outputs of different shapes."""
    names = dict.fromkeys(name for shape in shapes for name in shape.lengths)
    varied = [name for name in names if len({shape.lengths.get(name) for shape in shapes}) > 1]
    lengths = varied[:_MOST_LENGTHS]
    columns = []
    for name in lengths:
        of_set = any(place.startswith((f"{name}{{", f"{name}{SORTED}")) for place in places)
        words = f"the number of {'elements' if of_set else 'entries'} of {describe_place(name)}"
        columns.append(Column(f"output{name}:length", words, "real", is_entry=False))
    different, codes = {tuple(map(shape.lengths.get, lengths)) for shape in shapes}, None
    if len(different) < len(shapes) or any(None in each for each in different):  # else lengths say as much
        codes = WordCodes.from_words(shapes)
        labels = codes.labels("shape", format_shape)
        columns.append(Column("shape", "the shape of the output", "category", labels, False))
    return ColumnSource(tuple(columns), partial(_shape_values, lengths, codes), varies=True)


def _shape_values(lengths: Sequence[str], codes: WordCodes | None, readings: Readings) -> FloatArray:
    """Return lengths, NaN where there is no list, and shapes' codes if there are any."""
    rows = {}
    for shape in readings.shapes:
        row = [float(shape.lengths.get(name, math.nan)) for name in lengths]
        rows[shape] = row if codes is None else [*row, codes.code_of(shape)]
    return np.array([rows[shape] for shape in readings.shape_of_each])
