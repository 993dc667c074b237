"""Tables of values and rows that repeat: single ones, and those with the highest or lowest ratios together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Event, KeyArray, RowTable, row_keys
from verify.events.families import EventFamily, Sorted, disjoint, nested, runs
from verify.events.readings import Reading
from verify.events.view_sample import ViewSample, WorldSamples

_MOST_ROWS = 1024  # rows of a table: a witness must remain short enough to be read
MOST_LISTED = 16_384  # values listed in a table
SEEN_OFTEN = 4  # a row seen less often in the pooled sample says nothing yet
_MOST_CODES = 200  # values of a reading that is read together with another one


def value_families(sorted_values: Sorted) -> Iterator[EventFamily]:
    """Values that one reading takes again and again, absence among them."""
    pooled, starts, lengths = sorted_values.pooled, sorted_values.starts, sorted_values.lengths
    often = np.argsort(-lengths, kind="stable")[:_MOST_ROWS]
    often = np.sort(often[lengths[often] >= SEEN_OFTEN])
    table = pooled[starts[often]] + 0.0  # -0.0 is 0.0
    counts: list[list[IntArray]] = []
    for worlds, sizes in (
        (sorted_values.fit, sorted_values.fit_size),
        (sorted_values.choose, sorted_values.choose_size),
    ):
        counts.append([])
        for world, size in zip(worlds, sizes, strict=True):
            there = np.searchsorted(world, table, side="right") - np.searchsorted(world, table, side="left")
            counts[-1].append(np.concatenate([there, [size - world.size]]))
    absent = sum(int(count[-1]) for sample in counts for count in sample)
    keep = np.arange(table.size + bool(absent))
    rows = [(float(value),) for value in np.concatenate([table, [np.nan]])[keep]]
    places = [np.minimum(_places(table, world), len(rows)) for world in sorted_values.fresh] if rows else []
    yield from _families_of_table(
        (sorted_values.reading,),
        rows,
        (counts[0][0][keep], counts[0][1][keep]),
        (counts[1][0][keep], counts[1][1][keep]),
        sorted_values.fit_size,
        sorted_values.choose_size,
        places=places,
    )


def row_families(
    fit: WorldSamples, choose: WorldSamples, readings: Sequence[Reading], prior: Reading | None = None
) -> Iterator[EventFamily]:
    """Rows of several readings that repeat.

    `prior` is a score, fitted to the same draws, towards which the rows' log ratios are shrunk.
    """
    fit_values = [[reading.of(world) for reading in readings] for world in fit]
    keys = [row_keys(values) for values in fit_values]
    pooled = np.sort(np.concatenate(keys))
    starts, lengths = runs(pooled)
    most = min(_MOST_ROWS, max(16, MOST_LISTED // len(readings)))
    often = np.argsort(-lengths, kind="stable")[:most]
    often = np.sort(often[lengths[often] >= SEEN_OFTEN])
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
    score = prior.of(ViewSample(views, fit[0].columns)) if prior is not None else None
    places = [_places_of(table, row_keys([reading.of(world) for reading in readings])) for world in choose]
    fresh = [np.bincount(place, minlength=table.size + 1)[:-1].astype(np.int64) for place in places]
    yield from _families_of_table(
        tuple(readings),
        [tuple(map(float, row)) for row in rows],
        (counts[0], counts[1]),
        (fresh[0], fresh[1]),
        (len(fit[0].values), len(fit[1].values)),
        (len(choose[0].values), len(choose[1].values)),
        score,
        places,
    )


def pair_families(
    fit: WorldSamples, choose: WorldSamples, readings: Sequence[Reading]
) -> Iterator[EventFamily]:
    """Rows of every two of some readings that take few values each."""
    samples = (fit, choose)
    tables, codes = [], []
    for reading in readings:
        values = [[reading.of(world) for world in sample] for sample in samples]
        pooled = np.sort(np.concatenate([column[~np.isnan(column)] for column in values[0]]))
        table = pooled[runs(pooled)[0]] + 0.0
        if table.size > _MOST_CODES:
            table = table[:0]
        tables.append(np.concatenate([table, [np.nan, np.nan]]))  # absent, and not seen when laid out
        codes.append([[_codes(table, column) for column in sample] for sample in values])
    for i, j in combinations(range(len(readings)), 2):
        width = tables[j].size
        both = [
            [codes[i][s][w].astype(np.uint16) * np.uint16(width) + codes[j][s][w] for w in (0, 1)]
            for s in (0, 1)
        ]
        counts = [
            [
                np.bincount(code, minlength=tables[i].size * width).reshape(-1, width)[:-1, :-1]
                for code in sample
            ]
            for sample in both
        ]
        total = (counts[0][0] + counts[0][1]).ravel()
        often = np.argsort(-total, kind="stable")[:_MOST_ROWS]
        often = np.sort(often[total[often] >= SEEN_OFTEN])
        rows = [
            (float(tables[i][r]), float(tables[j][c])) for r, c in zip(*divmod(often, width - 1), strict=True)
        ]
        fit_counts, choose_counts = (
            (counts[s][0].ravel()[often], counts[s][1].ravel()[often]) for s in (0, 1)
        )
        sizes = [(len(sample[0].values), len(sample[1].values)) for sample in samples]
        place_of = np.full(tables[i].size * width, often.size, dtype=np.uint16)
        row, column = np.divmod(often, width - 1)
        place_of[row * width + column] = np.arange(often.size)
        yield from _families_of_table(
            (readings[i], readings[j]),
            rows,
            fit_counts,
            choose_counts,
            sizes[0],
            sizes[1],
            places=[place_of[code] for code in both[1]],
        )


def _codes(table: FloatArray, values: FloatArray) -> npt.NDArray[np.uint8]:
    """The place of each value in the table; its size for absent values, one more for values not in it."""
    place = np.searchsorted(table, values)
    found = (
        table[np.minimum(place, max(table.size - 1, 0))] == values
        if table.size
        else np.zeros(values.size, bool)
    )
    return np.where(found, place, np.where(np.isnan(values), table.size, table.size + 1)).astype(np.uint8)


def _families_of_table(
    readings: tuple[Reading, ...],
    rows: Sequence[tuple[float, ...]],
    fit_counts: tuple[IntArray, IntArray],
    choose_counts: tuple[IntArray, IntArray],
    fit_size: tuple[int, int],
    choose_size: tuple[int, int],
    prior: FloatArray | None = None,
    places: Sequence[npt.NDArray[np.integer[Any]]] = (),
) -> Iterator[EventFamily]:
    """Single rows and their complements; then the r rows with the highest or the lowest ratio together.

    `places` are, for each world, the row of each fresh draw, or the number of rows if it is none of them.
    """
    if not rows:
        return
    paired = len(places) == 2 and places[0].size == places[1].size
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
    together = []
    split = _split_together(order, places, sizes) if paired else None
    for count, n in zip(choose_counts, choose_size, strict=True):
        top, bottom = np.cumsum(count[order])[sizes - 1], np.cumsum(count[order][::-1])[sizes - 1]
        together.append(np.concatenate([top, bottom, n - top, n - bottom]))

    def build_nested(at: int) -> Event:
        which, number = divmod(at, sizes.size)
        members = order[: sizes[number]] if which % 2 == 0 else order[::-1][: sizes[number]]
        return RowTable(readings, tuple(rows[r] for r in members), which >= 2)

    yield EventFamily(together[0], together[1], choose_size, build_nested, nested, split)


def _split_together(
    order: npt.NDArray[np.intp], places: Sequence[npt.NDArray[np.integer[Any]]], sizes: npt.NDArray[np.intp]
) -> FloatArray:
    """`Family.split` of the first and the last so many rows in an order, and of their complements."""
    count = order.size
    found = []
    for ranked in (order, order[::-1]):
        rank = np.empty(count + 1, dtype=np.int64)
        rank[ranked], rank[count] = np.arange(count), count
        first, second = rank[places[0]], rank[places[1]]
        low, high = np.minimum(first, second), np.maximum(first, second)
        found.append(_up_to(low, count)[sizes] - _up_to(high, count)[sizes])
    return np.asarray((np.concatenate([*found, *found]) + 1.0) / places[0].size)


def _up_to(ranks: npt.NDArray[np.int64], count: int) -> IntArray:
    """For k = 0, ..., count, how many ranks are below k."""
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


def _places_of(table: KeyArray, keys: KeyArray) -> npt.NDArray[np.intp]:
    """The place of each key in the sorted table; the table's size for those not in it."""
    place = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[place] == keys, place, len(table))


def _places(table: FloatArray, values: FloatArray) -> npt.NDArray[np.intp]:
    """The place of each value in the sorted table; its size for absent values, which come last, and for others."""
    if table.size == 0:
        return np.where(np.isnan(values), 0, 1)
    place = np.minimum(np.searchsorted(table, values), table.size - 1)
    return np.where(table[place] == values, place, np.where(np.isnan(values), table.size, table.size + 1))
