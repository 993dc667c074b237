"""Which pairs of neighbouring reward tables tell most of a bandit in plain Python: short scans, and walks.

Pairs meet in heats: many on few draws, the best of them on more, and again, since what is found in few draws is
mostly luck. How many draws there are follows from what a run costs (`verify.learners.call_cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from verify.effort import Effort
from verify.learners.call_cost import cost_of
from verify.learners.neighbours import Background, backgrounds
from verify.learners.table_walk import Table, anchor_tables, walk_tables
from verify.learners.transcript_leads import Arms, Lead, ScanSize
from verify.learners.transcript_sampling import sample_transcripts
from verify.subjects.plain_bandit import PlainBandit

SCAN_ROUNDS, SCAN_DRAWS = 32, 256
UNITS_OF_ROUND = 4
"""Units of cost that a test of plain Python may spend for each lane-round of the effort."""
# What promises more than so many times the claim, and than so much above it, is no near thing.
_GROSS, _GROSS_ABOVE = 3.0, 2.0

# Rounds of the tables between which walks go: longer ones if the shorter tell nothing.
_WALK_ROUNDS = (512, 4_096, 32_768)
# Of walks, and of every heat: units for each lane-round of the effort, and the fewest and most draws of a table.
_ANCHOR_UNITS, _ANCHOR_DRAWS = 1.0 / 3.0, (8, 128)
_HEAT_UNITS, _HEAT_DRAWS = (2.0, 1.0, 1.0), ((32, 512), (64, 1_024), (64, 4_096))
_HEAT_CAUTION = (1.0, 1.5, 2.0)  # standard errors
_HEAT_LEFT, _GROSS_LEFT = (16, 5), 4  # pairs that go on to the next heat; to the first, if one promises much
_FEWEST_LANE_ROUNDS = 3_000_000
_MOST_FINAL = 100_000  # draws that leads are ranked for


@dataclass(frozen=True)
class _Scan:
    """A bandit, what it is held to, and what a scan of it may cost; `cost` is that of a round."""

    bandit: PlainBandit
    claim: Claim
    effort: Effort
    seed: np.random.SeedSequence
    cost: float

    def draws(self, share: float, rounds: int, limits: tuple[int, int]) -> int:
        """Return the draws of every table for `share` units a lane-round, if one draw of all takes these rounds."""
        fewest, most = limits
        return int(min(max(share * self.lane_rounds / (self.cost * rounds), fewest), most))

    @property
    def lane_rounds(self) -> int:
        """What the scan goes by: the effort's, but a test of few draws needs a good pair even more."""
        return max(self.effort.lane_rounds, _FEWEST_LANE_ROUNDS)

    def affordable(self, number: int, leads: Sequence[Lead]) -> int:
        """Return how many leads, the best, can have the fewest draws of a heat; two at least."""
        units = _HEAT_UNITS[number] * self.lane_rounds / self.cost / _HEAT_DRAWS[number][0]
        rounds = np.cumsum([2 * lead.rounds for lead in leads])
        return max(int(np.searchsorted(rounds, units, side="right")), 2)

    def heat(self, number: int, found: Sequence[Background], *key: int) -> list[Lead]:
        """Return the leads of all neighbours of all backgrounds, the best first."""
        rounds = sum((len(each.data) - 1) * (1 + len(each.neighbours)) for each in found)
        final = int(UNITS_OF_ROUND * self.effort.lane_rounds / self.cost) // 4  # rounds of one world's draws
        lanes = self.draws(_HEAT_UNITS[number], max(rounds, 1), _HEAT_DRAWS[number])
        return sample_transcripts(
            self.bandit.actions,
            found,
            Arms(self.bandit.arms, 1),
            size=ScanSize(lanes, lane_rounds=final, samples=_MOST_FINAL),
            delta=self.claim.delta,
            seed=_child(self.seed, 1 + number, *key),
            caution=_HEAT_CAUTION[number],
            every=True,
        )


def table_leads(
    bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
) -> list[Lead]:
    """Return the most telling pairs of tables, the best first; none if the actions never vary.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    effort
        How much work.
    seed
        Of all randomness.

    Raises
    ------
    BanditError
        If the bandit cannot be called as it was said, or does not return arms.
    """
    rng = np.random.default_rng(_child(seed, 0))
    rounds = min(bandit.rounds, SCAN_ROUNDS)
    scan = _Scan(bandit, claim, effort, seed, run_cost(bandit, rounds) / rounds)
    leads = scan.heat(0, _short(bandit, rounds, rng), 0)
    for number, longest in enumerate(_WALK_ROUNDS):
        longest = min(bandit.rounds, longest)
        leads += scan.heat(0, _walked(scan, longest, rng, number), 1, number)
        if longest == bandit.rounds or any(lead.predicted > 0.0 for lead in leads):
            break
    leads.sort(key=lambda lead: -lead.predicted)
    for number, left in enumerate(_HEAT_LEFT, start=1):
        if leads and is_gross(leads[0], claim):
            if number > 1:
                break
            left = _GROSS_LEFT
        leads = leads[: scan.affordable(number, leads[:left])]
        finalists = [
            Background(lead.data[: lead.rounds + 1], (lead.neighbour,), lead.others) for lead in leads
        ]
        again = scan.heat(number, finalists)
        leads = again or [replace(lead, predicted=0.0) for lead in leads]
    return leads


def is_gross(lead: Lead, claim: Claim) -> bool:
    """Whether a lead promises so much that few draws will do."""
    return lead.predicted > max(_GROSS * claim.epsilon, claim.epsilon + _GROSS_ABOVE)


def run_cost(bandit: PlainBandit, rounds: int) -> float:
    """Return the cost of one run of so many rounds, on rewards drawn by coins: the mean of a few runs."""
    rng = np.random.default_rng(0)
    low, high = bandit.rewards
    table = np.where(rng.random((rounds + 1, bandit.arms)) < 0.5, low, high)
    seeds = np.random.SeedSequence(0)
    bandit.actions(table, 1, seeds)  # whatever is done once only
    return cost_of(lambda: bandit.actions(table, _COUNTED, seeds)) / _COUNTED


_COUNTED = 4


def _short(bandit: PlainBandit, rounds: int, rng: np.random.Generator) -> list[Background]:
    """Return short tables with neighbours: constant ones, and one drawn by coins."""
    low, high = bandit.rewards
    drawn = np.where(rng.random((rounds + 1, bandit.arms)) < 0.5, low, high)
    return backgrounds(drawn, bandit.record_domain, bandit.arms, law="drawn by a fair coin")


def _walked(scan: _Scan, rounds: int, rng: np.random.Generator, number: int) -> list[Background]:
    """Return what walks between tables of so many rounds find."""
    tables: list[Table] = anchor_tables(scan.bandit.record_domain, rounds, rng)
    return walk_tables(
        scan.bandit.actions,
        tables,
        Arms(scan.bandit.arms, 1),
        draws=scan.draws(_ANCHOR_UNITS, len(tables) * rounds, _ANCHOR_DRAWS),
        seed=_child(scan.seed, 5, number),
    )


def _child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
