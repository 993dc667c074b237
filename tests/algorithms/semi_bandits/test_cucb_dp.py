"""The certified tree learners: a literal replay, the radius, the ledger, the horizon."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import minimize_scalar

from accountant import Accountant, Budget, BudgetExceeded, Simulation
from algorithms import CUCBDP, CUCBDPLeast
from algorithms.play import play_fresh, play_records
from algorithms.problems import SemiBandit, ShortestPath, TopK, UniformMatroid
from algorithms.semi_bandits.cucb_dp import laplace_sum_width
from mechanisms import HorizonExceeded, LaneStreams

PATHS = ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "one arm": SemiBandit(TopK(1, 1), [0.4]),
    "all arms": SemiBandit(TopK(3, 3), [0.4, 0.1, 0.9]),
    "one of four": SemiBandit(TopK(4, 1), [0.4, 0.1, 0.9, 0.3]),
    "matroid": SemiBandit(UniformMatroid(5, 3), [0.4, 0.1, 0.9, 0.5, 0.6]),
    "paths of different length": SemiBandit(PATHS, [0.8, 0.6, 0.7, 0.9, 0.8, 0.3]),
}
EPSILON = 40.0


def prefix_noise(noise, t, arm):
    """Noise of the nodes whose union is 1 .. t: they end at t with its lowest binary digits taken away in turn."""
    total, terms = 0.0, 0
    while t:
        total += noise[t, arm]
        terms += 1
        t -= t & -t
    return total, terms


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [1, 2, 4, 150])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_it_plays_as_the_pseudocode(name, learner, horizon, recorded_run):
    """Counts, prefix sums and least upper bounds by hand; the widths have a test of their own."""
    problem = PROBLEMS[name]
    m = problem.structure.arms
    run = recorded_run(lambda s, g: learner(s, g, epsilon=EPSILON, horizon=horizon), problem, horizon, 5)
    fed = problem.structure.size if learner is CUCBDP else 1
    levels = math.floor(math.log2(horizon)) + 1
    b = fed * levels / EPSILON
    (mechanism,) = {release.mechanism for release in run.releases}
    assert mechanism.scale == pytest.approx(b, rel=1e-15)
    x = math.log(4 * m * horizon**2)
    width = [b * laplace_sum_width(terms, x) for terms in range(1, levels + 1)]
    for lane in (0, 63):
        noise = run.noise(lane)
        index, count, total = [1.0] * m, [0] * m, [0.0] * m
        for t in range(1, horizon + 1):
            played = [int(i) for i in run.actions[t - 1, lane] if i >= 0]
            assert played == [int(i) for i in problem.structure.solve(np.array([index]))[0] if i >= 0]
            for i in played if learner is CUCBDP else [min(played, key=lambda i: (count[i], i))]:
                count[i] += 1
                total[i] += run.records[t, lane, i]
            for i in range(m):
                if count[i]:
                    noises, terms = prefix_noise(noise, t, i)
                    upper = (total[i] + noises + width[terms - 1]) / count[i] + math.sqrt(x / (2 * count[i]))
                    index[i] = max(0.0, min(index[i], upper))
        np.testing.assert_array_equal(run.learner.count[lane], count)
        np.testing.assert_allclose(run.learner.index[lane], index, rtol=0, atol=1e-9)
        assert horizon < 150 or min(index) < 1


@pytest.mark.few(3)
@pytest.mark.parametrize("exponent", [1.0, 5.0, 30.0])
@pytest.mark.parametrize("terms", [1, 2, 5, 17])
def test_the_width_is_that_of_the_best_exponent_and_covers_the_exact_tail(terms, exponent):
    """A sum of J Laplace variables is the difference of two Gamma(J) ones."""
    width = laplace_sum_width(terms, exponent)
    best = minimize_scalar(
        lambda u: (exponent - terms * math.log1p(-u * u)) / u, bounds=(1e-9, 1 - 1e-9), method="bounded"
    )
    assert best.fun * (1 - 1e-9) <= width <= best.fun * (1 + 1e-5)
    assert width <= (2 * math.sqrt(terms * exponent) + exponent) * (1 + 1e-5)
    gamma = stats.gamma(terms)
    tail, _ = integrate.quad(
        lambda y: gamma.pdf(y) * gamma.sf(width + y), 0, math.inf, epsabs=0, epsrel=1e-9, limit=200
    )
    assert math.exp(-exponent) / 100 < tail <= math.exp(-exponent)


@pytest.mark.few(1)
@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_no_confidence_bound_fails(learner):
    """The theorem allows one run in T = 256 to fail: of 640 runs more than 14 with probability below 1e-6."""
    assert stats.binom.sf(14, 640, 1 / 256) < 1e-6
    problem = SemiBandit(TopK(6, 3), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1])
    gate = Simulation(7, 640)
    built = learner(problem.structure, gate, epsilon=60.0, horizon=256)
    failed = np.zeros(640, dtype=bool)
    for _ in play_fresh(built, problem, gate, LaneStreams(7, 640, key=(2,)), 256):
        failed |= (built.index < problem.means).any(axis=1)
    assert failed.sum() <= 14
    assert (built.index < 1).any(axis=1).all()


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5, 37, 64])
@pytest.mark.parametrize(("arms", "size"), [(4, 1), (4, 2), (3, 3), (1, 1)])
@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_a_run_fits_in_epsilon_exactly(learner, arms, size, horizon):
    problem = SemiBandit(TopK(arms, size), np.linspace(0.1, 0.9, arms))
    records = np.ones((horizon + 1, arms))
    accountant = Accountant(Budget(1.3), noise=np.random.default_rng(1), seed=2)
    for _ in play_records(
        learner(problem.structure, accountant, epsilon=1.3, horizon=horizon), problem, accountant, records
    ):
        pass
    record, worst = accountant.worst()
    assert record == 1
    assert 1.3 * (1 - 1e-15) <= worst.epsilon <= 1.3
    smaller = Accountant(Budget(1.29), noise=np.random.default_rng(1), seed=2)
    with pytest.raises(BudgetExceeded):
        for _ in play_records(
            learner(problem.structure, smaller, epsilon=1.3, horizon=horizon), problem, smaller, records
        ):
            pass


@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_a_round_beyond_the_horizon_is_refused_before_anything_is_charged(learner):
    problem = SemiBandit(TopK(3, 2), [0.1, 0.5, 0.9])
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(1), seed=2)
    built = learner(problem.structure, accountant, epsilon=1.0, horizon=5)
    for _ in play_records(built, problem, accountant, np.ones((6, 3))):
        pass
    charged, index = len(accountant.ledger), built.index.copy()
    built.act()
    with pytest.raises(HorizonExceeded):
        built.observe(accountant.private(np.ones(2), built.feedback_domain, 6))
    assert len(accountant.ledger) == charged
    np.testing.assert_array_equal(built.index, index)
