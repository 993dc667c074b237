"""A second test where the first leaves a claim in doubt: its counts contradict it, but not at the strict level.

Such a claim is either false and was tested on too few draws, or true and had bad luck. The second test, on many times
as many draws, is another black-box test of the pair that the first one chose, from the choice of the event on.

Its error is set aside beforehand: of every error (1 - confidence, and the false alarm) the first test has most, the
second the rest, whether it is held or not. By the union bound all statements of both tests hold together at the errors
asked for, although the first one's counts decide whether there is a second; so each holds that is reported. The second
test's draws come from a seed of their own, and their number does not depend on the first one's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from algorithms.claim import Claim
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.progress import subprogress
from verify.conduct.spawn_keys import SpawnKey
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.counted_event import CountedEvent
from verify.sampling.tester import Candidates, CandidateSource, Tester


@dataclass(frozen=True, kw_only=True)
class _ErrorShares:
    """Shares of every error of the two tests, 1 together: most for the first, since few claims need a second.

    A second test is held if the first one's bound at an error of `doubt`, half a standard error below the estimate,
    exceeds the claim. Any rule is valid: both are paid for.
    """

    first: float = 0.8
    second: float = 0.2
    doubt: float = 0.31


_SHARES = _ErrorShares()
_TIMES = 4  # draws of a second test for each of the first


def second_unless(known: bool, effort: Effort) -> Callable[[int], int]:
    """Return the number of draws of a second test: 0 if all is `known` without it, or the caller gave the number."""
    times = 0 if known or effort.given else _TIMES
    return lambda first: times * first


def hold_tests(
    tester: Tester,
    source: CandidateSource,
    claim: Claim,
    conduct: Conduct,
    *,
    second: Callable[[int], int],
    there_is_time: Callable[[int], bool] = lambda draws: True,
) -> Iterator[CountedEvent]:
    """Hold a test, yield its result, and hold and yield a second one if the first leaves the claim in doubt.

    Bets continue by themselves, and need no second test.

    Parameters
    ----------
    tester
        The tester of both.
    source, claim
        The source of the pairs, with the draws of the first test, and the claim.
    conduct
        The confidence and the false alarm of its effort are those of both tests together.
    second
        Draws of the second test, of those of the first; 0: there is none, and the first one has all of every error.
    there_is_time
        Asked, of so many draws, before a second test is held; a first one's errors do not depend on it.

    Yields
    ------
    CountedEvent
        Its confidence and false alarm are those of both tests together, its `share_of_error` that of its own.
    """
    if tester.anytime:
        yield tester.test(source, conduct, epsilon=claim.epsilon, delta=claim.delta)
        return
    candidates, told = source.best_candidates(), conduct.progress
    more = second(candidates.samples)
    first = _hold(
        tester,
        candidates,
        claim,
        replace(conduct, progress=subprogress(told, 0.2, 0.4 if more else 1.0)),
        share=_SHARES.first if more else 1.0,
    )
    yield first
    if more and _leaves_doubt(first) and there_is_time(more):
        yield _hold(
            tester,
            replace(candidates, worlds=[first.worlds], samples=more),
            claim,
            replace(conduct, seed=_second_seed(conduct.seed), progress=subprogress(told, 0.4, 1.0)),
            share=_SHARES.second,
            looks=2,
        )


def _hold(
    tester: Tester, candidates: Candidates, claim: Claim, conduct: Conduct, *, share: float, looks: int = 1
) -> CountedEvent:
    """Hold a test that may spend `share` of the candidates' part of every error.

    `looks` is the number of tests, with this one.
    """
    shared = replace(
        candidates,
        share_of_error=share * candidates.share_of_error,
        share_of_false_alarm=share * candidates.share_of_false_alarm,
    )
    result = tester.test(shared, conduct, epsilon=claim.epsilon, delta=claim.delta)
    if not isinstance(result, BlackBoxResult):
        return result
    return replace(
        result,
        confidence=1.0 - candidates.share_of_error * (1.0 - conduct.effort.confidence),
        significance=candidates.share_of_false_alarm * conduct.effort.significance,
        share_of_error=share * result.share_of_error,
        looks=looks,
    )


def _leaves_doubt(result: CountedEvent) -> TypeGuard[BlackBoxResult]:
    """Return True if a complete single look does not refute a claim that its counts contradict."""
    if not isinstance(result, BlackBoxResult) or result.interrupted or result.dependent is not None:
        return False
    counts = result.hits, result.trials, result.hits_prime, result.trials
    bound = result.inverted_by.epsilon_lower(*counts, result.claim_delta, _SHARES.doubt)
    return not result.refuted and bound > result.claim_epsilon


def _second_seed(seed: int) -> int:
    """Return the seed of the second test's draws."""
    return int(SpawnKey.SECOND_TEST.sequence(seed).generate_state(1, np.uint64)[0])
