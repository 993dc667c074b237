"""Compare pairs of neighbours in rounds, of ever fewer pairs on ever more draws (successive halving).

Two sorts of pairs go on to the next round, in turns: those whose best event promises most (a bound some standard errors
below its estimate), and those with most hope (one above it). A pair that is told apart by a rare event promises little
on few draws, however much it will say on many; and a pair that is better by a tenth is hidden behind those with lucky
rare events, if hope alone decides. (Jamieson and Talwalkar 2016, AISTATS, on successive halving; Kalyanakrishnan et al.
2012, ICML, on lower and upper bounds together, LUCB.)

Every round judges by its own draws: counts that are added up would favour for ever what was lucky once. But what was
drawn in a round may serve to find the events of the next, so that all new draws count them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from verify.events.view_sample import WorldSamples
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.telling import ComingTest, halves, promise_and_hope

MOST_KEPT = 1 << 19  # values of a world that are kept to find the next round's events on (4 MB)


@dataclass(eq=False)
class Standing:
    """What is known of a pair.

    Attributes
    ----------
    pair
        The pair.
    looks
        How often draws of it were looked at.
    promise, hope
        As of `verify.neighbouring.telling.promise_and_hope`, from the last look; minus infinity before the first.
    kept
        Draws on which the next look may find events.
    """

    pair: Pair
    looks: int = 0
    promise: float = -math.inf
    hope: float = -math.inf
    kept: WorldSamples | None = None


@dataclass(eq=False)
class Contest:
    """A contest of pairs.

    Attributes
    ----------
    draws
        Where draws come from, and how many are left.
    tested
        The coming test.
    cautions
        Standard errors below its estimate from which an event promises, for worlds drawn alike and independently.
    """

    draws: PairDraws
    tested: ComingTest
    cautions: tuple[float, float]

    def look_at_all(self, standings: Sequence[Standing], rows: int, *, keep: bool = False) -> None:
        """Look at `rows` new draws of each world of each pair, and keep them, if they are few enough."""
        self.draws.left = 2 * rows * len(standings)
        for standing in standings:
            self._look(standing, rows, keep)

    def _look(self, standing: Standing, rows: int, keep: bool) -> None:
        new = self.draws.of(standing.pair, rows, standing.looks)
        assert new is not None, "there are as many draws as pairs need"
        sample, fresh = halves(new)
        if standing.kept is not None and len(standing.kept[0].values) >= len(sample[0].values):
            sample, fresh = standing.kept, new
        caution = self.cautions[0 if self.draws.alike else 1]
        standing.promise, standing.hope = promise_and_hope(sample, fresh, self.tested, caution)
        standing.looks += 1
        standing.kept = new if keep and rows * self.draws.columns <= MOST_KEPT else None


def in_turns(scores: Sequence[Sequence[float]], places: int, named: int = 0) -> list[int]:
    """Return the indices of those that go on: the best by the first scores, the best of the others by the next, ...

    Parameters
    ----------
    scores
        Of each candidate, by one sort of score after the other; of equal ones those named first are taken.
    places
        How many go on; all, if there are no more.
    named
        As many as are named first go on in any case, and take places of those that would have been the last: few draws
        rank badly.

    Returns
    -------
    list of int
        In the order in which they were taken, and then those that were only named first.
    """
    candidates = range(len(scores[0]))
    orders = [sorted(candidates, key=[-score for score in of].__getitem__) for of in scores]
    kept = set(candidates[: min(named, places)])
    taken: list[int] = []
    for turn in itertools.count():
        if len(kept.union(taken)) >= min(places, len(candidates)):
            return [*taken, *sorted(kept.difference(taken))]
        taken.append(next(i for i in orders[turn % len(orders)] if i not in taken))
    raise AssertionError("unreachable")
