"""A path from one data set to another on which each is a neighbour of the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verify.neighbouring.adjacency import Adjacency, Data, NotNeighbours, Pair


@dataclass(frozen=True)
class Path:
    """Data sets 0 to `steps`, each a neighbour of the one before, or equal to it."""

    at: Callable[[int], Data]
    steps: int


def path(adjacency: Adjacency, start: Data, end: Data) -> Path | None:
    """Return a path from one data set to another; None if none is known.

    Where an adjacency knows no paths, any two data sets are taken for neighbours: the user of the path checks.
    """
    known: Callable[[Data, Data], Path | None] | None = getattr(adjacency, "path", None)
    return Path(lambda i: (start, end)[i], 1) if known is None else known(start, end)


def first_change(along: Path, reading: Callable[[Data], object], adjacency: Adjacency) -> Pair | None:
    """Return neighbours on a path with different readings, by bisection; None if the readings of its ends are equal."""
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
