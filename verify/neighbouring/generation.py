"""Generation of pairs of neighbours with Hypothesis: their scores are climbed, and the best pair is shrunk."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.conduct.interrupts import Stop
from verify.events.predicted_bound import ComingTest
from verify.neighbouring.adjacency import Adjacency, NotNeighbours, Pair
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.pair_score import halves, score_pair

_TRIES = 4  # times the examples that Hypothesis may run, those among them that it rejects or has run before

if TYPE_CHECKING:
    import hypothesis


@dataclass(eq=False)
class PairScorer:
    """Scores of pairs (`PairScore.lower`), each worked out once, on `rows` draws of each world."""

    draws: PairDraws
    test: ComingTest
    rows: int
    known: dict[bytes, float] = field(default_factory=dict)

    def score(self, pair: Pair) -> float:
        """Return the score of a pair.

        Raises
        ------
        _Spent
            If the draws for it are not left.
        """
        if pair.key not in self.known:
            worlds = self.draws.draw_within_budget(pair, self.rows, 0)
            if worlds is None:
                raise _Spent
            score = score_pair(*halves(worlds), self.test, coupled=bool(self.draws.coupled))
            self.known[pair.key] = score.lower
        return self.known[pair.key]


def climb(adjacency: Adjacency, scorer: PairScorer, examples: int, seed: int) -> list[tuple[float, Pair]]:
    """Let Hypothesis generate pairs and climb their score; return them, the best first."""
    import hypothesis

    seen: dict[bytes, tuple[float, Pair]] = {}

    def target_score(pair: Pair) -> None:
        score = scorer.score(pair)
        if math.isfinite(score):
            seen.setdefault(pair.key, (score, pair))
            hypothesis.target(score)

    scorer.draws.remaining_draws = 2 * scorer.rows * examples
    with contextlib.suppress(_Spent):
        _run(adjacency, target_score, examples, seed, shrinks=False)
    return sorted(seen.values(), key=lambda entry: -entry[0])


def shrink(adjacency: Adjacency, scorer: PairScorer, enough: float, examples: int, seed: int) -> Pair | None:
    """Generate the same pairs again until one has a score of `enough`, and shrink that one.

    That is the last pair that had the score, also where the draws are spent before the shrinker is done: it tries
    nothing but plainer ones than the plainest so far, and the plainest once more in the end.
    """
    import hypothesis

    plainest: list[Pair] = []

    def stop_at_enough(pair: Pair) -> None:
        score = scorer.score(pair)
        if score >= enough:
            plainest.append(pair)
            raise _Found
        if math.isfinite(score):
            hypothesis.target(score)

    with contextlib.suppress(_Found, _Spent):
        _run(adjacency, stop_at_enough, examples, seed, shrinks=True)
    return plainest[-1] if plainest else None


class _Spent(Stop):
    """No draws or tries are left.

    Hypothesis ends at once at an interrupt from the keyboard; of any other exception it asks whether it was raised
    before, and with which arguments.
    """


class _Found(Exception):
    """A pair has a score that is high enough."""


def _run(
    adjacency: Adjacency, test: Callable[[Pair], None], examples: int, seed: int, *, shrinks: bool
) -> None:
    """Run a property on generated pairs.

    Raises
    ------
    _Spent
        If `test` raises it, or there were too many tries. Hypothesis bounds the number of valid examples only: its
        optimiser can go on and on among pairs that are none, or that it has seen.
    """
    import hypothesis
    from hypothesis import Phase
    from hypothesis import strategies as st

    pairs, tries = adjacency.pairs(), itertools.count()

    @st.composite
    def limited(draw: st.DrawFn) -> Pair:
        if next(tries) >= _TRIES * examples:
            raise _Spent
        return draw(pairs)

    configured = _settings(examples, Phase.generate, Phase.target, *((Phase.shrink,) if shrinks else ()))
    try:
        hypothesis.seed(seed)(configured(hypothesis.given(limited())(test)))()
    except hypothesis.errors.FlakyStrategyDefinition:
        # Where the tries end at an example that was run before, Hypothesis sees that nothing was drawn this time.
        if next(tries) < _TRIES * examples:
            raise
        raise _Spent from None


def generated_pairs(adjacency: Adjacency, examples: int, seed: int) -> list[Pair]:
    """Return generated pairs of neighbours, at most `examples`."""
    import hypothesis

    found: list[Pair] = []

    def keep(pair: Pair) -> None:
        with contextlib.suppress(NotNeighbours):
            adjacency.check(pair)
            found.append(pair)

    configured = _settings(examples, hypothesis.Phase.generate)
    hypothesis.seed(seed)(configured(hypothesis.given(adjacency.pairs())(keep)))()
    return found


def _settings(examples: int, *phases: hypothesis.Phase) -> hypothesis.settings:
    """Return settings under which Hypothesis stores no examples, reports nothing, and repeats itself for a seed.

    Integers above 100 may be tried from the constants of local modules that the process has loaded.
    """
    from hypothesis import HealthCheck, Verbosity, settings

    return settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        backend="hypothesis",
    )
