"""Two neighbouring worlds: what a test of a claim tells apart."""

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
    """Two neighbouring worlds, how to say them, and how to draw what the adversary sees in each.

    Attributes
    ----------
    words
        D and D′ in words.
    draw
        Draws of the view in one of the worlds, with no randomness but the seed's. Asked for multiples of 64.
    rounds
        Rounds of a run that are played for a draw; None for what has no rounds.
    name
        Which pair of a verification this is, where the words alone do not say it in every run.
    found
        Plain data from which a later run can make them again; None if that finds them anyway.
    """

    words: tuple[str, str]
    draw: _DrawWorld
    rounds: int | None = None
    name: str = ""
    found: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """Both worlds in one line."""
        both = " / ".join(self.words)
        return f"{self.name}: {both}" if self.name else both
