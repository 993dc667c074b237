"""Marks of equal numbers that print differently: True, 1 and 1.0, or -0.0 and 0.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from verify.events.view_sample import Column
from verify.outputs.column_source import ColumnSource, values_at_places
from verify.outputs.output_readings import Readings
from verify.outputs.seen_place import SeenPlace

_MOST_ALONE = 4
"""Places with a mark up to which each has a column of its own; of more, the marked entries are counted."""


_SAID = ((0.0, "no"), (1.0, "yes"))


@dataclass(frozen=True)
class _Mark:
    """A property of a number beside its value, such as its type or its sign at zero.

    Attributes
    ----------
    key
        Its part of the names of columns.
    said
        The words for a number with the mark, as the end of a sentence.
    of
        Function that returns True for each number at a place that has the mark, shape (n,).
    follows
        True if the mark mostly follows from the value, as ``max(0, x)`` is a whole number by its type where it is 0: it
        is a column only where it differs between equal numbers.
    """

    key: str
    said: str
    of: Callable[[Readings, int], BoolArray]
    follows: bool = False

    def values(self, readings: Readings, place: int) -> FloatArray:
        """Return 1 for numbers at a place with the mark, 0 for others and NaN for none; shape (n,)."""
        return np.where(np.isnan(readings.values[:, place]), np.nan, self.of(readings, place))

    def count(self, names: Sequence[str], readings: Readings) -> FloatArray:
        """Return the number of places with the mark, shape (n, 1)."""
        return np.asarray(np.nansum(values_at_places(names, self.values, readings), axis=1, keepdims=True))


def _negative_zeros(readings: Readings, place: int) -> BoolArray:
    values = readings.values[:, place]
    zeros: BoolArray = (values == 0.0) & np.signbit(values)
    return zeros


_MARKS = (
    _Mark("truth", "a truth value, not a number", Readings.truth_at),
    _Mark("minus", "a zero with a minus", _negative_zeros),
    _Mark("integer", "a whole number by its type, such as 1 and not 1.0", Readings.integer_at, follows=True),
)


def marked_numbers(places: Sequence[SeenPlace]) -> list[ColumnSource]:
    """Return columns for the marks that some of the numbers at these places have, and others have not."""
    found = []
    for mark in _MARKS:
        marked = [place for place in places if _is_mixed(place, mark)]
        if not marked:
            continue
        names = tuple(place.name for place in marked)
        if len(marked) > _MOST_ALONE:
            said = f"how many entries are {mark.said}"
            columns = [Column(f"output:{mark.key}", said, "real", is_entry=False)]
            found.append(ColumnSource(tuple(columns), partial(mark.count, names)))
            continue
        words = [f"whether {place.description} is {mark.said}" for place in marked]
        columns = [
            Column(f"{place.key}:{mark.key}", said, "category", _SAID, False)
            for place, said in zip(marked, words, strict=True)
        ]
        found.append(ColumnSource(tuple(columns), partial(values_at_places, names, mark.values)))
    return found


def _is_mixed(place: SeenPlace, mark: _Mark) -> bool:
    """Return True if some numbers at a place have a mark and others have not, of equal values if the mark follows."""
    numbers = [(r, at, ~np.isnan(r.values[:, at])) for r, at in place.outputs]
    if mark.follows:  # truth values have a mark of their own
        numbers = [(r, at, here & ~r.truth_at(at)) for r, at, here in numbers]
    has = np.concatenate([mark.of(r, at)[here] for r, at, here in numbers])
    if not has.any() or has.all() or not mark.follows:
        return bool(has.any() and not has.all())
    values = np.concatenate([r.values[here, at] for r, at, here in numbers])
    return bool(np.isin(values[has], values[~has]).any())
