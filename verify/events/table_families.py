"""Families of events on repeated values and rows: single ones, and those of extreme likelihood ratio together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Event, RowTable, most_readable, row_keys
from verify.events.families import EventFamily, Sorted, disjoint, nested, occurrences, runs
from verify.events.readings import Reading
from verify.events.view_sample import ViewSample, WorldSamples

_MOST_ROWS = 1024  # rows of a table: a witness must remain short enough to be read
MOST_LISTED = 16_384  # values listed in a table
SEEN_OFTEN = 4  # the fewest draws of a row in the pooled sample from which it is counted


def value_families(sorted_values: Sorted) -> Iterator[EventFamily]:
    """Values that one reading takes again and again, absence among them."""
    pooled, starts, lengths = sorted_values.pooled, sorted_values.starts, sorted_values.lengths
    often = _most_frequent(lengths, _MOST_ROWS)
    table = pooled[starts[often]] + 0.0  # -0.0 is 0.0
    counts = [occurrences(table, world) for world in sorted_values.fit]
    places = [_places(table, world) for world in sorted_values.fresh]
    absent = [
        size - world.size for world, size in zip(sorted_values.fit, sorted_values.fit_size, strict=True)
    ]
    if any(absent) or any(np.isnan(world).any() for world in sorted_values.fresh):
        table = np.append(table, np.nan)
        counts = [np.append(count, missing) for count, missing in zip(counts, absent, strict=True)]
    rows = [(value,) for value in table.tolist()]
    readings = (sorted_values.reading,)
    yield from _families_of_table(readings, rows, (counts[0], counts[1]), sorted_values.fit_size, places)


def row_families(
    fit: WorldSamples, choose: WorldSamples, readings: Sequence[Reading], prior: Reading | None = None
) -> Iterator[EventFamily]:
    """Rows of several readings that repeat.

    `prior` is a score, fitted to the same draws, towards which the rows' log ratios are shrunk.
    """
    fit_values = [[reading.values(world) for reading in readings] for world in fit]
    keys = [row_keys(values) for values in fit_values]
    pooled = np.sort(np.concatenate(keys))
    starts, lengths = runs(pooled)
    most = min(_MOST_ROWS, max(16, MOST_LISTED // len(readings)))
    often = _most_frequent(lengths, most)
    if often.size == 0:
        return
    table = pooled[starts[often]]
    rows = np.empty((table.size, len(readings)))
    views = np.empty((table.size, fit[0].values.shape[1]))
    counts: list[IntArray] = []
    for world, values, world_keys in zip(fit, fit_values, keys, strict=True):
        place = np.minimum(np.searchsorted(table, world_keys), table.size - 1)
        here = np.flatnonzero(table[place] == world_keys)
        place = place[here]
        counts.append(np.bincount(place, minlength=table.size).astype(np.int64))
        example = np.full(table.size, -1)
        example[place] = here
        seen = example >= 0
        rows[seen] = np.column_stack([column[example[seen]] for column in values])
        views[seen] = world.values[example[seen]]
    score = prior.values(ViewSample(views, fit[0].columns)) if prior is not None else None
    places = [_places(table, row_keys([reading.values(world) for reading in readings])) for world in choose]
    yield from _families_of_table(
        tuple(readings),
        [tuple(map(float, row)) for row in rows],
        (counts[0], counts[1]),
        (len(fit[0].values), len(fit[1].values)),
        places,
        score,
    )


def _most_frequent(counts: npt.NDArray[np.integer[Any]], most: int) -> npt.NDArray[np.intp]:
    """Return at most `most` of the values that were seen often enough, in their order."""
    often = np.argsort(-counts, kind="stable")[:most]
    return np.sort(often[counts[often] >= SEEN_OFTEN])


def _families_of_table(
    readings: tuple[Reading, ...],
    rows: Sequence[tuple[float, ...]],
    fit_counts: tuple[IntArray, IntArray],
    fit_size: tuple[int, int],
    places: Sequence[npt.NDArray[np.integer[Any]]],
    prior: FloatArray | None = None,
) -> Iterator[EventFamily]:
    """Single rows and their complements; then the r rows with the highest or the lowest ratio together.

    `places` are, for each world, the row of each fresh draw, or the number of rows or more if it is none of them.
    """
    if not rows:
        return
    paired = places[0].size == places[1].size
    places = [np.minimum(place, len(rows)) for place in places]
    choose_counts = [np.bincount(place, minlength=len(rows) + 1)[:-1] for place in places]
    choose_size = places[0].size, places[1].size
    size = (fit_size[0] + choose_size[0], fit_size[1] + choose_size[1])
    single = [a + b for a, b in zip(fit_counts, choose_counts, strict=True)]

    def build_single(at: int) -> Event:
        complement, row = divmod(at, len(rows))
        return RowTable(readings, (rows[row],), bool(complement))

    hits, hits_prime = (np.concatenate([count, n - count]) for count, n in zip(single, size, strict=True))
    split = None
    if paired:
        alike = np.bincount(places[0][places[0] == places[1]], minlength=len(rows) + 1)[:-1]
        share = (choose_counts[0] + choose_counts[1] - 2 * alike + 1.0) / places[0].size
        split = np.concatenate([share, share])
    yield EventFamily(hits, hits_prime, size, build_single, disjoint, split)
    if len(rows) < 3:
        return

    order = np.argsort(-_shrunken_log_ratio(fit_counts, fit_size, prior), kind="stable")
    sizes = np.arange(2, len(rows))
    if sizes.size > 128:
        sizes = np.unique(np.geomspace(2, len(rows) - 1, 128).astype(np.int64))
    few = sizes <= most_readable(readings)
    for some, complement in product((sizes[few], sizes[~few]), (False, True)):
        together = []
        for count, n in zip(choose_counts, choose_size, strict=True):
            ends = (np.cumsum(ranked)[some - 1] for ranked in (count[order], count[order][::-1]))
            inside = np.concatenate(list(ends))
            together.append(n - inside if complement else inside)

        def build_nested(at: int, some: npt.NDArray[np.intp] = some, complement: bool = complement) -> Event:
            which, number = divmod(at, some.size)
            members = (order[::-1] if which else order)[: some[number]]
            return RowTable(readings, tuple(rows[r] for r in members), complement)

        split = _split_together(order, places, some) if paired else None
        if some.size:
            yield EventFamily(together[0], together[1], choose_size, build_nested, nested, split)


def _split_together(
    order: npt.NDArray[np.intp], places: Sequence[npt.NDArray[np.integer[Any]]], sizes: npt.NDArray[np.intp]
) -> FloatArray:
    """`Family.split` of the first and the last so many rows in an order, or of their complements."""
    count = order.size
    found = []
    for ranked in (order, order[::-1]):
        rank = np.empty(count + 1, dtype=np.int64)
        rank[ranked], rank[count] = np.arange(count), count
        first, second = rank[places[0]], rank[places[1]]
        low, high = np.minimum(first, second), np.maximum(first, second)
        found.append(_up_to(low, count)[sizes] - _up_to(high, count)[sizes])
    return np.asarray((np.concatenate(found) + 1.0) / places[0].size)


def _up_to(ranks: npt.NDArray[np.int64], count: int) -> IntArray:
    """Return the number of ranks below k, for k = 0, ..., count."""
    return np.concatenate([[0], np.cumsum(np.bincount(ranks, minlength=count + 1)[:count])]).astype(np.int64)


def _shrunken_log_ratio(
    counts: tuple[IntArray, IntArray], size: tuple[int, int], prior: FloatArray | None = None
) -> FloatArray:
    """Empirical-Bayes estimates of the log-likelihood ratio of each of some cells.

    The log ratio of a cell's smoothed counts has variance v ≈ 1/c + 1/c′. If the true ratios scatter about
    `prior` (zero, if none is given) with variance τ², the posterior mean is prior + τ²/(τ² + v)·(observed -
    prior). τ² is estimated by moments.
    """
    first, second = counts[0] + 0.5, counts[1] + 0.5
    observed = np.log(first / (size[0] + 1.0)) - np.log(second / (size[1] + 1.0))
    variance = 1.0 / first + 1.0 / second
    expected = np.zeros_like(observed) if prior is None else prior
    excess = (observed - expected) ** 2 - variance
    weight = 1.0 / variance**2
    tau2 = max(float(np.sum(weight * excess) / np.sum(weight)), 1e-12)
    return np.asarray(expected + tau2 / (tau2 + variance) * (observed - expected))


def _places(table: npt.NDArray[np.generic], values: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """The place of each value in the sorted table; its size for absent values, which come last, one more for others."""
    place = np.searchsorted(table, values)
    found = np.append(table, table[:1])[place] == values if table.size else np.zeros(values.size, np.bool_)
    return np.where(found, place, np.where(np.isnan(values), table.size, table.size + 1))
