"""Search for the pair of neighbours that tells most: known patterns first, then Hypothesis.

1. *Seeds.* The adjacency's known pairs are compared on small samples, the better third on larger ones, and again.
2. *Climb.* Hypothesis generates pairs from the adjacency; `hypothesis.target` climbs how telling they are (`telling`).
3. *Compare.* The best of both are compared on larger samples: the best of many noisy scores owes much to luck.
4. *Shrink.* If a generated pair beats the seeds there, the same generation is run again as a property that fails
   where the bound is within a few per cent of the best, so that Hypothesis shrinks the pair to the plainest that
   keeps it.

Nothing here decides about a claim: the search hands a few pairs over, and draws of its own decide. Both worlds of a
pair are drawn with the same random numbers (`verify.sampling.draws` says why), where these do not go against each
other; what decides is drawn independently. The draws for a
pair depend on nothing but the seed and the pair's canonical bytes, so that an example that is run again is the same
bit by bit (otherwise Hypothesis would call it flaky), and the whole search repeats for a seed. Its effort is a number
of draws, not of seconds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from verify.events.families import Worlds
from verify.events.readings import Value
from verify.events.score_fit import Draws, features, naive_bayes
from verify.events.scores import AdditiveScore
from verify.events.search import search_events
from verify.events.view_sample import ViewSample
from verify.evidence import silent
from verify.neighbouring.adjacency import Adjacency, Pair
from verify.sampling.count_events import count_pairs
from verify.sampling.draws import Candidate
from verify.statistics.predicted_bound import promised_epsilon

Draw = Callable[[Pair, bool, int, np.random.SeedSequence], ViewSample]
"""``draw(pair, other_world, n, seed)``: n independent draws of the view on the pair's one or other data set."""

Tell = Callable[[float, str], None]

SEARCH = 8  # first entry of the spawn keys of all draws
FINALISTS = 2  # pairs that are handed over
COMPARED = 3  # seeds, and as many generated pairs, that are compared on larger samples
KEEPS = 0.97  # a shrunk pair keeps this part of the best pair's score
BEATS = 1.1  # a generated pair must reach this multiple of the best seed's score: seeds are plainer
ENOUGH = 16_384  # fresh draws of a world from which events are confirmed: the bound is what is wanted
CAUTION = 0.75  # standard errors from which an event confirmed on worlds drawn alike is judged
APART_CAUTION = 1.5  # the same on independent worlds, where errors are larger: √J is the better guide there
SEEDS, GENERATED, PLAYOFF = (
    0.5,
    0.2,
    0.3,
)  # of all draws: for the known pairs, generated ones, and the best of both
ROUNDS = (0.25, 0.35, 0.4)  # of the draws for the known pairs: their three rounds, of ever fewer pairs
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


@dataclass
class _Scores:
    """How telling pairs are, each looked at once, within a budget of draws.

    Both worlds of a pair get the same random numbers, unless the first pair shows that they go against each other.
    """

    draw: Draw
    delta: float
    error: float
    seed: int
    final_samples: int | None = None
    alike: bool | None = None
    columns: int = 0
    left: int = 0
    spent: int = 0
    known: dict[tuple[bytes, int], float] = field(default_factory=dict)

    def of(self, pair: Pair, rows: int) -> float | None:
        """Return the score of a pair from `rows` draws of each world; None if they are not left."""
        key = pair.key, rows
        if key in self.known:
            return self.known[key]
        if 2 * rows > self.left:
            return None
        self.left -= 2 * rows
        self.spent += 2 * rows
        first, second = self._drawn(pair, rows, False), self._drawn(pair, rows, True)
        self.columns = len(first.columns)
        if self.alike is None:
            self.alike = not _against(first, second)
            if not self.alike:
                self.spent += rows
                second = self._drawn(pair, rows, True)
        caution = CAUTION if self.alike else APART_CAUTION
        self.known[key] = telling(first, second, self.delta, self.error, self.final_samples, caution)
        return self.known[key]

    def _drawn(self, pair: Pair, rows: int, other: bool) -> ViewSample:
        words = np.frombuffer(hashlib.sha256(pair.key).digest(), dtype=np.uint32)
        key = (SEARCH, rows, int(other and self.alike is False), *map(int, words[:4]))
        return self.draw(pair, other, rows, np.random.SeedSequence(self.seed, spawn_key=key))

    def ranked(self, pairs: Sequence[Pair], rows: int) -> list[tuple[float, Pair]]:
        """Return pairs with their scores, the largest first; those without draws last."""
        scores = [self.of(pair, rows) for pair in pairs]
        known = [-math.inf if score is None else score for score in scores]
        order = sorted(range(len(pairs)), key=lambda i: (-known[i], i))
        return [(known[i], pairs[i]) for i in order]


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
    tell: Tell | None = None,
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
        Draws a side of the coming test, if it is known.
    tell
        Called with the share done and what is being done.
    """
    told: Tell = tell if tell is not None else silent
    scores = _Scores(draw, delta, error, seed, final_samples)
    known = list(adjacency.seeds())[:seeds]
    best_seeds = _best_seeds(known, scores, int(SEEDS * samples), told)

    budget = int(GENERATED * samples)
    most = examples * (NARROW_EXAMPLES if scores.columns <= NARROW else 1)
    count = min(most, int(budget / (2 * LEAST_CLIMB * (1.0 + SHRINKS))))
    rows = _rows(int(budget / (2 * count * (1.0 + SHRINKS)))) if count else 0
    told(0.33, "searching for telling neighbours")
    generated = _climb(adjacency, scores, rows, count, seed) if rows else []
    playoff = _rows(int(PLAYOFF * samples) // (2 * (2 * COMPARED + 1)))
    if not playoff:
        return SearchResult(tuple(best_seeds[:FINALISTS]), scores.spent, len(generated))

    told(0.66, "comparing the best pairs")
    best = [pair for _, pair in generated[:COMPARED]]
    scores.left = 2 * playoff * 2 * COMPARED
    ranked = scores.ranked(best_seeds[:COMPARED], playoff)
    found = scores.ranked(best, playoff)
    if found and _beats(found[0][0], ranked[0][0]):
        told(0.75, "shrinking the best pair")
        # The smaller of the two estimates: the one that won the climb was lucky more often than not.
        reached = min(found[0][0], next(score for score, pair in generated if pair is found[0][1]))
        scores.left = int(2 * rows * count * SHRINKS)
        shrunk = _shrink(adjacency, scores, rows, _kept(reached), count, seed)
        scores.left = 2 * playoff
        plain = scores.of(shrunk, playoff) if shrunk is not None else None
        if shrunk is not None and plain is not None and plain >= _kept(found[0][0]):
            found[0] = plain, shrunk
        ranked = [found[0], *ranked]
    pairs = {pair.key: pair for _, pair in ranked}
    return SearchResult(tuple(pairs.values())[:FINALISTS], scores.spent, len(generated))


def telling(
    first: ViewSample,
    second: ViewSample,
    delta: float,
    error: float,
    final_samples: int | None = None,
    caution: float = CAUTION,
) -> float:
    """Return how telling two worlds are: roughly the epsilon that they show.

    On many draws, the lower bound on epsilon that a coming test of `final_samples` draws a side (by default as many as
    these) promises: a few events are found on the first half of the draws and counted on the second, and the best of
    them is judged `caution` standard errors below its estimate. How lucky an event was on the draws that it was found
    on does not count.

    On few draws, the larger of two numbers. One is that promise; it sees events that are rare in both worlds, which
    few draws would not prove. The other is √J, with J the symmetric Kullback-Leibler divergence of a naive-Bayes
    score, one standard error below its estimate on draws that the score was not fitted to: a privacy loss of ±ε has
    J = ε tanh(ε/2)·2 ≈ ε². J uses all draws at once, so that it ranks pairs long before any single event's frequency
    does; the promise takes over where a rare event gives the data away.

    Both are the sharper, the more row i of the one world goes together with row i of the other, as it does where both
    come from the same random numbers.
    """
    half = len(first.values) // 2
    fresh = first.rows(half, 2 * half), second.rows(half, 2 * half)
    n = half if final_samples is None else final_samples
    fit = first.rows(0, half), second.rows(0, half)
    promise = _promise(fit, fresh, n, delta, error, caution)
    if half >= ENOUGH:
        return promise
    score = _score(fit)
    ours, theirs = score.of(fresh[0]), score.of(fresh[1])
    spread = math.sqrt(float((ours - theirs).var()) / half)
    divergence = float(ours.mean()) - float(theirs.mean()) - spread
    return max(promise, math.sqrt(divergence) if divergence > 0.0 else divergence)


def _promise(sample: Worlds, fresh: Worlds, n: int, delta: float, error: float, caution: float) -> float:
    """The bound that the best of a few events promises: found on a sample, counted on fresh draws."""
    half = len(sample[0].values) // 2
    fit, choose = (tuple(world.rows(a, a + half) for world in sample) for a in (0, half))
    found = search_events(
        (fit[0], fit[1]),
        (choose[0], choose[1]),
        final_samples=n,
        delta=delta,
        error=error,
        quick=_score((fit[0], fit[1])),
        shortlist=True,
    )
    events = [event.event for event in found.shortlist]
    hits, split = count_pairs(events, *fresh)
    counted = len(fresh[0].values)
    promises = []
    for event, both, apart in zip(found.shortlist, hits.T.tolist(), split.tolist(), strict=True):
        first, second = both[::-1] if event.swapped else both
        promises.append(promised_epsilon(first, second, counted, n, delta, error, caution, apart))
    return max(promises)


def _score(fit: Worlds) -> AdditiveScore:
    values = [Value(i, column) for i, column in enumerate(fit[0].columns)]
    return naive_bayes(features(fit, values), Draws.of((len(fit[0].values), len(fit[1].values))))


def _against(first: ViewSample, second: ViewSample) -> bool:
    """Whether draws from the same random numbers go against each other, as those do that flip a bit of the data.

    Judged by a score's covariance over pairs of rows that it was not fitted to: a difference of means is then known
    worse than from independent draws.
    """
    half = len(first.values) // 2
    score = _score((first.rows(0, half), second.rows(0, half)))
    ours, theirs = (score.of(world.rows(half, 2 * half)) for world in (first, second))
    return float(np.mean((ours - ours.mean()) * (theirs - theirs.mean()))) < 0.0


def _beats(found: float, known: float) -> bool:
    return found > known + (BEATS - 1.0) * abs(known)


def _kept(score: float) -> float:
    return score - (1.0 - KEEPS) * abs(score)


def _best_seeds(seeds: Sequence[Pair], scores: _Scores, samples: int, tell: Tell) -> list[Pair]:
    """Compare the seeds in three rounds, from each of which a third goes on to three times the draws."""
    left = list(seeds)[: max(1, int(ROUNDS[0] * samples / (2 * LEAST_ROWS)))]
    for turn, share in enumerate(ROUNDS):
        rows = _rows(int(share * samples / (2 * len(left))))
        if len(left) == 1 or rows == 0:
            break
        tell(0.11 * turn, f"comparing {len(left)} known pairs")
        scores.left = 2 * rows * len(left)
        ranked = scores.ranked(left, rows)
        count = max(COMPARED, -(-len(left) // 3))
        best = [pair for _, pair in ranked[:count]]
        if turn < 2:  # few draws rank pairs badly: the patterns named first get a second look in any case
            named = [pair for pair in left[: count // 3] if pair not in best]
            best = [*best[: count - len(named)], *named]
        left = [pair for pair in left if pair in best] if turn < 2 else best
    return left


def _climb(
    adjacency: Adjacency, scores: _Scores, rows: int, examples: int, seed: int
) -> list[tuple[float, Pair]]:
    """Let Hypothesis generate pairs and climb their score; return them, the best first."""
    import hypothesis

    seen: dict[bytes, tuple[float, Pair]] = {}

    def look(pair: Pair) -> None:
        score = scores.of(pair, rows)
        if score is not None and math.isfinite(score):
            seen.setdefault(pair.key, (score, pair))
            hypothesis.target(score, label=_LABEL)

    scores.left = 2 * rows * examples
    _run(adjacency, look, examples, seed, shrinks=False)
    return sorted(seen.values(), key=lambda entry: -entry[0])


def _shrink(
    adjacency: Adjacency, scores: _Scores, rows: int, enough: float, examples: int, seed: int
) -> Pair | None:
    """Generate the same pairs again until one has a score of `enough`, and shrink that one."""
    import hypothesis

    def look(pair: Pair) -> None:
        score = scores.of(pair, rows)
        if score is not None and score >= enough:
            raise _Telling(pair)
        if score is not None and math.isfinite(score):
            hypothesis.target(score, label=_LABEL)

    try:
        _run(adjacency, look, examples, seed, shrinks=True)
    except _Telling as found:
        return found.pair
    return None


class _Telling(Exception):
    """A pair keeps the bound."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.pair = pair


_LABEL = "how telling"


def _run(
    adjacency: Adjacency, look: Callable[[Pair], None], examples: int, seed: int, *, shrinks: bool
) -> None:
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity, settings

    phases = (Phase.generate, Phase.target, *((Phase.shrink,) if shrinks else ()))
    configured = settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        backend="hypothesis",
    )
    hypothesis.seed(seed)(configured(hypothesis.given(adjacency.pairs())(look)))()


def _rows(rows: int) -> int:
    """Round down to whole blocks of lanes; 0 if events could not be laid out on so few."""
    rounded = rows // 64 * 64
    return rounded if rounded >= LEAST_ROWS else 0


def candidate_of(pair: Pair, draw: Draw, label: str) -> Candidate:
    """Return a pair as a candidate of a black-box test."""
    return Candidate(label, lambda other, n, seed: draw(pair, other, n, seed))
