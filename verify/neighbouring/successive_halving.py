"""Comparison of pairs of neighbours by successive halving: ever fewer pairs on ever more draws.

Three sorts of pairs go on to the next round, in turns: those with the largest lower bound of their score, those with
the largest upper one, and those with the largest divergence. A pair that differs by a rare event has a small lower
bound on few draws, however large it will be on many; a pair that is better by a tenth is hidden behind those with lucky
rare events, if upper bounds alone decide; and one that differs by several readings together is hidden behind those with
one good event, unless its divergence counts for itself. (Jamieson and Talwalkar 2016, AISTATS, on
successive halving; Kalyanakrishnan et al. 2012, ICML, on lower and upper bounds together, LUCB.)

Every round judges by its own draws: accumulated counts would favour a pair for ever that was lucky once. But the draws
of a round may serve to find the events of the next, so that all new draws count them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from algorithms.blocks import Executor, Serial
from verify.conduct.progress import Progress
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import WorldSamples
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.pair_score import PairScore, halves, score_pair

_LEAST_ROWS = 256
"""Draws of a world below which events cannot be laid out."""

_MOST_KEPT = 1 << 19  # values of a world that are kept to find the next round's events on (4 MB)


@dataclass(frozen=True, kw_only=True)
class _Rounds:
    """Shares of the draws and of the pairs in each round; chosen by hand on the zoo's functions.

    Attributes
    ----------
    shares
        The share of the draws for each round.
    go_on
        The share of a round's pairs that go on to the next.
    places_of_named
        One of this many places in the second round goes to a pattern that is named first: few draws rank badly.
    """

    shares: tuple[float, ...] = (0.25, 0.35, 0.4)
    go_on: tuple[float, ...] = (0.4, 0.34, 0.0)
    places_of_named: int = 6


_ROUNDS = _Rounds()


@dataclass(eq=False)
class ComparedPair:
    """A pair of neighbours, with its results in the comparison.

    Attributes
    ----------
    pair
        The pair.
    rounds
        Number of rounds in which it was drawn.
    score
        The score in the last of them.
    kept
        Draws on which the next round may find events.
    """

    pair: Pair
    rounds: int = 0
    score: PairScore = field(default_factory=PairScore)
    kept: WorldSamples | None = None


@dataclass(eq=False)
class PairComparison:
    """A comparison of pairs: the source of draws, the final test, and the executor that scores pairs."""

    draws: PairDraws
    test: ComingTest
    executor: Executor = field(default_factory=Serial)

    def score_pairs(self, pairs: Sequence[ComparedPair], rows: int, *, keep: bool = False) -> None:
        """Score each pair by `rows` new draws of each of its worlds; keep these if `keep` and they are few enough."""
        self.draws.spent += 2 * rows * len(pairs)
        alone = [] if self.draws.coupled is not None else pairs[:1]  # it shows how worlds are drawn
        for group, executor in ((alone, Serial()), (pairs[len(alone) :], self.executor)):
            with executor.open(partial(self._score_pair, rows, keep), most=len(group)) as pool:
                for compared, (score, kept) in zip(group, pool.results(group), strict=True):
                    compared.score, compared.kept = score, kept
                    compared.rounds += 1

    def _score_pair(self, rows: int, keep: bool, one: ComparedPair) -> tuple[PairScore, WorldSamples | None]:
        """Return the score of a pair by new draws, and the draws if they are to be kept."""
        new = self.draws.draw_pair(one.pair, rows, one.rounds)
        sample, fresh = halves(new)
        if one.kept is not None and len(one.kept[0].values) >= len(sample[0].values):
            sample, fresh = one.kept, new
        score = score_pair(sample, fresh, self.test, coupled=bool(self.draws.coupled))
        return score, new if keep and rows * self.draws.columns <= _MOST_KEPT else None

    def best_pairs(
        self, pairs: Sequence[Pair], least: int, samples: int, tell: Progress
    ) -> list[ComparedPair]:
        """Return the best of some pairs after three rounds, at least `least`.

        Parameters
        ----------
        pairs
            Those known to differ most come first: where there are few draws, only these are compared.
        least
            Number of pairs to return, if there are as many.
        samples
            The largest number of draws, all pairs and both worlds.
        tell
            Function that is called with the share done and a description of the present step.
        """
        left = [
            ComparedPair(pair)
            for pair in pairs[: max(1, int(_ROUNDS.shares[0] * samples / (2 * _LEAST_ROWS)))]
        ]
        for number, (share, go_on) in enumerate(zip(_ROUNDS.shares, _ROUNDS.go_on, strict=True)):
            rows = whole_blocks(int(share * samples / (2 * len(left))))
            if len(left) == 1 or rows == 0:
                break
            tell(0.11 * number, f"comparing {len(left)} known pairs")
            self.score_pairs(left, rows, keep=number == len(_ROUNDS.shares) - 1)
            places = max(least, math.ceil(len(left) * go_on))
            scores = [each.score for each in left]
            orders = zip(*((one.lower, one.upper, one.divergence) for one in scores), strict=True)
            named = places // _ROUNDS.places_of_named if number == 0 else 0
            left = [left[i] for i in _take_in_turns(list(orders), places, named)]
        return left


def whole_blocks(rows: int) -> int:
    """Round draws of a world down to whole blocks of lanes; 0 if events could not be laid out on so few."""
    rounded = rows // 64 * 64
    return rounded if rounded >= _LEAST_ROWS else 0


def _take_in_turns(scores: Sequence[Sequence[float]], places: int, named: int = 0) -> list[int]:
    """Return the indices of the candidates that go on: the best by the first scores, the best others by the next, ...

    Parameters
    ----------
    scores
        The scores of each candidate, one sort after the other; of equal ones those named first are taken.
    places
        Number of candidates that go on; all, if there are no more.
    named
        This many of those named first go on in any case, in place of those that would have been the last: few draws
        rank badly.

    Returns
    -------
    list of int
        The pairs in the order in which they were taken, and then those that were only named first.
    """
    candidates = range(len(scores[0]))
    orders = [sorted(candidates, key=[-score for score in of].__getitem__) for of in scores]
    turns = itertools.cycle(orders)
    kept = set(candidates[: min(named, places)])
    taken: list[int] = []
    while len(kept.union(taken)) < min(places, len(candidates)):
        taken.append(next(i for i in next(turns) if i not in taken))
    return [*taken, *sorted(kept.difference(taken))]
