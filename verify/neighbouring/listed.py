"""The adjacency of exactly the listed pairs of data sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.parameters import ParameterError
from verify.neighbouring.adjacency import NotNeighbours, Pair, first_pairs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Listed:
    """Exactly the listed pairs, given as `Pair` objects or as two data sets each."""

    written: ClassVar[str] = "listed([[data, other], ...])"

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
        return f"Listed({self.description})"

    @property
    def description(self) -> str:
        """The description of neighbours, with the number of pairs."""
        return "the listed pair" if len(self._pairs) == 1 else f"one of {len(self._pairs)} listed pairs"

    def seeds(self) -> Sequence[Pair]:
        """Return the first 48 pairs."""
        return first_pairs(self._pairs)

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy that picks one of the pairs."""
        from hypothesis import strategies

        return strategies.sampled_from(self._pairs)

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless the pair is listed, in either order."""
        if pair.key not in self._keys:
            raise NotNeighbours(
                f"{pair.data.tolist()} and {pair.other.tolist()}: neighbours are {self.description}"
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
        raise ParameterError(f"pairs: pair {number} holds no array, {pair!r:.80}: {error}") from None
    for given, array in ((data, found.data), (other, found.other)):
        if array.dtype.kind == "f" and np.any(np.abs(array) >= 2.0**53):
            for value in np.asarray(given, dtype=object).ravel():
                if isinstance(value, int) and int(float(value)) != value:
                    raise ParameterError(
                        f"pairs: pair {number} holds {value}, which an array of floats cannot hold: whole numbers of "
                        "2^53 and more must not be mixed with others"
                    )
    return found
