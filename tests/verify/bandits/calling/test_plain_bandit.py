"""Bandits in plain Python, and adversaries: played as their words say, broken ones refuted."""
# ruff: noqa: NPY002 (other people's bandits use the global generator)

import math
import random

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from mechanisms import Laplace
from mechanisms.parameters import ParameterError
from verify import PlainBandit, SubjectError, verify
from verify.bandits.calling.bandit_calls import BanditError
from verify.sampling import tester
from verify.sampling.black_box import black_box_test
from verify.transcripts.adversary import AdversaryError, ChallengeOnPlay, Turn
from verify.transcripts.adversary_view import _learner_against, adversary_worlds
from verify.zoo import specimens
from verify.zoo.bandits import EpisodicUCB

pytestmark = pytest.mark.usefixtures("small_searches")
FEW = {"effort": "quick", "samples": 2_048}


class Alternating:
    """Plays 0, 1, 0, 1, ...; then 1 for ever once a reward of 1 was seen."""

    def __init__(self):
        self.lucky = False

    def choose(self, t):
        return 1 if self.lucky else t % 2

    def learn(self, arm, reward):
        self.lucky = self.lucky or reward == 1


class Coin:
    def __init__(self, rng=None):
        self.rng = rng

    def select_arm(self):
        return int(np.random.random() < 0.5) if self.rng is None else int(self.rng.random() < 0.5)

    def update(self, arm, reward):
        pass


class OwnGenerator(Coin):
    own = np.random.default_rng()

    def select_arm(self):
        return int(self.own.random() < 0.5)


def test_a_reward_table_is_played_row_by_row():
    bandit = PlainBandit(Alternating, arms=2, rounds=6, select="choose", update="learn")
    table = np.zeros((7, 2))
    assert bandit.actions(table, 2, np.random.SeedSequence(0))[:, :, 0].tolist() == [[0, 1, 0, 1, 0, 1]] * 2
    table[3, 0] = 1.0
    assert bandit.actions(table, 1, np.random.SeedSequence(0))[0, :, 0].tolist() == [0, 1, 0, 1, 1, 1]
    same = PlainBandit(
        Alternating,
        arms=2,
        rounds=6,
        select=lambda bandit, t: bandit.choose(t),
        update=lambda bandit, arm, reward: bandit.learn(arm, reward),
    )
    assert np.array_equal(
        bandit.actions(table, 1, np.random.SeedSequence(0)), same.actions(table, 1, np.random.SeedSequence(0))
    )


@pytest.mark.parametrize("make", [Coin, lambda: Coin(), lambda rng: Coin(rng)])
def test_every_generator_is_seeded_and_global_ones_are_given_back(make):
    bandit = PlainBandit(make, arms=2, rounds=8)
    table = np.zeros((9, 2))
    np.random.seed(1)
    random.seed(1)
    expected = np.random.random(), random.random()
    np.random.seed(1)
    random.seed(1)
    first, again, other = (bandit.actions(table, 20, np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert (np.random.random(), random.random()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain-bandit-seeded", "plain-bandit-stops"])
def test_broken_plain_bandits_are_refuted(name):
    result = verify(f"zoo/{name}", **FEW)
    assert result.verdict == "refuted"
    assert "the rewards of all rounds: [[" in result.witness.neighbours["data"]


@pytest.mark.slow_cells("plain-bandit-ucb")
@pytest.mark.parametrize("name", ["plain-bandit-ucb", "plain-bandit-elimination"])
def test_a_private_plain_bandit_is_not_refuted(name):
    result = verify(f"zoo/{name}", **FEW)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == ["rounds"]
    assert 0.1 < result.lower.epsilon < specimens[name].true_epsilon  # 0.25 to 0.8, by the seed


@pytest.mark.slow
def test_a_generator_of_its_own_is_a_finding():
    found = verify(PlainBandit(OwnGenerator, arms=2, rounds=4), epsilon=1.0, **FEW)
    assert "unrepeatable" in {finding.kind for finding in found.findings}


class RaisesOnReward(Coin):
    def update(self, arm, reward):
        if reward > 0.5:
            raise KeyError("reward")


def test_a_crash_ends_the_run_and_says_where():
    crashed = verify(PlainBandit(RaisesOnReward, arms=2, rounds=4), epsilon=1.0, **FEW)
    assert crashed.verdict == "unproven"
    assert [finding.kind for finding in crashed.findings] == ["crash"]
    assert "KeyError" in crashed.findings[0].message


class Textbook:
    """UCB1 as in many a repository: no noise, and an argument with a default that is no generator."""

    def __init__(self, n_arms=2):
        self.counts, self.sums = np.zeros(n_arms), np.zeros(n_arms)

    def select_arm(self, alpha=2.0):
        assert alpha == 2.0
        total = self.counts.sum()
        return np.argmax(
            self.sums / (self.counts + 1e-5) + np.sqrt(alpha * np.log(total + 1) / (self.counts + 1e-5))
        )

    def update(self, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward


@pytest.mark.slow
def test_arguments_with_defaults_are_left_alone():
    result = verify(PlainBandit(Textbook, arms=2, rounds=12), epsilon=1.0, **FEW)
    assert result.verdict == "refuted"
    assert [finding.kind for finding in result.findings] == ["rounds"]


def of_seed(seed=1):
    return Coin(np.random.default_rng(seed))


def of_state(*, random_state=None):
    return Coin(random_state)


def of_keyword(arms=2, rng=None):
    assert arms == 2
    return Coin(rng)


def of_position(noise, /):
    return Coin(noise)


@pytest.mark.parametrize("make", [of_seed, of_state, of_keyword, of_position])
def test_a_generator_goes_where_its_name_says(make):
    bandit = PlainBandit(make, arms=2, rounds=8)
    table = np.zeros((9, 2))
    first, again, other = (bandit.actions(table, 20, np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first[:, :, 0], axis=0)) > 10  # every run is a draw of its own


def test_what_cannot_be_called_is_refused():
    with pytest.raises(BanditError, match="requires b too"):
        verify(PlainBandit(lambda a, b: Coin(a), arms=2, rounds=4), epsilon=1.0)
    with pytest.raises(BanditError, match=r"select = 'choose': .* which has select_arm, update"):
        verify(PlainBandit(Coin, arms=2, rounds=4, select="choose"), epsilon=1.0)
    with pytest.raises(BanditError, match="update = 'missing'"):
        verify(PlainBandit(Coin, arms=2, rounds=4, update="missing"), epsilon=1.0)


class Returns(Coin):
    value = 0

    def select_arm(self):
        return self.value if super().select_arm() else 0


@pytest.mark.parametrize("value", [-1, 2, 0.7, None, "1", math.nan, np.array([0, 1])])
def test_what_is_no_arm_is_one_finding(value):
    make = type("Wrong", (Returns,), {"value": value})
    result = verify(PlainBandit(make, arms=2, rounds=4), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == ["wrong-arm"]
    message = result.findings[0].message
    assert message.startswith("select_arm returned ")
    assert message.endswith("must be a whole number from 0 to 1")


@pytest.mark.parametrize("value", [1, 1.0, True, np.int8(1), np.float64(1.0), np.array([1])])
def test_whole_numbers_of_any_type_are_arms(value):
    make = type("Right", (Returns,), {"value": value})
    played = PlainBandit(make, arms=2, rounds=8).actions(np.zeros((9, 2)), 4, np.random.SeedSequence(0))
    assert set(np.unique(played)) == {0, 1}


class Fixed(Coin):
    def select_arm(self):
        return 0


def test_a_bandit_that_never_varies_is_not_tested():
    result = verify(PlainBandit(Fixed, arms=2, rounds=10), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == ["constant"]
    assert result.lower is None
    against = PlainBandit(Fixed, arms=2, rounds=10).against(ChallengeOnPlay(arm=0, number=1))
    (finding,) = verify(against, epsilon=1.0, **FEW).findings
    assert (finding.kind, finding.sentence.draws) == ("constant", 512)


class NoisyMaxAtLast:
    """Plays ten arms in turn for 300 rounds, then the noisily best one."""

    def __init__(self, rng):
        self.rng, self.sums, self.best, self.played = rng, np.zeros(10), None, 0

    def select_arm(self):
        if self.played < 300:
            return self.played % 10
        if self.best is None:
            self.best = int(np.argmax(self.sums + self.rng.exponential(2.0, 10)))
        return self.best

    def update(self, arm, reward):
        self.sums[arm] += reward
        self.played += 1


@pytest.mark.slow
def test_a_bandit_that_decides_late_is_not_taken_for_one_that_never_varies():
    report = verify(PlainBandit(NoisyMaxAtLast, 10, 330), epsilon=1.0, **FEW)
    assert [finding.kind for finding in report.findings] == ["rounds"]
    assert report.lower is not None


class Endless(Coin):
    def select_arm(self):
        while True:
            pass


class EndlessOnReward(Coin):
    def update(self, arm, reward):
        while reward > 0.5:
            pass


@pytest.mark.parametrize("make", [Endless, EndlessOnReward])
def test_a_bandit_that_never_ends_is_stopped(make):
    result = verify(PlainBandit(make, arms=2, rounds=4), epsilon=1.0, **FEW, time_limit=0.5)
    assert result.verdict == "unproven"
    assert {finding.kind for finding in result.findings} == {"time-limit"}  # twice on a busy machine


@pytest.mark.slow
def test_a_bandit_whose_noise_cancels_is_refuted_near_its_decision():
    result = verify("zoo/plain-bandit-shared-noise", **FEW)
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 5.0
    data = result.witness.neighbours["data"]
    assert "the rewards of all rounds: [[" in data
    assert "of 64 rounds are played" in data


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"arms": 0}, "arms"), ({"rounds": 0}, "rounds"), ({"rewards": (1.0, 0.0)}, "rewards")],
)
def test_wrong_settings_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        PlainBandit(**{"make": Coin, "arms": 2, "rounds": 4, **arguments})


def test_an_adversary_sees_the_past_and_challenges_once():
    adversary = ChallengeOnPlay(arm=1, number=2, others=0.0)
    bandit = PlainBandit(Alternating, arms=2, rounds=8, select="choose", update="learn").against(adversary)
    seed = np.random.SeedSequence(0)
    # Arm 1 is played in rounds 2 and 4; the reward of round 5 is 1 in the first world, and 1 is played from 6 on.
    assert bandit.actions_against(False, 1, seed)[0, :, 0].tolist() == [0, 1, 0, 1, 0, 1, 1, 1]
    assert bandit.actions_against(True, 1, seed)[0, :, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    longer = PlainBandit(Alternating, arms=2, rounds=9, select="choose", update="learn").against(adversary)
    assert longer.actions_against(False, 1, seed)[0, 8, 0] == 1
    result = verify(longer, epsilon=1.0, **FEW)
    assert result.verdict == "refuted"
    assert "adversary" in result.witness.neighbours["data"]


def test_what_only_tells_the_worlds_apart_is_read_of_an_adversarys_run():
    """Late actions that no draw of either world varies: the first ones, which are read as they are, are all alike."""
    adversary = ChallengeOnPlay(arm=1, number=10, others=0.0)
    bandit = PlainBandit(Alternating, arms=2, rounds=41, select="choose", update="learn").against(adversary)
    seed = np.random.SeedSequence(0)
    worlds = adversary_worlds(adversary, bandit.actions_against, bandit.action_space, seed)
    first, second = (worlds.draw(other, 64, seed) for other in (False, True))
    assert np.ptp(first.values, axis=0).max() == np.ptp(second.values, axis=0).max() == 0.0
    assert (first.values[0] != second.values[0]).any()


class Greedy:
    description = "challenges in every round"

    def turn(self, actions, arms):
        outcomes = np.zeros((len(actions), arms))
        return Turn(outcomes, outcomes + 1.0)


class WrongShape:
    description = "speaks of one arm too few"

    def turn(self, actions, arms):
        return Turn(np.zeros((len(actions), arms - 1)))


@pytest.mark.parametrize(("adversary", "words"), [(Greedy(), "second time"), (WrongShape(), "shape")])
def test_an_adversary_that_breaks_the_rules_is_refused(adversary, words):
    bandit = PlainBandit(Coin, arms=2, rounds=4).against(adversary)
    with pytest.raises(AdversaryError, match=words):
        bandit.actions_against(False, 1, np.random.SeedSequence(0))


def test_a_learner_on_a_gate_plays_against_an_adversary_in_lanes():
    problem = EpisodicUCB.own_problem
    build = learner_builder(EpisodicUCB, problem, epsilon=1.0, horizon=64)
    shares = []
    for other in (False, True):
        actions = _learner_against(
            build,
            problem,
            ChallengeOnPlay(arm=0, number=0),
            12,
            lanes=4096,
            other_world=other,
            seed=np.random.SeedSequence(3),
        )
        assert actions.shape == (4096, 12, 1)
        assert (actions[:, :2, 0] == [0, 1]).all()  # both arms once
        shares.append((actions[:, 2, 0] == 0).mean())
    # P(L0 - L1 >= -1) = 1 - e^-1 (1 + 1/2) / 2 = 0.724 against 1/2; standard errors 0.008
    assert shares[0] == pytest.approx(0.724, abs=0.035)
    assert shares[1] == pytest.approx(0.5, abs=0.04)


class RawReward(EpisodicUCB):
    """Private but for arm 0's third episode, which an adversary that waits for it sees."""

    def end_episode(self, full):
        third = full & (self.length == 4.0) & (np.arange(2) == 0)
        rest = full & ~third
        if third.any():
            self.learn(third, self.gate.declassify(self.sums, "a test", shown=False)[third] * 100.0)
        if rest.any():
            super().end_episode(rest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "adversary", "verdict"),
    [
        (EpisodicUCB, ChallengeOnPlay(0, 0), "certified"),
        (RawReward, ChallengeOnPlay(0, 4), "refuted"),
    ],
)
def test_verify_plays_a_learner_against_an_adversary(make, adversary, verdict):
    assert verify(make, epsilon=1.0, **FEW, adversary=adversary).verdict == verdict


def test_only_bandits_take_an_adversary():
    with pytest.raises(SubjectError, match="takes no adversary"):
        verify(Laplace(scale=1.0), epsilon=1.0, adversary=ChallengeOnPlay(0, 0))


class NoisyOwnGenerator:
    """Private, with a generator of the module's own, as many scripts have: nobody can seed it."""

    own = np.random.default_rng(5)

    def __init__(self):
        self.arm = 0

    def select_arm(self):
        return self.arm

    def update(self, arm, reward):
        self.arm = int(reward + self.own.laplace() > 0.5)


@pytest.mark.slow
def test_draws_of_a_generator_of_its_own_are_not_repeated_in_every_process(monkeypatch):
    used = []

    def spy(candidates, test, *, executor, **others):
        used.append(executor.parallel_tasks)
        return black_box_test(candidates, test, executor=executor, **others)

    monkeypatch.setattr(tester, "black_box_test", spy)
    bandit = PlainBandit(NoisyOwnGenerator, arms=2, rounds=2)
    result = verify(bandit, epsilon=1.0, **FEW, workers=2)
    assert used == [1]
    assert result.verdict == "unproven"
    assert "unrepeatable" in {finding.kind for finding in result.findings}
