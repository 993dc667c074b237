"""The bound that runs tell, and the widths of learners of contexts, against the learners' own numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

from accountant import Simulation
from algorithms import DPLinUCB, LinUCB
from algorithms.problems import Arms, LinearContexts, SemiBandit
from algorithms.published.tree_linucb import _PrintedNoise
from algorithms.theory.contextual_regret import CONTEXTUAL_BOUNDS
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance

PLAYED = Instance(LinearContexts([0.3, 0.4, 0.0], 5), 2.0, 1000, 1e-4, {"norm": 0.7})
TREE = CONTEXTUAL_BOUNDS["published/tree-linucb-gaussian"]


def test_only_runs_tell_the_bound():
    for name, bound in BOUNDS.items():
        assert bound.of_runs == (name in CONTEXTUAL_BOUNDS)
    for bound in CONTEXTUAL_BOUNDS.values():
        assert bound.evaluate(PLAYED) == math.inf
        assert bound.value_of(bound.constant, PLAYED, W=100.0) == pytest.approx(100.0 + 2 * 2 * 0.5)
        assert bound.value_of(bound.confidence.failure, PLAYED) == 2 / 1000
        assert "no function of T" in bound.sentence()
    assert PLAYED.trivial_regret == pytest.approx(1000.0)


def test_widths_are_for_parameters_of_the_stated_norm_and_contexts():
    for bound in CONTEXTUAL_BOUNDS.values():
        assert bound.covers(PLAYED)
        assert bound.covers(replace(PLAYED, settings={"norm": 0.5}))
        assert not bound.covers(replace(PLAYED, settings={"norm": 0.49}))
        assert not bound.covers(replace(PLAYED, problem=SemiBandit(Arms(2), [0.1, 0.2])))


@pytest.mark.parametrize("horizon", [1, 2, 3, 64, 65, 1000, 2**29, 2**29 + 1])
def test_the_trees_numbers_are_the_printed_ones(horizon):
    instance = replace(PLAYED, horizon=horizon)
    noise = _PrintedNoise.for_horizon(3, epsilon=2.0, delta=1e-4, horizon=horizon)
    theorem = TREE.confidence
    for expression, value in (
        (theorem.scale, math.sqrt(2) * noise.deviation),
        (theorem.least, noise.least),
        (theorem.shift, noise.shift),
    ):
        assert TREE.value_of(expression, instance) == pytest.approx(value, rel=1e-12)
    found = theorem.width_on(TREE.values(instance))(7.0, 3.0, np.array([0.0, 1.7]))
    for width, filled in zip(found, (0.0, 1.7), strict=True):
        expected = math.sqrt(2 * math.log(2 * horizon) + filled) + 0.7 * math.sqrt(noise.most) + noise.vector
        assert width == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 1e3])
@pytest.mark.parametrize("horizon", [1, 7, 1000])
def test_the_batches_noise_and_schedule_are_the_learners(epsilon, horizon):
    instance, bound = replace(PLAYED, epsilon=epsilon, horizon=horizon), CONTEXTUAL_BOUNDS["dp-linucb"]
    learner = DPLinUCB(3, Simulation(0, 64), epsilon=epsilon, delta=1e-4, horizon=horizon, norm=0.7)
    theorem = bound.confidence
    assert bound.value_of(theorem.scale, instance) == pytest.approx(learner.mechanism.sigma, rel=1e-12)
    assert math.ceil(bound.value_of(theorem.first, instance)) == learner.first
    ends = list(theorem.spans(horizon, learner.first))
    assert len(ends) <= learner.most_releases
    assert sum(theorem.spans(horizon, learner.first).values()) == (ends[-1] if ends else 0)
    width = theorem.width_on(bound.values(instance))(0.0, 0.0, np.zeros(64))
    assert width == pytest.approx(learner.policy.width, rel=1e-12)


def test_without_noise_the_first_batch_is_one_round():
    bound = CONTEXTUAL_BOUNDS["linucb"]
    learner = LinUCB(3, Simulation(0, 64), horizon=1000, norm=0.7)
    assert bound.value_of(bound.confidence.first, PLAYED) == learner.first == 1
    assert bound.value_of(bound.confidence.scale, PLAYED) == 0
    assert bound.value_of(bound.confidence.least, PLAYED, n=5.0, j=3.0) == 1


@pytest.mark.parametrize("horizon", [1, 2, 10, 10**6])
def test_the_parts_of_the_trees_failure_add_up_to_at_most_two_over_n(horizon):
    far = math.log(2 * horizon**2)
    operator, vector, sampling = 2 * horizon * math.exp(-2 * far**2), horizon * math.exp(-far), 0.5 / horizon
    assert operator + vector + sampling <= 2 / horizon


class _Own(LinearContexts):
    """Rewards of a user's own: sure ones, or of another mean."""

    share = 1.0

    def draw_rewards(self, played, randomness):
        return self.share * (played @ self.parameter)


@pytest.mark.parametrize(("share", "covered"), [(1.0, True), (-1.0, False), (0.5, False)])
def test_rewards_of_another_mean_are_outside_of_the_theorem(share, covered):
    """With rewards of mean -theta* . x the best action is the worst: the learner is not to be blamed for that."""
    problem = _Own([0.6, 0.3], 4)
    object.__setattr__(problem, "share", share)
    for bound in CONTEXTUAL_BOUNDS.values():
        assert bound.covers(replace(PLAYED, problem=problem)) == covered
