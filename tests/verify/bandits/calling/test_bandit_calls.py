"""Bandits of all the shapes that public code has are played, and given what their arguments say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.parameters import ParameterError
from verify import PlainBandit, verify
from verify.bandits.calling.bandit_calls import Arguments, ArgumentsError, BanditError, arguments_of, role_of
from verify.bandits.calling.bandit_environment import Environment, _GameOver
from verify.findings.subject_error import SubjectError
from verify.transcripts.adversary import AdversaryError, ChallengeOnPlay

pytestmark = pytest.mark.usefixtures("small_searches")
FEW = {"effort": "quick", "samples": 2_048}
SEED = np.random.SeedSequence(0)
ROUNDS = 6
TABLE = np.array([[9.0, 9.0], [1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]]) * [0.25, 0.75]


def alternating_rewards(rounds=ROUNDS):
    """What a bandit is told that plays 0, 1, 0, 1, ... on the table."""
    return [(number % 2, TABLE[number + 1, number % 2]) for number in range(rounds)]


class Recorder:
    """Plays 0, 1, 0, 1, ... and remembers what it is told, in `told` of its class."""

    told = None

    def __init__(self):
        self.played = 0
        type(self).told = []

    def next_arm_of_two(self):
        self.played += 1
        return (self.played - 1) % 2

    def note(self, arm, reward):
        assert isinstance(arm, int)
        assert isinstance(reward, float)
        self.told.append((arm, reward))


class Usual(Recorder):
    def select_arm(self):
        return self.next_arm_of_two()

    def update(self, chosen_arm, reward):
        self.note(chosen_arm, reward)


class RewardFirst(Recorder):
    def choose_action(self):
        return self.next_arm_of_two()

    def update(self, reward, action):
        self.note(action, reward)


class RoundFirst(Recorder):
    def get_arm(self, t):
        assert t == self.played
        return self.next_arm_of_two()

    def update(self, t, arm, r):
        assert t == self.played - 1
        self.note(arm, r)


class RewardAlone(Recorder):
    def act(self):
        self.last = self.next_arm_of_two()
        return self.last

    def observe(self, reward):
        self.note(self.last, reward)


class ListOfArms(Recorder):
    def pull(self, arm_ids):
        assert arm_ids == [0, 1]
        return arm_ids[self.next_arm_of_two()]

    def update(self, arm_id, *rewards):
        self.note(arm_id, *rewards)


class KeywordsOnly(Recorder):
    def select(self, *, step):
        assert step == self.played
        return self.next_arm_of_two()

    def update(self, *, reward, arm):
        self.note(arm, reward)


class OneStep(Recorder):
    def step(self, last_reward, last_arm):
        if last_reward is None:
            assert last_arm is None
        else:
            self.note(last_arm, last_reward)
        return self.next_arm_of_two()


class RewardIsAMethod(Recorder):
    def choice(self):
        return self.next_arm_of_two()

    def getReward(self, arm, reward):  # as in SMPyBandits
        self.note(arm, reward)


@pytest.mark.parametrize(
    "make",
    [Usual, RewardFirst, RoundFirst, RewardAlone, ListOfArms, KeywordsOnly, OneStep, RewardIsAMethod],
)
def test_methods_are_found_and_told_what_their_names_say(make):
    played = PlainBandit(make, arms=2, rounds=ROUNDS).actions(TABLE, 2, SEED)
    assert played[:, :, 0].tolist() == [[0, 1] * (ROUNDS // 2)] * 2
    expected = alternating_rewards()
    assert make.told == (expected[:-1] if make is OneStep else expected)


class Solver(Recorder):
    """Holds the bandit that it plays, one round or all of them a call."""

    def __init__(self, bandit):
        super().__init__()
        assert bandit.K == bandit.n_arms == 2
        self.bandit = bandit

    def run_one_step(self):
        arm = self.next_arm_of_two()
        self.note(arm, self.bandit.step(arm))

    def run(self, n_steps):
        assert n_steps == 2 * ROUNDS  # those of the bandit, not of the table
        for _ in range(n_steps):
            self.run_one_step()


@pytest.mark.parametrize("play", ["run", "run_one_step", lambda solver: solver.run_one_step()])
def test_a_bandit_may_play_by_itself(play):
    bandit = PlainBandit(Solver, arms=2, rounds=2 * ROUNDS, play=play)
    assert bandit.actions(TABLE, 1, SEED)[0, :, 0].tolist() == [0, 1] * (ROUNDS // 2)
    assert Solver.told == alternating_rewards()


def test_a_bandit_that_plays_by_itself_meets_an_adversary():
    bandit = PlainBandit(Solver, arms=2, rounds=ROUNDS, play="run_one_step")
    against = bandit.against(ChallengeOnPlay(arm=1, number=2))
    rewards = []
    for other in (False, True):
        against.actions_against(other, 1, SEED)
        rewards.append([reward for _, reward in Solver.told])
    assert rewards == [[0, 0, 0, 0, 1, 0], [0] * 6]  # arm 1 is played in rounds 2 and 4


def test_an_environment_is_over_after_its_last_round():
    environment = Environment(2, 3, lambda number, arm: 10.0 * number + arm)
    assert [environment.pull(1), environment.step(0), environment(1)] == [1.0, 10.0, 21.0]
    with pytest.raises(_GameOver):
        environment.get_reward(0)
    assert environment.pulled == [1, 0, 1]


def test_a_bandit_that_stops_playing_is_refused():
    bandit = PlainBandit(lambda env: env, arms=2, rounds=3, play=lambda env: None)
    with pytest.raises(BanditError, match="pulled 0 of 3 arms"):
        bandit.actions(TABLE[:4], 1, SEED)


class WithContext(Recorder):
    def __init__(self, n_arms, horizon):
        super().__init__()
        assert (n_arms, horizon) == (2, ROUNDS)

    def recommend(self, context):
        assert context.tolist() == [self.played, -self.played]
        return self.next_arm_of_two()

    def update(self, features, arm, reward):
        assert features.tolist() == [self.played - 1, 1 - self.played]
        self.note(arm, reward)


def test_contexts_are_shown_round_by_round():
    contexts = [[number, -number] for number in range(ROUNDS)]
    bandit = PlainBandit(WithContext, arms=2, rounds=ROUNDS, contexts=contexts)
    bandit.actions(TABLE, 1, SEED)
    assert WithContext.told == alternating_rewards()
    with pytest.raises(BanditError, match=r"WithContext.recommend requires 'context': give contexts="):
        PlainBandit(WithContext, arms=2, rounds=ROUNDS).actions(TABLE, 1, SEED)
    with pytest.raises(ParameterError, match="5 rows"):
        PlainBandit(WithContext, arms=2, rounds=ROUNDS, contexts=contexts[1:])


class NeedsEpsilon(Usual):
    def __init__(self, n_arms, epsilon):
        raise AssertionError("never made")


class NeedsEpsilonOnly(Usual):
    def __init__(self, epsilon):
        raise AssertionError("never made with a generator for an epsilon")


class NoMethods:
    def learn_it(self):
        pass


@pytest.mark.parametrize(
    ("bandit", "words"),
    [
        (PlainBandit(NeedsEpsilon, 2, ROUNDS), "requires epsilon too"),
        (PlainBandit(NeedsEpsilonOnly, 2, ROUNDS), "requires epsilon too"),
        (PlainBandit(NoMethods, 2, ROUNDS), "no method of a usual name .* it has learn_it"),
        (PlainBandit(Solver, 2, ROUNDS), r"it has .*run, run_one_step.* play="),
    ],
)
def test_what_is_missing_is_said(bandit, words):
    with pytest.raises(BanditError, match=words):
        bandit.actions(TABLE, 1, SEED)


def test_one_way_of_playing_is_enough():
    with pytest.raises(ParameterError, match="one way of playing"):
        PlainBandit(Usual, 2, ROUNDS, select="select_arm", play="run")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *[(name, "arm") for name in ("arm", "chosen_arm", "armId", "action_index", "last_action", "a")],
        *[(name, "reward") for name in ("reward", "last_reward", "r", "rewards", "payoff")],
        *[(name, "round") for name in ("t", "time_step", "round")],
        *[(name, None) for name in ("epsilon", "n", "alarming")],
    ],
)
def test_names_say_what_arguments_are(name, role):
    assert role_of(name) == role


OFFERED = ("arm", "reward", "round")
names = st.sampled_from(["arm", "reward", "t", "foo", "bar", "baz"])


@given(st.lists(names, max_size=4, unique=True))
def test_no_argument_is_given_twice_and_every_required_one_is_given(parameters):
    function = eval(f"lambda {', '.join(parameters)}: None")
    try:
        found = arguments_of(function, OFFERED, ("arm", "reward"))
    except ArgumentsError:
        unknown = sum(role_of(name) is None for name in parameters)
        assert unknown > 2 - len({"arm", "reward"} & set(parameters))
        return
    assert len(found.positional) == len(parameters)
    assert not found.named
    assert len(set(found.roles)) == len(found.roles)
    for name, role in zip(parameters, found.positional, strict=True):
        assert role_of(name) in (role, None)


def test_arguments_after_optional_ones_are_given_by_name():
    def update(arm, weight=1.0, reward=None):
        raise AssertionError

    assert arguments_of(update, OFFERED, ("arm", "reward")) == Arguments(("arm",), (("reward", "reward"),))


@pytest.mark.slow
def test_an_adversary_is_chosen_by_its_words():
    result = verify(
        "zoo/plain-bandit-stops", effort="quick", samples=1_024, adversary="challenge(0, number=1)"
    )
    assert "after arm 0 has been played 1 times" in result.witness.neighbours["data"]
    assert "--adversary 'challenge(0, number=1)'" in result.witness.reproduce
    for words in ("challenge(", "challenge(0, 1, 2, 3, 4, 5)", "revenge(0, 1)", "challenge(x, 1)"):
        with pytest.raises(AdversaryError, match="must be challenge"):
            verify("zoo/plain-bandit-stops", effort="quick", samples=1_024, adversary=words)


FILE = """
import numpy as np
from verify.transcripts.adversary import Turn

class Once:
    description = "pays 0, and 1 once in round 2"
    def turn(self, actions, arms):
        nothing = np.zeros((len(actions), arms))
        return Turn(nothing, nothing + 1.0) if actions.shape[1] == 1 else Turn(nothing)

number = 3
"""


@pytest.mark.slow
def test_an_adversary_may_come_from_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    result = verify("zoo/plain-bandit-stops", effort="quick", samples=1_024, adversary=f"{path}:Once")
    assert "pays 0, and 1 once in round 2" in result.witness.neighbours["data"]
    with pytest.raises(AdversaryError, match="no adversary"):
        verify("zoo/plain-bandit-stops", effort="quick", samples=1_024, adversary=f"{path}:number")


class Policy:
    """As in SMPyBandits: `startGame` sets what the constructor does not."""

    def __init__(self, nbArms):
        self.nbArms = nbArms

    def startGame(self):
        self.pulls = [0] * self.nbArms

    def choice(self):
        return self.pulls.index(min(self.pulls))

    def getReward(self, arm, reward):
        self.pulls[arm] += 1


class Counted:
    """As in the Bandits Book: `initialize(n_arms)`."""

    def initialize(self, n_arms):
        self.counts = [0] * n_arms

    def select_arm(self):
        return self.counts.index(min(self.counts))

    def update(self, chosen_arm, reward):
        self.counts[chosen_arm] += 1


@pytest.mark.parametrize("make", [Policy, Counted])
def test_what_must_be_called_before_the_first_round_is_called(make):
    bandit = PlainBandit(make, arms=3, rounds=6)
    actions = bandit.actions(np.zeros((7, 3)), 2, np.random.SeedSequence(0))
    assert actions[:, :, 0].tolist() == [[0, 1, 2, 0, 1, 2]] * 2


def test_an_object_is_no_way_to_make_bandits():
    with pytest.raises(ValueError, match="must be a class or a function"):
        PlainBandit(Counted(), arms=3, rounds=6)


class OfManyArms:
    """As in MABWiser: a list of arms, and arrays of decisions and rewards."""

    def __init__(self, rng, arms: list[int]):
        self.rng, self.arms, self.told = rng, list(arms), []

    def partial_fit(self, decisions, rewards, contexts=None):
        assert contexts is None
        self.told.append((np.asarray(decisions).tolist(), np.asarray(rewards).tolist()))

    def predict(self, contexts=None):
        return self.arms[len(self.told) % 2]


class OfArmsUnsaid(OfManyArms):
    def __init__(self, rng, arms):
        super().__init__(rng, arms)


@pytest.mark.parametrize("kind", [OfManyArms, OfArmsUnsaid])
def test_lists_of_arms_and_arrays_of_rewards_are_given(kind):
    made = []

    def make(rng, arms):
        made.append(kind(rng, arms))
        return made[-1]

    for maker in (kind, make):
        actions = PlainBandit(maker, arms=2, rounds=4).actions(np.ones((5, 2)), 1, SEED)
        assert actions[0, :, 0].tolist() == [0, 1, 0, 1]
    assert made[-1].arms == [0, 1]
    assert made[-1].told == [([arm], [1.0]) for arm in (0, 1, 0, 1)]


def test_losses_are_told_like_rewards():
    class Exp2:
        def predict(self, t):
            return t % 2

        def observe_loss(self, t, val):
            told.append((t, val))

    told = []
    table = np.array([[0, 0], [0.25, 0], [0, 0.75]])
    PlainBandit(Exp2, arms=2, rounds=2).actions(table, 1, SEED)
    assert told == [(0, 0.25), (1, 0.75)]


def test_the_claims_epsilon_is_said_where_it_is_missing():
    with pytest.raises(BanditError, match=r"make=lambda: NeedsEpsilon\(n_arms=2, epsilon=0\.5\)"):
        verify(PlainBandit(NeedsEpsilon, 2, ROUNDS), epsilon=0.5)


class Eliminates:
    """Plays each arm twice, stops, and says which is better."""

    def __init__(self, env, rng, says=int):
        self.env, self.says = env, says

    def run(self):
        paid = [self.env.pull(0) + self.env.pull(0), self.env.pull(1) + self.env.pull(1)]
        return self.says(np.argmax(paid))


@pytest.mark.parametrize(
    ("says", "rounds", "seen"),
    [
        (int, 7, [0, 0, 1, 1, 1, 2, 2]),
        (lambda arm: (4.0, arm), 7, [0, 0, 1, 1, 1, 2, 2]),
        (lambda arm: None, 7, [0, 0, 1, 1, 2, 2, 2]),
        (int, 4, [0, 0, 1, 1]),
        (int, 3, [0, 0, 1]),
    ],
)
def test_when_a_bandit_stops_and_its_answer_are_seen(says, rounds, seen):
    table = np.tile([0.0, 1.0], (rounds + 1, 1))
    bandit = PlainBandit(
        lambda rng, env: Eliminates(env, rng, says), arms=2, rounds=rounds, play="run", stops=True
    )
    assert bandit.actions(table, 1, SEED)[0, :, 0].tolist() == seen


@pytest.mark.parametrize(("rounds", "seen"), [(4, [0, 0, 1, 1, 1]), (3, [0, 0, 1, 2])])
def test_what_it_returns_has_a_place_after_all_rounds(rounds, seen):
    """One that needs more rounds than there are returns nothing."""
    bandit = PlainBandit(Eliminates, arms=2, rounds=rounds, play="run", stops=True)
    table = np.tile([0.0, 1.0], (bandit.places + 1, 1))
    assert bandit.actions(table, 1, SEED)[0, :, 0].tolist() == seen


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [4, 12])
def test_a_bandit_whose_answer_is_raw_is_refuted(rounds):
    bandit = PlainBandit(Eliminates, arms=2, rounds=rounds, play="run", stops=True)
    result = verify(bandit, epsilon=1.0, **FEW)
    assert result.verdict == "refuted"
    assert "arm 2 is no arm" in result.witness.neighbours["data"]
    with pytest.raises(BanditError, match="stops=True"):
        PlainBandit(Eliminates, arms=2, rounds=12, play=lambda bandit: None).actions(TABLE, 1, SEED)
    with pytest.raises(ParameterError, match="stops"):
        PlainBandit(Usual, arms=2, rounds=12, stops=True)


def made_in_a_file(rng):
    return Usual()


@pytest.mark.parametrize(
    ("bandit", "name", "call"),
    [
        (PlainBandit(Usual, 2, 9), "Usual", "PlainBandit(Usual, arms=2, rounds=9)"),
        (
            PlainBandit(lambda: Usual(), 2, 9, rewards=(0.0, 2.0)),
            "Usual",
            "PlainBandit(lambda: Usual(...), arms=2, rounds=9, rewards=(0.0, 2.0))",
        ),
        (
            PlainBandit(made_in_a_file, 2, 9),
            "made_in_a_file",
            "PlainBandit(made_in_a_file, arms=2, rounds=9)",
        ),
        (PlainBandit(lambda: 3, 2, 9), "bandit", "PlainBandit(lambda: ..., arms=2, rounds=9)"),
        (
            PlainBandit(Usual, 2, 9, update=lambda bandit, arm, reward: None),
            "Usual",
            "PlainBandit(Usual, arms=2, rounds=9, update=...)",
        ),
    ],
)
def test_a_bandit_is_named_by_its_class_and_how_it_is_called(bandit, name, call):
    assert bandit.name == name
    assert bandit.call == call


@pytest.mark.slow
def test_a_report_says_the_call_that_shows_it_again():
    result = verify(PlainBandit(Eliminates, 2, 12, play="run", stops=True), epsilon=1.0, **FEW)
    call = "verify(PlainBandit(Eliminates, arms=2, rounds=12, play='run', stops=True), epsilon=1.0,"
    assert result.witness.reproduce.startswith(call)


def test_a_function_that_makes_a_bandit_is_told_of_plain_bandits():
    with pytest.raises(SubjectError, match=r"verify\.PlainBandit\(.*, arms=\.\.\., rounds=\.\.\.\)"):
        verify(lambda: Usual(), epsilon=1.0)


class AnswersBits:
    """Randomised response that is private for bits alone: 1/2 is answered by itself."""

    def __init__(self, rng):
        self.rng, self.sum = rng, 0.0

    def select_arm(self):
        return {0.0: 0, 0.5: 1}.get(self.sum, 2)

    def update(self, arm, reward):
        self.sum = reward if self.rng.random() < 1.0 / (1.0 + np.exp(-1.0)) else 1.0 - reward


@pytest.mark.slow
def test_rewards_between_the_ends_are_played_where_they_are_said_to_occur():
    settings = {"arms": 3, "rounds": 8}
    bits = verify(PlainBandit(AnswersBits, **settings), epsilon=1.0, **FEW)
    assert bits.verdict == "unproven"
    every = verify(PlainBandit(AnswersBits, rewards=(0.0, 0.5, 1.0), **settings), epsilon=1.0, **FEW)
    assert every.verdict == "refuted"
