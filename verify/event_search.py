"""Find the event of a view that tells two worlds apart best.

Two disjoint samples of each world are used. On the first, families of events are laid out: quantiles become
thresholds, counts become likelihood-ratio tables. On the second, all events are counted at once. The winner
is the event whose *predicted lower bound* on a coming test is highest, never the one with the highest raw
ratio: a ratio is worth nothing where its error is as large. Nothing here decides about a claim; the test on
fresh draws does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from verify.binomial import predicted_epsilon
from verify.events import (
    AdditiveScore,
    Event,
    FloatArray,
    HalfLine,
    Near,
    Reading,
    ReportCount,
    RowTable,
    ScoreTable,
    ViewSample,
    additive_score,
    bin_of,
    report_counts,
    row_keys,
)

IntArray = npt.NDArray[np.int64]
Worlds = tuple[ViewSample, ViewSample]

MOST_PAIRS = 28  # pairs of columns whose difference is looked at
MOST_CATEGORY_PAIRS = 66  # pairs of category columns read together (all pairs of 12)
MOST_BINS = 24  # bins of one column in an additive score
SIMPLER_WITHIN = 0.01  # a simpler event is preferred at this relative loss of predicted ε


@dataclass(frozen=True, slots=True)
class ChosenEvent:
    """An event and what the choosing draws said about it.

    Attributes
    ----------
    event
        The event.
    predicted
        Predicted lower bound on ε of the coming test.
    swapped
        False: the event is the likelier one in the first world; True: in the second.
    """

    event: Event
    predicted: float
    swapped: bool


@dataclass(frozen=True, slots=True)
class _Family:
    """Counts of many events in both worlds, and how to write one of them down."""

    hits: IntArray
    hits_prime: IntArray
    build: Callable[[int], Event]


def search_events(
    fit: Worlds, choose: Worlds, *, final_samples: int, delta: float, error: float
) -> tuple[ChosenEvent, ChosenEvent]:
    """The best event for each order of the two worlds.

    Parameters
    ----------
    fit
        A sample of each world, on which events are laid out.
    choose
        A fresh sample of each world, both of one size, on which they are compared.
    final_samples, delta, error
        Draws a side, δ and error of the coming test.

    Returns
    -------
    tuple
        The best event that is likelier in the first world, and the best that is likelier in the second.
        Among events within 1 % of the best prediction the one simplest to say is taken.
    """
    n = len(choose[0].values)
    best: list[list[tuple[float, Callable[[int], Event], int]]] = [[], []]
    for family in _families(fit, choose):
        p, q = family.hits / n, family.hits_prime / n
        for order, (a, b) in enumerate(((p, q), (q, p))):
            predicted = predicted_epsilon(a, b, final_samples, delta, error, chosen_on=n)
            at = int(np.argmax(predicted))
            best[order].append((float(predicted[at]), family.build, at))
    return _simplest(best[0], swapped=False), _simplest(best[1], swapped=True)


def _simplest(found: list[tuple[float, Callable[[int], Event], int]], *, swapped: bool) -> ChosenEvent:
    top = max(predicted for predicted, _, _ in found)
    enough = top - SIMPLER_WITHIN * max(top, 0.0)
    predicted, build, at = next(entry for entry in found if entry[0] >= enough)
    return ChosenEvent(build(at), predicted, swapped)


def _families(fit: Worlds, choose: Worlds) -> Iterator[_Family]:
    """All families, the simplest to say first."""
    columns = fit[0].columns
    real = [i for i, column in enumerate(columns) if column.kind == "real"]
    category = [i for i, column in enumerate(columns) if column.kind == "category"]
    yield from _report_count_family(choose)
    for i in range(len(columns)):
        yield from _row_table_family(fit, choose, (i,))
    for i in real:
        yield from _half_line_family(fit, choose, Reading(i, columns[i]))
    for i, j in _nearest_pairs(real, MOST_PAIRS):
        reading = Reading(i, columns[i], j, columns[j])
        yield from _near_family(fit, choose, reading)
        yield from _half_line_family(fit, choose, reading)
    if len(category) * (len(category) - 1) // 2 <= MOST_CATEGORY_PAIRS:
        for pair in combinations(category, 2):
            yield from _row_table_family(fit, choose, pair)
    if len(columns) > 1:
        yield from _row_table_family(fit, choose, tuple(range(len(columns))))
    yield _additive_family(fit, choose)


def _report_count_family(choose: Worlds) -> Iterator[_Family]:
    """At most k, then at least k reports; only if something is absent at all."""
    places = len(choose[0].columns)
    counts = [np.bincount(report_counts(world), minlength=places + 1) for world in choose]
    if all(count[places] == count.sum() for count in counts):
        return
    at_most = [np.cumsum(count) for count in counts]
    at_least = [np.cumsum(count[::-1]) for count in counts]  # at least places, places - 1, ...
    hits, hits_prime = (np.concatenate(both) for both in zip(at_most, at_least, strict=True))

    def build(at: int) -> Event:
        if at <= places:
            return ReportCount(at, False, places)
        return ReportCount(2 * places + 1 - at, True, places)

    yield _Family(hits, hits_prime, build)


def _row_table_family(fit: Worlds, choose: Worlds, indices: tuple[int, ...]) -> Iterator[_Family]:
    """Rows that repeat: single ones, the r with the highest or lowest ratio together, and all complements."""
    keys = [row_keys(world.values, indices) for world in fit]
    pooled, first, total = np.unique(np.concatenate(keys), return_index=True, return_counts=True)
    # A row seen less than four times says nothing yet; a witness must also remain short enough to be read.
    often = np.argsort(-total, kind="stable")[: min(512, max(16, 8192 // len(indices)))]
    kept = np.sort(often[total[often] >= 4])
    if kept.size == 0:
        return
    table, first = pooled[kept], first[kept]
    seen = [_counts_of(table, world_keys) for world_keys in keys]
    log_ratio = np.log((seen[0] + 0.5) / (len(keys[0]) + 1.0)) - np.log(
        (seen[1] + 0.5) / (len(keys[1]) + 1.0)
    )
    order = np.argsort(-log_ratio, kind="stable")
    sizes = np.arange(1, kept.size + 1)
    sizes = sizes if kept.size <= 64 else np.unique(np.geomspace(1, kept.size, 96).astype(np.int64))
    members = [order[r : r + 1] for r in range(kept.size)]
    members += [order[:size] for size in sizes] + [order[kept.size - size :] for size in sizes]
    hits = []
    for world in choose:
        count = _counts_of(table, row_keys(world.values, indices))[order]
        top = np.cumsum(count)[sizes - 1]
        bottom = np.cumsum(count[::-1])[sizes - 1]
        inside = np.concatenate([count, top, bottom])
        hits.append(np.concatenate([inside, len(world.values) - inside]))

    def build(at: int) -> Event:
        complement, which = divmod(at, len(members))
        rows = []
        for r in members[which]:
            world, row = divmod(int(first[r]), len(keys[0]))
            rows.append(tuple(float(fit[world].values[row, index]) for index in indices))
        return RowTable(indices, tuple(fit[0].columns[i] for i in indices), tuple(rows), bool(complement))

    yield _Family(hits[0], hits[1], build)


def _half_line_family(fit: Worlds, choose: Worlds, reading: Reading) -> Iterator[_Family]:
    """At most t, and at least t: t at pooled quantiles, and just outside each world's range."""
    worlds = [_present(reading.of(world)) for world in fit]
    pooled = np.sort(np.concatenate(worlds))
    if pooled.size == 0:
        return
    edges = [np.nextafter(world.min(), -np.inf) for world in worlds if world.size]
    edges += [np.nextafter(world.max(), np.inf) for world in worlds if world.size]
    thresholds = np.unique(np.concatenate([_quantiles(pooled), edges]))
    hits = []
    for world in choose:
        values = np.sort(_present(reading.of(world)))
        at_most = np.searchsorted(values, thresholds, side="right")
        at_least = values.size - np.searchsorted(values, thresholds, side="left")
        hits.append(np.concatenate([at_most, at_least]))

    def build(at: int) -> Event:
        above, which = divmod(at, thresholds.size)
        return HalfLine(reading, float(thresholds[which]), bool(above))

    yield _Family(hits[0], hits[1], build)


def _near_family(fit: Worlds, choose: Worlds, reading: Reading) -> Iterator[_Family]:
    """Numbers that a difference takes again and again, to rounding."""
    pooled = np.concatenate([_present(reading.of(world)) for world in fit])
    pooled = pooled[np.isfinite(pooled)]
    if pooled.size == 0:
        return
    # Rounding of x + z is relative to the size of z, so that the tolerance must grow with the values.
    values = np.concatenate([world.values[:, reading.index] for world in fit])
    tolerance = max(1e-9, 1e-12 * float(np.quantile(np.abs(values[np.isfinite(values)]), 0.99)))
    _, inverse, count = np.unique(np.round(pooled / tolerance), return_inverse=True, return_counts=True)
    most = np.argsort(-count, kind="stable")[:8]
    most = most[count[most] >= max(8.0, 1e-3 * pooled.size)]
    if most.size == 0:
        return
    exact = np.array([np.median(pooled[inverse == m]) for m in most])
    tidy = np.round(exact, 9)  # 1 rather than 0.99999999999999989, where both lie well within the tolerance
    centres = np.where(np.abs(tidy - exact) <= 0.1 * tolerance, tidy, exact) + 0.0
    hits = []
    for world in choose:
        values = np.sort(_present(reading.of(world)))
        upper = np.searchsorted(values, centres + tolerance, side="right")
        hits.append(upper - np.searchsorted(values, centres - tolerance, side="left"))
    yield _Family(hits[0], hits[1], lambda at: Near(reading, float(centres[at]), tolerance))


def _additive_family(fit: Worlds, choose: Worlds) -> _Family:
    """Sum over columns of the log ratio of bin frequencies, cut at quantiles."""
    tables = tuple(_score_table(fit, index) for index in range(len(fit[0].columns)))
    pooled = np.sort(np.concatenate([additive_score(tables, world) for world in fit]))
    thresholds = np.unique(_quantiles(pooled))
    hits = []
    for world in choose:
        score = np.sort(additive_score(tables, world))
        at_most = np.searchsorted(score, thresholds, side="right")
        at_least = score.size - np.searchsorted(score, thresholds, side="left")
        hits.append(np.concatenate([at_most, at_least]))

    def build(at: int) -> Event:
        above, which = divmod(at, thresholds.size)
        return AdditiveScore(tables, float(thresholds[which]), bool(above))

    return _Family(hits[0], hits[1], build)


def _score_table(fit: Worlds, index: int) -> ScoreTable:
    """Log ratio of one column's smoothed bin frequencies: a bin per value if they are few, else quantiles."""
    values = np.sort(np.concatenate([_present(world.values[:, index]) for world in fit]))
    distinct = values[np.concatenate([[True], values[1:] != values[:-1]])] if values.size else values
    if distinct.size <= MOST_BINS:
        cuts = distinct[1:]
    else:
        cuts = np.unique(values[np.arange(1, MOST_BINS) * values.size // MOST_BINS])
    frequencies = []
    for world in fit:
        count = np.bincount(bin_of(cuts, world.values[:, index]), minlength=cuts.size + 2)
        frequencies.append((count + 1.0) / (len(world.values) + cuts.size + 2.0))
    weights = np.log(frequencies[0]) - np.log(frequencies[1])
    return ScoreTable(
        index,
        fit[0].columns[index],
        tuple(cuts.tolist()),
        tuple(weights[:-1].tolist()),
        float(weights[-1]),
    )


def _counts_of(table: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> IntArray:
    """How often each key of the sorted table occurs among keys."""
    place = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.bincount(place[table[place] == keys], minlength=len(table)).astype(np.int64)


def _present(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]


def _quantiles(pooled: FloatArray) -> FloatArray:
    """Quantiles of a sorted sample: every 1/64, and in the tails 12 per decade of mass down to five draws."""
    tail = np.geomspace(min(0.5, 5.0 / pooled.size), 0.5, 49)
    levels = np.concatenate([tail, 1.0 - tail, np.linspace(0.0, 1.0, 65)])
    return pooled[np.clip((levels * pooled.size).astype(np.int64), 0, pooled.size - 1)]


def _nearest_pairs(indices: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Pairs of columns, neighbours first."""
    lags = (zip(indices, indices[lag:], strict=False) for lag in range(1, len(indices)))
    return list(chain.from_iterable(lags))[:limit]
