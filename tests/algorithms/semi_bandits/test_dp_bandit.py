"""K-armed bandits: the pseudocode on the same releases, what a record pays, regret against theorems and others."""

import itertools
import math

import numpy as np
import pytest

from accountant import Simulation
from algorithms import (
    CUCBBatch,
    CUCBBatchGaussian,
    DPBandit,
    DPBanditGaussian,
    simulate,
)
from algorithms.catalogue.structured_entries import learners
from algorithms.estimates.doubling_batches import released_counts
from algorithms.problems import Arms, SemiBandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance

MEANS = np.array([0.3, 0.8, 0.5, 0.6])
DELTA = 1e-3


class Kept(Simulation):
    """A simulation that keeps what is released."""

    def __init__(self, seed):
        super().__init__(seed, 64)
        self.kept = []

    def release(self, mechanism, private, where=None):
        released = super().release(mechanism, private, where)
        self.kept.append((released, where))
        return released


@pytest.mark.slow_cells("Laplace")
@pytest.mark.parametrize("more", [{}, {"delta": DELTA}], ids=["Laplace", "Gaussian"])
def test_it_is_the_learner_of_sets_of_one_arm(more):
    """Of the same releases the same play: the pseudocode is replayed there."""
    problem, seen = SemiBandit(Arms(4), MEANS), []
    pair = (DPBanditGaussian, CUCBBatchGaussian) if more else (DPBandit, CUCBBatch)
    for make in pair:
        gate, rng = Kept(3), np.random.default_rng(4)
        learner = make(problem.structure, gate, epsilon=1.5, horizon=300, **more)
        for record in range(300):
            action = learner.act()
            rewards = (rng.random((64, 1)) < MEANS[action]).astype(float)
            learner.observe(gate.private(rewards, learner.feedback_domain, record))
        seen.append((action, learner.index, len(gate.kept)))
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_allclose(seen[0][1], seen[1][1], rtol=1e-8)
    assert seen[0][2] == seen[1][2] > 100


def test_the_first_batch_is_as_long_as_noise_needs():
    gate = Simulation(0, 64)
    assert DPBandit(Arms(2), gate, epsilon=0.1, horizon=10**5).first == math.ceil(math.log(10**5) / 0.1)
    assert DPBandit(Arms(2), gate, epsilon=100, horizon=10**5).first == 1
    gaussian = DPBanditGaussian(Arms(2), gate, epsilon=1.0, delta=1e-3, horizon=10**4)
    assert gaussian.first == math.ceil(gaussian.mechanism.sigma * math.sqrt(2 * math.log(10**4)))


@pytest.mark.parametrize("horizon", [1, 7, 100, 12345])
@pytest.mark.parametrize("first", [1, 3, 50])
def test_counts_after_releases(horizon, first):
    counts = released_counts(horizon, first, 0.5)
    assert all(n <= horizon for n in counts)
    for j, n in enumerate(counts, start=1):
        assert n >= 1.5 ** (j - 1) * first
        assert (counts[j : j + 1] or [n + 1])[0] <= 1.5 * n + 1


def test_counts_where_shares_fall():
    assert released_counts(1000, 10, 0.1, 1.5)[:6] == [10, 25, 44, 66, 91, 119]
    ends = released_counts(10**7, 10, 0.1, 1.5)
    shares = [b / a - 1 for a, b in itertools.pairwise(ends)]
    assert all(share >= 0.1 for share in shares)
    assert all(
        share <= max(0.1, 1.5 / j) + 1 / n for j, (n, share) in enumerate(zip(ends, shares, strict=False), 1)
    )


def regret(name, problem, epsilon, horizon, runs=128):
    build = learners[name].build(problem, epsilon=epsilon, horizon=horizon)
    trace = simulate(build, problem, horizon=horizon, runs=runs, seed=2, checkpoints=1)
    return trace.regret_mean[-1], trace.regret_sem[-1]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["dp-bandit", "dp-bandit-gaussian", "dp-bandit-ldp"])
def test_regret_is_below_its_bound_where_that_says_something(name):
    problem = SemiBandit(Arms(2), [0.05, 0.95])
    bound = BOUNDS[name].evaluate(Instance(problem, 5.0, 3000))
    assert bound < 3000 * 0.9 / 3
    mean, error = regret(name, problem, 5.0, 3000, runs=64)
    assert mean + 6 * error < bound
