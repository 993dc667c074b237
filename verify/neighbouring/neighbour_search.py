"""Search for the pair of neighbours with the largest predicted bound: known patterns first, then Hypothesis.

1. *Seeds.* The adjacency's known pairs are compared in rounds (`verify.neighbouring.successive_halving`); before them
   pairs of points that differ more (`verify.neighbouring.point_profiles`).
2. *Climb.* Hypothesis generates pairs from the adjacency; `hypothesis.target` climbs their scores.
3. *Compare.* The best of both are compared on larger samples: the best of many noisy scores owes much to luck.
4. *Shrink.* If a generated pair beats the seeds there, the same generation is run again as a property that fails
   where the score is within a few per cent of the best, so that Hypothesis shrinks the pair to the plainest that
   keeps it.

Nothing here decides about a claim: the search hands a few pairs over, and draws of its own decide. Its effort is a
number of draws, not of seconds; `verify.neighbouring.pair_draws` explains why it repeats bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verify.conduct.conduct import Conduct
from verify.events.predicted_bound import ComingTest
from verify.neighbouring.adjacency import Adjacency, Pair
from verify.neighbouring.generation import PairScorer, climb, shrink
from verify.neighbouring.pair_draws import Draw, PairDraws
from verify.neighbouring.point_profiles import profiled_pairs, written_pairs
from verify.neighbouring.successive_halving import ComparedPair, PairComparison, whole_blocks

MOST_EXAMPLES = 40
"""Pairs that are generated to climb."""


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Shares of the draws of a search, and numbers of its pairs; chosen by hand on the zoo's functions.

    Attributes
    ----------
    finalists
        Pairs that are handed over.
    compared
        Seeds, and as many generated pairs, that are compared on larger samples.
    profiles
        The share of all draws for points of a domain one by one.
    seeds, generated, comparison
        The shares of the other draws for known pairs, generated ones, and the best of both.
    beats
        A generated pair must exceed the best seed's score by this part of it: seeds are plainer.
    loses
        A shrunk pair may lose this part of the best pair's score.
    least_climb
        Least draws of each world of a generated pair; where there are fewer, fewer pairs are generated.
    narrow, narrow_examples
        Columns up to which a view is cheap to score, and the factor by which more pairs are generated for such views.
    shrinks
        Most draws for shrinking, as a multiple of those for the generated pairs.
    """

    finalists: int = 2
    compared: int = 3
    profiles: float = 0.15
    seeds: float = 0.5
    generated: float = 0.2
    comparison: float = 0.3
    beats: float = 0.1
    loses: float = 0.03
    least_climb: int = 512
    narrow: int = 4
    narrow_examples: int = 3
    shrinks: float = 1.0


_PLAN = _Plan()


@dataclass(frozen=True)
class SearchResult:
    """The result of a search for neighbours.

    Attributes
    ----------
    pairs
        The pairs to test, the best first; at least one.
    samples
        Draws that were spent, both worlds of all pairs.
    generated
        Number of pairs tried that are no seeds.
    """

    pairs: tuple[Pair, ...]
    samples: int = 0
    generated: int = 0


def search_neighbours(
    adjacency: Adjacency,
    draw: Draw,
    test: ComingTest,
    conduct: Conduct,
    *,
    samples: int,
    seeds: int = 40,
    examples: int = MOST_EXAMPLES,
    written: Iterable[float] = (),
) -> SearchResult:
    """Return the pairs of neighbours with the largest predicted bounds.

    Parameters
    ----------
    adjacency
        The adjacency.
    draw
        Function that draws the adversary's view, with no randomness but the seed's.
    test
        The coming test.
    conduct
        The seed, the progress, and the executor that compares known pairs, on which no result depends.
    samples
        The largest number of draws to spend, all pairs and both worlds: at most 15 % of them on single points; of the
        others half on the seeds, a fifth on generated pairs, and the rest on comparing the best of both.
    seeds
        Number of the adjacency's known pairs to try.
    examples
        The largest number of pairs to generate; three times as many of views with at most four columns.
    written
        Numbers in the subject's code; iterated only where data are whole numbers or labels.
    """
    tell, seed, elsewhere = conduct.progress, conduct.seed, conduct.effort.executor
    draws = PairDraws(draw, seed)
    comparison = PairComparison(draws, test, elsewhere)
    listed = list(adjacency.seeds())[:seeds]
    profiled = profiled_pairs(adjacency, listed, draws, int(_PLAN.profiles * samples), elsewhere)
    listed = [*profiled, *written_pairs(adjacency, listed, written), *listed]
    samples -= draws.spent
    known = comparison.best_pairs(listed, _PLAN.compared, int(_PLAN.seeds * samples), tell)

    budget = int(_PLAN.generated * samples)
    most = examples * (_PLAN.narrow_examples if draws.columns <= _PLAN.narrow else 1)
    count = min(most, int(budget / (2 * _PLAN.least_climb * (1.0 + _PLAN.shrinks))))
    rows = whole_blocks(int(budget / (2 * count * (1.0 + _PLAN.shrinks)))) if count else 0
    scorer = PairScorer(draws, test, rows)
    tell(0.33, "searching for telling neighbours")
    generated = climb(adjacency, scorer, count, seed) if rows else []
    playoff = whole_blocks(int(_PLAN.comparison * samples) // (2 * (2 * _PLAN.compared + 1)))
    if not playoff:
        return SearchResult(tuple(one.pair for one in known[: _PLAN.finalists]), draws.spent, len(generated))

    tell(0.66, "comparing the best pairs")
    known = known[: _PLAN.compared]
    taken = {one.pair.key for one in known}
    fresh = [ComparedPair(pair) for _, pair in generated if pair.key not in taken][: _PLAN.compared]
    comparison.score_pairs(known, playoff)
    comparison.score_pairs(fresh, playoff)
    ranked = _rank_pairs(known)
    best = max(fresh, key=lambda one: one.score.lower, default=None)
    if best is not None and best.score.lower > _beating_score(ranked[0].score.lower):
        tell(0.75, "shrinking the best pair")
        # The smaller of the two estimates: the one that won the climb was lucky more often than not.
        reached = min(best.score.lower, scorer.known[best.pair.key])
        draws.remaining_draws = int(2 * rows * count * _PLAN.shrinks)
        shrunk = shrink(adjacency, scorer, _least_shrunk_score(reached), count, seed)
        if shrunk is not None:
            plain = ComparedPair(shrunk)
            comparison.score_pairs([plain], playoff)
            if plain.score.lower >= _least_shrunk_score(best.score.lower):
                best = plain
        ranked = [best, *ranked]
    pairs = {one.pair.key: one.pair for one in ranked}
    return SearchResult(tuple(pairs.values())[: _PLAN.finalists], draws.spent, len(generated))


def _rank_pairs(known: Sequence[ComparedPair]) -> list[ComparedPair]:
    """Sort pairs by their lower bounds; the largest upper bound comes second if it exceeds the first's by a tenth."""
    ranked = sorted(known, key=lambda one: -one.score.lower)
    hopeful = max(ranked, key=lambda one: one.score.upper)
    if hopeful.score.upper > _beating_score(ranked[0].score.upper):
        ranked = [ranked[0], hopeful, *(one for one in ranked[1:] if one is not hopeful)]
    return ranked


def _beating_score(known: float) -> float:
    """Return the score that a pair must exceed to be better than one of a known score."""
    return known + _PLAN.beats * abs(known)


def _least_shrunk_score(score: float) -> float:
    """Return the least score that a shrunk pair may have in place of one of this score."""
    return score - _PLAN.loses * abs(score)
