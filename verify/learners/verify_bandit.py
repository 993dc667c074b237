"""Verify a bandit that knows nothing of gates: telling reward tables, or an adversary, and a black-box test."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from verify.effort import Effort
from verify.events.view_sample import ViewSample
from verify.evidence import Evidence, Progress
from verify.learners.accounting_run import failing_place
from verify.learners.adversary_view import adversary_candidate
from verify.learners.call_cost import cost_of
from verify.learners.pairs import ViewPair, lead_pairs
from verify.learners.table_leads import (
    SCAN_DRAWS,
    SCAN_ROUNDS,
    UNITS_OF_ROUND,
    is_gross,
    run_cost,
    table_leads,
)
from verify.learners.transcript import Transcript, read, with_paths_spelled
from verify.learners.transcript_leads import Arms
from verify.sampling.anytime_bettor import Instead
from verify.sampling.black_box import black_box_test
from verify.sampling.draws import Candidate
from verify.subjects.bandit_calls import BanditError, WrongArm
from verify.subjects.plain_bandit import FloatArray, PlainBandit
from verify.time_limit import TimeLimitReached, check_time_limit, time_limit
from verify.verdict import Finding, UpperBound

SECONDS = 600.0
"""The default time limit of one verification."""

_TESTED = 2  # pairs that the test takes
_UNITS_WITH_ADVERSARY = 8  # units of cost for each lane-round of the effort, where an adversary is played
_SHARE_OF_GROSS = 4  # so many times fewer draws where a scan promises a multiple of the claim
_NEAR, _TIMES_OF_NEAR = 0.4, 2  # and so many times more where it promises about the claim
_FEWEST_SAMPLES, _FEWEST_OF_PAIR = 12_000, 2_688
_SCAN = 7  # spawn key of the scan
_PROBED, _PROBE_SECONDS = 8, 10.0  # the first runs, and the time they may take
_SHOWN = 64  # rewards of a table that is printed


@dataclass(frozen=True, eq=False)
class _Tested:
    """What the test draws from: candidates, each in words for D and D', and how many draws it takes."""

    candidates: list[Candidate]
    words: list[tuple[str, str]]
    samples: int


def verify_bandit(
    bandit: PlainBandit,
    claim: Claim,
    *,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    seconds: float = SECONDS,
    instead: Instead | None = None,
) -> Evidence:
    """Collect findings and a lower bound for a bandit's claim; nothing gives an upper bound.

    The number of draws follows from the effort and the rounds of the tested transcripts, not from the clock.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    effort, seed
        How much work, and the seed of all randomness.
    reproduce
        What repeats the verification.
    progress
        Called with the share done and what is being done.
    seconds
        The time limit. A verification that it ends reports what was found, and that it was stopped.
    instead
        Called in place of the black-box test.

    Raises
    ------
    BanditError
        If its class cannot be called as it was said.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    limit, start = check_time_limit(seconds), time.monotonic()
    try:
        with time_limit(limit):
            if not _look(evidence, bandit, seed, limit):
                return evidence
            _test(evidence, bandit, claim, effort, seed, reproduce, progress, instead)
    except WrongArm as error:
        evidence.findings.append(Finding("wrong-arm", "", f"{error}"))
    except BanditError:
        raise
    except TimeLimitReached:
        pass  # said below
    except KeyboardInterrupt:
        evidence.interrupted()
    except (Exception, SystemExit) as error:  # whatever a user's bandit raises
        message = f"the bandit raised {type(error).__name__}: {error}"
        evidence.findings.append(Finding("crash", str(failing_place(error)), message))
    if time.monotonic() - start >= limit:
        message = f"stopped after the time limit of {limit:g} s: how far it came depends on the machine"
        evidence.findings.append(Finding("time-limit", "", message))
    return evidence


def _look(evidence: Evidence, bandit: PlainBandit, seed: int, seconds: float) -> bool:
    """Play a few runs twice; whether they end. Says so if they differ: then a generator of its own is drawn from."""
    rounds = min(bandit.rounds, SCAN_ROUNDS)
    table = np.full((rounds + 1, bandit.arms), bandit.rewards[0])
    limit = min(seconds / 2.0, _PROBE_SECONDS)
    try:
        with time_limit(limit):
            first, again = (bandit.actions(table, _PROBED, np.random.SeedSequence(seed)) for _ in range(2))
    except TimeLimitReached:
        message = f"{2 * _PROBED} runs of {rounds} rounds took longer than {limit:.2g} s and were stopped"
        evidence.findings.append(Finding("time-limit", "", message))
        return False
    if not np.array_equal(first, again):
        message = "two runs on the same rewards and seed differ: the bandit draws from a generator of its own"
        evidence.findings.append(Finding("unrepeatable", "", message, failing=False))
    return True


def _test(
    evidence: Evidence,
    bandit: PlainBandit,
    claim: Claim,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    instead: Instead | None,
) -> None:
    """Look for telling tables (an adversary brings its own), and test the most telling ones."""
    progress(0.05, "looking for telling transcripts")
    tested = (
        _tables(bandit, claim, effort, seed) if bandit.adversary is None else _worlds(bandit, effort, seed)
    )
    if tested is None:
        message = (
            f"the actions of rounds 1 to {bandit.rounds} are always the same, whatever the rewards and the "
            "generator: nothing was tested"
        )
        evidence.findings.append(Finding("constant", "", message))
        return
    if instead is not None:
        instead(evidence, tested.candidates, tested.words, tested.samples)
        return
    result = black_box_test(
        tested.candidates,
        claim_epsilon=claim.epsilon,
        claim_delta=claim.delta,
        samples=tested.samples,
        confidence=effort.confidence,
        false_alarm=effort.false_alarm,
        seed=seed,
        progress=lambda share, doing: progress(0.2 + 0.8 * share, doing),
        # Processes would start with the same state of a generator that nobody seeds, and draw the same numbers.
        workers=1 if any(found.kind == "unrepeatable" for found in evidence.findings) else effort.workers,
    )
    result = replace(result, event=with_paths_spelled(result.event, bandit.arms, 1))
    data, data_prime = tested.words[result.candidate]
    evidence.keep(result, result.witness({"data": data, "data_prime": data_prime}, reproduce))


def _worlds(bandit: PlainBandit, effort: Effort, seed: int) -> _Tested | None:
    """Return the two worlds of the bandit's adversary; None if the actions never vary."""
    assert bandit.adversary is not None
    seeds = np.random.SeedSequence(seed, spawn_key=(_SCAN, 2)).spawn(3)
    both = [bandit.actions_against(world, SCAN_DRAWS, seeds[world]) for world in (False, True)]
    if all((actions == both[0][0]).all() for actions in both):
        return None
    candidate, words = adversary_candidate(
        bandit.adversary, bandit.actions_against, Arms(bandit.arms, 1), seeds[2]
    )
    cost = cost_of(lambda: bandit.actions_against(False, _PROBED, seeds[0])) / _PROBED
    samples = min(int(_UNITS_WITH_ADVERSARY * effort.lane_rounds / cost), effort.single_samples)
    return _Tested([candidate], [words], max(samples, _FEWEST_OF_PAIR))


def _tables(bandit: PlainBandit, claim: Claim, effort: Effort, seed: int) -> _Tested | None:
    """Return the pairs of reward tables that scans find most telling; None if the actions never vary."""
    leads = table_leads(bandit, claim, effort, np.random.SeedSequence(seed, spawn_key=(_SCAN,)))
    if not leads:
        return None
    best = leads[0]
    affordable = int(UNITS_OF_ROUND * effort.lane_rounds / run_cost(bandit, best.rounds))
    if is_gross(best, claim):
        affordable //= _SHARE_OF_GROSS
    elif best.predicted > _NEAR * claim.epsilon:
        affordable *= _TIMES_OF_NEAR
    short = [lead for lead in leads if lead.rounds <= best.rounds]  # others would cost draws
    pairs = lead_pairs(short[: min(_TESTED, max(affordable // _FEWEST_SAMPLES, 1))])
    samples = max(min(affordable, effort.single_samples), _FEWEST_OF_PAIR)
    words = [_words(bandit, pair) for pair in pairs]
    candidates = [
        Candidate(" / ".join(each), functools.partial(_draw_table, bandit, pair))
        for each, pair in zip(words, pairs, strict=True)
    ]
    return _Tested(candidates, words, samples)


def _words(bandit: PlainBandit, pair: ViewPair) -> tuple[str, str]:
    """Say both tables of a pair: small ones in full; and how many of the bandit's rounds are played on them."""
    played = f"; the first {pair.rounds} of {bandit.rounds} rounds are played"
    said = []
    for words, table in zip(pair.words, (pair.data, pair.data_prime), strict=True):
        rows = table[1:]
        shown = f"; the rewards of all rounds: {_rows(rows)}" if rows.size <= _SHOWN else ""
        said.append(words + shown + (played if pair.rounds < bandit.rounds else ""))
    return said[0], said[1]


def _rows(rewards: FloatArray) -> str:
    """Say a table row by row."""
    return "[" + ", ".join("[" + ", ".join(f"{value:g}" for value in row) + "]" for row in rewards) + "]"


def _draw_table(
    bandit: PlainBandit, pair: ViewPair, other: bool, n: int, seed: np.random.SeedSequence
) -> ViewSample:
    """Draw views of a pair's features on one of its tables."""
    table = pair.data_prime if other else pair.data
    return read(pair.features, Transcript(bandit.actions(table, n, seed)))
