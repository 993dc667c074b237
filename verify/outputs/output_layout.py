"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries of a name that was not seen, words at a place where
there were none, most of the entries of a very long list) makes events coarser, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verify.events.view_sample import Column, ViewSample
from verify.outputs.column_sources import (
    ColumnSource,
    KeyOrder,
    LabelColumn,
    OutputShape,
    RaisedError,
    SpelledColumns,
)
from verify.outputs.number_columns import number_columns
from verify.outputs.output_readings import Readings
from verify.outputs.seen_place import seen_places
from verify.outputs.spelling import spelling_of
from verify.outputs.wide_outputs import MOST_COLUMNS, BlockSums, most_telling_names
from verify.outputs.words import WordCodes

_MOST_SPELLED = (
    4  # places with words up to which each word is taken apart; a list of words is a sequence already
)


@dataclass(frozen=True, eq=False)
class Layout:
    """Which column holds what.

    Attributes
    ----------
    sources
        Where the columns come from, in order.
    places
        Names of all places that were seen.
    """

    sources: tuple[ColumnSource, ...]
    places: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns."""
        return tuple(column for source in self.sources for column in source.columns)

    @property
    def width(self) -> int:
        """How many places outputs have."""
        return max(1, len(self.places))

    @property
    def varied(self) -> bool:
        """Whether words are taken apart, or outputs have several shapes: a few outputs hardly show all of these."""
        return any(isinstance(source, SpelledColumns | OutputShape) for source in self.sources)

    def sample(self, readings: Readings) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns)."""
        if len(self.sources) == 1:
            return ViewSample(self.sources[0].values(readings), self.columns)
        values = np.empty((len(readings), len(self.columns)))
        at = 0
        for source in self.sources:
            values[:, at : at + len(source.columns)] = source.values(readings)
            at += len(source.columns)
        return ViewSample(values, self.columns)


def layout_of(seen: Sequence[Readings]) -> Layout:
    """Return the layout for outputs like those seen, some on each of several data sets.

    Of more than 256 places with numbers (or words), only those stay columns that differ most between the data sets;
    beside them, sums of all numbers in blocks. Words of which many are seen are taken apart, too.
    """
    places = {place.name: place for place in seen_places(seen)}
    numbered = [name for name, place in places.items() if place.holds_numbers]
    spoken = [
        places[name] for name in most_telling_names([n for n, p in places.items() if p.holds_words], seen)
    ]
    numbers, low_bits = number_columns([places[name] for name in most_telling_names(numbered, seen)])
    codes = WordCodes.of(word for place in spoken for word in place.words)
    labels: list[ColumnSource] = []
    spelled: list[ColumnSource] = []
    for place in spoken:
        spelling = spelling_of(place.words) if len(spoken) <= _MOST_SPELLED else None
        labels.append(LabelColumn.of(place, codes, closed=spelling is not None))
        if spelling is not None:
            spelled.append(SpelledColumns(place.name, spelling.columns(place.key, place.said), spelling))
    sources: list[ColumnSource] = [numbers, *labels, *spelled, low_bits]
    if len(numbered) > MOST_COLUMNS:
        sources.append(BlockSums.of(numbered))
    orders = WordCodes.of(order for r in seen if r.orders is not None for order in r.orders.spoken)
    if len({frozenset(order.split(", ")) for order in orders.codes}) < len(orders):
        sources.append(KeyOrder(orders))
    shapes = WordCodes.of(shape for r in seen for shape in r.shapes)
    if len(shapes) > 1:
        sources.append(OutputShape(shapes, frozenset(places)))
    errors = WordCodes.of(raised.error for r in seen for raised in r.raised.values())
    if len(errors):
        sources.append(RaisedError(errors))
    return Layout(tuple(source for source in sources if source.columns), tuple(places))
