"""Two neighbouring worlds, between which a test of a claim distinguishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.events.view_sample import ViewSample

_DrawWorld = Callable[[bool, int, np.random.SeedSequence], ViewSample]
"""``draw(other_world, n, seed)``: n independent draws of the view, on D′ if `other_world`, else on D."""


@dataclass(frozen=True, eq=False)
class NeighbouringWorlds:
    """Two neighbouring worlds, with their descriptions and the draws of the adversary's view in each.

    Attributes
    ----------
    words
        D and D′ in words.
    draw
        Function that draws the view in one of the worlds, with no randomness but the seed's, in multiples of 64.
    rounds
        Rounds of a run that are played for a draw; None without rounds.
    name
        The name of this pair in a verification, where the words alone do not identify it in every run.
    found
        Plain data from which a later run can make them again; None if that finds them anyway.
    one_by_one
        True if draws are dear: they are made one at a time, not in multiples of 64.
    data
        Both data sets as JSON data, ``{"data": ..., "data_prime": ...}``: arrays with their type, or the rewards of a
        run's rounds with the changed ``record``; None if they are too large, or neither.
    """

    words: tuple[str, str]
    draw: _DrawWorld
    rounds: int | None = None
    name: str = ""
    found: Mapping[str, Any] | None = None
    one_by_one: bool = False
    data: Mapping[str, Any] | None = None

    @property
    def pair_label(self) -> str:
        """Both worlds in one line."""
        both = " / ".join(self.words)
        return f"{self.name}: {both}" if self.name else both
