"""A second test where the first leaves a claim in doubt: its bound exceeds the claim, but not at the strict level.

Such a claim is either false and was tested on too few draws, or true and had bad luck. The second test, on many times
as many draws, is another black-box test of the same pairs, from the choice of the event on.

It is paid for beforehand: of every error (1 - confidence, and the false alarm) the first test has `FIRST`, the second
`SECOND`, whether it is held or not. By the union bound all that both of them say holds together at the errors asked
for, although the first one's counts decide whether there is a second; and so does whichever of the two is reported. Its
draws come from a seed of its own, and how many there are does not depend on what the first one saw.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from algorithms.claim import Claim
from verify.conduct.conduct import Conduct
from verify.conduct.spawn_keys import SpawnKey
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.counted_event import CountedEvent
from verify.sampling.tester import Candidates, Tester

FIRST, SECOND = 0.8, 0.2
"""Shares of every error of the first and of the second test."""


def hold_test(
    tester: Tester, candidates: Candidates, claim: Claim, conduct: Conduct, *, share: float, looks: int = 1
) -> CountedEvent:
    """Hold a test that may spend `share` of every error of a single look; bets have theirs for all looks.

    Parameters
    ----------
    tester
        Who holds it.
    candidates, claim
        The pairs, and what they are held to.
    conduct
        The confidence and the false alarm of its effort are those of all tests together.
    share
        Of the errors; `FIRST` or `SECOND`, or 1 if there is no other test.
    looks
        How many tests there were with this one.

    Returns
    -------
    CountedEvent
        Its confidence and false alarm are those of all tests together, its `share_of_error` that of this one.
    """
    shared = replace(candidates, share_of_error=share, share_of_false_alarm=share)
    result = tester.test(shared, conduct, epsilon=claim.epsilon, delta=claim.delta)
    if not isinstance(result, BlackBoxResult):
        return result
    return replace(
        result,
        confidence=conduct.effort.confidence,
        false_alarm=conduct.effort.false_alarm,
        share_of_error=share * result.share_of_error,
        looks=looks,
    )


def in_doubt(result: CountedEvent) -> TypeGuard[BlackBoxResult]:
    """Whether a single look, played to its end, neither refutes the claim nor leaves its bound below it."""
    if not isinstance(result, BlackBoxResult) or result.interrupted or result.dependent is not None:
        return False
    return not result.refuted and result.epsilon_lower > result.claim_epsilon


def second_seed(seed: int) -> int:
    """Return the seed of the second test's draws."""
    return int(SpawnKey.SECOND_TEST.sequence(seed).generate_state(1, np.uint64)[0])
