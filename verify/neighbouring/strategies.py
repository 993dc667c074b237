"""Hypothesis strategies of points, moves and tables: valid by construction, shrinking towards simple ones."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mechanisms import Ball, Categories, Domain, Integers
from verify.neighbouring.adjacency import Data, Pair
from verify.neighbouring.distances import Distances
from verify.neighbouring.point_patterns import ends_of, extreme_points, longest_move

_PARTS = 64  # steps of the grid between a domain's ends that coordinates lie on: short to say, exact to add
_MOST_EXTREMES = 64  # extreme points of a domain without ends, of which pairs are listed
_SHAPED = 12  # records of a table that are drawn one by one; further ones repeat them


def points(domain: Domain) -> SearchStrategy[Data]:
    """Points of a domain: distinguishing ones, then coordinates on a grid between its ends."""
    if isinstance(domain, Categories):
        return st.integers(0, domain.size - 1).map(np.array)
    telling = st.sampled_from([point for _, point in extreme_points(domain)])
    if isinstance(domain, Ball) and domain.order != math.inf:
        vectors = st.lists(st.integers(-_PARTS, _PARTS), min_size=domain.size, max_size=domain.size)
        return telling | vectors.map(lambda vector: domain.clip(domain.radius / _PARTS * np.array(vector)))
    ends = ends_of(domain)
    if ends is None:
        return st.sampled_from(list(domain.extremes()))
    low, high = ends
    size = math.prod(domain.shape)

    def on_grid(places: list[int]) -> Data:
        shares = np.array(places).reshape(domain.shape) / _PARTS
        values = np.clip(low + (high - low) * shares, low, high)
        return np.floor(values).astype(np.int64) if isinstance(domain, Integers) else values

    # Coordinates from a small set of levels: most bugs show where many are equal.
    places = st.lists(st.integers(0, _PARTS), min_size=1, max_size=3).flatmap(
        lambda levels: st.lists(st.sampled_from(levels), min_size=size, max_size=size)
    )
    return telling | places.map(on_grid)


def moves(domain: Domain, distances: Distances) -> SearchStrategy[Pair]:
    """Pairs of points: a centre and the longest allowed move from it, coordinates going up, down or staying.

    Where points are few, any two that are near enough. Pairs may coincide or, on balls, lie too far apart: filter
    them.
    """
    if isinstance(domain, Categories):
        return st.builds(Pair, points(domain), points(domain))
    if ends_of(domain) is None and not isinstance(domain, Ball):
        few = combinations(domain.extremes()[:_MOST_EXTREMES], 2)
        return st.sampled_from([Pair(*two) for two in few if distances.allow(*two)])
    size = math.prod(domain.shape)

    def move_from(centre: Data, signs: list[int]) -> Pair:
        direction = np.array(signs, dtype=np.float64).reshape(domain.shape)
        move = longest_move(domain, distances, centre, direction) if direction.any() else None
        start, end = move or (centre, centre)
        return Pair(start.astype(centre.dtype), end.astype(centre.dtype))

    signs = st.lists(st.sampled_from((0, 1, -1)), min_size=size, max_size=size)
    along = st.builds(move_from, points(domain), signs)
    unlimited = math.isinf(min(distances.l1, distances.l2, distances.linf))
    return along | st.builds(Pair, points(domain), points(domain)) if unlimited else along


def tables(record: Domain, records: int) -> SearchStrategy[Data]:
    """Tables of records: the first few drawn one by one, then repeated in turn (so equal records are common)."""
    drawn = st.lists(points(record), min_size=1, max_size=min(records, _SHAPED))
    return drawn.map(lambda rows: np.stack([rows[i % len(rows)] for i in range(records)]))
