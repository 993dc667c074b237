"""Counts of many events on one batch of draws; readings that events share are computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mechanisms.arrays import BoolArray, IntArray
from mechanisms.parameters import ParameterError
from verify.events.event import Event
from verify.events.view_sample import ReadOnce, ViewSample


def count_events(events: Sequence[Event], sample: ViewSample) -> IntArray:
    """Return the number of draws in each event; shape (events,)."""
    return counted_and_marked(events, sample)[0]


def counted_and_marked(events: Sequence[Event], sample: ViewSample) -> tuple[IntArray, BoolArray]:
    """Return the number of draws in each event, shape (events,); and True for each draw in the first one."""
    once = ReadOnce.from_sample(sample)
    marks = events[0].holds(once)
    counts = [np.count_nonzero(marks), *(np.count_nonzero(event.holds(once)) for event in events[1:])]
    return np.array(counts, dtype=np.int64), marks


def count_pairs(events: Sequence[Event], first: ViewSample, second: ViewSample) -> tuple[IntArray, IntArray]:
    """Return the number of draws of two samples in each event, and the number of pairs of rows (i, i) that it splits.

    Returns
    -------
    tuple
        Hits, shape (2, events); and pairs of which exactly one draw lies in the event, shape (events,).

    Raises
    ------
    ParameterError
        If the samples differ in size.
    """
    if len(first.values) != len(second.values):
        raise ParameterError(
            f"samples of {len(first.values)} and {len(second.values)} draws: must be of one size"
        )
    hits, split = np.zeros((2, len(events)), dtype=np.int64), np.zeros(len(events), dtype=np.int64)
    once = ReadOnce.from_sample(first), ReadOnce.from_sample(second)
    for i, event in enumerate(events):
        ours, theirs = (event.holds(sample) for sample in once)
        hits[:, i] = np.count_nonzero(ours), np.count_nonzero(theirs)
        split[i] = np.count_nonzero(ours != theirs)
    return hits, split
