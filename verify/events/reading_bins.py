"""The laws of the reading that decides an event, on D and on D′, counted in bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from verify.events.event import Event, HalfLine, Near, RowTable, value_words
from verify.events.readings import Reading, format_value
from verify.events.rounded_columns import OfRounded, RoundedColumns
from verify.events.scores import AdditiveScore
from verify.events.view_sample import ViewSample
from verify.findings.finding import LawBin, ReadingLaws

_FEW = 12  # different numbers, of which each has a bin
_BINS = 16  # intervals, of more
_TAIL = 0.01  # share of the numbers beyond the first and the last edge
_MOST_DRAWS = 4_096  # a side, that bins are laid out on


@dataclass(frozen=True, slots=True)
class NumberBins:
    """Bins of numbers: each of a few values, and all others; or intervals [a, b) of one width between open ends.

    The last bin is of draws without a number.
    """

    numbers: tuple[float, ...]
    few: bool

    @classmethod
    def for_numbers(cls, drawn: FloatArray, through: float | None = None) -> NumberBins:
        """Return bins for such numbers; of intervals one begins at `through`."""
        different = np.unique(drawn[~np.isnan(drawn)])
        drawn = drawn[np.isfinite(drawn)]
        if different.size <= _FEW or drawn.size == 0:
            return cls(tuple(different[:_FEW].tolist()), True)
        low, high = np.quantile(drawn, [_TAIL, 1.0 - _TAIL]).tolist()
        step = (high - low) / _BINS
        if step == 0.0 or not np.isfinite(step):
            return cls(tuple(different[np.linspace(0, different.size - 1, _FEW).astype(int)].tolist()), True)
        first = low if through is None else through - step * np.ceil((through - low) / step)
        edges = first + step * np.arange(_BINS + 1)
        if through is not None and edges[0] <= through <= edges[-1]:  # exactly, and not as the sum is rounded
            edges[np.abs(edges - through).argmin()] = through
        return cls(tuple(np.unique(edges).tolist()), False)

    def counts(self, drawn: FloatArray, inside: BoolArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the number of draws in each bin, shape (bins, 2): outside of an event, and in it."""
        known = np.asarray(self.numbers)
        places = np.searchsorted(known, drawn, side="left" if self.few else "right")
        if self.few and known.size:
            places[known[np.minimum(places, known.size - 1)] != drawn] = known.size
        places[np.isnan(drawn)] = known.size + 1
        found = np.bincount(2 * places + inside, weights, 2 * (known.size + 2))
        return found.reshape(-1, 2).astype(np.float64)

    def laws(
        self,
        reading: str,
        counts: tuple[FloatArray, FloatArray],
        draws: int,
        name: Callable[[float], str] = format_value,
    ) -> ReadingLaws:
        """Return the laws of these counts on D and on D′; a bin of draws in an event and outside of it is two."""
        labels = [name(number) if self.few else f"{number:.3g}" for number in self.numbers]
        labels = [*labels, "other"] if self.few else [f"< {labels[0]}", *labels]
        found: list[LawBin] = []
        for label, *of_worlds in zip([*labels, "absent"], *(each.tolist() for each in counts), strict=True):
            parts = [
                LawBin(label, ours, theirs, inside)
                for inside, (ours, theirs) in zip((False, True), zip(*of_worlds, strict=True), strict=True)
            ]
            if found and found[-1].inside:
                parts.reverse()
            found += [each for each in parts if each.data or each.data_prime]
        return ReadingLaws(reading, draws, tuple(found))


@dataclass(frozen=True, slots=True)
class ReadingBins:
    """Bins of the reading that decides an event, read of rounded columns if `rounded` is not None."""

    reading: Reading
    rounded: RoundedColumns | None
    bins: NumberBins

    @classmethod
    def for_event(cls, event: Event, *worlds: ViewSample) -> ReadingBins | None:
        """Return bins for an event, laid out on draws of both worlds; None if no single reading decides it."""
        rounded: RoundedColumns | None = None
        if isinstance(event, OfRounded):
            rounded, event = event.rounded, event.event
        through: float | None = None
        match event:
            case HalfLine(AdditiveScore((table,))):  # of one reading: that is shown, and not its score
                reading = table.binned.reading
            case HalfLine(reading, threshold, above):
                through = threshold if above else math.nextafter(threshold, math.inf)
            case Near(reading) | RowTable((reading,)):
                pass
            case _:
                return None
        found = cls(reading, rounded, NumberBins((), True))
        drawn = np.concatenate([found.values(world.rows(0, _MOST_DRAWS)) for world in worlds])
        return replace(found, bins=NumberBins.for_numbers(drawn, through))

    def values(self, sample: ViewSample) -> FloatArray:
        """Return the reading of each draw."""
        return (sample if self.rounded is None else sample.read_values(self.rounded)).read_values(
            self.reading
        )

    def counts(self, sample: ViewSample, inside: BoolArray) -> FloatArray:
        """Return the number of draws in each bin; see `NumberBins.counts`."""
        return self.bins.counts(self.values(sample), inside)

    def laws(self, counts: tuple[FloatArray, FloatArray], draws: int) -> ReadingLaws:
        """Return the laws of these counts on D and on D′."""
        return self.bins.laws(self.reading.description, counts, draws, partial(value_words, self.reading))
