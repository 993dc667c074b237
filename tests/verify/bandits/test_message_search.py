"""The scan of messages finds the round that tells, and later messages that hang on it; bounds only rank."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from algorithms.claim import View
from verify import PlainBandit, verify
from verify.bandits import message_search
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.message_search import _column_bounds, distinguishing_messages
from verify.conduct.effort import EFFORTS

SEED = np.random.SeedSequence(5)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Searches of a tenth of the work, where they are not what is tested."""
    if "slow" not in request.keywords:
        small = replace(message_search._SIZE, scanned=(256, 512), units_of_contest=0.4, contest=(96, 256))
        monkeypatch.setattr(message_search, "_SIZE", small)


class Local:
    """Arms in turn; every reward is sent with Laplace noise of scale 1."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.t = rng, 0

    def choose(self) -> int:
        return self.t % 2

    def learn(self, arm: int, reward: float) -> None:
        self.t += 1
        self.send(reward)

    def send(self, reward: float) -> float:
        return reward + self.rng.laplace(scale=self.scale())

    def scale(self) -> float:
        return 1.0


class RawOnce(Local):
    """A bandit whose message of round 19 carries next to no noise."""

    def scale(self) -> float:
        return 1e-9 if self.t == 19 else 1.0


class RunningSum(RawOnce):
    """A bandit whose messages are running sums, and which adds no noise in round 19."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.sum = 0.0

    def send(self, reward: float) -> float:
        self.sum += super().send(reward)
        return self.sum


class Resends(Local):
    """A bandit that sends the reward of round 5 again in round 12, with fresh noise."""

    def learn(self, arm: int, reward: float) -> None:
        super().learn(arm, reward)
        if self.t == 5:
            self.kept = reward
        if self.t == 12:
            self.send(self.kept)


class Pooled(Local):
    """Noise comes from a pool of ten numbers, in turn."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.pool = rng.laplace(size=10)

    def send(self, reward: float) -> float:
        return reward + float(self.pool[self.t % 10])


class Contextual(Local):
    def choose(self, context: Any) -> int:  # type: ignore[override]
        self.context = context
        return int(context[0] > 0.0)

    def learn(self, arm: int, reward: float) -> None:
        self.t += 1
        self.send(reward + self.context[1])


def search(make: type, claim: float = 1.0, **more: Any) -> Any:
    bandit = PlainBandit(make, arms=2, rounds=24, message="send", **more)
    return distinguishing_messages(bandit, bandit.form.with_parameters(claim), EFFORTS["quick"], SEED)


def test_bounds_are_those_of_the_best_half_line_or_value() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    which = np.repeat([[True], [False]], n, axis=0)
    laplace = rng.laplace(scale=0.5, size=2 * n) + which[:, 0]
    middle = np.where(
        which[:, 0], rng.choice(3, 2 * n, p=[0.2, 0.6, 0.2]), rng.choice(3, 2 * n, p=[0.4, 0.2, 0.4])
    )
    same = rng.random(2 * n)
    values = np.stack([laplace, middle, same, np.zeros(2 * n)], axis=1)
    found = _column_bounds(values, np.repeat(which, 4, axis=1), np.full(4, 1e9), 0.0)
    assert 1.8 < found[0] < 2.3
    assert 0.9 < found[1] < math.log(3.0)
    assert found[2] < 0.1
    assert found[3] == -np.inf
    with_delta = _column_bounds(values, np.repeat(which, 4, axis=1), np.full(4, 1e9), 0.1)
    assert (with_delta[:2] < found[:2] - 0.1).all()


@pytest.mark.slow
@pytest.mark.parametrize("make", [RunningSum, RawOnce])
def test_the_round_that_tells_stands_out(make: type) -> None:
    scan, views = search(make)
    assert scan.rounds == 24
    assert scan.own.argmax() == 18
    assert views[0].pair.record == 19
    assert 19 in views[0].rounds
    assert views[0].pair.predicted > 2.0


@pytest.mark.slow
def test_later_messages_that_hang_on_a_reward_are_read_with_it() -> None:
    scan, _ = search(Resends)
    assert scan.later[4] == [12]
    assert [t for t in range(24) if scan.later[t]] == [4]
    assert 5 in scan.outstanding


def test_messages_that_hang_on_a_rounds_message_are_read_with_it(snapshot: object) -> None:
    """By itself none tells anything of the reward; their difference has no noise. All is as recorded."""
    scan, views = search(Pooled)
    lines = [f"{scan.finding(30).message}, outstanding {scan.outstanding}", f"later {scan.later}"]
    lines += [" ".join(f"{value:.4g}" for value in values) for values in (scan.own, scan.hangs)]
    lines += [
        f"round {view.pair.record}, read in {view.rounds}, predicted {view.pair.predicted:.4g}: {view.pair.others}"
        for view in views
    ]
    assert "\n".join(lines) == snapshot
    assert views
    for view in views:
        record = view.pair.record
        others = [t for t in (record - 10, record + 10) if 1 <= t <= scan.rounds]
        assert not scan.later[record - 1]
        assert {record, *others} <= set(view.rounds)


@pytest.mark.slow
def test_a_correct_one_predicts_no_more_than_it_is() -> None:
    _, views = search(Local)
    assert max(view.pair.predicted for view in views) < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("model", ["local", "central"])
def test_the_own_message_is_read_in_the_local_model_alone(model: Any) -> None:
    _, views = search(Contextual, private_context=(2,), model=model)
    record = views[0].pair.record
    assert (record in views[0].rounds) is (model == "local")
    sample = views[0].draw(
        PlainBandit(Contextual, 2, 24, message="send", private_context=(2,), model=model),
        True,
        False,
        64,
        SEED,
    )
    names = [column.name for column in sample.columns]
    assert f"action[{record}]" not in names
    assert any(name.endswith(f"@{views[0].rounds[0]}") for name in names)
    # Its step since the round before would show the hidden message.
    assert (f"message:step@{record + 1}" in names) is (model == "local")
    assert View.OTHER_MESSAGES.hides_own_action


def test_who_never_sends_anything_is_told_so() -> None:
    class Silent(Local):
        def learn(self, arm: int, reward: float) -> None:
            self.t += 1

    with pytest.raises(BanditError, match="no message was sent in 64 runs of 24 rounds"):
        search(Silent)


def test_what_cannot_be_read_is_refused() -> None:
    class Odd(Local):
        def send(self, reward: float) -> Any:
            return object

    with pytest.raises(BanditError, match="message: "):
        search(Odd)


@pytest.mark.full_search
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("make", "said_of_it", "runs", "share"),
    [
        (RawOnce, "the message of", "512", "6.25 %"),
        (
            RunningSum,
            "the step from the one before to the message of",
            "1,024",
            "3.12 %",
        ),  # its runs cost less
    ],
)
def test_a_message_without_noise_is_refuted_and_the_report_says_what_was_not_looked_at(
    make: type, said_of_it: str, runs: str, share: str
) -> None:
    bandit = PlainBandit(make, arms=2, rounds=24, message="send")
    result = verify(bandit, epsilon=1.0, effort="quick", samples=4_096)
    assert result.verdict == "refuted"
    assert result.claim.model == "local"
    assert f"{said_of_it} round 19" in result.witness.event
    (said,) = (finding.message for finding in result.findings if finding.kind == "messages")
    assert said.startswith(f"messages of rounds 1 to 24 tested in {runs} runs")
    assert f"fewer than {share} of its runs" in said


@pytest.mark.usefixtures("small_searches")
def test_noise_of_a_generator_of_its_own_is_a_finding() -> None:
    class Own(Local):
        def send(self, reward: float) -> float:
            return reward + np.random.default_rng().laplace()

    bandit = PlainBandit(Own, arms=2, rounds=2, message="send")
    result = verify(bandit, epsilon=1.0, effort="quick", samples=2_048)
    assert "unrepeatable" in {finding.kind for finding in result.findings}
    assert result.verdict == "unproven"


class LocalSum(RunningSum):
    def scale(self) -> float:
        return 1.0


class Half(Local):
    def scale(self) -> float:
        return 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("make", "refuted"),
    [(Half, True), (Resends, True), (RawOnce, True), (RunningSum, True), (Local, False), (LocalSum, False)],
)
def test_leaks_are_refuted_and_correct_ones_are_not(make: type, refuted: bool, seed: int) -> None:
    # A correct one is refuted with probability at most 1e-4.
    bandit = PlainBandit(make, arms=2, rounds=24, message="send")
    assert (verify(bandit, epsilon=1.0, seed=seed).verdict == "refuted") is refuted
