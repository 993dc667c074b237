"""Messages of plain bandits: whatever a method returns or a function reads is noted, round by round, as it was then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithms.claim import View
from mechanisms.parameters import ParameterError
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.verification.named_adversary import named_adversary

TABLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SEED = np.random.SeedSequence(3)


class Channel:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def send(self, reward: float) -> float:
        return reward + 10.0 * float(self.rng.random() < 0.5)


class Alternating:
    """Plays arm 0, 1, 0, ...; sends twice in round 2, and never in round 3."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.channel, self.t, self.sums = Channel(rng), 0, np.zeros(2)

    def choose(self) -> int:
        return self.t % 2

    def learn(self, arm: int, reward: float) -> None:
        self.t += 1
        for _ in range((1, 2, 0)[self.t - 1]):
            self.sums[arm] += self.channel.send(reward)


class Alone(Alternating):
    def __init__(self, rng: np.random.Generator, env: Any) -> None:
        super().__init__(rng)
        self.env = env

    def run(self) -> int:
        for _ in range(self.env.horizon):
            self.learn(self.t % 2, self.env.pull(self.t % 2))
        return 1

    def run_two(self) -> int:
        for _ in range(2):
            self.learn(self.t % 2, self.env.pull(self.t % 2))
        return 1


def messages(bandit: PlainBandit, kept: list[int], runs: int = 5) -> list[list[Any]]:
    return bandit.messages([TABLE], range(runs), SEED, kept)[1]


def test_what_a_method_returns_is_sent_in_its_round() -> None:
    bandit = PlainBandit(Alternating, arms=2, rounds=3, message="channel.send")
    actions, runs = bandit.messages([TABLE], range(40), SEED, [0, 1, 2])
    assert np.array_equal(actions, bandit.actions(TABLE, 40, SEED))
    assert {run[0] for run in runs} == {1.0, 11.0}
    assert all(len(run[1]) == 2 and set(run[1]) <= {1.0, 11.0} for run in runs)
    assert all(run[2] is None for run in runs)
    assert [run[1:2] for run in runs] == messages(bandit, [1], 40)


@pytest.mark.parametrize("make", [Alternating, Alone])
def test_what_a_function_reads_is_what_was_stored_after_the_round(make: type) -> None:
    play = "run" if make is Alone else None
    bandit = PlainBandit(make, arms=2, rounds=3, message=lambda one: one.sums, play=play)
    for first, second, third in messages(bandit, [0, 1, 2]):
        assert first[0] in (1.0, 11.0)
        assert first[1] == 0.0
        assert second[0] == first[0]
        assert second[1] >= 2.0
        assert np.array_equal(second, third)


def test_a_bandit_that_plays_alone_sends_in_the_round_that_it_plays() -> None:
    asked = PlainBandit(Alternating, arms=2, rounds=3, message="channel.send")
    alone = PlainBandit(Alone, arms=2, rounds=3, play="run", message="channel.send")
    assert messages(alone, [0, 1, 2]) == messages(asked, [0, 1, 2])


def test_after_a_bandit_has_stopped_nothing_is_sent() -> None:
    bandit = PlainBandit(Alone, arms=2, rounds=3, play="run_two", stops=True, message=lambda one: one.t)
    actions, runs = bandit.messages([TABLE], range(2), SEED, [0, 1, 2])
    assert runs == [[1, 2, None]] * 2
    assert actions[:, :, 0].tolist() == [[0, 1, 1]] * 2


def test_every_run_may_have_a_table_of_its_own() -> None:
    bandit = PlainBandit(Alternating, arms=2, rounds=3, message="channel.send")
    _, runs = bandit.messages([TABLE, 1.0 - TABLE], range(2), SEED, [0])
    assert [run[0] % 10 for run in runs] == [1.0, 0.0]


def test_contexts_that_are_private_are_told() -> None:
    class Told(Alternating):
        def choose(self, context: Any) -> int:  # type: ignore[override]
            self.seen = float(context[0])
            return 0

    bandit = PlainBandit(Told, 2, 3, private_context=(1,), message=lambda one: one.seen)
    table = np.hstack([TABLE, [[0.0], [0.25], [0.5], [0.75]]])
    assert bandit.messages([table], range(1), SEED, [0, 1, 2])[1] == [[0.25, 0.5, 0.75]]


@pytest.mark.parametrize(
    ("context", "model", "view", "hidden"),
    [
        ((), None, View.MESSAGES, False),
        ((), "central", View.MESSAGES, False),
        ((2,), "local", View.MESSAGES_AND_OTHER_ACTIONS, True),
        ((2,), "central", View.OTHER_MESSAGES, True),
    ],
)
def test_the_view_is_that_of_the_model(context: Any, model: Any, view: View, hidden: bool) -> None:
    bandit = PlainBandit(Alternating, 2, 3, private_context=context, message="send", model=model)
    assert bandit.form.view is view
    assert bandit.form.model == (model or "local")
    assert view.hides_own_action is hidden


@pytest.mark.parametrize("name", ["nothing", "channel.nothing", "nothing.send", "sums"])
def test_what_is_no_method_is_refused(name: str) -> None:
    with pytest.raises(BanditError, match="has no such method; it has choose, learn"):
        messages(PlainBandit(Alternating, 2, 3, message=name), [0])


def test_a_method_that_cannot_be_watched_is_refused() -> None:
    class Closed(Alternating):
        __slots__ = ()

    class Slots:
        __slots__ = ("t",)

        def __init__(self, rng: np.random.Generator) -> None:
            self.t = 0

        choose, learn = Alternating.choose, Alternating.learn

        def send(self, reward: float) -> float:
            return reward

    assert messages(PlainBandit(Closed, 2, 3, message="channel.send"), [0])
    with pytest.raises(BanditError, match="cannot be replaced by one that logs"):
        messages(PlainBandit(Slots, 2, 3, message="send"), [0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"message": 3}, "message = 3"),
        ({"model": "local"}, "model = 'local': must be .* and goes with a message"),
        ({"message": "send", "model": "shuffle"}, "model = 'shuffle'"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PlainBandit(Alternating, 2, 3, **arguments)


def test_messages_go_with_no_adversary() -> None:
    bandit = PlainBandit(Alternating, 2, 3, message="channel.send")
    with pytest.raises(ParameterError, match="goes with no adversary"):
        bandit.against(named_adversary("challenge(0, 1)"))
