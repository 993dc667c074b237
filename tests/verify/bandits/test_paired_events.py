"""Events of pairs of runs predict bounds that are near the truth and below it."""

import math

import numpy as np
import pytest

from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables
from verify.bandits.paired_events import _paired_bound, best_paired_event, view_pair_of
from verify.bandits.paired_runs import PairedPlayer
from verify.conduct.effort import EFFORTS
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.transcript import ActionSpace, Transcript


class NoisyGreedy:
    """Plays a coin's arm first, and then for ever the arm whose single reward and noise say so."""

    noise = 0.5

    def __init__(self, rng):
        self.rng, self.arm, self.told = rng, None, 0

    def select_arm(self):
        return int(self.rng.random() < 0.25) if self.arm is None else self.arm

    def update(self, arm, reward):
        self.told += 1
        if self.told == 1:
            good = reward + self.rng.laplace(scale=self.noise) > 0.5
            self.arm = arm if good else 1 - arm


BANDIT = PlainBandit(NoisyGreedy, arms=2, rounds=8)


def player_of(bandit=BANDIT):
    return PairedPlayer(bandit, bandit.form.with_parameters(1.0), EFFORTS["quick"], np.random.SeedSequence(3))


def planned(hidden=False):
    return PlannedTest(delta=0.0, hidden=hidden, units=math.inf, most_draws=1_000_000)


def tables(record=1):
    table = np.zeros((9, 2))
    return NeighbouringTables(table, record, np.ones(2), 2)


def test_the_bound_is_near_the_truth_and_below_it():
    # A reward of 1 against 0, and Laplace noise of scale 1/2 at the threshold 1/2: 1 - e^-1 / 2 against e^-1 / 2.
    truth = math.log((1 - math.exp(-1) / 2) / (math.exp(-1) / 2))
    played = player_of().play(tables(), 2000, 2000)
    best = best_paired_event(played, planned(), caution=1.0)
    assert truth - 0.25 < best.predicted < truth
    assert best.rounds <= 3
    pair = view_pair_of(played, best.change, ActionSpace(2, 1), planned(), caution=1.0)
    assert truth - 0.25 < pair.predicted < truth
    assert pair.record == 1
    assert "action[1]" in {feature.column.name for feature in pair.features}


def test_a_hidden_action_stands_in_no_feature():
    played = player_of().play(tables(), 500, 500)
    best = best_paired_event(played, planned(hidden=True), caution=1.0)
    pair = view_pair_of(played, best.change, ActionSpace(2, 1), planned(hidden=True), caution=1.0)
    seen, blind = Transcript(played.runs), Transcript(played.runs.copy())
    blind.actions[:, 0] = 1 - blind.actions[:, 0]
    hidden = [Transcript(each.actions.copy()) for each in (seen, blind)]
    for each in hidden:
        each.hide(1)
    for feature in pair.features:
        assert np.array_equal(feature.values(hidden[0]), feature.values(hidden[1]))


def test_an_event_of_one_arms_runs_alone_is_predicted_for_the_arms_reward():
    class TellsRarely(NoisyGreedy):
        """Only who plays arm 1 first (one of 25) has a reward that counts, and it always does."""

        def select_arm(self):
            return int(self.rng.random() < 0.04) if self.arm is None else self.arm

        def update(self, arm, reward):
            if self.told == 0:
                self.arm = int(reward > 0.5) if arm == 1 else 0
            self.told += 1

    bandit = PlainBandit(TellsRarely, arms=2, rounds=8)
    played = player_of(bandit).play(tables(), 400, 12)
    best = best_paired_event(played, planned(), caution=0.5)
    assert best.predicted > 1.0
    assert best.share < 0.1
    assert best.change.arm == 1 or best.change.arm is None


def test_the_paired_error_is_that_of_the_runs_that_differ():
    final = np.array([1e12])
    alike, apart = (
        _paired_bound(
            *(np.array([value]) for value in (0.5, 0.4, share / 1000)),
            one=1e-3,
            final=final,
            delta=0.0,
            caution=1.0,
        )
        for share in (0.1, 0.5)
    )
    exact = math.log(0.5005 / 0.4005)
    for bound, share in ((alike, 0.1), (apart, 0.5)):
        error = math.sqrt((share / 1000 + 1e-6) / (0.5005 * 0.4005))
        assert bound[0] == pytest.approx(exact - error, abs=1e-4)
