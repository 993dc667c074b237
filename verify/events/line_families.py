"""Families of events that cut a line: half-lines, thresholds of scores, numbers of reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Event, HalfLine, RowTable
from verify.events.families import EventFamily, Pairs, Sorted, counted_family, nested, quantiles
from verify.events.readings import ColumnValue, Reading
from verify.events.summaries import ColumnSummary
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
    """Numbers just outside each world's range; whole ones of whole numbers."""
    by = 1.0 if all((world == np.round(world)).all() for world in worlds) else 0.0
    edges = [min(world[0] - by, np.nextafter(world[0], -np.inf)) for world in worlds if world.size]
    edges += [max(world[-1] + by, np.nextafter(world[-1], np.inf)) for world in worlds if world.size]
    return np.asarray(edges)


def present_families(fit: WorldSamples, choose: WorldSamples) -> Iterator[EventFamily]:
    """Half-lines of the number of entries that are present, or that the only entry is absent; only if some are absent.

    Others show as much; this one has the plainest words: "the number of entries present (of 4) ≤ 1", which refutes five
    published cascade learners. Where there are other readings than entries, such as the length of a list, these do.
    """
    columns = choose[0].columns
    if not all(column.is_entry for column in columns):
        return
    if not any(np.isnan(world.values).any() for world in (*fit, *choose)):
        return
    if len(columns) > 1:
        yield from half_line_family(Sorted.from_reading(ColumnSummary("present", columns), fit, choose))
    else:
        absent = RowTable((ColumnValue(columns[0]),), ((math.nan,),))
        yield counted_family((absent, replace(absent, complement=True)), fit, choose)


def certain_family(choose: WorldSamples) -> EventFamily:
    """Return the event that always holds, for views that have no other event."""
    present = ColumnSummary("present", choose[0].columns)
    return counted_family((HalfLine(present, 0.0, True),), choose)
