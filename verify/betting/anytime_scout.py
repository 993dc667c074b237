"""A search for more pairs to bet on, where the known ones win nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verify.sampling.worlds import NeighbouringWorlds


@dataclass(frozen=True)
class Scouted:
    """What a search for pairs found.

    Attributes
    ----------
    candidates
        More pairs to bet on; may be empty.
    samples
        Draws that the search spent.
    most
        The most draws that bets may still spend, if that is fewer than what is left.
    """

    candidates: Sequence[NeighbouringWorlds]
    samples: int
    most: float = math.inf


@dataclass(frozen=True)
class Scout:
    """A search for pairs.

    Attributes
    ----------
    search
        Called with the draws that are left, of which it may spend some.
    samples
        About how many draws it spends.
    """

    search: Callable[[int], Scouted]
    samples: int
