"""Which pairs of neighbouring reward tables tell most of a bandit in plain Python: short scans, and walks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from algorithms.claim import Claim
from verify.learners.neighbours import Background, backgrounds
from verify.learners.table_walk import anchor_tables, walk_tables
from verify.learners.transcript_leads import Arms, Lead, ScanSize
from verify.learners.transcript_sampling import sample_transcripts
from verify.subjects.plain_bandit import PlainBandit

SCAN_ROUNDS, SCAN_DRAWS = 32, 256
WALK_ROUNDS = 512
"""Of the tables between which walks go."""
_SCAN_NEIGHBOURS = 8
_WALK_PLAYED = 8_192  # rounds that are played on each of these tables, all draws together
_WALK_DRAWS = (16, 128)  # the fewest and the most draws of a table
_AGAIN, _AGAIN_PLAYED, _AGAIN_DRAWS = 6, 32_768, (128, 2_048)  # the best leads are drawn again: as for tables


def table_leads(bandit: PlainBandit, claim: Claim, seed: np.random.SeedSequence) -> list[Lead]:
    """Return the most telling pairs of tables, the best first; none if the actions never vary.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    seed
        Of all randomness.

    Raises
    ------
    BanditError
        If the bandit cannot be called as it was said, or does not return arms.
    """
    rng = np.random.default_rng(_child(seed, 0))
    low, high = bandit.rewards
    arms = Arms(bandit.arms, 1)
    rounds = min(bandit.rounds, SCAN_ROUNDS)
    drawn = np.where(rng.random((rounds + 1, bandit.arms)) < 0.5, low, high)
    around = [
        Background(each.data, each.neighbours[:_SCAN_NEIGHBOURS], each.others)
        for each in backgrounds(drawn, bandit.record_domain, bandit.arms, law="drawn by a fair coin")
    ]
    longest = min(bandit.rounds, WALK_ROUNDS)
    draws = min(max(_WALK_PLAYED // longest, _WALK_DRAWS[0]), _WALK_DRAWS[1])
    walked = walk_tables(
        bandit.actions,
        anchor_tables(bandit.record_domain, longest, rng),
        arms,
        draws=draws,
        seed=_child(seed, 3),
    )
    leads: list[Lead] = []
    for number, (found, lanes) in enumerate(((around, SCAN_DRAWS), (walked, max(draws, SCAN_DRAWS // 4)))):
        leads += sample_transcripts(
            bandit.actions,
            found,
            arms,
            size=ScanSize(lanes, lane_rounds=500_000, samples=100_000),
            delta=claim.delta,
            seed=_child(seed, 1, number),
        )
    if not leads:
        return []
    leads.sort(key=lambda lead: -lead.predicted)
    # The best of many guesses is mostly luck: more draws tell which are good.
    for number, lead in enumerate(leads[:_AGAIN]):
        alone = Background(lead.data[: lead.rounds + 1], (lead.neighbour,), lead.others)
        lanes = min(max(_AGAIN_PLAYED // lead.rounds, _AGAIN_DRAWS[0]), _AGAIN_DRAWS[1])
        found_again = sample_transcripts(
            bandit.actions,
            [alone],
            arms,
            size=ScanSize(lanes, lane_rounds=500_000, samples=100_000),
            delta=claim.delta,
            seed=_child(seed, 4, number),
        )
        leads[number] = found_again[0] if found_again else replace(lead, predicted=0.0)
    return sorted(leads[:_AGAIN], key=lambda lead: -lead.predicted)


def _child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
