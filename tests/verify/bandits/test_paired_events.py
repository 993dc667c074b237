"""Neighbouring tables and pairs of runs on them: what they tell of every way to change a round."""

import itertools
import math

import numpy as np
import pytest

from algorithms.claim import View
from verify.bandits.calling.bandit_records import BanditRecords
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables, _rows_in_words, first_tables, variants
from verify.bandits.paired_events import best_event, paired_bound, view_pair_of
from verify.bandits.paired_runs import PairedPlayer
from verify.conduct.effort import EFFORTS
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.transcript import ActionSpace, Transcript

RECORDS = BanditRecords(2, 0.0, 1.0)


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
    return PairedPlayer(bandit, bandit.form.at(1.0), EFFORTS["quick"], np.random.SeedSequence(3))


def planned(hidden=False):
    return PlannedTest(delta=0.0, hidden=hidden, units=math.inf, most_draws=1_000_000)


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
        for table, actions in zip((data, neighbour.applied(data)), worlds, strict=True):
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


def test_the_bound_is_near_the_truth_and_below_it():
    # A reward of 1 against 0, and Laplace noise of scale 1/2 at the threshold 1/2: 1 - e^-1 / 2 against e^-1 / 2.
    truth = math.log((1 - math.exp(-1) / 2) / (math.exp(-1) / 2))
    played = player_of().play(tables(), 2000, 2000)
    best = best_event(played, planned(), caution=1.0)
    assert truth - 0.25 < best.predicted < truth
    assert best.rounds <= 3
    pair = view_pair_of(played, best.change, ActionSpace(2, 1), planned(), caution=1.0)
    assert truth - 0.25 < pair.predicted < truth
    assert pair.record == 1
    assert "action[1]" in {feature.column.name for feature in pair.features}


def test_a_hidden_action_stands_in_no_feature():
    played = player_of().play(tables(), 500, 500)
    best = best_event(played, planned(hidden=True), caution=1.0)
    pair = view_pair_of(played, best.change, ActionSpace(2, 1), planned(hidden=True), caution=1.0)
    seen, blind = Transcript(played.runs), Transcript(played.runs.copy())
    blind.actions[:, 0] = 1 - blind.actions[:, 0]
    hidden = [Transcript(each.actions.copy()) for each in (seen, blind)]
    for each in hidden:
        each.hide(1)
    for feature in pair.features:
        assert np.array_equal(feature.of(hidden[0]), feature.of(hidden[1]))


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
    best = best_event(played, planned(), caution=0.5)
    assert best.predicted > 1.0
    assert best.share < 0.1
    assert best.change.arm == 1 or best.change.arm is None


def test_the_paired_error_is_that_of_the_runs_that_differ():
    final = np.array([1e12])
    alike, apart = (
        paired_bound(np.array([0.5]), np.array([0.4]), np.array([share / 1000]), 1e-3, final, 0.0, 1.0)
        for share in (0.1, 0.5)
    )
    exact = math.log(0.5005 / 0.4005)
    for bound, share in ((alike, 0.1), (apart, 0.5)):
        error = math.sqrt((share / 1000 + 1e-6) / (0.5005 * 0.4005))
        assert bound[0] == pytest.approx(exact - error, abs=1e-4)


def test_first_tables_change_one_row_and_share_tables():
    every = first_tables(RECORDS, 64, np.random.default_rng(0))
    assert {each.record for each in every} >= {1, 2, 3, 4, 8, 16, 32, 48}
    longest = {}
    for each in every:
        assert 1 <= each.record <= each.rounds <= 64
        assert (each.table != each.neighbour).any(axis=1).sum() == 1
        assert (each.table[each.record] != each.row).all()
        known = longest.setdefault(each.family, each.table)
        shared = min(len(known), len(each.table))
        assert np.array_equal(known[:shared], each.table[:shared])
        if len(each.table) > len(known):
            longest[each.family] = each.table


@pytest.mark.parametrize("records", [RECORDS, BanditRecords(3, -1.0, 1.0), BanditRecords(2, 0.0, 1.0, (3,))])
def test_variants_are_tables_of_the_same_domain_that_differ(records):
    rng = np.random.default_rng(1)
    parent = first_tables(records, 16, rng)[5]
    for child in itertools.islice(variants(parent, records, rng), 60):
        assert child.table.shape == parent.table.shape
        assert 1 <= child.record <= child.rounds
        assert child.record != parent.record or not np.array_equal(child.table, parent.table)
        assert not np.array_equal(child.row, child.table[child.record])
        rewards = child.table[1:, : records.arms]
        assert ((rewards >= records.low) & (rewards <= records.high)).all()


def test_rows_are_said_in_stretches():
    table = np.zeros((7, 2))
    table[3:] = [1.0, 0.0]
    said = _rows_in_words(table, 2, 2)
    assert said == (
        "of the other users, that of round 1 has outcome 0 for all 2 arms; those of rounds 3 to 6 have outcome 1 for "
        "arm 0 and 0 for the others"
    )
    assert _rows_in_words(np.zeros((5, 2)), 2, 2) == "all other users have outcome 0 for all 2 arms"
    assert _rows_in_words(np.arange(60.0).reshape(30, 2), 2, 2) == ""


def test_the_claims_view_decides_whether_the_action_is_hidden():
    private = PlainBandit(NoisyGreedy, arms=2, rounds=8, private_context=(2,))
    assert private.form.view is View.OTHER_ACTIONS
    assert player_of(private).planned.hidden
    assert not player_of().planned.hidden


@pytest.mark.parametrize("between", [(), (0.5,)])
def test_no_table_has_rewards_that_were_not_said_to_occur(between):
    records, rng = BanditRecords(3, 0.0, 1.0, (), between), np.random.default_rng(1)
    first = first_tables(records, 32, rng)
    found = {float(value) for each in first for value in np.unique(each.table[1:])}
    assert found == {0.0, 1.0, *between}
    for each in first[:4]:
        for variant in itertools.islice(variants(each, records, rng), 20):
            assert set(np.unique(variant.table[1:])) | set(np.unique(variant.row)) <= found
