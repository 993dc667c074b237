"""Families of events, laid out on one sample and counted on another.

Where a family is laid out without looking at which draw came from which world (quantiles of the pooled
sample, values that repeat), the draws it was laid out on may be counted as well: knowing them pooled says
nothing about which world prefers an event. Where the worlds were told apart (an order by likelihood ratio, a
fitted score), only fresh draws are counted.

Row i of both worlds may come from one and the same random numbers. Then an event tends to occur in both or in
neither, and a ratio of its frequencies is known the better the fewer pairs of draws it splits: families count those.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from verify.events.event import (
    Both,
    Event,
    HalfLine,
    Interval,
    Near,
    ReportCount,
    report_counts,
)
from verify.events.readings import Reading
from verify.events.view_sample import FloatArray, ViewSample

IntArray = npt.NDArray[np.int64]
Worlds = tuple[ViewSample, ViewSample]

MOST_CELLS = 40  # values of a reading that takes few, at each of which quadrants may begin
NEAR_CENTRES = 8  # numbers that a difference takes again and again


@dataclass(frozen=True, slots=True)
class Family:
    """Counts of many events in both worlds, and how to write one of them down.

    Attributes
    ----------
    hits, hits_prime
        How often each event occurred in the first and in the second world.
    trials
        Draws counted of each world.
    build
        The event at an index.
    alternatives
        Of how many unrelated events each event, by its probability, may be said to be the best one.
    split
        The share of the pairs (row i of the one world, row i of the other) of fresh draws that each event splits: it
        occurs in one of the two only. At least that, estimated with one more such pair than was seen. None if it was
        not counted: then the worlds' draws are taken to be independent.
    """

    hits: IntArray
    hits_prime: IntArray
    trials: tuple[int, int]
    build: Callable[[int], Event]
    alternatives: Callable[[FloatArray], FloatArray]
    split: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a number each, by which cuts they are split.

    Attributes
    ----------
    size
        The number of pairs.
    low, high
        The smaller and the larger of each pair, in increasing order; absent ones count as larger than any cut.
    low_or_absent, high_or_absent
        The same where absent ones count as smaller than any cut.
    """

    size: int
    low: FloatArray
    high: FloatArray
    low_or_absent: FloatArray
    high_or_absent: FloatArray

    @classmethod
    def of(cls, first: FloatArray, second: FloatArray) -> Pairs | None:
        """Pair up two arrays; None if they are not of one length."""
        if first.size != second.size:
            return None
        low, high = sorted_present(np.fmin(first, second)), sorted_present(np.maximum(first, second))
        if high.size == first.size:
            return cls(first.size, low, high, low, high)
        other_low, other_high = np.minimum(first, second), np.fmax(first, second)
        return cls(first.size, low, high, sorted_present(other_low), sorted_present(other_high))

    def split_at_most(self, cuts: FloatArray, side: Literal["left", "right"] = "right") -> FloatArray:
        """Share of pairs of which one is at most ("left": below) the cut, the other not or absent; one is added."""
        split = np.searchsorted(self.low, cuts, side) - np.searchsorted(self.high, cuts, side)
        return np.asarray((split + 1.0) / self.size)

    def split_at_least(self, cuts: FloatArray) -> FloatArray:
        """Share of pairs of which one is at least the cut, the other below it or absent; one is added."""
        low, high = self.low_or_absent, self.high_or_absent
        reached = high.size - np.searchsorted(high, cuts, "left")
        return np.asarray((reached - (low.size - np.searchsorted(low, cuts, "left")) + 1.0) / self.size)


@dataclass(frozen=True, slots=True)
class Sorted:
    """The present values of a reading in increasing order, of each world of both samples.

    `pooled` are the fit values of both worlds together; `starts` and `lengths` are their runs of equal values.
    `fresh` are the values of the second sample as they came, and `pairs` those values by pairs, if its worlds have one
    size.
    """

    reading: Reading
    fit: tuple[FloatArray, FloatArray]
    choose: tuple[FloatArray, FloatArray]
    pooled: FloatArray
    starts: npt.NDArray[np.intp]
    lengths: npt.NDArray[np.intp]
    fit_size: tuple[int, int]
    choose_size: tuple[int, int]
    fresh: tuple[FloatArray, FloatArray]
    pairs: Pairs | None

    @classmethod
    def of(cls, reading: Reading, fit: Worlds, choose: Worlds) -> Sorted:
        """Read both samples and sort."""
        first, second = (sorted_present(reading.of(world)) for world in fit)
        pooled = np.concatenate([first, second])
        pooled.sort()
        fresh = reading.of(choose[0]), reading.of(choose[1])
        return cls(
            reading,
            (first, second),
            (sorted_present(fresh[0]), sorted_present(fresh[1])),
            pooled,
            *runs(pooled),
            (len(fit[0].values), len(fit[1].values)),
            (len(choose[0].values), len(choose[1].values)),
            fresh,
            Pairs.of(*fresh),
        )

    @property
    def all_size(self) -> tuple[int, int]:
        """Draws of each world in both samples."""
        return self.fit_size[0] + self.choose_size[0], self.fit_size[1] + self.choose_size[1]

    def up_to(self, cuts: FloatArray, side: str) -> tuple[IntArray, IntArray]:
        """For each world, how many values of both samples are ≤ ("right") or < ("left") each cut."""
        first, second = (
            np.searchsorted(a, cuts, side=side) + np.searchsorted(b, cuts, side=side)  # type: ignore[call-overload]
            for a, b in zip(self.fit, self.choose, strict=True)
        )
        return first, second


def sorted_present(values: FloatArray) -> FloatArray:
    """The values that are not absent, in increasing order."""
    absent = np.isnan(values)
    return np.sort(values[~absent] if absent.any() else values)


def runs(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where each run of equal values of a sorted array starts, and how long it is."""
    if values.size == 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    starts = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
    return starts, np.diff(np.concatenate([starts, [values.size]]))


def nested(mass: FloatArray) -> FloatArray:
    """Alternatives of nested events: a few for every factor e of their probability."""
    return 1.0 - 2.0 * np.log(np.maximum(mass, 1e-300))


def disjoint(mass: FloatArray) -> FloatArray:
    """Alternatives of disjoint events: as many as have room."""
    return 1.0 / np.maximum(mass, 1e-300)


def intervals(mass: FloatArray) -> FloatArray:
    """Alternatives of intervals of one line: they may shift, and be a little longer or shorter."""
    return 1.0 + 4.0 / np.maximum(mass, 1e-300)


def report_count_family(fit: Worlds, choose: Worlds) -> Iterator[Family]:
    """At most k, then at least k reports; only if something is absent at all."""
    columns = choose[0].columns
    places = len(columns)
    counts = [
        np.bincount(report_counts(a), minlength=places + 1)
        + np.bincount(report_counts(b), minlength=places + 1)
        for a, b in zip(fit, choose, strict=True)
    ]
    if all(count[places] == count.sum() for count in counts):
        return
    at_most = [np.cumsum(count) for count in counts]
    at_least = [np.cumsum(count[::-1]) for count in counts]  # at least places, places - 1, ...
    hits, hits_prime = (np.concatenate(both) for both in zip(at_most, at_least, strict=True))

    def build(at: int) -> Event:
        if at <= places:
            return ReportCount.of_columns(at, False, columns)
        return ReportCount.of_columns(2 * places + 1 - at, True, columns)

    yield Family(hits, hits_prime, (int(counts[0].sum()), int(counts[1].sum())), build, nested)


def certain_family(choose: Worlds) -> Family:
    """An event that always holds, for views of which nothing else can be said."""
    columns = choose[0].columns
    sizes = len(choose[0].values), len(choose[1].values)
    hits, hits_prime = (np.array([size], dtype=np.int64) for size in sizes)
    return Family(hits, hits_prime, sizes, lambda at: ReportCount.of_columns(0, True, columns), nested)


def half_line_family(sorted_values: Sorted) -> Iterator[Family]:
    """At most t, and at least t: t at pooled quantiles, and just outside each world's range."""
    reading = sorted_values.reading  # `build` outlives the sorted values, and must not keep them
    pooled = sorted_values.pooled
    if pooled.size == 0:
        return
    thresholds = np.unique(np.concatenate([quantiles(pooled), _edges(sorted_values.fit)]))
    at_most, below = sorted_values.up_to(thresholds, "right"), sorted_values.up_to(thresholds, "left")
    present = [a.size + b.size for a, b in zip(sorted_values.fit, sorted_values.choose, strict=True)]
    hits = [np.concatenate([at_most[w], present[w] - below[w]]) for w in (0, 1)]

    def build(at: int) -> Event:
        above, which = divmod(at, thresholds.size)
        return HalfLine(reading, float(thresholds[which]), bool(above))

    split = _split_half_lines(sorted_values.pairs, thresholds)
    yield Family(hits[0], hits[1], sorted_values.all_size, build, nested, split)


def _split_half_lines(pairs: Pairs | None, cuts: FloatArray) -> FloatArray | None:
    """`Family.split` of at most each cut, then of at least each cut."""
    return None if pairs is None else np.concatenate([pairs.split_at_most(cuts), pairs.split_at_least(cuts)])


def interval_family(sorted_values: Sorted) -> Iterator[Family]:
    """Between two pooled quantiles, and outside of them."""
    reading = sorted_values.reading
    pooled = sorted_values.pooled
    if pooled.size == 0:
        return
    cuts = quantiles(pooled, 32, 4)
    at_most, below = sorted_values.up_to(cuts, "right"), sorted_values.up_to(cuts, "left")
    low, high = np.triu_indices(cuts.size, k=1)
    present = [a.size + b.size for a, b in zip(sorted_values.fit, sorted_values.choose, strict=True)]
    inside = [at_most[w][high] - below[w][low] for w in (0, 1)]
    hits = [np.concatenate([inside[w], present[w] - inside[w]]) for w in (0, 1)]

    def build(at: int) -> Event:
        complement, which = divmod(at, low.size)
        a, b = float(cuts[low[which]]), float(cuts[high[which]])
        return Interval(reading, a, b, bool(complement))

    pairs, split = sorted_values.pairs, None
    if pairs is not None:  # a pair that one end or the other splits
        split = pairs.split_at_most(cuts, "left")[low] + pairs.split_at_most(cuts)[high]
        split = np.concatenate([split, split + pairs.split_at_most(np.array([np.inf]))])
    yield Family(hits[0], hits[1], sorted_values.all_size, build, intervals, split)


def quadrant_family(fit: Worlds, choose: Worlds, cell: Reading, value: Reading) -> Iterator[Family]:
    """At most or at least c in one reading that takes few values, and at most or above t in another one.

    Where a sequence ends with a number, a low number after many refusals tells much and is rare: all sequences of
    at least some length that end with a number of at most some size are one quadrant.
    """
    readings = [
        [np.concatenate([reading.of(a), reading.of(b)]) for a, b in zip(fit, choose, strict=True)]
        for reading in (cell, value)
    ]
    cells, values = readings
    numbers = np.unique(np.concatenate(cells))
    numbers = numbers[~np.isnan(numbers)] + 0.0
    pooled = np.concatenate(values)
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if pooled.size == 0 or not 1 < numbers.size <= MOST_CELLS:
        return
    cuts = quantiles(pooled, 8, 8)
    cuts = cuts[np.isfinite(cuts)]  # nothing lies above infinity
    if cuts.size == 0:
        return
    corners = []
    places = []
    for where, what in zip(cells, values, strict=True):
        here = ~(np.isnan(where) | np.isnan(what))
        bins = np.searchsorted(cuts, what)  # bin i: cuts[i-1] < value <= cuts[i]
        places.append((here, np.searchsorted(numbers, where), bins))
        corners.append(_quadrants(places[-1][1][here], bins[here], numbers.size, cuts.size))

    def build(at: int) -> Event:
        quadrant, c, t = (int(i) for i in np.unravel_index(at, (4, numbers.size, cuts.size)))
        cut = float(np.nextafter(cuts[t], np.inf)) if quadrant >= 2 else float(cuts[t])
        first = HalfLine(cell, float(numbers[c]), quadrant % 2 == 1)
        return Both(first, HalfLine(value, cut, quadrant >= 2))

    split = None
    if cells[0].size == cells[1].size:
        (here, first, bins), (other_here, other_first, other_bins) = places
        both = here & other_here
        ends = [
            (np.maximum(a[both], b[both]), np.minimum(a[both], b[both]))
            for a, b in ((first, other_first), (bins, other_bins))
        ]
        # (largest, largest), (largest, smallest), (smallest, largest), (smallest, smallest)
        alike = [
            _quadrants(*corner, numbers.size, cuts.size) for corner in itertools.product(ends[0], ends[1])
        ]
        size = numbers.size * cuts.size
        # Quadrants come in the order: at most c and at most t, at least c and at most t, then both above t.
        together = [alike[which][k * size : (k + 1) * size] for k, which in enumerate((0, 2, 1, 3))]
        split = (corners[0] + corners[1] - 2 * np.concatenate(together) + 1.0) / cells[0].size
    yield Family(corners[0], corners[1], (cells[0].size, cells[1].size), build, quadrants_alike, split)


def _quadrants(cells: npt.NDArray[np.int64], bins: npt.NDArray[np.int64], rows: int, cuts: int) -> IntArray:
    """How many draws lie in each quadrant: at most t and at most, at least c; above t and at most, at least c."""
    table = np.bincount(cells * (cuts + 1) + bins, minlength=rows * (cuts + 1)).reshape(rows, -1)
    low, high = np.cumsum(table, axis=1)[:, :-1], np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:]
    quadrants = [
        total for half in (low, high) for total in (np.cumsum(half, 0), np.cumsum(half[::-1], 0)[::-1])
    ]
    return np.stack(quadrants).ravel().astype(np.int64)


def quadrants_alike(mass: FloatArray) -> FloatArray:
    """Alternatives of quadrants: a few for every factor e of their probability in either direction."""
    return nested(mass) ** 2


def near_family(sorted_values: Sorted, scale: float) -> Iterator[Family]:
    """Numbers that a difference of values of size `scale` takes again and again, to rounding."""
    reading = sorted_values.reading
    pooled = sorted_values.pooled
    pooled = pooled[np.isfinite(pooled)]
    # Rounding of x + z is relative to the size of z, so that the tolerance must grow with the values.
    tolerance = max(1e-9, 1e-12 * scale)
    with np.errstate(over="ignore"):
        starts, lengths = runs(np.round(pooled / tolerance))
    most = np.argsort(-lengths, kind="stable")[:NEAR_CENTRES]
    most = most[lengths[most] >= max(8.0, 1e-3 * pooled.size)]
    if most.size == 0:
        return
    exact = pooled[starts[most] + lengths[most] // 2]
    tidy = np.round(exact, 9)  # 1 rather than 0.99999999999999989, where both lie well within the tolerance
    centres = np.where(np.abs(tidy - exact) <= 0.1 * tolerance, tidy, exact) + 0.0
    upper = sorted_values.up_to(centres + tolerance, "right")
    lower = sorted_values.up_to(centres - tolerance, "left")
    yield Family(
        upper[0] - lower[0],
        upper[1] - lower[1],
        sorted_values.all_size,
        lambda at: Near(reading, float(centres[at]), tolerance),
        disjoint,
    )


def score_family(score: Reading, *samples: Worlds) -> Family:
    """At most t, and at least t, for a score that was fitted on other draws than these samples."""
    raw = [np.concatenate([score.of(sample[w]) for sample in samples]) for w in (0, 1)]
    values = [np.sort(world) for world in raw]
    thresholds = np.unique(quantiles(np.sort(np.concatenate(values)), 64, 24))
    hits = []
    for world in values:
        at_most = np.searchsorted(world, thresholds, side="right")
        at_least = world.size - np.searchsorted(world, thresholds, side="left")
        hits.append(np.concatenate([at_most, at_least]))

    def build(at: int) -> Event:
        above, which = divmod(at, thresholds.size)
        return HalfLine(score, float(thresholds[which]), bool(above))

    split = _split_half_lines(Pairs.of(*raw), thresholds)
    return Family(hits[0], hits[1], (values[0].size, values[1].size), build, nested, split)


def quantiles(pooled: FloatArray, even: int = 64, per_decade: int = 12) -> FloatArray:
    """Quantiles of a sorted sample: `even` ones, and `per_decade` of tail mass down to five draws."""
    least = min(0.5, 5.0 / pooled.size)
    tail = np.geomspace(least, 0.5, 1 + math.ceil(per_decade * math.log10(0.5 / least)))
    levels = np.concatenate([tail, 1.0 - tail, np.linspace(0.0, 1.0, even + 1)])
    return np.unique(pooled[np.clip((levels * pooled.size).astype(np.int64), 0, pooled.size - 1)])


def _edges(worlds: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Numbers just outside each world's range."""
    edges = [np.nextafter(world[0], -np.inf) for world in worlds if world.size]
    edges += [np.nextafter(world[-1], np.inf) for world in worlds if world.size]
    return np.asarray(edges)
