"""Families of events that say how much was sent at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verify.events.event import Event, ReportCount, report_counts
from verify.events.families import Family, nested
from verify.events.view_sample import WorldSamples


def report_count_family(fit: WorldSamples, choose: WorldSamples) -> Iterator[Family]:
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


def certain_family(choose: WorldSamples) -> Family:
    """An event that always holds, for views of which nothing else can be said."""
    columns = choose[0].columns
    sizes = len(choose[0].values), len(choose[1].values)
    hits, hits_prime = (np.array([size], dtype=np.int64) for size in sizes)
    return Family(hits, hits_prime, sizes, lambda at: ReportCount.of_columns(0, True, columns), nested)
