"""Pairs of runs tell of every way to change a round."""

import numpy as np
import pytest

from algorithms.claim import View
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables
from verify.bandits.paired_runs import PairedPlayer
from verify.conduct.effort import EFFORTS


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


def tables(record=1):
    table = np.zeros((9, 2))
    return NeighbouringTables(table, record, np.ones(2), 2)


def test_runs_of_a_number_are_alike_until_a_reward_differs():
    table = np.random.default_rng(0).integers(2, size=(9, 2)).astype(float)
    other = table.copy()
    other[5:] = 1.0 - other[5:]
    seed = np.random.SeedSequence(1)

    class Feels(NoisyGreedy):
        def update(self, arm, reward):
            self.arm = int(reward + self.rng.laplace() > 0.5)

    bandit = PlainBandit(Feels, arms=2, rounds=8)
    first, second = (bandit.actions(each, 50, seed) for each in (table, other))
    assert np.array_equal(first[:, :5], second[:, :5])
    assert not np.array_equal(first, second)
    some = bandit.actions(table, [7, 3, 49], seed)
    assert np.array_equal(some, first[[7, 3, 49]])


@pytest.mark.parametrize("swapped", [False, True])
def test_pairs_tell_of_every_change_of_the_round(swapped):
    played = player_of().play(tables(), 200, 200)
    changes = [each for each in played.changes() if each.swapped == swapped]
    assert len(changes) == (1 if swapped else 3)
    for change in changes:
        background = played.background(change)
        data, (neighbour,) = background.data, background.neighbours
        assert (data[1] == change.first).all()
        worlds = played.worlds(change)
        for table, actions in zip((data, neighbour.apply_to(data)), worlds, strict=True):
            assert np.array_equal(actions, BANDIT.actions(table, 200, player_of().seed))


def test_weights_make_few_pairs_of_a_common_arm_count_for_all_its_runs():
    few = player_of().play(tables(), 4000, 300)
    all_of_them = player_of().play(tables(), 4000, 4000)
    assert len(few.at) == 600
    assert len(all_of_them.at) == 4000
    # Arm 1 is played by a quarter in round 1; one standard error of 4000 runs is 0.007.
    assert few.weights[few.own == 1].sum() == pytest.approx(0.25, abs=0.03)
    assert few.weights.sum() == pytest.approx(1.0)
    shares = [one.weights[(one.partners[:, 1, 0] == 0)].sum() for one in (few, all_of_them)]
    assert shares[0] == pytest.approx(shares[1], abs=0.08)


def test_the_claims_view_decides_whether_the_action_is_hidden():
    private = PlainBandit(NoisyGreedy, arms=2, rounds=8, private_context=(2,))
    assert private.form.view is View.OTHER_ACTIONS
    assert player_of(private).planned.hidden
    assert not player_of().planned.hidden
