"""The pairs and draws of a learner's test, and the adversary's part in it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.claim import View
from algorithms.problems import SemiBandit, TopK
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.learners.learner_case import LearnerCase
from verify.learners.learner_pairs import (
    _BESIDE_TELLING,
    _BETS,
    _MOST_PAIRS,
    LearnerPairs,
    _candidates_of,
    _Sizes,
)
from verify.transcripts.neighbours import Neighbour
from verify.transcripts.view_pair import ViewPair
from verify.verification.named_adversary import named_adversary
from verify.zoo.bandits import EpisodicUCB

PROBLEM = SemiBandit(TopK(2, 1), np.array([0.5, 0.5]))
BUILD = learner_builder(EpisodicUCB, PROBLEM, epsilon=1.0, horizon=64)
CASE = LearnerCase(
    BUILD, PROBLEM, replace(EpisodicUCB.claim.with_parameters(1.0, 0.0), view=View.ACTIONS.value), "none"
)
QUICK = EFFORTS["quick"]  # 100,000 draws, 1,000,000 lane-rounds, scans of 32 rounds
SIZES = _Sizes(fewest_of_pair=1_000, single_lane_samples=3_000)
MANY = replace(SIZES, fewest_of_pair=30_000)


def pairs(number: int, rounds: int = 50) -> list[ViewPair]:
    data = np.zeros((rounds + 1, 2))
    return [
        ViewPair(Neighbour(record, np.ones(2), "").apply_to(data), data, record)
        for record in range(1, number + 1)
    ]


def on_one_lane(gate):
    if gate.lanes > 1:
        raise RuntimeError("one lane only")
    return BUILD(gate)


def test_draws_are_bounded_by_the_rounds_that_they_play() -> None:
    drawn = _candidates_of(CASE, pairs(2), QUICK, SIZES, seed=1)
    assert CASE.works_in_lanes(pairs(1)[0])
    assert drawn.samples == QUICK.lane_rounds // 50
    assert len(drawn.worlds) == 2
    assert _candidates_of(CASE, pairs(2, rounds=4), QUICK, SIZES, seed=1).samples == QUICK.samples


def test_every_pair_gets_its_fewest_draws() -> None:
    drawn = _candidates_of(CASE, pairs(9), QUICK, MANY, seed=1)
    assert len(drawn.worlds) == 3  # of 100,000
    assert drawn.samples == 90_000


def test_a_learner_on_one_lane_gets_two_pairs_and_few_draws() -> None:
    adversary = named_adversary("challenge(0, 1)")
    slow = replace(CASE, build=on_one_lane, adversary=adversary)
    drawn = _candidates_of(slow, pairs(4), QUICK, SIZES, seed=1)
    assert not slow.works_in_lanes(pairs(1)[0])
    assert len(drawn.worlds) == 2  # and no adversary
    assert drawn.samples == QUICK.lane_rounds // 50 // 8
    few = _candidates_of(replace(CASE, build=on_one_lane), pairs(4, rounds=4), QUICK, SIZES, seed=1)
    assert few.samples == 3_000


@pytest.mark.parametrize(("view", "more"), [(View.ACTIONS.value, 1), (View.OTHER_ACTIONS.value, 0)])
def test_an_adversary_takes_part_where_all_actions_are_seen(view: str, more: int) -> None:
    case = replace(CASE, claim=replace(CASE.claim, view=view), adversary=named_adversary("challenge(0, 1)"))
    drawn = _candidates_of(case, pairs(2), QUICK, SIZES, seed=1)
    assert len(drawn.worlds) == 2 + more
    assert any("first world" in one.words[0] for one in drawn.worlds) == bool(more)


def test_pairs_of_a_kind_have_labels_of_their_own() -> None:
    same = pairs(1) * 2
    found = _candidates_of(CASE, same, QUICK, SIZES, seed=1, kind="early record").worlds
    assert [one.pair_label.partition(":")[0] for one in found] == ["early record 1", "early record 2"]
    plain = _candidates_of(CASE, same, QUICK, SIZES, seed=1).worlds
    assert plain[0].pair_label == plain[1].pair_label


def test_an_adversary_needs_draws_and_rounds_of_its_own() -> None:
    case = replace(CASE, adversary=named_adversary("challenge(0, 1)"))
    assert (
        len(_candidates_of(case, pairs(9), QUICK, MANY, seed=1).worlds) == 3
    )  # of 100,000, one the adversary's
    short = _candidates_of(case, pairs(2, rounds=4), QUICK, SIZES, seed=1)
    assert short.samples == QUICK.lane_rounds // QUICK.scan_rounds  # not as many as 4 rounds allow


@pytest.mark.parametrize("initial", ["none", "one", "separate"])
@pytest.mark.parametrize("beside", [False, True])
def test_early_pairs_are_corners_and_the_neighbours_of_largest_loss(initial: str, beside: bool) -> None:
    """Of records within the rounds of a view; few beside pairs that tell already."""
    records = [5, 3, 999, 2, 7, 4]
    losses = np.array([[0.1, 0.5], [0.9, 0.0], [9.0, 9.0], [0.2, 0.7], [0.3, 0.3], [0.0, 0.1]])
    ground = SimpleNamespace(
        drawn=np.zeros((65, 2)),
        coupled=SimpleNamespace(losses=losses),
        neighbours=[Neighbour(record, np.ones(2), "") for record in records],
    )
    subject = LearnerPairs(replace(CASE, initial=initial), ground, Conduct(QUICK, 0, ""))
    found = subject._early_pairs(QUICK, beside_telling=beside)
    corners = {"none": [1], "one": [1, 0, 0], "separate": [1, 0]}[initial] + [1]
    most = (_BESIDE_TELLING + (initial != "none")) if beside else _MOST_PAIRS
    near = [record for record in (3, 2, 5, 7, 4) if record <= QUICK.view_rounds]
    assert [pair.record for pair in found] == [*corners, *near][:most]
    assert all((pair.data != pair.data_prime).any(axis=1).sum() == 1 for pair in found)
    known = subject.known_candidates([])
    every = subject._early_pairs(QUICK, beside_telling=False)
    assert len(known.worlds) == min(len(every), QUICK.samples // _BETS.fewest_of_pair)
