"""Sampled points of a domain, and the neighbours among them with the most different outputs.

Known pairs are ends, zero, one and the middle of a domain; between any other two points, generated pairs find
differences by chance alone. But k points that are drawn once each compare k (k - 1) / 2 pairs. They are ranked by the
symmetric relative entropy of the outputs' columns in bins, added up, which sees no joint law: it only puts pairs
forward, to be compared with the known ones on draws of their own.

There are two looks. Of hundreds of pairs some differ more than the known ones by luck; so the first look only says
which few to look at once more, and fresh draws decide: of their points, and of the known pair that differed most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from algorithms.blocks import Executor
from mechanisms import BLOCK, Categories, Domain, Integers
from mechanisms.arrays import FloatArray
from verify.events.features import feature_of
from verify.events.readings import ColumnValue
from verify.events.view_sample import ViewSample
from verify.neighbouring.adjacency import Adjacency, Data, NotNeighbours, Pair, data_key
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.point_patterns import as_domain_data, ends_of
from verify.neighbouring.replace_one import ReplaceOne
from verify.neighbouring.within import Within


@dataclass(frozen=True, kw_only=True)
class _Profile:
    """Numbers of points and draws, and the conditions on proposed pairs; chosen by hand.

    Attributes
    ----------
    whole
        Whole numbers (or labels) of a domain of which all are drawn, at least and at most.
    grid
        Points of other domains.
    rows
        Draws of each point and look, at least and at most.
    first
        The share of all draws for the first look.
    values
        Most values of all draws together: more take too long to sort.
    places
        Most pairs that are drawn a second time, and may be proposed.
    beats
        On fresh draws, a pair must differ so many times as much as the known pair that differs most, and by `errors`
        standard errors more: a pair that differs a little less is not worth comparing.
    """

    whole: tuple[int, int] = (8, 64)
    grid: int = 33
    rows: tuple[int, int] = (256, 16_384)
    first: float = 0.6
    values: int = 1 << 23
    places: int = 6
    beats: float = 1.1
    errors: float = 1.0


_PROFILE = _Profile()


def profiled_pairs(
    adjacency: Adjacency, known: Sequence[Pair], draws: PairDraws, samples: int, executor: Executor
) -> list[Pair]:
    """Return neighbours that differ more than all known pairs, the most different first; none but of single numbers.

    Parameters
    ----------
    adjacency
        The adjacency of the data sets.
    known
        Pairs that are compared anyway; their points are drawn as well.
    draws
        The source of draws; those that are made are counted.
    samples
        The largest number of draws to spend: none, if these are too few.
    executor
        The executor that draws points.
    """
    if not isinstance(adjacency, Within):
        return []
    ends = [point for pair in known for point in (pair.data, pair.other)]
    inside = _points(adjacency.domain)
    points = list({data_key(point): point for point in [*ends, *inside]}.values())
    met = len({data_key(point) for point in ends})  # of which the known pairs are
    allow = adjacency.distances.allow
    others = [
        (i, j) for i, j in combinations(range(len(points)), 2) if j >= met and allow(points[i], points[j])
    ]
    first = int(_PROFILE.first * samples)
    if not others or first < BLOCK + _PROFILE.rows[0] * len(points):
        return []
    draws.draw_point(points[0], BLOCK)  # shows how many columns there are
    draws.spent += BLOCK
    differ, _ = _compare_points(points, draws, 0, first - BLOCK, executor)
    place = {data_key(point): i for i, point in enumerate(points)}
    best = max(
        ((place[data_key(pair.data)], place[data_key(pair.other)]) for pair in known), key=differ.__getitem__
    )
    further = sorted((pair for pair in others if differ[pair] > differ[best]), key=lambda pair: -differ[pair])
    further = further[: _PROFILE.places]
    few = sorted({i for pair in (best, *further) for i in pair})
    if not further or samples - first < _PROFILE.rows[0] * len(few):
        return []
    fresh, error = _compare_points([points[i] for i in few], draws, 1, samples - first, executor)
    differ[np.ix_(few, few)] = fresh
    beaten = _PROFILE.beats * max(differ[best], 0.0) + _PROFILE.errors * error(differ[best])
    telling = sorted((pair for pair in further if differ[pair] > beaten), key=lambda pair: -differ[pair])
    return [Pair(points[i], points[j], "points that differ") for i, j in telling]


def _compare_points(
    points: Sequence[Data], draws: PairDraws, look: int, samples: int, executor: Executor
) -> tuple[FloatArray, Callable[[float], float]]:
    """Return the differences of every two points on at most `samples` draws, and a difference's standard error."""
    least, most = _PROFILE.rows
    affordable = min(samples, _PROFILE.values // draws.columns) // len(points)
    rows = min(max(affordable, least), most) // BLOCK * BLOCK
    draws.spent += rows * len(points)
    with executor.open(partial(draws.draw_point, rows=rows, look=look), most=len(points)) as pool:
        differ, variance = _differences(list(pool.results(points)))
    # Where x are the log ratios, the estimate varies by 2 x for every draw of either point, and x² is about J.
    return differ, lambda size: math.sqrt(variance + 8.0 * max(size, 0.0) / rows)


def _points(domain: Domain) -> list[Data]:
    """Return the whole numbers of a domain of single ones, or a grid; nothing of others."""
    least, most = _PROFILE.whole
    if isinstance(domain, Categories):
        return [np.array(label) for label in range(domain.size)] if domain.size <= most else []
    ends = ends_of(domain)
    if ends is None or math.prod(domain.shape) != 1:
        return []
    low, high = (float(end.ravel()[0]) for end in ends)
    whole = np.arange(math.ceil(low), math.floor(high) + 1.0) if high - low < most else np.empty(0)
    values = whole if len(whole) >= least else np.linspace(low, high, _PROFILE.grid)
    return [as_domain_data(domain, np.full(domain.shape, value)) for value in values.tolist()]


def written_pairs(adjacency: Adjacency, known: Sequence[Pair], numbers: Iterable[float]) -> list[Pair]:
    """Return neighbours of which one is among some numbers; none but of single whole numbers, or labels, of many.

    Of few all are drawn, and code rarely treats a single fraction as a special case. A number is paired with the first
    neighbour among the points of the known pairs and the numbers beside it. Of records, the first known table's first
    is replaced by the number.
    """
    table = known[0].data if isinstance(adjacency, ReplaceOne) else None
    match adjacency:
        case Within(domain=Categories() as domain) | ReplaceOne(record=Categories() as domain):
            values = float(domain.size)
        case Within(domain=Integers() as domain) | ReplaceOne(record=Integers() as domain) if (
            domain.size == 1
        ):
            values = float(domain.upper) - float(domain.lower)
        case _:
            return []
    if values <= _PROFILE.whole[1]:
        return []
    ends = {data_key(point): point for pair in known for point in (pair.data, pair.other)}
    pairs = []
    for number in numbers:
        if not number.is_integer():
            continue
        point, *beside = (np.full(domain.shape, int(number) + step) for step in (0, 1, -1))
        if table is not None:
            point, beside = np.concatenate([point[np.newaxis], table[1:]]), [table]
        for other in [*ends.values(), *beside] if data_key(point) not in ends else ():
            pair = Pair(other, point, "a number in the code")
            with suppress(NotNeighbours):
                adjacency.check(pair)
                pairs.append(pair)
                break
    return pairs


def _differences(worlds: Sequence[ViewSample]) -> tuple[FloatArray, float]:
    """Return symmetric relative entropies of every two worlds, less their mean for equal worlds, and its variance."""
    rows, total, freedom = len(worlds[0].values), np.zeros((len(worlds), len(worlds))), 0
    for column in worlds[0].columns:
        reading = ColumnValue(column)
        feature = feature_of(reading, np.concatenate([reading.values(world) for world in worlds]))
        bins = feature.bins.reshape(len(worlds), rows)
        counts = np.stack([np.bincount(row, minlength=feature.size) for row in bins]) + 0.5
        shares = counts / counts.sum(axis=1, keepdims=True)
        crossed = shares @ np.log(shares).T
        own = np.diag(crossed)
        total += own[:, None] + own[None, :] - crossed - crossed.T
        freedom += feature.size - 1
    # Of equal worlds the entropy is about 2 / n times a chi-squared variable.
    return total - 2.0 * freedom / rows, 8.0 * freedom / rows**2
