"""Verify learners and plain bandits by betting on the pairs that their black-box tests look at.

Before the bets comes what comes before those tests: accounting, replays and coupled runs of a learner, and a bandit's
search for telling tables. A learner is bet on at once, on pairs of early records; only if these leave it undecided,
telling transcripts are looked for. All of that has the seed `GROUND_SEED`, whatever the seed of the bets: the runs of a
wealth file find the same pairs and go on with the events on them, and what the coupled runs show is one piece of
evidence, not one more in every run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.verify_bandit import verify_bandit
from verify.betting.anytime_bettor import GROUND_SEED, BetInstead, Bettor
from verify.betting.anytime_result import AnytimeResult
from verify.betting.anytime_scout import Scout, Scouted
from verify.learners.drawn_pairs import candidates_of, drawn_pairs
from verify.learners.early_pairs import early_pairs
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.learners.release_layers import with_shared_error
from verify.learners.verify_learner import verify_learner
from verify.learners.view_test import find_leads
from verify.transcripts.action_features import with_paths_spelled
from verify.transcripts.transcript import ActionArray, ActionSpace
from verify.verdict.evidence import Evidence

_SINGLE_LANE_SAMPLES = 24_000
_FEWEST_OF_PAIR = 4_096  # draws, so that there is something to bet on
_LEADS = 2  # telling transcripts that are bet on beside early records


def bet_on_learner(bettor: Bettor, case: LearnerCase) -> Evidence:
    """Bet against a learner's claim; accounting, replays and coupled runs come first.

    Parameters
    ----------
    bettor
        The settings of the run.
    case
        The learner, and what it is held to.
    """
    conduct = bettor.conduct
    shared = replace(conduct, effort=with_shared_error(conduct.effort, case.claim))
    bets = _LearnerBets(replace(bettor, conduct=shared), case)
    evidence = verify_learner(case, bettor.on_the_ground, instead=bets.play)
    bets.conclude(evidence)
    return evidence


@dataclass
class _LearnerBets:
    """The bets of one run on a learner, and what came of them."""

    bettor: Bettor
    case: LearnerCase
    result: AnytimeResult | None = None

    def play(self, ground: Groundwork) -> None:
        """Bet on pairs of early records; if they do not refute the claim soon, on telling transcripts, too."""
        effort, case = self.bettor.conduct.effort, self.case
        data = ground.drawn[: effort.view_rounds + 1]
        pairs = early_pairs(
            case.problem, data, ground.neighbours, ground.coupled, case.initial, beside_leads=False
        )
        drawn = drawn_pairs(
            case,
            pairs,
            effort,
            fewest_of_pair=_FEWEST_OF_PAIR,
            single_lane_samples=_SINGLE_LANE_SAMPLES,
            seed=GROUND_SEED,
            kind="early record",
        )
        scans = case.claim.view in (View.ACTIONS.value, View.OTHER_ACTIONS.value)
        scout = None
        if scans and ground.coupled is not None and drawn.in_lanes:
            scout = Scout(lambda left: self._search(ground), effort.scan_lanes)
        self.result = self.bettor.bet(
            drawn.candidates, drawn.samples, scout=scout, false_alarm=effort.false_alarm
        )

    def _search(self, ground: Groundwork) -> Scouted:
        """Look for telling transcripts."""
        effort, lanes = self.bettor.conduct.effort, 0

        def counted(gate: Any) -> Any:
            nonlocal lanes
            lanes += gate.lanes
            return self.case.build(gate)

        leads = find_leads(replace(self.case, build=counted), ground, effort, GROUND_SEED)
        pairs = leads[:_LEADS]
        if not pairs:
            return Scouted((), lanes)
        rounds = max(pair.rounds for pair in pairs)
        most = max(effort.lane_rounds // rounds, effort.samples // 20)
        candidates = candidates_of(self.case, pairs, in_lanes=True, kind="telling transcript")
        return Scouted(candidates, lanes, most)

    def conclude(self, evidence: Evidence) -> None:
        """Add the result to the evidence."""
        if self.result is not None:
            result = _spelled(self.result, ActionSpace.of(self.case.problem))
            self.bettor.conclude(evidence, result)


def bet_on_bandit(bettor: Bettor, bandit: PlainBandit, claim: Claim) -> Evidence:
    """Bet against a plain bandit's claim; the search for telling tables comes first.

    Parameters
    ----------
    bettor
        The settings of the run.
    bandit, claim
        As for `verify_bandit`.
    """
    bets, counted = BetInstead(bettor), _Counted(**_fields(bandit))
    evidence = verify_bandit(
        counted,
        claim,
        bettor.on_the_ground,
        instead=lambda *given, **more: bets(*given, **more, searched=counted.drawn[0]),
    )
    if bets.result is not None:
        bets.result = _spelled(bets.result, bandit.action_space)
    return bets.conclude(evidence)


@dataclass(frozen=True, eq=False)
class _Counted(PlainBandit):
    """A bandit that counts its runs."""

    drawn: list[int] = dataclasses.field(default_factory=lambda: [0])

    def actions(
        self, data: FloatArray, draws: int | Sequence[int], seed: np.random.SeedSequence
    ) -> ActionArray:
        self.drawn[0] += draws if isinstance(draws, int) else len(draws)
        return super().actions(data, draws, seed)

    def actions_against(self, other_world: bool, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        self.drawn[0] += draws
        return super().actions_against(other_world, draws, seed)


def _fields(bandit: PlainBandit) -> dict[str, Any]:
    return {one.name: getattr(bandit, one.name) for one in dataclasses.fields(PlainBandit)}


def _spelled(result: AnytimeResult, space: ActionSpace) -> AnytimeResult:
    return replace(result, event=with_paths_spelled(result.event, space))
