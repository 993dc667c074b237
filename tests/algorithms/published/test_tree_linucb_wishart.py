"""Shariff & Sheffet's learner with Wishart noise: formulas in plain numbers, the noise of its sums, a node's loss."""

import math

import numpy as np
import pytest
from scipy import stats

from accountant import Accountant, Budget, Simulation
from algorithms.linear.contextual_play import play_contexts
from algorithms.problems import LinearContexts
from algorithms.published import TreeLinUCBWishart
from algorithms.published.tree_linucb_wishart import PrintedWishart
from mechanisms import HorizonExceeded, LaneStreams, RegressionMoments, Wishart

ALPHA = 1e-6  # false-alarm rate of each statistical test


def test_the_numbers_of_the_paper():
    n, d, epsilon, delta = 6, 3, 2.0, 0.01
    noise = PrintedWishart.of(d, epsilon=epsilon, delta=delta, horizon=n)
    m, alpha = 4, 1 / 6  # 1 + ceil(log2 6)
    k = d + 1 + math.ceil(224 * m / epsilon**2 * math.log(8 * m / delta) * math.log(2 / delta))
    assert (noise.nodes, noise.freedom) == (m, k) == (4, 9_583)
    at, share = epsilon / math.sqrt(8 * m * math.log(2 / delta)), delta / (2 * m)
    assert k == d + 1 + math.ceil(28 * math.log(4 / share) / at**2)  # Sheffet's, of a node
    root, far = math.sqrt(m * k), math.sqrt(d) + math.sqrt(2 * math.log(8 * n / alpha))
    c = 2 * ((root - far) ** 2 - 4 * root * far)
    assert noise.shift == pytest.approx(-c, rel=1e-12)
    assert noise.least == pytest.approx(2 * (root - far) ** 2 - c, rel=1e-12)  # of all N_t - c I
    assert noise.most == pytest.approx(2 * (root + far) ** 2 - c, rel=1e-12)
    gamma = math.sqrt(2) * (math.sqrt(d) + math.sqrt(2 * math.log(2 * n / alpha)))
    assert noise.vector == pytest.approx(gamma * math.sqrt(1 + c / noise.least), rel=1e-12)


def test_every_sum_has_the_noise_of_m_nodes_within_its_bounds_and_policies_follow():
    """The trace of N_t is chi-square with ``m k d`` degrees of freedom in every round, d = 2; alpha = 1/6."""
    n, d, epsilon, delta, S, lanes = 6, 2, 30.0, 0.01, 0.9, 640
    gate, problem = Simulation(1, lanes), LinearContexts(np.array([0.6, -0.3]), 4)
    learner = TreeLinUCBWishart(d, gate, epsilon=epsilon, delta=delta, horizon=n, norm=S)
    noise, domain = learner.noise, learner.feedback_domain
    true = np.zeros((lanes, d, d))
    rounds = play_contexts(learner, problem, gate, LaneStreams(2, lanes), n)
    outside, degrees = 0, noise.nodes * noise.freedom * d
    learn, seen = learner.learn, []
    learner.learn = lambda feedback: (seen.append(domain.parts(feedback._values[0])[0]), learn(feedback))[1]
    for _ in rounds:
        true += seen[-1]
        policy = learner.policy
        V = np.linalg.inv(policy.covariance)
        N = V - true - noise.shift * np.eye(d)
        pvalue = stats.kstest(np.trace(N, axis1=1, axis2=2) / 2, stats.chi2(degrees).cdf).pvalue
        assert pvalue > ALPHA
        eigen = np.linalg.eigvalsh(N) + noise.shift
        outside += ((eigen[:, 0] < noise.least) | (eigen[:, -1] > noise.most)).sum()
        beta = (
            np.sqrt(2 * math.log(2 * n) + np.linalg.slogdet(V)[1] - d * math.log(noise.least))
            + S * math.sqrt(noise.most)
            + noise.vector
        )
        np.testing.assert_allclose(policy.width, beta, rtol=1e-9)
    assert len(seen) == n
    assert outside <= lanes  # alpha of ``n lanes`` at most in expectation; it is far less
    with pytest.raises(HorizonExceeded):
        learner.observe(gate.private(domain.of(np.zeros((lanes, d)), 0.0), domain, "late"))


def losses(excess: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the loss of the module's theorem at K = excess."""
    s, q = rng.chisquare(2 * (excess + 2), n), rng.beta((excess + 1) / 2, 1.0, n)
    determinant, radius = s * s * q / 4, s * np.sqrt(1 - q)
    ratio = 1 + (radius * np.cos(2 * np.pi * rng.random(n)) - 1) / determinant
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(ratio > 0, -(excess - 1) / 2 * np.log(ratio), np.inf)


@pytest.mark.parametrize(("excess", "rows"), [(3, 2), (20, 4)])
def test_the_theorems_loss_is_that_of_orthogonal_rounds_with_their_corner(excess, rows):
    """Against whole Wishart matrices, in both directions; Kolmogorov-Smirnov on 10,000 draws each."""
    n, rng = 10_000, np.random.default_rng(excess)
    noise = stats.wishart(rows + excess, np.eye(rows)).rvs(n, random_state=rng)
    for sign in (1.0, -1.0):
        moved = noise - sign * np.diag([1.0, -1.0] + [0.0] * (rows - 2))
        inside = np.linalg.eigvalsh(moved)[:, 0] > 0
        ratio = np.linalg.slogdet(noise[inside])[1] - np.linalg.slogdet(moved[inside])[1]
        found = np.concatenate([(excess - 1) / 2 * ratio, np.full(n - inside.sum(), 1e9)])
        law = np.minimum(losses(excess, n, rng), 1e9)
        assert stats.ks_2samp(found, law).pvalue > ALPHA


@pytest.mark.parametrize("d", [1, 3])
def test_no_two_rounds_lose_more_than_the_theorem_says(d):
    """Delta at 0 and 0.2, K = 20, of what is released; six standard errors of 4,000 draws on either side."""
    n, rng, domain = 4_000, np.random.default_rng(d), RegressionMoments(d, math.sqrt(2))
    node = Wishart(features=d, freedom=d + 21, scale=2.0, delta=1e-3, sensitivity=domain.sensitivity)
    x = np.eye(d)[0]
    pairs = [
        (x, 1.0, x, -1.0),
        (x, 1.0, -x, 1.0),
        (x, 1.0, 0 * x, 0.0),
        (0 * x, 0.0, x, 1.0),
        (x, 1.0, x, 0.0),
    ]
    if d > 1:
        pairs.append((x, 0.0, np.eye(d)[1], 0.0))
    law = losses(20, n, rng)
    for one, y, other, z in pairs:
        start, end = domain.of(one, y), domain.of(other, z)
        drawn = node.release(np.tile(start, (n, 1)), rng)
        loss = (node.log_density(drawn, start) - node.log_density(drawn, end)).sum(axis=1)
        for epsilon in (0.0, 0.2):
            lost, most = (np.maximum(0.0, -np.expm1(epsilon - each)) for each in (loss, law))
            error = 6 * math.hypot(lost.std(), most.std()) / math.sqrt(n)
            assert lost.mean() < most.mean() + error


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_one_feature_and_few_rounds(horizon):
    gate, problem = Simulation(3, 64), LinearContexts(np.array([0.5]), 3)
    learner = TreeLinUCBWishart(1, gate, epsilon=1.0, delta=1e-3, horizon=horizon)
    played = list(play_contexts(learner, problem, gate, LaneStreams(2, 64), horizon))
    assert len(played) == horizon
    assert np.isfinite(learner.policy.estimate).all()


def test_an_accountant_charges_a_round_for_its_nodes_and_holds_the_claim():
    """At n = 4 round 1 is in 3 nodes, of m = 3."""
    accountant = Accountant(Budget(1.0, 1e-3), noise=np.random.default_rng(0))
    learner = TreeLinUCBWishart(2, accountant, epsilon=1.0, delta=1e-3, horizon=4)
    domain = learner.feedback_domain
    for user in range(4):
        learner.observe(accountant.private(domain.of([0.6, 0.8], 1.0), domain, user))
    paid = accountant.spent(0)
    assert float(paid.epsilon) == pytest.approx(3 * learner.mechanism.epsilon, rel=1e-3)
    assert float(paid.delta) == pytest.approx(1e-3 / 2)


def test_epsilons_without_a_bound_and_wrong_ones_are_refused():
    for epsilon, message in ((1e4, "has no bound for its widths"), (-1.0, "epsilon=-1"), (0.0, "epsilon=0")):
        with pytest.raises(ValueError, match=message):
            TreeLinUCBWishart(2, Simulation(0, 64), epsilon=epsilon, delta=1e-3, horizon=4)
    with pytest.raises(ValueError, match="delta"):
        TreeLinUCBWishart(2, Simulation(0, 64), epsilon=1.0, delta=0.0, horizon=4)


def test_with_secure_noise_a_round_is_refused_and_nothing_changes():
    accountant = Accountant(Budget(1.0, 1e-3))
    learner = TreeLinUCBWishart(2, accountant, epsilon=1.0, delta=1e-3, horizon=4)
    domain, policy = learner.feedback_domain, learner.policy
    with pytest.raises(ValueError, match="Wishart has no secure sampler"):
        learner.observe(accountant.private(domain.of([0.6, 0.8], 1.0), domain, "ann"))
    assert (learner.sums.steps, learner.rounds.observed, accountant.spent("ann").epsilon) == (0, 0, 0)
    assert learner.policy is policy
