"""Which pairs of data sets are neighbours: what a privacy claim quantifies over.

An adjacency lists the pairs that tell most on known bugs (`seeds`), generates others for a search (`pairs`),
and refuses what is no pair of neighbours (`check`).

>>> from mechanisms import Box
>>> adjacency = Within(Box(-10, 10, 5), linf=1)
>>> print(adjacency.words)
two points of Box(lower=-10.0, upper=10.0, size=5), no coordinate further apart than 1
>>> adjacency.seeds()[0].data, adjacency.seeds()[0].other
(array([0., 0., 0., 0., 0.]), array([1., 1., 1., 1., 1.]))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms import Domain
from mechanisms.parameters import ParameterError, whole
from verify.neighbouring.distances import Distances
from verify.neighbouring.point_patterns import telling_moves
from verify.neighbouring.table_patterns import removals, replacements

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Data = npt.NDArray[Any]
"""A data set: the first argument of the function that is verified (a 0-d array stands for a number)."""

MOST_SEEDS = 48


class NotNeighbours(ValueError):
    """Two data sets are not neighbours under the declared adjacency."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets, in no order.

    Attributes
    ----------
    data, other
        The data sets.
    words
        What the pair is, as "all lowest / all highest"; may be empty.
    """

    data: Data
    other: Data
    words: str = ""

    @property
    def key(self) -> bytes:
        """Canonical bytes: equal for the same two data sets in either order."""
        return b"|".join(sorted((_bytes(self.data), _bytes(self.other))))


def _bytes(data: Data) -> bytes:
    # Adding 0.0 turns -0.0 into 0.0; integers and floats of one value stay apart, as they do for a subject.
    array = np.ascontiguousarray(data + 0.0 if np.issubdtype(data.dtype, np.floating) else data)
    # An object's bytes would be its address.
    held = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype.str}{array.shape}".encode() + held


@runtime_checkable
class Adjacency(Protocol):
    """A neighbouring relation on data sets."""

    @property
    def words(self) -> str:
        """What neighbours are, as in "one of 10 records replaced"."""

    def seeds(self) -> Sequence[Pair]:
        """Return known telling pairs, the most telling first; at least one, at most 48."""

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a Hypothesis strategy that generates pairs of neighbours."""

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless the two data sets are neighbours and differ."""


@dataclass(frozen=True)
class AnyTwo:
    """Any two points of a domain: the data set is a single record."""

    domain: Domain

    def __post_init__(self) -> None:
        Within(self.domain)

    @property
    def words(self) -> str:
        """Any two points of the domain."""
        return f"any two points of {self.domain}"

    def seeds(self) -> Sequence[Pair]:
        """Return pairs of corners, then pairs of less extreme points."""
        return Within(self.domain).seeds()

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of moves between points of the domain."""
        return Within(self.domain).pairs()

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless both are points of the domain, and different."""
        Within(self.domain).check(pair)


@dataclass(frozen=True)
class Within:
    """Two points of a domain no further apart than given in the L1, L2 and L∞ norms.

    With ``linf=1`` on a `Box`: answers to queries each of which one record moves by at most one.

    Raises
    ------
    ParameterError
        If a distance is not positive, or no two points of the domain are that close.
    """

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
        if not self.seeds():
            raise ParameterError(f"domain = {self.domain!r}: holds no two points that are neighbours")

    @property
    def distances(self) -> Distances:
        """The three largest distances."""
        return Distances(self.l1, self.l2, self.linf)

    @property
    def words(self) -> str:
        """Two points of the domain, and how far they may be apart."""
        limits = self.distances.words
        return f"two points of {self.domain}, {limits}" if limits else f"any two points of {self.domain}"

    def seeds(self) -> Sequence[Pair]:
        """Return the known patterns (one above, one below the rest, half and half ...) around several centres."""
        moves = telling_moves(self.domain, self.distances)
        return _first(Pair(*move) for move in moves if self._fits(move[0], move[1]))

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of moves of some coordinates up and some down."""
        from verify.neighbouring.pair_strategies import moves

        return moves(self.domain, self.distances).filter(lambda pair: self._fits(pair.data, pair.other))

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless both are points of the domain, different, and no further apart."""
        for name, point in (("data", pair.data), ("other", pair.other)):
            _check_points(self.domain, point, (), name)
        if not np.any(pair.data != pair.other):
            raise NotNeighbours(f"data and other are the same point, {pair.data.tolist()}")
        if not self.distances.allow(pair.data, pair.other):
            raise NotNeighbours(
                f"{pair.data.tolist()} and {pair.other.tolist()}: neighbours are {self.words}"
            )

    def _fits(self, data: Data, other: Data) -> bool:
        return bool(np.any(data != other)) and self.distances.allow(data, other)


@dataclass(frozen=True)
class ReplaceOne:
    """Data sets of a fixed number of records, one of them replaced.

    Data have shape ``(records, *record.shape)``.
    """

    record: Domain
    records: int

    def __post_init__(self) -> None:
        AnyTwo(self.record)
        object.__setattr__(self, "records", whole("records", self.records, least=1))

    @property
    def words(self) -> str:
        """One of how many records is replaced by which."""
        return f"one of {self.records} records (each in {self.record}) replaced"

    def seeds(self) -> Sequence[Pair]:
        """Return replacements of records 1, 2, 4, ... and the last, among equal, tied and mixed others.

        Of records of several coordinates also some that go up and down at once.
        """
        changes = [(change.data, change.other, change.words) for change in AnyTwo(self.record).seeds()]
        return _first(Pair(*move) for move in replacements(self.record, self.records, changes))

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of tables with one record replaced."""
        from verify.neighbouring import pair_strategies

        return pair_strategies.replacements(self.record, self.records, AnyTwo(self.record).pairs())

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless exactly one record differs."""
        for name, data in (("data", pair.data), ("other", pair.other)):
            _check_points(self.record, data, (self.records,), name)
        different = np.flatnonzero((pair.data != pair.other).reshape(self.records, -1).any(axis=1))
        if different.size != 1:
            raise NotNeighbours(
                f"data and other differ in {different.size} records: neighbours are {self.words}"
            )


@dataclass(frozen=True)
class AddOrRemoveOne:
    """Data sets of up to `records` records, one of which has one record more than the other.

    Data have shape ``(k, *record.shape)`` with k from 0 to `records`; the others keep their order.
    """

    record: Domain
    records: int

    def __post_init__(self) -> None:
        AnyTwo(self.record)
        object.__setattr__(self, "records", whole("records", self.records, least=1))

    @property
    def words(self) -> str:
        """One record more or less, and how many there may be."""
        return f"one record (in {self.record}) more or less, of at most {self.records}"

    def seeds(self) -> Sequence[Pair]:
        """Return pairs with the first, second, fourth ... or last record removed, of one, of few and of many."""
        return _first(Pair(*move) for move in removals(self.record, self.records))

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of tables from which one record is removed."""
        from verify.neighbouring import pair_strategies

        return pair_strategies.removals(self.record, self.records)

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless one data set is the other without one record."""
        sizes = []
        for name, data in (("data", pair.data), ("other", pair.other)):
            if data.ndim < 1 or len(data) > self.records:
                raise NotNeighbours(
                    f"{name} has shape {data.shape}: must hold at most {self.records} records"
                )
            _check_points(self.record, data, (len(data),), name)
            sizes.append(len(data))
        longer, shorter = (pair.data, pair.other) if sizes[0] > sizes[1] else (pair.other, pair.data)
        if abs(sizes[0] - sizes[1]) != 1 or not any(
            np.array_equal(np.delete(longer, i, axis=0), shorter) for i in range(len(longer))
        ):
            raise NotNeighbours(
                f"data sets of {sizes[0]} and {sizes[1]} records: neighbours are {self.words}"
            )


class Listed:
    """Exactly the listed pairs, given as `Pair` objects or as two data sets each."""

    def __init__(self, pairs: Iterable[Pair | tuple[npt.ArrayLike, npt.ArrayLike]]) -> None:
        listed = [_listed_pair(number, pair) for number, pair in enumerate(pairs, start=1)]
        if not listed:
            raise ParameterError("pairs = []: must hold at least one pair of neighbours")
        for number, pair in enumerate(listed, start=1):
            if np.array_equal(pair.data, pair.other):
                raise ParameterError(
                    f"pairs: pair {number} holds the same data set twice, {pair.data.tolist()}: neighbours must differ"
                )
        self._pairs = tuple(listed)
        self._keys = {pair.key for pair in listed}

    def __repr__(self) -> str:
        return f"Listed({self.words})"

    @property
    def words(self) -> str:
        """How many pairs are listed."""
        return "the listed pair" if len(self._pairs) == 1 else f"one of {len(self._pairs)} listed pairs"

    def seeds(self) -> Sequence[Pair]:
        """Return the first 48 pairs."""
        return _first(self._pairs)

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy that picks one of the pairs."""
        from hypothesis import strategies

        return strategies.sampled_from(self._pairs)

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless the pair is listed, in either order."""
        if pair.key not in self._keys:
            raise NotNeighbours(
                f"{pair.data.tolist()} and {pair.other.tolist()}: neighbours are {self.words}"
            )


def _listed_pair(number: int, pair: Any) -> Pair:
    """Return the pair that two data sets are, each a number, a word or an array."""
    if isinstance(pair, Pair):
        return pair
    try:
        data, other = pair
    except (TypeError, ValueError):
        raise ParameterError(f"pairs: pair {number} is {pair!r:.80}: must be two data sets") from None
    try:
        found = Pair(np.asarray(data), np.asarray(other))
    except (ValueError, OverflowError) as error:
        raise ParameterError(f"pairs: pair {number} holds what is no array, {pair!r:.80}: {error}") from None
    for given, array in ((data, found.data), (other, found.other)):
        if array.dtype.kind == "f" and np.any(np.abs(array) >= 2.0**53):
            for value in np.asarray(given, dtype=object).ravel():
                if isinstance(value, int) and int(float(value)) != value:
                    raise ParameterError(
                        f"pairs: pair {number} holds {value}, which an array of floats cannot hold: whole numbers of "
                        "2^53 and more must not be mixed with others"
                    )
    return found


def as_adjacency(data: object) -> Adjacency:
    """Return an adjacency as it is, and a domain as `AnyTwo` of its points.

    Raises
    ------
    ParameterError
        If `data` is neither.
    """
    if isinstance(data, Adjacency) and not isinstance(data, type):
        return data
    if isinstance(data, Domain) and not isinstance(data, type):
        return AnyTwo(data)
    raise ParameterError(
        f"data = {data!r}: must be a domain, such as Interval(0, 1), or an adjacency, such as Within or ReplaceOne"
    )


def _first(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the first different pairs, at most `MOST_SEEDS`."""
    seen: dict[bytes, Pair] = {}
    for pair in islice(pairs, 100 * MOST_SEEDS):
        seen.setdefault(pair.key, pair)
        if len(seen) == MOST_SEEDS:
            break
    return list(seen.values())


def _check_points(domain: Domain, data: Data, leading: tuple[int, ...], name: str) -> None:
    try:
        domain.check(data, name)
    except ValueError as error:
        raise NotNeighbours(str(error)) from None
    if data.shape != (*leading, *domain.shape):
        raise NotNeighbours(f"{name} has shape {data.shape}: must be {(*leading, *domain.shape)}")
