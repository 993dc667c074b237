"""Adjacencies: the pairs of neighbouring data sets that a privacy claim is about.

An adjacency lists the pairs with the largest losses on known bugs (`seeds`), generates others for a search (`pairs`),
and refuses pairs that are no neighbours (`check`). Each is a class in a file of its own, and a line in
`verify.neighbouring.registry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms import Domain, Neighbouring, ParameterError
from mechanisms.parameters import DPWitnessError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Data = npt.NDArray[Any]
"""A data set: the first argument of the function that is verified (a 0-d array for a number)."""

MOST_SEEDS = 48
"""Known pairs that an adjacency lists at most."""


class NotNeighbours(DPWitnessError, ValueError):
    """Two data sets are not neighbours under the declared adjacency."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets, in no order.

    Attributes
    ----------
    data, other
        The data sets.
    words
        The pair in words, as "all lowest / all highest"; may be empty.
    """

    data: Data
    other: Data
    words: str = ""

    @property
    def key(self) -> bytes:
        """Canonical bytes: equal for the same two data sets in either order."""
        return b"|".join(sorted((data_key(self.data), data_key(self.other))))


def data_key(data: Data) -> bytes:
    """Return bytes that two data sets share only if they are equal, and of one type."""
    # Adding 0.0 turns -0.0 into 0.0; integers and floats of one value stay apart, as they do for a subject.
    array = np.ascontiguousarray(data + 0.0 if np.issubdtype(data.dtype, np.floating) else data)
    # An object's bytes would be its address.
    held = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype.str}{array.shape}".encode() + held


@runtime_checkable
class Adjacency(Protocol):
    """A neighbouring relation on data sets.

    It may also know a path of neighbours between any two data sets: a method ``path(start, end)``
    (`verify.neighbouring.path`), which returns None if none is known.
    The command line writes it as its class attribute ``written`` says (`verify.neighbouring.registry`). Its class
    attribute ``neighbouring`` says which relation on records it is, if it is not replacing one (`relation_of`).
    """

    @property
    def description(self) -> str:
        """The description of neighbours, as in "one of 10 records replaced"."""

    def seeds(self) -> Sequence[Pair]:
        """Return known distinguishing pairs, the most distinguishing first; at least one, at most 48."""

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a Hypothesis strategy that generates pairs of neighbours."""

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless the two data sets are neighbours and differ."""


def relation_of(adjacency: Adjacency) -> Neighbouring:
    """Return the relation on records that an adjacency is; where data are one record, it is replaced."""
    relation = getattr(adjacency, "neighbouring", Neighbouring.REPLACE_ONE)
    if not isinstance(relation, Neighbouring):
        raise ParameterError(f"neighbouring = {relation!r}: an adjacency's must be a Neighbouring")
    return relation


def different_pairs(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield each pair once, in order."""
    seen: set[bytes] = set()
    for pair in pairs:
        if (key := pair.key) not in seen:
            seen.add(key)
            yield pair


def first_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the first different pairs, at most `MOST_SEEDS`."""
    return list(islice(different_pairs(islice(pairs, 100 * MOST_SEEDS)), MOST_SEEDS))


def check_points(domain: Domain, data: Data, leading: tuple[int, ...], name: str) -> None:
    """Raise `NotNeighbours` unless data are points of a domain, in an array with these leading axes."""
    try:
        domain.check(data, name)
    except ValueError as error:
        raise NotNeighbours(str(error)) from None
    if data.shape != (*leading, *domain.shape):
        raise NotNeighbours(f"{name} has shape {data.shape}: must be {(*leading, *domain.shape)}")
