"""Replays: by hand, against live play, with delays, and what cannot be replayed."""

import numpy as np
import pytest

from algorithms import CUCB, DPBandit, simulate
from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.off_policy.logged_bandit import LoggedBandit
from algorithms.off_policy.replay_evaluation import evaluate, expected_rounds
from algorithms.problems import Arms, ProblemError, SemiBandit
from mechanisms import Box

MEANS = np.array([0.2, 0.8, 0.5])


def logged(events, law, seed, means=MEANS):
    rng = np.random.default_rng(seed)
    actions = rng.choice(len(law), events, p=law)
    rewards = (rng.random(events) < means[actions]).astype(float)
    return LoggedBandit(actions, rewards, np.array(law)[actions], tuple("abc"[: len(law)]))


class Fixed:
    """Plays arm 1, and keeps what it is shown."""

    feedback_domain = Box(0, 1, 1)

    def __init__(self, gate):
        self.gate = gate
        self.observed = 0

    def act(self):
        return np.array([[1]])

    def observe(self, feedback):
        self.observed += 1


def test_a_fixed_action_on_a_uniform_log_by_hand():
    rewards = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.5])
    log = LoggedBandit(np.array([0, 1, 0, 1, 0, 1]), rewards, np.full(6, 0.5), ("a", "b"))
    assert expected_rounds(log, 1) == 3
    found = evaluate(Fixed, log, horizon=3)
    replay, ips, snips = found.estimates
    assert (found.played.tolist(), found.read) == ([3], 6)
    assert replay.value == pytest.approx(1.5 / 3)
    assert ips.value == pytest.approx(2 * 1.5 / 6)
    assert snips.value == pytest.approx(1.5 / 3)
    assert found.rounds.tolist() == [1, 2, 3]
    np.testing.assert_allclose(found.curve, [1.0, 0.5, 0.5])
    shorter = evaluate(Fixed, log, horizon=2)  # it stops reading after its last round
    assert (shorter.read, shorter.estimates[0].value, shorter.estimates[1].value) == (4, 0.5, 0.5)


def test_rounds_have_the_law_of_live_play():
    """Non-uniform propensities; 100 logs, 6 standard errors: a false alarm in 1e-8."""
    horizon, law = 10, [0.2, 0.3, 0.5]
    build = learner_builder(CUCB, SemiBandit(Arms(3), MEANS), epsilon=1.0, horizon=horizon)
    live = simulate(build, SemiBandit(Arms(3), MEANS), horizon=horizon, runs=1000, seed=1)
    means, error = live.return_mean[-1], live.reward[-1].std() / horizon / 1000**0.5
    found = [evaluate(build, logged(130, law, seed), horizon=horizon, seed=seed) for seed in range(100)]
    whole = [each for each in found if each.played[0] == horizon]
    assert len(whole) > 95
    values = np.array([each.estimates[0].value for each in whole])
    assert abs(values.mean() - means) < 6 * np.hypot(values.std() / len(values) ** 0.5, error)
    # ips is about the policies in force; with geometric waiting times of one law they weigh alike on average
    ips = np.array([each.estimates[1].value * each.read * 0.2 / horizon for each in whole])
    assert abs(ips.mean() - means) < 6 * np.hypot(ips.std() / len(ips) ** 0.5, error)


def test_runs_share_the_log_and_a_seed_repeats_them():
    log = logged(600, [1 / 3] * 3, 1)
    found, again = (evaluate(Fixed, log, horizon=10**6, runs=3, seed=4) for _ in range(2))
    assert found.played.sum() == (log.actions == 1).sum()  # every event once
    assert found.read == 600
    assert found.estimates == again.estimates
    assert found.estimates[0].value == pytest.approx(log.rewards[log.actions == 1].mean())
    assert found.rounds[-1] == found.played.min()


def test_late_rewards_come_with_their_tickets():
    log = logged(400, [1 / 3] * 3, 2)
    build = learner_builder(CUCB, log, epsilon=1.0, horizon=100)
    made = []

    def keep(gate):
        made.append(build(gate))
        return made[-1]

    found = evaluate(keep, log, horizon=100, delay=7)
    assert len(made[0].tickets) == 7 + (found.played[0] < 100)
    assert made[0].waiting.issued == found.played[0] + (found.played[0] < 100)
    with pytest.raises(ProblemError, match="delay = 1: Fixed hands out no tickets"):
        evaluate(Fixed, log, horizon=10, delay=1)


def test_certified_learners_find_the_best_action_of_a_log():
    law = [1 / 3] * 3
    log = logged(6_000, law, 3, np.array([0.1, 0.9, 0.3]))
    build = learners["dp-bandit"].build(log, epsilon=2.0, horizon=2000)
    found = evaluate(build, log, horizon=2000)
    low, high = found.estimates[0].interval
    assert low > 0.7
    assert high <= 1.0
    assert DPBandit is learners["dp-bandit"].make


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"horizon": 0}, "horizon = 0"),
        ({"runs": 0}, "runs = 0"),
        ({"delay": -1}, "delay = -1: must be at least 0"),
        ({"error": 0.0}, "error = 0.0"),
        ({"seed": -1}, "seed = -1"),
        ({"runs": 50}, "runs = 50: 60 events .* not expected to give each run a round"),
    ],
)
def test_numbers_out_of_range_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        evaluate(Fixed, logged(60, [1 / 3] * 3, 1), **{"horizon": 5, **given})


def test_a_warm_start_is_refused():
    class Warm(Fixed):
        def observe_initial(self, outcomes):
            raise AssertionError

    with pytest.raises(ProblemError, match="starts on the outcomes of all arms"):
        evaluate(Warm, logged(60, [1 / 3] * 3, 1), horizon=5)


class Settled(Fixed):
    """Plays one arm for ever, drawn at random."""

    def __init__(self, gate):
        super().__init__(gate)
        self.arm = int(gate.random.random((1, 1))[0, 0] < 0.5)

    def act(self):
        return np.array([[self.arm]])

    def observe(self, feedback):
        pass


def test_standard_errors_of_several_runs_count_the_learners_own_path():
    """Arms pay 0 and 1, so that runs have no variance but their path's: 32 runs, each mean 0 or 1."""
    log = logged(3200, [0.5, 0.5], 5, np.array([0.0, 1.0]))
    found = evaluate(Settled, log, horizon=20, runs=32, seed=3)
    share = found.estimates[0].value
    assert 0.0 < share < 1.0
    assert found.estimates[0].standard_error == pytest.approx(np.sqrt(share * (1 - share) / 31), rel=1e-9)
