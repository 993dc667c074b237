"""A path from one data set to another on which each is a neighbour of the one before."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verify.neighbouring.adjacency import (
    AddOrRemoveOne,
    Adjacency,
    Data,
    NotNeighbours,
    Pair,
    ReplaceOne,
    Within,
)


@dataclass(frozen=True)
class Path:
    """Data sets 0 to `steps`, each a neighbour of the one before, or equal to it."""

    at: Callable[[int], Data]
    steps: int


def path(adjacency: Adjacency, start: Data, end: Data) -> Path | None:
    """Return a path from start to end; None if none is known.

    Records are replaced one by one, or removed and then added one by one. Points move on the straight line between
    them; whole numbers one coordinate after the other.
    """
    if isinstance(adjacency, ReplaceOne):
        return Path(lambda i: np.concatenate([end[:i], start[i:]]), len(start))
    if isinstance(adjacency, AddOrRemoveOne):
        gone = len(start)
        return Path(lambda i: start[: gone - i] if i <= gone else end[: i - gone], gone + len(end))
    if not isinstance(adjacency, Within):
        return Path(lambda i: (start, end)[i], 1)
    limits = (adjacency.l1, adjacency.l2, adjacency.linf)
    if all(math.isinf(limit) for limit in limits) or np.array_equal(start, end):
        return Path(lambda i: (start, end)[i], 1)
    if np.issubdtype(start.dtype, np.floating):
        direction = end - start
        # One step more than the distance asks for: a step may be rounded up.
        steps = math.floor(1.0 / min(adjacency.distances.step(direction), 1.0)) + 2
        return Path(lambda i: end if i == steps else start + (i / steps) * direction, steps)
    most = math.floor(min(*limits, float(np.iinfo(np.int32).max)))
    return None if most < 1 else _one_by_one(start, end, most)


def first_change(along: Path, reading: Callable[[Data], object], adjacency: Adjacency) -> Pair | None:
    """Return neighbours on a path whose readings differ, by bisection; None if those of its ends are equal."""
    low, high = 0, along.steps
    first = reading(along.at(low))
    if first == reading(along.at(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reading(along.at(middle)) == first else (low, middle)
    pair = Pair(along.at(low), along.at(high), "where the output changes")
    try:
        adjacency.check(pair)
    except NotNeighbours:
        return None
    return pair


def _one_by_one(start: Data, end: Data, most: int) -> Path:
    """Move one coordinate after the other, by at most so much."""
    moves = -(-np.abs(end - start).ravel() // most)
    before = np.cumsum(moves) - moves

    def at(i: int) -> Data:
        done = np.clip(i - before, 0, moves)
        gone = np.sign(end - start).ravel() * np.minimum(done * most, np.abs(end - start).ravel())
        return np.asarray(start + gone.astype(start.dtype).reshape(start.shape))

    return Path(at, int(moves.sum()))
