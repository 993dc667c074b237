"""The candidates of a learner's test: early records, transcripts with large losses, and the worlds of an adversary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.claim import View
from algorithms.play import INITIAL_RECORD
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS, Effort
from verify.conduct.spawn_keys import SpawnKey
from verify.events.worlds import NeighbouringWorlds
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.learners.likelihood import SHARE_OF_ERROR, add_likelihood
from verify.learners.telling_pairs import find_distinguishing_pairs, is_clear_violation
from verify.sampling.tester import Candidates, CandidateSource
from verify.transcripts.adversary_view import learner_worlds
from verify.transcripts.neighbours import Neighbour, initial_replacements, rounds_of
from verify.transcripts.view_pair import ViewPair

_MOST_PAIRS = 6  # pairs of early records that a test scans
_BESIDE_TELLING = 1  # pairs of early records that are tested beside distinguishing transcripts
_CHECK_SHARE = 4  # a single look that only confirms a known result: so many times fewer draws
_TELLING_BETS = 2  # distinguishing transcripts that are bet on beside early records


@dataclass(frozen=True)
class _Sizes:
    """Numbers of draws that a test of a learner needs, found by trial.

    Attributes
    ----------
    fewest_of_pair
        Draws that a pair needs.
    single_lane_samples
        The most draws of a learner that works on one lane at a time.
    """

    fewest_of_pair: int
    single_lane_samples: int


_LOOK = _Sizes(fewest_of_pair=6_144, single_lane_samples=16_000)  # every stage has enough
_BETS = _Sizes(fewest_of_pair=4_096, single_lane_samples=24_000)


@dataclass
class LearnerPairs(CandidateSource):
    """Pairs of data sets on which a learner's view may differ in law.

    Attributes
    ----------
    case
        The learner. Its adversary takes part if the view is the actions and the learner works in lanes.
    ground
        The results of the layers before. With evidence against the gate's densities, more pairs are tested
        that no scan chose.
    conduct
        The conduct of the verification.
    """

    case: LearnerCase
    ground: Groundwork
    conduct: Conduct
    _in_lanes: bool = False

    def best_candidates(self) -> Candidates:
        """Look for distinguishing transcripts, offer likelihood ratios, and return the best with early records."""
        ground, conduct = self.ground, self.conduct
        telling: list[ViewPair] = []
        share_of_error = 1.0
        if ground.scannable:
            conduct.progress(0.2, "looking for distinguishing transcripts")
            telling = find_distinguishing_pairs(self.case, ground, conduct.effort, conduct.seed)
        if telling and ground.trusted:
            conduct.progress(0.3, "likelihood ratios of actions")
            share_of_error = 1.0 - SHARE_OF_ERROR
            add_likelihood(ground.evidence, self.case, telling, conduct)
        conduct.progress(0.4, "black-box test")
        is_plain = is_clear_violation(telling, self.case.claim) or (ground.trusted and ground.proved)
        effort = _confirming_effort(conduct.effort) if is_plain else conduct.effort
        early = self._early_pairs(effort, beside_telling=bool(telling) and ground.trusted)
        chosen = _candidates_of(self.case, [*telling[:1], *early], effort, _LOOK, seed=conduct.seed)
        return replace(chosen, share_of_error=share_of_error, share_of_false_alarm=share_of_error)

    @property
    def search_samples(self) -> int:
        """0 if actions are not the view, or no transcripts can be scanned."""
        scans = self.case.shows_actions and self._in_lanes and self.ground.scannable
        return self.conduct.effort.scan_lanes if scans else 0

    def known_candidates(self, earlier: Sequence[Mapping[str, Any]]) -> Candidates:
        """Return pairs of early records: all runs find the same ones."""
        pairs = self._early_pairs(self.conduct.effort, beside_telling=False)
        self._in_lanes = self.case.works_in_lanes(pairs[0])
        return _candidates_of(
            self.case, pairs, self.conduct.effort, _BETS, seed=self.conduct.seed, kind="early record"
        )

    def further_candidates(self, left: int) -> Candidates:
        """Look for distinguishing transcripts."""
        effort, lanes = self.conduct.effort, 0

        def build_and_count(gate: Any) -> Any:
            nonlocal lanes
            lanes += gate.lanes
            return self.case.build(gate)

        case = replace(self.case, build=build_and_count)
        pairs = find_distinguishing_pairs(case, self.ground, effort, self.conduct.seed)[:_TELLING_BETS]
        rounds = max((pair.rounds for pair in pairs), default=1)
        most = max(effort.lane_rounds // rounds, effort.samples // 20)
        worlds = [_worlds_of(self.case, pair, in_lanes=True) for pair in pairs]
        return Candidates(_number_worlds(worlds, "telling transcript"), min(most, left), searched=lanes)

    def _early_pairs(self, effort: Effort, *, beside_telling: bool) -> list[ViewPair]:
        """Choose pairs of short data sets: extreme corners of early records, and neighbours with large coupled losses.

        A corner pair sets the record to one extreme point in D and to the opposite one in D'.
        """
        problem, initial, ground = self.case.problem, self.case.initial, self.ground
        data = ground.drawn[: effort.view_rounds + 1]
        extremes = problem.record_domain.extremes()
        pairs: list[ViewPair] = []

        def corner(record: int, value: FloatArray, opposite: FloatArray) -> None:
            rounds = rounds_of(record, len(data) - 1, self.case.claim.unit)
            with_value = Neighbour(record, value, "", rounds).apply_to(data)
            pairs.append(ViewPair(with_value, Neighbour(record, opposite, "", rounds).apply_to(data), record))

        corner(1, extremes[1], extremes[0])
        if initial == "one":
            corner(INITIAL_RECORD, *_one_super_arm(problem))
            corner(INITIAL_RECORD, extremes[1], extremes[0])
        if initial == "separate":
            flipped = initial_replacements(data, problem.record_domain, initial)[0]
            pairs.append(ViewPair(data, flipped.apply_to(data), INITIAL_RECORD))
        if len(extremes) > 3:
            corner(1, extremes[2], extremes[3])
        most = _BESIDE_TELLING + (initial != "none") if beside_telling else _MOST_PAIRS
        if ground.coupled is not None:
            worst = ground.coupled.losses.max(axis=1)
            for index in np.argsort(-worst, kind="stable"):
                neighbour = ground.neighbours[index]
                if max(neighbour.record, *neighbour.rounds, 0) < len(data) and len(pairs) < most:
                    pairs.append(ViewPair(data, neighbour.apply_to(data), neighbour.record))
        return pairs[:most]


def _candidates_of(
    case: LearnerCase, pairs: Sequence[ViewPair], effort: Effort, sizes: _Sizes, *, seed: int, kind: str = ""
) -> Candidates:
    """Return the candidates of a test: as many of the pairs as there are draws for, and the adversary's worlds.

    Parameters
    ----------
    case
        The learner; its adversary takes part if the view is the actions and the learner works in lanes.
    pairs
        Data sets, the most distinguishing first.
    effort
        The limits on draws and rounds.
    sizes
        Numbers of draws that the test needs.
    seed
        The seed of the adversary's probe.
    kind
        The kind of the pairs, for labels that are the same in every run; "" for none.
    """
    adversary = case.adversary
    pairs = pairs[: max(1, effort.samples // sizes.fewest_of_pair - (adversary is not None))]
    in_lanes = case.works_in_lanes(pairs[0])
    if not in_lanes:
        pairs = pairs[:2]
    one_message = case.claim.view == View.MESSAGE.value  # runs stop with the record's own round
    rounds = max(max(pair.record, 1) if one_message else pair.rounds for pair in pairs)
    worlds = _number_worlds([_worlds_of(case, pair, in_lanes=in_lanes) for pair in pairs], kind)
    if adversary is not None and case.claim.view == View.ACTIONS.value and in_lanes:
        rounds = max(rounds, effort.scan_rounds)
        probe = SpawnKey.ADVERSARY_PROBE.sequence(seed)
        worlds.append(learner_worlds(case.build, case.problem, adversary, rounds, probe))
    fewest = max(effort.samples // 20, sizes.fewest_of_pair * len(worlds))
    samples = min(effort.samples, max(effort.lane_rounds // rounds, fewest))
    if not in_lanes:
        samples = min(sizes.single_lane_samples, samples // 8)
    return Candidates(worlds, samples)


def _one_super_arm(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the highest outcomes for one super arm and the lowest for all others, and the reverse.

    A learner that starts on either record plays that super arm first, or hardly ever.
    """
    low, high = problem.record_domain.extremes()[:2]
    arms = problem.structure.solve(np.ones((1, problem.structure.arms)))[0]
    inside = np.isin(np.arange(problem.structure.arms), arms[arms >= 0])
    return np.where(inside, high, low), np.where(inside, low, high)


def _worlds_of(case: LearnerCase, pair: ViewPair, *, in_lanes: bool) -> NeighbouringWorlds:
    """Return the pair of worlds of a test: the learner's view on each of two data sets."""
    views = [case.view(pair, data, single_lanes=not in_lanes) for data in (pair.data, pair.data_prime)]
    return NeighbouringWorlds(
        pair.descriptions, lambda other, n, seed: views[other].sample(n, seed), pair.rounds
    )


def _number_worlds(worlds: Sequence[NeighbouringWorlds], kind: str) -> list[NeighbouringWorlds]:
    """Name pairs of a kind by their numbers."""
    return [replace(one, name=kind and f"{kind} {number}") for number, one in enumerate(worlds, start=1)]


def _confirming_effort(effort: Effort) -> Effort:
    """Return the smaller effort of a test that only confirms: a proof or a clear violation is known.

    Both are known before the test's first draw, and not from its draws.
    """
    quick = EFFORTS["quick"]
    samples = min(effort.samples, max(effort.samples // _CHECK_SHARE, quick.samples))
    rounds = min(effort.lane_rounds, max(effort.lane_rounds // _CHECK_SHARE, quick.lane_rounds))
    return replace(effort, samples=samples, lane_rounds=rounds)
