"""Verify learners and plain bandits by betting on the pairs that their black-box tests look at.

Before the bets comes what comes before those tests: accounting, replays and coupled runs of a learner, and a bandit's
search for telling tables. A learner is bet on at once, on pairs of early records; only if these leave it undecided,
telling transcripts are looked for. All of that has the seed `GROUND_SEED`, whatever the seed of the bets: the runs of a
wealth file find the same pairs and go on with the events on them, and what the coupled runs show is one piece of
evidence, not one more in every run.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.claim import Claim, View
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from verify.effort import Effort
from verify.evidence import Evidence
from verify.learners.adversary_view import learner_candidate
from verify.learners.black_box import find_leads
from verify.learners.groundwork import Groundwork
from verify.learners.neighbours import InitialRecords
from verify.learners.pairs import ViewPair, candidate, early_pairs, lead_pairs, view_of
from verify.learners.releases import with_shared_error
from verify.learners.transcript import ActionArray, with_paths_spelled
from verify.learners.transcript_scan import arms_of
from verify.learners.verify_bandit import verify_bandit
from verify.learners.verify_learner import verify_learner
from verify.sampling.anytime_bettor import GROUND_SEED, BetInstead, Bettor
from verify.sampling.anytime_result import AnytimeResult
from verify.sampling.anytime_scout import Scout, Scouted
from verify.sampling.draws import Candidate
from verify.subjects.adversary import Adversary
from verify.subjects.plain_bandit import PlainBandit

FloatArray = npt.NDArray[np.float64]

_SINGLE_LANE_SAMPLES = 24_000
_FEWEST_OF_PAIR = 4_096  # draws, so that there is something to bet on
_LEADS = 2  # telling transcripts that are bet on beside early records
_PROBE = 12  # spawn key of the adversary's first look


def bet_on_learner(
    bettor: Bettor,
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    *,
    initial: InitialRecords,
    effort: Effort,
    adversary: Adversary | None = None,
) -> Evidence:
    """Bet against a learner's claim; accounting, replays and coupled runs come first.

    Parameters
    ----------
    bettor
        The settings of the run.
    build, problem, claim, initial, effort, adversary
        As for `verify_learner`.
    """
    betting = replace(bettor, effort=with_shared_error(effort, claim))
    bets = _LearnerBets(betting, build, problem, claim, initial, adversary)
    evidence = verify_learner(
        build,
        problem,
        claim,
        initial=initial,
        effort=effort,
        seed=GROUND_SEED,
        reproduce=bettor.reproduce,
        progress=bettor.progress,
        seconds=bettor.seconds,
        instead=bets.play,
    )
    bets.conclude(evidence)
    return evidence


@dataclass
class _LearnerBets:
    """The bets of one run on a learner, and what came of them."""

    bettor: Bettor
    build: BuildLearner
    problem: Problem
    claim: Claim
    initial: InitialRecords
    adversary: Adversary | None
    words: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    result: AnytimeResult | None = None

    def play(self, ground: Groundwork) -> None:
        """Bet on pairs of early records; if they do not refute the claim soon, on telling transcripts, too."""
        effort = self.bettor.effort
        data = ground.drawn[: effort.view_rounds + 1]
        pairs = early_pairs(
            self.problem, data, ground.neighbours, ground.coupled, self.initial, beside_leads=False
        )
        pairs = pairs[: max(1, effort.samples // _FEWEST_OF_PAIR - (self.adversary is not None))]
        single = not view_of(self.build, self.problem, self.claim, pairs[0], pairs[0].data).works_in_lanes()
        if single:
            pairs = pairs[:2]
        one_message = self.claim.view == View.MESSAGE.value  # runs stop with the record's own round
        rounds = max(max(pair.record, 1) if one_message else pair.rounds for pair in pairs)
        candidates = self._candidates("early record", pairs, single)
        if self.adversary is not None and self.claim.view == View.ACTIONS.value and not single:
            rounds = max(rounds, effort.scan_rounds)
            seed = np.random.SeedSequence(GROUND_SEED, spawn_key=(_PROBE,))
            played, words = learner_candidate(self.build, self.problem, self.adversary, rounds, seed)
            candidates.append(played)
            self.words.append(words)
        fewest = max(effort.samples // 20, _FEWEST_OF_PAIR * len(candidates))
        samples = min(effort.samples, max(effort.lane_rounds // rounds, fewest))

        scans = self.claim.view in (View.ACTIONS.value, View.OTHER_ACTIONS.value)
        scout = None
        if scans and ground.coupled is not None and not single:
            scout = Scout(lambda left: self._search(ground), effort.scan_lanes)
        self.result = self.bettor.bet(
            candidates,
            min(_SINGLE_LANE_SAMPLES, samples // 8) if single else samples,
            scout=scout,
            false_alarm=effort.false_alarm,
        )

    def _candidates(self, kind: str, pairs: list[ViewPair], single: bool) -> list[Candidate]:
        """Pairs as candidates, each under a label that is its own in every run."""
        found = []
        for number, pair in enumerate(pairs, start=1):
            drawn = candidate(self.build, self.problem, self.claim, pair, single_lanes=single)
            found.append(replace(drawn, label=f"{kind} {number}: {drawn.label}"))
            self.words.append(pair.words)
        return found

    def _search(self, ground: Groundwork) -> Scouted:
        """Look for telling transcripts."""
        effort, lanes = self.bettor.effort, 0

        def counted(gate: Any) -> Any:
            nonlocal lanes
            lanes += gate.lanes
            return self.build(gate)

        leads = find_leads(
            counted,
            self.problem,
            self.claim,
            ground.drawn,
            self.initial,
            effort,
            GROUND_SEED,
            by_sampling=not ground.trusted,
            thorough=not ground.proved,
        )
        pairs = lead_pairs(leads[:_LEADS])
        if not pairs:
            return Scouted((), lanes)
        rounds = max(pair.rounds for pair in pairs)
        most = max(effort.lane_rounds // rounds, effort.samples // 20)
        return Scouted(self._candidates("telling transcript", pairs, False), lanes, most)

    def conclude(self, evidence: Evidence) -> None:
        """Add the result to the evidence."""
        if self.result is not None:
            arms = arms_of(self.problem)
            result = _spelled(self.result, arms.number, arms.size)
            self.bettor.conclude(evidence, result, self.words[result.candidate])


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
        effort=bettor.effort,
        seed=GROUND_SEED,
        reproduce=bettor.reproduce,
        progress=bettor.progress,
        seconds=bettor.seconds,
        instead=lambda *given, **more: bets(*given, **more, searched=counted.drawn[0]),
    )
    if bets.result is not None:
        bets.result = _spelled(bets.result, bandit.arms, 1)
    return bets.conclude(evidence)


@dataclass(frozen=True, eq=False)
class _Counted(PlainBandit):
    """A bandit that counts its runs."""

    drawn: list[int] = dataclasses.field(default_factory=lambda: [0])

    def actions(self, data: FloatArray, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        self.drawn[0] += draws
        return super().actions(data, draws, seed)

    def actions_against(self, other_world: bool, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        self.drawn[0] += draws
        return super().actions_against(other_world, draws, seed)


def _fields(bandit: PlainBandit) -> dict[str, Any]:
    return {one.name: getattr(bandit, one.name) for one in dataclasses.fields(PlainBandit)}


def _spelled(result: AnytimeResult, arms: int, size: int) -> AnytimeResult:
    return replace(result, event=with_paths_spelled(result.event, arms, size))
