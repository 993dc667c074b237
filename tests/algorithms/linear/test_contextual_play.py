"""Rounds of contextual learners, and many runs of them."""

import functools
import math

import numpy as np
import pytest

from accountant import Coupled, Simulation
from accountant.gates.random_streams import RandomStream
from algorithms import DPLinUCB, LinUCB
from algorithms.linear.contextual_learner import LinearUCB
from algorithms.linear.contextual_play import ContextualUsers, play_contexts, play_users, simulate_contexts
from algorithms.problems import LinearContexts, ProblemError
from algorithms.simulate import RunsInBlocks
from mechanisms import LaneStreams, RegressionMoments

PROBLEM = LinearContexts([0.6, 0.8], 4)
BUILD = functools.partial(DPLinUCB, 2, epsilon=4.0, delta=1e-3, horizon=40)


def test_reward_and_regret_add_up_to_the_best_action():
    gate = Simulation(1, 64)
    contexts = PROBLEM.draw_contexts(np.random.default_rng(5), 64)
    played = next(play_contexts(BUILD(gate), PROBLEM, gate, np.random.default_rng(5), 1))
    assert played.reward + played.regret == pytest.approx(PROBLEM.means(contexts).max(axis=1))
    assert (played.regret >= 0).all()


def test_given_users_are_played_by_the_policy_before_their_round():
    """What is released is the sum of the moments of the actions that each round's policy chose."""
    rng = np.random.default_rng(2)
    users = ContextualUsers(PROBLEM.draw_contexts(rng, 40), rng.uniform(-1, 1, (40, 4)))
    gate = Simulation(3, 1)
    learner = LinUCB(2, gate, horizon=40)
    turns = list(play_users(learner, users, gate))
    assert len(turns) == 40
    assert turns[0].policy is not turns[1].policy  # a batch of one, without noise
    chosen = [turn.policy.choose([turn.contexts])[0] for turn in turns]
    assert [turn.chosen.tolist() for turn in turns] == [[place] for place in chosen]
    row = np.arange(learner.released)
    x = users.contexts[row, np.array(chosen)[row]]
    y = users.rewards[row, np.array(chosen)[row]]
    matrix = np.linalg.inv(x.T @ x + np.eye(2))
    assert learner.policy.covariance[0] == pytest.approx(matrix, abs=1e-5)
    assert learner.policy.estimate[0] == pytest.approx(matrix @ x.T @ y, abs=1e-5)


def test_a_run_depends_on_the_seed_and_its_number_only():
    few = simulate_contexts(BUILD, PROBLEM, RunsInBlocks(horizon=40, runs=3, seed=1, checkpoints=4))
    many = simulate_contexts(BUILD, PROBLEM, RunsInBlocks(horizon=40, runs=66, seed=1, checkpoints=4))
    assert few.regret.tolist() == many.regret[:, :3].tolist()
    assert few.rounds[-1] == 40
    assert (np.diff(many.regret, axis=0) >= 0).all()
    other = simulate_contexts(BUILD, PROBLEM, RunsInBlocks(horizon=40, runs=3, seed=2, checkpoints=4))
    assert (other.regret[-1] != few.regret[-1]).all()
    assert (many.regret[-1, :2] != many.regret[-1, 64:]).all()


def test_what_radii_allow_adds_up():
    """Twice ``beta |x|_(V^-1)`` of what is played, and the largest regret of a round at most, in plain loops."""
    problem, horizon = LinearContexts([0.6, 0.8], 4), 200
    build = functools.partial(LinUCB, 2, horizon=horizon)
    found = simulate_contexts(build, problem, RunsInBlocks(horizon=horizon, runs=64, seed=1, checkpoints=1))
    gate, environment = Simulation(1, 64), LaneStreams(1, 64, 0, key=(RandomStream.ENVIRONMENT,))
    lane, total, less = 7, 0.0, 0
    for played in play_contexts(build(gate), problem, gate, environment, horizon):
        x = played.contexts[lane, played.chosen[lane]]
        radius = played.policy.width[lane] * np.sqrt(x @ played.policy.covariance[lane] @ x)
        assert played.allowed[lane] == pytest.approx(2 * radius)
        total += min(2 * radius, 2.0)
        less += 2 * radius < 2.0
    assert found.allowed[-1, lane] == pytest.approx(total)
    assert (found.regret <= found.allowed).all()  # the widths fail in one of 100 runs at most, and are wide
    assert 20 < less < 180


@pytest.mark.parametrize(("name", "value"), [("runs", 0), ("horizon", 0), ("checkpoints", 0), ("seed", -1)])
def test_numbers_out_of_range_are_refused(name, value):
    numbers = {"horizon": 9, "runs": 1, "seed": 0, "checkpoints": 2} | {name: value}
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        simulate_contexts(BUILD, PROBLEM, RunsInBlocks(**numbers))


def test_blocks_of_runs_have_noise_of_their_own():
    drawn = []

    def build(gate):
        drawn.append(gate.random.random((64,)))
        return BUILD(gate)

    simulate_contexts(build, PROBLEM, RunsInBlocks(horizon=2, runs=65, seed=1, checkpoints=1))
    assert len(drawn) == 2
    assert (drawn[0] != drawn[1]).all()


class _Outside(LinearContexts):
    """Actions and rewards beyond what is stated."""

    longer, louder = 1.0, 1.0

    def draw_contexts(self, randomness, lanes):
        return self.longer * super().draw_contexts(randomness, lanes)

    def draw_rewards(self, played, randomness):
        return self.louder * super().draw_rewards(played / self.longer, randomness)


@pytest.mark.parametrize(
    ("longer", "louder", "words"),
    [
        (2.0, 1.0, "contexts: an action of length 2 was drawn: must be at most 1"),
        (math.nan, 1.0, "contexts: an action of length nan"),
        (1.0, -3.0, r"rewards: -?3 was drawn: must be from -1 to 1"),
        (1.0, math.nan, "rewards: nan was drawn"),
    ],
)
def test_a_problem_that_draws_what_no_limit_on_regret_is_for_is_refused(longer, louder, words):
    problem = _Outside([0.6, 0.8], 4)
    object.__setattr__(problem, "longer", longer)
    object.__setattr__(problem, "louder", louder)
    with pytest.raises(ProblemError, match=words):
        simulate_contexts(BUILD, problem, RunsInBlocks(horizon=4, runs=1, seed=1))


class _Writes(LinUCB):
    """Its policies shorten what they are shown to nothing, in place."""

    def _policy(self, operator, vector):
        policy = super()._policy(operator, vector)

        class Policy(LinearUCB):
            def choose(self, contexts):
                chosen = LinearUCB.choose(self, contexts)
                contexts[...] = 0.0
                return chosen

        return Policy(policy.estimate, policy.covariance, policy.width)


def test_a_policy_that_writes_into_contexts_changes_no_regret():
    """It had none: regret was counted by what it had left of them."""
    writing, plain = (
        simulate_contexts(
            functools.partial(make, 2, horizon=40), PROBLEM, RunsInBlocks(horizon=40, runs=2, seed=1)
        ).regret
        for make in (_Writes, LinUCB)
    )
    assert (plain[-1] > 0).all()
    assert (writing == plain).all()


def test_another_user_stands_beside_the_first_one_on_a_coupled_gate():
    """Each takes an action by the same policy, of its own contexts; other rounds are the same, and lose nothing."""
    rng = np.random.default_rng(0)
    users = ContextualUsers(rng.uniform(-0.5, 0.5, (6, 3, 2)), rng.uniform(-1, 1, (6, 3)))
    other = users.with_user([2], np.array([1.0, 0.0]), 1.0)
    assert [users.differs_from(other, turn) for turn in range(6)] == [turn == 2 for turn in range(6)]
    gate = Coupled(1, 1, 1)
    seen = []

    class Seen:
        feedback_domain = RegressionMoments(2)
        policy = LinearUCB(np.zeros((1, 2)), np.eye(2)[np.newaxis], np.ones(1))

        def observe(self, moments):
            seen.append(moments._values)

    assert len(list(play_users(Seen(), users, gate, others=[other]))) == 6
    assert [len(each) for each in seen] == [1, 1, 2, 1, 1, 1]
    np.testing.assert_allclose(seen[2][1, 0], RegressionMoments(2).moments([1.0, 0.0], 1.0))
