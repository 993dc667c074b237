"""Search for the pair of neighbours that tells most: known patterns first, then Hypothesis.

1. *Seeds.* The adjacency's known pairs are compared in rounds (`verify.neighbouring.contest`).
2. *Climb.* Hypothesis generates pairs from the adjacency; `hypothesis.target` climbs how telling they are.
3. *Compare.* The best of both are compared on larger samples: the best of many noisy scores owes much to luck.
4. *Shrink.* If a generated pair beats the seeds there, the same generation is run again as a property that fails
   where the bound is within a few per cent of the best, so that Hypothesis shrinks the pair to the plainest that
   keeps it.

Nothing here decides about a claim: the search hands a few pairs over, and draws of its own decide. Its effort is a
number of draws, not of seconds; `verify.neighbouring.pair_draws` says why it repeats bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from verify.conduct.progress import Progress, silent
from verify.neighbouring.adjacency import Adjacency, Pair
from verify.neighbouring.contest import Contest, Standing, in_turns
from verify.neighbouring.generation import Scores, climb, shrink
from verify.neighbouring.pair_draws import Draw, PairDraws
from verify.neighbouring.telling import APART_CAUTION, CAUTION, ComingTest

FINALISTS = 2  # pairs that are handed over
COMPARED = 3  # seeds, and as many generated pairs, that are compared on larger samples
KEEPS = 0.97  # a shrunk pair keeps this part of the best pair's score
BEATS = 1.1  # a generated pair must reach this multiple of the best seed's score: seeds are plainer
SEEDS, GENERATED, PLAYOFF = (
    0.5,
    0.2,
    0.3,
)  # of all draws: for known pairs, generated ones, and the best of both
ROUNDS = (0.25, 0.35, 0.4)  # of the draws for the known pairs: their three rounds, of ever fewer pairs
GO_ON = (0.4, 0.34, 0.0)  # of the pairs of a round, that go on to the next
NAMED = (
    6  # of so many places in the second round one is of a pattern that is named first: few draws rank badly
)
LEAST_ROWS = 256  # draws of a world below which events cannot be laid out
LEAST_CLIMB = 512  # draws of a world and generated pair; fewer pairs are generated rather
MOST_EXAMPLES = 40  # pairs that are generated to climb
NARROW = 4  # columns up to which a look costs little
NARROW_EXAMPLES = 3  # times as many pairs that are generated of such views
SHRINKS = 1.0  # as many times the draws of the examples may go into shrinking


@dataclass(frozen=True)
class SearchResult:
    """What the search found.

    Attributes
    ----------
    pairs
        The pairs to test, the most promising first; at least one.
    samples
        Draws that were spent, both worlds of all pairs.
    generated
        How many pairs were looked at that are no seeds.
    """

    pairs: tuple[Pair, ...]
    samples: int
    generated: int


def search_neighbours(
    adjacency: Adjacency,
    draw: Draw,
    *,
    samples: int,
    delta: float,
    error: float,
    seed: int,
    seeds: int = 40,
    examples: int = MOST_EXAMPLES,
    final_samples: int | None = None,
    tell: Progress | None = None,
) -> SearchResult:
    """Return the most promising pairs of neighbours.

    Parameters
    ----------
    adjacency
        Which data sets are neighbours.
    draw
        Draws of what the adversary sees, with no randomness but the seed's.
    samples
        The largest number of draws to spend, all pairs and both worlds: half of them on the seeds, a fifth on generated
        pairs, and the rest on comparing the best of both.
    delta, error
        δ and error of the coming test.
    seed
        Of everything random.
    seeds
        How many of the adjacency's known pairs to look at.
    examples
        The largest number of pairs to generate; three times as many of views with at most four columns.
    final_samples
        Draws a side of the coming test, if it is known; a quarter of `samples` otherwise.
    tell
        Called with the share done and what is being done.
    """
    told: Progress = tell if tell is not None else silent
    draws = PairDraws(draw, seed)
    tested = ComingTest(delta, error, samples // 4 if final_samples is None else final_samples)
    cautions = CAUTION, APART_CAUTION
    contest = Contest(draws, tested, cautions)
    known = _best_seeds(list(adjacency.seeds())[:seeds], contest, int(SEEDS * samples), told)

    budget = int(GENERATED * samples)
    most = examples * (NARROW_EXAMPLES if draws.columns <= NARROW else 1)
    count = min(most, int(budget / (2 * LEAST_CLIMB * (1.0 + SHRINKS))))
    rows = _rows(int(budget / (2 * count * (1.0 + SHRINKS)))) if count else 0
    scores = Scores(draws, tested, cautions, rows)
    told(0.33, "searching for telling neighbours")
    generated = climb(adjacency, scores, count, seed) if rows else []
    playoff = _rows(int(PLAYOFF * samples) // (2 * (2 * COMPARED + 1)))
    if not playoff:
        return SearchResult(tuple(one.pair for one in known[:FINALISTS]), draws.spent, len(generated))

    told(0.66, "comparing the best pairs")
    taken = {one.pair.key for one in known[:COMPARED]}
    fresh = [Standing(pair) for _, pair in generated if pair.key not in taken][:COMPARED]
    contest.look_at_all(known[:COMPARED], playoff)
    contest.look_at_all(fresh, playoff)
    ranked = _handed_over(known[:COMPARED])
    best = max(fresh, key=lambda one: one.promise, default=None)
    if best is not None and best.promise > _beaten(ranked[0].promise):
        told(0.75, "shrinking the best pair")
        # The smaller of the two estimates: the one that won the climb was lucky more often than not.
        reached = min(best.promise, scores.known[best.pair.key])
        draws.left = int(2 * rows * count * SHRINKS)
        shrunk = shrink(adjacency, scores, _kept(reached), count, seed)
        if shrunk is not None:
            plain = Standing(shrunk)
            contest.look_at_all([plain], playoff)
            if plain.promise >= _kept(best.promise):
                best = plain
        ranked = [best, *ranked]
    pairs = {one.pair.key: one.pair for one in ranked}
    return SearchResult(tuple(pairs.values())[:FINALISTS], draws.spent, len(generated))


def _best_seeds(seeds: Sequence[Pair], contest: Contest, samples: int, tell: Progress) -> list[Standing]:
    """Compare the seeds in three rounds."""
    left = [Standing(pair) for pair in seeds[: max(1, int(ROUNDS[0] * samples / (2 * LEAST_ROWS)))]]
    for turn, share in enumerate(ROUNDS):
        rows = _rows(int(share * samples / (2 * len(left))))
        if len(left) == 1 or rows == 0:
            break
        tell(0.11 * turn, f"comparing {len(left)} known pairs")
        contest.look_at_all(left, rows, keep=turn == len(ROUNDS) - 1)
        count = max(COMPARED, math.ceil(len(left) * GO_ON[turn]))
        best = in_turns(_scores(left), count, count // NAMED if turn == 0 else 0)
        left = [left[i] for i in best]
    return left


def _scores(known: Sequence[Standing]) -> tuple[list[float], ...]:
    promises = [one.promise for one in known]
    return promises, [one.hope for one in known], promises


def _handed_over(known: Sequence[Standing]) -> list[Standing]:
    """The best promise, then the best hope if it is larger by a tenth than the first's, then the other promises."""
    ranked = sorted(known, key=lambda one: -one.promise)
    bold = max(ranked, key=lambda one: one.hope)
    if bold is not ranked[0] and bold.hope > _beaten(ranked[0].hope):
        ranked = [ranked[0], bold, *(one for one in ranked[1:] if one is not bold)]
    return ranked


def _beaten(known: float) -> float:
    return known + (BEATS - 1.0) * abs(known)


def _kept(score: float) -> float:
    return score - (1.0 - KEEPS) * abs(score)


def _rows(rows: int) -> int:
    """Round down to whole blocks of lanes; 0 if events could not be laid out on so few."""
    rounded = rows // 64 * 64
    return rounded if rounded >= LEAST_ROWS else 0
