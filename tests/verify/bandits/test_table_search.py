"""The search ends at the tables that tell most, however late, and says if there are none."""

import math
from dataclasses import replace

import numpy as np
import pytest

from verify import verify
from verify.bandits import table_search
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.paired_events import BestEvent
from verify.bandits.table_search import (
    _best_candidates,
    _Candidate,
    is_far_beyond,
    plainest_pair,
    telling_tables,
)
from verify.conduct.effort import EFFORTS
from verify.zoo.plain_bandits import DPUCB


class OneReward:
    """Plays arm 0 until the third reward, and then for ever the arm that this reward and noise say."""

    def __init__(self, rng):
        self.rng, self.arm, self.told = rng, 0, 0

    def select_arm(self):
        return self.arm

    def update(self, arm, reward):
        self.told += 1
        if self.told == 3:
            self.arm = int(reward + self.rng.laplace() > 0.5)


class AlwaysZero:
    def select_arm(self):
        return 0

    def update(self, arm, reward):
        pass


def searched(make):
    bandit = PlainBandit(make, arms=2, rounds=6)
    return telling_tables(
        bandit, bandit.form.with_parameters(1.0), EFFORTS["quick"], np.random.SeedSequence(1)
    )


def test_the_best_tables_are_as_recorded(monkeypatch, snapshot):
    """On fewer runs; a change that is meant is recorded with ``--snapshot-update``, and read like code."""
    halvings = tuple(replace(each, most_pairs=64) for each in table_search._SIZE.halvings)
    monkeypatch.setattr(table_search, "_SIZE", replace(table_search._SIZE, halvings=halvings))
    lines = [
        f"round {pair.record} of {pair.rounds}, predicted {pair.predicted:.5g}: {pair.others}\n    "
        + "\n    ".join(feature.column.words for feature in pair.features)
        for pair in searched(OneReward)
    ]
    assert "\n".join(lines) == snapshot


@pytest.mark.slow
def test_the_record_that_counts_is_found_with_nearly_its_whole_loss():
    best = searched(OneReward)[0]
    assert best.record == 3
    assert (best.data != best.data_prime).any(axis=1).nonzero()[0].tolist() == [3]
    exact = math.log((1.0 - 0.5 * math.exp(-0.5)) / (0.5 * math.exp(-0.5)))
    assert 0.9 * exact < best.predicted < exact


class ReusedRewards(DPUCB):
    """Every episode's mean is that of all rewards so far: the first reward is paid for again and again."""

    def __init__(self, rng):
        super().__init__(rng)
        self.total, self.n = [0.0, 0.0], [0, 0]

    def end_episode(self, arm):
        self.total[arm] += self.sums[arm]
        self.n[arm] += self.filled[arm]
        self.set_index(arm, self.total[arm] + self.noise(arm), self.n[arm])
        self.filled[arm], self.sums[arm] = 0, 0.0


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
def test_what_only_whole_sequences_show_is_found_on_a_plain_table_with_every_seed(seed):
    bandit = PlainBandit(ReusedRewards, arms=2, rounds=32)
    plain = plainest_pair(
        bandit, bandit.form.with_parameters(1.0), EFFORTS["default"], np.random.SeedSequence(seed)
    )
    assert plain.predicted > 1.3
    assert any(feature.column.name.startswith("path[") for feature in plain.features)


@pytest.mark.slow
def test_there_is_no_plain_pair_where_no_action_varies():
    bandit = PlainBandit(AlwaysZero, arms=2, rounds=1)
    assert (
        plainest_pair(bandit, bandit.form.with_parameters(1.0), EFFORTS["quick"], np.random.SeedSequence(0))
        is None
    )


@pytest.mark.slow
def test_there_are_no_tables_for_a_bandit_that_never_varies():
    assert searched(AlwaysZero) == []


@pytest.mark.parametrize(
    ("predicted", "epsilon", "gross"),
    [(3.1, 1.0, True), (3.0, 1.0, False), (2.3, 0.2, True), (2.1, 0.2, False)],
)
def test_much_is_three_times_the_claim_and_two_more(predicted, epsilon, gross):
    claim = PlainBandit(AlwaysZero, arms=2, rounds=2).form.with_parameters(epsilon)
    assert is_far_beyond(predicted, claim) is gross


def test_of_equal_events_the_first_goes_on():
    events = [BestEvent(predicted, 4, None, 0.5) for predicted in (0.2, 0.7, 0.7, 0.5)]
    candidates = [_Candidate(event, None) for event in events]
    assert _best_candidates(candidates, 2) == [candidates[1], candidates[3]]
    assert _best_candidates(candidates, 9) == [candidates[1], candidates[3], candidates[0]]


class LateAndRaw:
    """Plays either arm 260 times, and then for ever the one whose raw rewards, with one noise for both, are more."""

    length = 260

    def __init__(self, rng):
        self.sums, self.best, self.rng = [0.0, 0.0], None, rng

    def select_arm(self, t):
        return self.best if t >= 2 * self.length else t // self.length

    def update(self, t, arm, reward):
        if t < 2 * self.length:
            self.sums[arm] += reward
        if t == 2 * self.length - 1:
            noise = self.rng.laplace()
            noisy = [total + noise for total in self.sums]
            self.best = noisy.index(max(noisy))


class LateAndPrivate(LateAndRaw):
    """The same with a noise for each."""

    def update(self, t, arm, reward):
        super().update(t, arm, reward)
        if t == 2 * self.length - 1:
            noisy = [total + self.rng.laplace() for total in self.sums]
            self.best = noisy.index(max(noisy))


@pytest.mark.slow
def test_a_decision_after_hundreds_of_rounds_is_found():
    raw = verify(PlainBandit(LateAndRaw, arms=2, rounds=600), epsilon=1.0, effort="quick", samples=4_096)
    assert raw.verdict == "refuted"
    assert "the first 521 of 600 rounds are played" in raw.witness.neighbours["data"]


@pytest.mark.slow
def test_a_late_private_decision_is_not_refuted():
    private = verify(PlainBandit(LateAndPrivate, arms=2, rounds=1_000), epsilon=1.0)
    assert private.verdict == "unproven"
    assert [finding.kind for finding in private.findings] == ["rounds"]
    assert 0.2 < private.lower.epsilon < 1.0
