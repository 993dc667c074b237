"""Two points of a domain, any or near each other, where the data set is a single record or answers to queries.

>>> from mechanisms import Box
>>> adjacency = Within(Box(-10, 10, 5), linf=1)
>>> print(adjacency.description)
two points of [-10, 10]^5, no coordinate further apart than 1
>>> adjacency.seeds()[0].data, adjacency.seeds()[0].other
(array([0., 0., 0., 0., 0.]), array([1., 1., 1., 1., 1.]))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mechanisms import Domain
from mechanisms.parameters import ParameterError
from verify.neighbouring.adjacency import Data, NotNeighbours, Pair, check_points, first_pairs
from verify.neighbouring.distances import Distances
from verify.neighbouring.path import Path
from verify.neighbouring.point_patterns import extreme_moves

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Within:
    """Two points of a domain no further apart than given in the L1, L2 and L∞ norms.

    With ``linf=1`` on a `Box`: answers to queries each of which one record moves by at most one. A `Box` holds
    fractions: where data are whole numbers, say `Integers`, as four coordinates that move by a quarter each are within
    ``l1=1``, and may be 4 apart for a function that rounds them.

    Raises
    ------
    ParameterError
        If a distance is not positive, or no two points of the domain are that close.
    """

    written: ClassVar[str] = "within(domain, l1=..., l2=..., linf=...)"

    domain: Domain
    l1: float = math.inf
    l2: float = math.inf
    linf: float = math.inf

    def __post_init__(self) -> None:
        distances = Distances(self.l1, self.l2, self.linf)
        for name in ("l1", "l2", "linf"):
            object.__setattr__(self, name, getattr(distances, name))
        if not isinstance(self.domain, Domain) or isinstance(self.domain, type):
            raise ParameterError(f"domain = {self.domain!r}: must be a domain, such as Interval(0, 1)")
        if next(self._known_pairs(), None) is None:
            raise ParameterError(f"domain = {self.domain!r}: holds no two points that are neighbours")

    @property
    def distances(self) -> Distances:
        """The three largest distances."""
        return Distances(self.l1, self.l2, self.linf)

    @property
    def description(self) -> str:
        """Two points of the domain, and how far they may be apart."""
        limits = self.distances.description
        return f"two points of {self.domain}, {limits}" if limits else f"any two points of {self.domain}"

    def seeds(self) -> Sequence[Pair]:
        """Return the known patterns (one above, one below the rest, half and half ...) around several centres."""
        return first_pairs(self._known_pairs())

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of moves of some coordinates up and some down."""
        from verify.neighbouring.strategies import moves

        return moves(self.domain, self.distances).filter(self._fits)

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless both are points of the domain, different, and no further apart."""
        for name, point in (("data", pair.data), ("other", pair.other)):
            check_points(self.domain, point, (), name)
        if not np.any(pair.data != pair.other):
            raise NotNeighbours(f"data and other are the same point, {pair.data.tolist()}")
        if not self.distances.allow(pair.data, pair.other):
            raise NotNeighbours(
                f"{pair.data.tolist()} and {pair.other.tolist()}: neighbours are {self.description}"
            )

    def path(self, start: Data, end: Data) -> Path | None:
        """Return the straight line between two points; of whole numbers one coordinate after the other."""
        limits = (self.l1, self.l2, self.linf)
        if all(math.isinf(limit) for limit in limits) or np.array_equal(start, end):
            return Path(lambda i: (start, end)[i], 1)
        if np.issubdtype(start.dtype, np.floating):
            direction = end - start
            # One step more than the distance asks for: a step may be rounded up.
            steps = math.floor(1.0 / min(self.distances.step(direction), 1.0)) + 2
            return Path(lambda i: end if i == steps else start + (i / steps) * direction, steps)
        most = math.floor(min(*limits, float(np.iinfo(np.int32).max)))
        return None if most < 1 else _coordinate_path(start, end, most)

    def _known_pairs(self) -> Iterator[Pair]:
        return filter(self._fits, extreme_moves(self.domain, self.distances))

    def _fits(self, pair: Pair) -> bool:
        return bool(np.any(pair.data != pair.other)) and self.distances.allow(pair.data, pair.other)


class AnyTwo(Within):
    """Any two points of a domain: the data set is a single record."""

    written: ClassVar[str] = "any_two(domain)"

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain)

    def __repr__(self) -> str:
        return f"AnyTwo(domain={self.domain!r})"


def _coordinate_path(start: Data, end: Data, most: int) -> Path:
    """Return a path on which one coordinate after the other moves, by at most `most` in a step."""
    moves = -(-np.abs(end - start).ravel() // most)
    before = np.cumsum(moves) - moves

    def point_at(i: int) -> Data:
        done = np.clip(i - before, 0, moves)
        gone = np.sign(end - start).ravel() * np.minimum(done * most, np.abs(end - start).ravel())
        return np.asarray(start + gone.astype(start.dtype).reshape(start.shape))

    return Path(point_at, int(moves.sum()))
