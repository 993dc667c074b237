"""Verify a bandit that knows nothing of gates: telling reward tables, or an adversary, and a black-box test."""

from __future__ import annotations

import functools
import math

import numpy as np

from algorithms.claim import Claim
from verify.effort import Effort
from verify.events.view_sample import ViewSample
from verify.evidence import FALSE_ALARM, Evidence, Progress
from verify.learners.accounting_run import failing_place
from verify.learners.adversary_view import adversary_candidate
from verify.learners.neighbours import Background, backgrounds
from verify.learners.pairs import ViewPair, lead_pairs
from verify.learners.transcript import Transcript, first_actions, read
from verify.learners.transcript_leads import Arms, Lead, ScanSize
from verify.learners.transcript_sampling import sample_transcripts
from verify.sampling.black_box import Candidate, black_box_test
from verify.subjects.plain_bandit import PlainBandit
from verify.verdict import Finding, UpperBound

_SCAN_ROUNDS, _SCAN_DRAWS, _SCAN_NEIGHBOURS = 32, 256, 8
_TESTED = 2  # pairs that the test takes
# A call of a Python method costs more than a lane's round, a turn of an adversary more still: so many times fewer.
_SHARE_OF_ROUNDS, _SHARE_WITH_ADVERSARY = 3, 12
_FEWEST_SAMPLES = 12_000
_SCAN = 7  # spawn key of the scan


def verify_bandit(
    bandit: PlainBandit,
    claim: Claim,
    *,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
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
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    try:
        _add_unrepeatable(evidence, bandit, seed)
        progress(0.05, "looking for telling transcripts")
        if bandit.adversary is None:
            candidates, words, rounds = _tables(bandit, claim, seed)
        else:
            sequence = np.random.SeedSequence(seed, spawn_key=(_SCAN, 2))
            candidate, both = adversary_candidate(
                bandit.adversary, bandit.actions_against, Arms(bandit.arms, 1), sequence
            )
            candidates, words, rounds = [candidate], [both], bandit.rounds
        share = _SHARE_WITH_ADVERSARY if bandit.adversary else _SHARE_OF_ROUNDS
        result = black_box_test(
            candidates,
            claim_epsilon=claim.epsilon,
            claim_delta=claim.delta,
            samples=max(min(effort.lane_rounds // share // rounds, effort.single_samples), _FEWEST_SAMPLES),
            confidence=effort.confidence,
            false_alarm=FALSE_ALARM,
            seed=seed,
            progress=lambda share, doing: progress(0.2 + 0.8 * share, doing),
            workers=effort.workers,
        )
    except (Exception, SystemExit) as error:  # whatever a user's bandit raises
        message = f"the bandit raised {type(error).__name__}: {error}"
        evidence.findings.append(Finding("crash", str(failing_place(error)), message))
        return evidence
    data, data_prime = words[result.candidate]
    witness = result.witness({"data": data, "data_prime": data_prime}, reproduce)
    evidence.offer(result.lower_bound(), witness)
    evidence.details["black_box"] = result.to_dict()
    evidence.details["detection_floor"] = result.detection_floor_words
    return evidence


def _tables(
    bandit: PlainBandit, claim: Claim, seed: int
) -> tuple[list[Candidate], list[tuple[str, str]], int]:
    """Return the pairs of reward tables that a short scan finds most telling, in words, and how long they are."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_SCAN, 0)))
    low, high = bandit.rewards
    rounds = min(bandit.rounds, _SCAN_ROUNDS)
    drawn = np.where(rng.random((rounds + 1, bandit.arms)) < 0.5, low, high)
    around = [
        Background(each.data, each.neighbours[:_SCAN_NEIGHBOURS], each.others)
        for each in backgrounds(drawn, bandit.record_domain, bandit.arms, law="drawn by a fair coin")
    ]
    leads: list[Lead] = sample_transcripts(
        bandit.actions,
        around,
        Arms(bandit.arms, 1),
        size=ScanSize(_SCAN_DRAWS, lane_rounds=500_000, samples=100_000),
        delta=claim.delta,
        seed=np.random.SeedSequence(seed, spawn_key=(_SCAN, 1)),
    )
    if not leads:  # nothing varies: test the first neighbours there are
        features = tuple(first_actions(rounds, 1, ranked=False))
        first = around[0]
        leads = [Lead(first.data, first.neighbours[0], first.others, rounds, features, 0.0)]
    short = [lead for lead in leads if lead.rounds <= leads[0].rounds]  # others would cost draws
    pairs = lead_pairs(short[:_TESTED])
    candidates = [
        Candidate(" / ".join(pair.words), functools.partial(_draw_table, bandit, pair)) for pair in pairs
    ]
    return candidates, [pair.words for pair in pairs], max(pair.rounds for pair in pairs)


def _draw_table(
    bandit: PlainBandit, pair: ViewPair, other: bool, n: int, seed: np.random.SeedSequence
) -> ViewSample:
    """Draw views of a pair's features on one of its tables."""
    table = pair.data_prime if other else pair.data
    return read(pair.features, Transcript(bandit.actions(table, n, seed)))


def _add_unrepeatable(evidence: Evidence, bandit: PlainBandit, seed: int) -> None:
    """Say so if two batches with one seed differ: then the bandit draws from a generator of its own."""
    table = np.full((min(bandit.rounds, _SCAN_ROUNDS) + 1, bandit.arms), bandit.rewards[0])
    first, again = (bandit.actions(table, 8, np.random.SeedSequence(seed)) for _ in range(2))
    if not np.array_equal(first, again):
        message = "two runs on the same rewards and seed differ: the bandit draws from a generator of its own"
        evidence.findings.append(Finding("unrepeatable", "", message, failing=False))
