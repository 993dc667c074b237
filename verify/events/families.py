"""Families of events, laid out on one sample and counted on another.

Where a family is laid out without looking at which draw came from which world (quantiles of the pooled
sample, values that repeat), the draws it was laid out on may be counted as well: pooled, they show nothing of
the world in which an event is likelier. Where the layout depends on the worlds (an order by likelihood ratio, a
fitted score), only fresh draws are counted.

Row i of both worlds may come from one and the same random numbers. Then an event tends to occur in both or in
neither, and a ratio of its frequencies is known the better the fewer pairs of draws it splits: families count those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Event
from verify.events.readings import Reading
from verify.events.view_sample import WorldSamples


@dataclass(frozen=True, slots=True)
class EventFamily:
    """Counts of many events in both worlds, and a function that builds each of them.

    Attributes
    ----------
    hits, hits_prime
        Numbers of draws in each event, in the first and in the second world.
    trials
        Draws counted of each world.
    build
        The event at an index.
    alternatives
        The number of unrelated events of which each event, by its probability, counts as the best one.
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
    """Pairs of numbers, with counts of the pairs that a cut splits.

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
    def from_arrays(cls, first: FloatArray, second: FloatArray) -> Pairs | None:
        """Pair up two arrays; None if they are not of one length."""
        if first.size != second.size:
            return None
        low, high = _sorted_present(np.fmin(first, second)), _sorted_present(np.maximum(first, second))
        if high.size == first.size:
            return cls(first.size, low, high, low, high)
        other_low, other_high = np.minimum(first, second), np.fmax(first, second)
        return cls(first.size, low, high, _sorted_present(other_low), _sorted_present(other_high))

    def split_at_most(self, cuts: FloatArray) -> FloatArray:
        """Share of pairs of which one is at most the cut, the other not or absent; one is added."""
        split = np.searchsorted(self.low, cuts, "right") - np.searchsorted(self.high, cuts, "right")
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
    fresh: tuple[FloatArray, FloatArray]
    pairs: Pairs | None

    @classmethod
    def from_reading(cls, reading: Reading, fit: WorldSamples, choose: WorldSamples) -> Sorted:
        """Read both samples and sort."""
        first, second = (_sorted_present(reading.values(world)) for world in fit)
        pooled = np.concatenate([first, second])
        pooled.sort()
        fresh = reading.values(choose[0]), reading.values(choose[1])
        return cls(
            reading,
            (first, second),
            (_sorted_present(fresh[0]), _sorted_present(fresh[1])),
            pooled,
            *runs(pooled),
            (len(fit[0].values), len(fit[1].values)),
            fresh,
            Pairs.from_arrays(*fresh),
        )

    @property
    def choose_size(self) -> tuple[int, int]:
        """Draws of each world in the second sample."""
        return self.fresh[0].size, self.fresh[1].size

    @property
    def all_size(self) -> tuple[int, int]:
        """Draws of each world in both samples."""
        return self.fit_size[0] + self.choose_size[0], self.fit_size[1] + self.choose_size[1]


def _sorted_present(values: FloatArray) -> FloatArray:
    """The values that are not absent, in increasing order."""
    absent = np.isnan(values)
    return np.sort(values[~absent] if absent.any() else values)


def occurrences(values: FloatArray, ordered: FloatArray) -> IntArray:
    """Return the number of times that each value occurs in a sorted sample."""
    return np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values, "left")


def runs(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the start of each run of equal values of a sorted array, and its length."""
    if values.size == 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    starts = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
    return starts, np.diff(np.concatenate([starts, [values.size]]))


def counted_family(events: Sequence[Event], *samples: WorldSamples) -> EventFamily:
    """Return the family of a few events, counted on samples on which they were not laid out."""
    holds = [
        [np.concatenate([event.holds(sample[world]) for sample in samples]) for event in events]
        for world in (0, 1)
    ]
    hits = [np.array([np.count_nonzero(held) for held in world], dtype=np.int64) for world in holds]
    sizes, split = (holds[0][0].size, holds[1][0].size), None
    if sizes[0] == sizes[1]:
        apart = [np.count_nonzero(ours != theirs) for ours, theirs in zip(*holds, strict=True)]
        split = (np.array(apart) + 1.0) / sizes[0]
    return EventFamily(hits[0], hits[1], sizes, events.__getitem__, nested, split)


def nested(mass: FloatArray) -> FloatArray:
    """Alternatives of nested events: a few for every factor e of their probability."""
    return 1.0 - 2.0 * np.log(np.maximum(mass, 1e-300))


def disjoint(mass: FloatArray) -> FloatArray:
    """Alternatives of disjoint events: as many as have room."""
    return 1.0 / np.maximum(mass, 1e-300)


def quantiles(pooled: FloatArray, even: int = 64, per_decade: int = 12) -> FloatArray:
    """Quantiles of a sorted sample: `even` ones, and `per_decade` of tail mass down to five draws."""
    least = min(0.5, 5.0 / pooled.size)
    tail = np.geomspace(least, 0.5, 1 + math.ceil(per_decade * math.log10(0.5 / least)))
    levels = np.concatenate([tail, 1.0 - tail, np.linspace(0.0, 1.0, even + 1)])
    return np.unique(pooled[np.clip((levels * pooled.size).astype(np.int64), 0, pooled.size - 1)])
