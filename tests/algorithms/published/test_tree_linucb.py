"""Shariff & Sheffet's learner as printed: the formulas in plain numbers, and what a round really pays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import Accountant, Budget, GaussianComposition, Simulation
from algorithms.linear.contextual_play import play_contexts
from algorithms.problems import LinearContexts
from algorithms.published import TreeLinUCBGaussian
from algorithms.published.tree_linucb import _PrintedNoise
from algorithms.theory.regret_bound import unit_mu
from mechanisms import HorizonExceeded, LaneStreams

THETA = np.array([0.6, -0.3, 0.5])


class Kept(Simulation):
    """A simulation that keeps what is released, by the round."""

    def __init__(self, *words):
        super().__init__(*words)
        self.nodes = []

    def release(self, mechanism, private, where=None):
        self.nodes.append(super().release(mechanism, private, where))
        return self.nodes[-1]


def test_the_formulas_on_the_same_nodes():
    n, d, epsilon, delta, S, lane = 6, 3, 400.0, 0.01, 0.9, 5
    gate = Kept(1, 64)
    learner = TreeLinUCBGaussian(d, gate, epsilon=epsilon, delta=delta, horizon=n, norm=S)
    m, alpha = 4, 1 / 6  # 1 + ceil(log2 6)
    s = math.sqrt(16 * m * 2**2 * math.log(4 / delta) ** 2 / epsilon**2)
    upsilon = math.sqrt(2 * m) * s * (4 * math.sqrt(d) + 2 * math.log(2 * n / alpha))
    gamma = s * math.sqrt(m / upsilon) * (math.sqrt(d) + math.sqrt(2 * math.log(2 * n / alpha)))
    of_prefix = {1: [1], 2: [2], 3: [2, 3], 4: [4], 5: [4, 5], 6: [4, 6]}  # rounds that release its nodes
    problem, r = LinearContexts(THETA, 4), math.sqrt(2)
    for t, _ in enumerate(play_contexts(learner, problem, gate, LaneStreams(2, 64), n), start=1):
        a, b, c, e, f, g, *u = sum(gate.nodes[released - 1][lane] for released in of_prefix[t])
        V = np.array([[a, b / r, c / r], [b / r, e, f / r], [c / r, f / r, g]]) + 2 * upsilon * np.eye(3)
        u = np.array(u) / r
        assert np.linalg.eigvalsh(V)[0] > upsilon
        beta = (
            math.sqrt(2 * math.log(2 / alpha) + math.log(np.linalg.det(V)) - d * math.log(upsilon))
            + S * math.sqrt(3 * upsilon)
            + gamma
        )
        policy = learner.policy
        np.testing.assert_allclose(policy.estimate[lane], np.linalg.solve(V, u), rtol=1e-9)
        np.testing.assert_allclose(policy.covariance[lane], np.linalg.inv(V), rtol=1e-9)
        assert policy.width[lane] == pytest.approx(beta, rel=1e-12)
    with pytest.raises(HorizonExceeded):
        learner.observe(
            gate.private(
                learner.feedback_domain.moments(np.zeros((64, d)), 0.0), learner.feedback_domain, "late"
            )
        )


def test_a_node_has_the_noise_of_a_symmetrized_matrix():
    """Diagonal entries of deviation ``sqrt(2) s``, others ``s``: 3,200 draws each, six standard errors."""
    gate = Kept(7, 3200)
    learner = TreeLinUCBGaussian(2, gate, epsilon=1.0, delta=0.01, horizon=2)
    domain = learner.feedback_domain
    learner.observe(gate.private(domain.moments(np.zeros((3200, 2)), 0.0), domain, 0))
    matrix, vector = domain.parts(gate.nodes[0])
    s = math.sqrt(16 * 2 * 2**2) * math.log(400.0)
    for entries, deviation in (
        (matrix[:, 0, 0], math.sqrt(2) * s),
        (matrix[:, 1, 1], math.sqrt(2) * s),
        (matrix[:, 0, 1], s),
        (vector[:, 0], s),
        (vector[:, 1], s),
    ):
        assert entries.std() == pytest.approx(deviation, rel=6 / math.sqrt(2 * 3200))


@pytest.mark.slow
@given(epsilon=st.floats(0.01, 300), delta=st.floats(1e-9, 0.1), horizon=st.integers(1, 10**9))
def test_the_claim_holds_with_slack(epsilon, delta, horizon):
    """All nodes that may hold a round are mu-Gaussian DP, which is below the mu that the claim allows."""
    learner = TreeLinUCBGaussian(2, Simulation(0, 1), epsilon=epsilon, delta=delta, horizon=horizon)
    paid = learner.mechanism.profile().gaussian_mu * math.sqrt(learner.noise.nodes)
    assert paid == pytest.approx(epsilon / (4 * math.log(4 / delta)), rel=1e-4)
    assert paid < unit_mu(epsilon, delta)
    assert horizon.bit_length() <= learner.noise.nodes


def test_what_a_round_pays_is_the_mu_of_the_docstring():
    """At n = 16 round 1 is in m = 5 nodes; rounding, which the accountant counts in, is less than a part in 10^4."""
    accountant = Accountant(
        Budget(4.0, 1e-3), composition=GaussianComposition(), noise=np.random.default_rng(0)
    )
    learner = TreeLinUCBGaussian(2, accountant, epsilon=4.0, delta=1e-3, horizon=16)
    domain = learner.feedback_domain
    for user in range(16):
        learner.observe(accountant.private(domain.moments([0.6, 0.8], 1.0), domain, user))
    square, _ = accountant.ledger.spent(0).values
    assert float(square) == pytest.approx((4.0 / (4 * math.log(4000.0))) ** 2, rel=1e-3)


@pytest.mark.parametrize(("n", "norm", "says_something"), [(10**8, 0.5, True), (2 * 10**7, 1.0, False)])
def test_the_theorem_in_plain_numbers(n, norm, says_something):
    d = 4
    noise = _PrintedNoise.for_horizon(d, epsilon=1.0, delta=1e-5, horizon=n)
    rho = noise.least
    assert noise.most == pytest.approx(3 * rho)
    bound = math.sqrt(8 * n) * (
        2 * math.log(2 * n)
        + d * math.log(3 + n / (d * rho))
        + (norm * math.sqrt(3 * rho) + noise.vector) * math.sqrt(d * math.log(1 + n / (d * rho)))
    )
    assert (bound < 2 * n) is says_something
