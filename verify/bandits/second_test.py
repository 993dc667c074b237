"""A second test where the first leaves a claim in doubt: its bound exceeds the claim, but not at the strict level.

Such a claim is either false and was tested on too few draws, or true and had bad luck. The second test, on many times
as many draws, is another black-box test of the same pairs, from the choice of the event on.

It is paid for beforehand: of every error (1 - confidence, and the false alarm) the first test has `FIRST`, the second
`SECOND`, whether it is held or not. By the union bound all that both of them say holds together at the errors asked
for, although the first one's counts decide whether there is a second; and so does whichever of the two is reported. Its
draws come from a seed of its own, and how many there are does not depend on what the first one saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verify.conduct.effort import Effort
from verify.conduct.progress import Progress
from verify.conduct.spawn_keys import SpawnKey
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.worlds import NeighbouringWorlds

FIRST, SECOND = 0.8, 0.2
"""Shares of every error of the first and of the second test."""


def hold_test(
    candidates: Sequence[NeighbouringWorlds],
    claim: tuple[float, float],
    effort: Effort,
    *,
    samples: int,
    share: float,
    seed: int,
    progress: Progress,
    workers: int,
) -> BlackBoxResult:
    """Hold a black-box test that may spend `share` of every error.

    Parameters
    ----------
    candidates
        The pairs.
    claim
        ε and δ.
    effort
        Its confidence and false alarm are those of all tests together.
    samples
        Draws in all.
    share
        Of the errors; `FIRST` or `SECOND`, or 1 if there is no other test.
    seed, progress, workers
        As of `verify.sampling.black_box.black_box_test`.

    Returns
    -------
    BlackBoxResult
        Its confidence and false alarm are those of all tests together, its `share_of_error` that of this one.
    """
    result = black_box_test(
        candidates,
        claim_epsilon=claim[0],
        claim_delta=claim[1],
        samples=samples,
        confidence=1.0 - share * (1.0 - effort.confidence),
        false_alarm=share * effort.false_alarm,
        seed=seed,
        progress=progress,
        workers=workers,
    )
    return replace(
        result,
        confidence=effort.confidence,
        false_alarm=effort.false_alarm,
        share_of_error=share * result.share_of_error,
    )


def in_doubt(result: BlackBoxResult) -> bool:
    """Whether a first test, played to its end, neither refutes the claim nor leaves its bound below it."""
    ended = not result.interrupted and result.dependent is None
    return ended and not result.refuted and result.epsilon_lower > result.claim_epsilon


def second_seed(seed: int) -> int:
    """Return the seed of the second test's draws."""
    return int(SpawnKey.SECOND_TEST.sequence(seed).generate_state(1, np.uint64)[0])
