"""Families of events that cut one line: half-lines, thresholds of scores, numbers of reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Event, HalfLine, ReportCount
from verify.events.families import EventFamily, Pairs, Sorted, nested, quantiles
from verify.events.readings import Reading
from verify.events.view_sample import WorldSamples


def half_line_family(sorted_values: Sorted) -> Iterator[EventFamily]:
    """At most t, and at least t: t at pooled quantiles, and just outside each world's range."""
    pooled = sorted_values.pooled
    if pooled.size == 0:
        return
    thresholds = np.unique(np.concatenate([quantiles(pooled), _edges(sorted_values.fit)]))
    worlds = list(zip(sorted_values.fit, sorted_values.choose, strict=True))
    reading, size = sorted_values.reading, sorted_values.all_size
    yield _half_lines(reading, thresholds, worlds, size, sorted_values.pairs)


def score_family(score: Reading, *samples: WorldSamples) -> EventFamily:
    """At most t, and at least t, for a score that was fitted on other draws than these samples."""
    raw = [np.concatenate([score.values(sample[w]) for sample in samples]) for w in (0, 1)]
    thresholds = quantiles(np.sort(np.concatenate(raw)), 64, 24)
    worlds = [[np.sort(values)] for values in raw]
    return _half_lines(score, thresholds, worlds, (raw[0].size, raw[1].size), Pairs.from_arrays(*raw))


def _half_lines(
    reading: Reading,
    thresholds: FloatArray,
    worlds: Sequence[Sequence[FloatArray]],
    trials: tuple[int, int],
    pairs: Pairs | None,
) -> EventFamily:
    """At most t, then at least t, counted in the sorted values of each world, which may be in several parts."""
    hits = []
    for parts in worlds:
        at_least = sum(part.size for part in parts) - _up_to_cuts(parts, thresholds, "left")
        hits.append(np.concatenate([_up_to_cuts(parts, thresholds, "right"), at_least]))

    def build(at: int) -> Event:
        above, which = divmod(at, thresholds.size)
        return HalfLine(reading, float(thresholds[which]), bool(above))

    split = None
    if pairs is not None:
        split = np.concatenate([pairs.split_at_most(thresholds), pairs.split_at_least(thresholds)])
    return EventFamily(hits[0], hits[1], trials, build, nested, split)


def _up_to_cuts(parts: Sequence[FloatArray], cuts: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """Return the number of values of sorted arrays that are at most ("left": below) each cut."""
    return np.asarray(np.sum([np.searchsorted(part, cuts, side) for part in parts], axis=0))


def _edges(worlds: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Numbers just outside each world's range."""
    edges = [np.nextafter(world[0], -np.inf) for world in worlds if world.size]
    edges += [np.nextafter(world[-1], np.inf) for world in worlds if world.size]
    return np.asarray(edges)


def report_count_family(fit: WorldSamples, choose: WorldSamples) -> Iterator[EventFamily]:
    """At most k, then at least k reports; only if something is absent at all.

    Others show as much; this one says it best: "the number of reports sent is at most 1 (of 4 possible)", which is what
    refutes five published cascade learners.
    """
    columns = choose[0].columns
    places = len(columns)
    counts = [
        np.bincount(ReportCount.counts(a), minlength=places + 1)
        + np.bincount(ReportCount.counts(b), minlength=places + 1)
        for a, b in zip(fit, choose, strict=True)
    ]
    if all(count[places] == count.sum() for count in counts):
        return
    at_most = [np.cumsum(count) for count in counts]
    at_least = [np.cumsum(count[::-1]) for count in counts]  # at least places, places - 1, ...
    hits, hits_prime = (np.concatenate(both) for both in zip(at_most, at_least, strict=True))

    def build(at: int) -> Event:
        if at <= places:
            return ReportCount(at, False, columns)
        return ReportCount(2 * places + 1 - at, True, columns)

    yield EventFamily(hits, hits_prime, (int(counts[0].sum()), int(counts[1].sum())), build, nested)


def certain_family(choose: WorldSamples) -> EventFamily:
    """Return the event that always holds, for views that have no other event."""
    columns = choose[0].columns
    sizes = len(choose[0].values), len(choose[1].values)
    hits, hits_prime = (np.array([size], dtype=np.int64) for size in sizes)
    return EventFamily(hits, hits_prime, sizes, lambda at: ReportCount(0, True, columns), nested)
