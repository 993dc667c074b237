"""Draws of both worlds of a pair of neighbours, while pairs are compared.

Both worlds of a pair are drawn with the same random numbers (`verify.sampling.draws` explains why), where these are
not negatively correlated; the draws that decide are independent. The draws for a pair depend on nothing but the seed,
the pair's canonical bytes and the look that they are for, so that an example that is run again is the same bit by bit
(otherwise Hypothesis would call it flaky), and the whole search repeats for a seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verify.conduct.spawn_keys import SpawnKey
from verify.events.view_sample import ViewSample, WorldSamples
from verify.neighbouring.adjacency import Data, Pair
from verify.neighbouring.pair_score import fitted_score, halves

Draw = Callable[[Pair, bool, int, np.random.SeedSequence], ViewSample]
"""``draw(pair, other_world, n, seed)``: n independent draws of the view on the pair's one or other data set."""


@dataclass
class PairDraws:
    """Draws within a budget.

    Attributes
    ----------
    draw
        The source of draws.
    seed
        The seed of all draws.
    remaining_draws
        Draws that `draw_within_budget` may still make.
    spent
        Draws that were made, both worlds of all pairs.
    coupled
        True if both worlds are drawn with the same random numbers; None before the first pair shows whether draws from
        these are negatively correlated.
    columns
        Number of columns of the view; 0 before the first draws.
    """

    draw: Draw
    seed: int
    remaining_draws: int = 0
    spent: int = 0
    coupled: bool | None = None
    columns: int = 0

    def draw_within_budget(self, pair: Pair, rows: int, look: int) -> WorldSamples | None:
        """Return `rows` draws of each world of a pair, new ones for each `look`; None if the budget has fewer left."""
        if 2 * rows > self.remaining_draws:
            return None
        self.remaining_draws -= 2 * rows
        self.spent += 2 * rows
        return self.draw_pair(pair, rows, look)

    def draw_pair(self, pair: Pair, rows: int, look: int) -> WorldSamples:
        """Return `rows` draws of each world of a pair, also where the budget has fewer left.

        The first ones decide whether both worlds are drawn with the same random numbers.
        """
        first, second = self._world(pair, rows, look, False), self._world(pair, rows, look, True)
        self.columns = len(first.columns)
        if self.coupled is None:
            self.coupled = not _is_negatively_correlated(first, second)
            if not self.coupled:
                self.spent += rows
                second = self._world(pair, rows, look, True)
        return first, second

    def draw_point(self, point: Data, rows: int, look: int = 0) -> ViewSample:
        """Return `rows` draws of one data set, new ones for each `look`; the caller counts them as spent."""
        world = self._world(Pair(point, point), rows, look, False)
        self.columns = len(world.columns)
        return world

    def _world(self, pair: Pair, rows: int, look: int, other: bool) -> ViewSample:
        words = np.frombuffer(hashlib.sha256(pair.key).digest(), dtype=np.uint32)
        key = (look, rows, int(other and self.coupled is False), *map(int, words[:4]))
        return self.draw(pair, other, rows, SpawnKey.NEIGHBOUR_SEARCH.sequence(self.seed, *key))


def _is_negatively_correlated(first: ViewSample, second: ViewSample) -> bool:
    """Return True if two worlds drawn with the same random numbers are negatively correlated, as for a flipped bit.

    Judged by a score's covariance over pairs of rows that it was not fitted to: a difference of means is then known
    worse than from independent draws.
    """
    fit, fresh = halves((first, second))
    ours, theirs = map(fitted_score(fit).values, fresh)
    return float(np.mean((ours - ours.mean()) * (theirs - theirs.mean()))) < 0.0
