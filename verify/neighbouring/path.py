"""A path from one data set to another on which each is a neighbour of the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from verify.neighbouring.adjacency import Adjacency, Data, NotNeighbours, Pair


@dataclass(frozen=True)
class Path:
    """Data sets 0 to `steps`, each a neighbour of the one before, or equal to it."""

    at: Callable[[int], Data]
    steps: int


@runtime_checkable
class _Connected(Protocol):
    """An adjacency that knows a path of neighbours between any two data sets."""

    def path(self, start: Data, end: Data) -> Path | None:
        """Return a path from start to end; None if none is known."""


def path(adjacency: Adjacency, start: Data, end: Data) -> Path | None:
    """Return a path from one data set to another; None if none is known.

    Where an adjacency knows no paths, any two data sets are taken for neighbours: whoever uses the path checks.
    """
    if isinstance(adjacency, _Connected):
        return adjacency.path(start, end)
    return Path(lambda i: (start, end)[i], 1)


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
