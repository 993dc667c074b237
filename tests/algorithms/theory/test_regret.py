import math

import numpy as np
import pytest

from algorithms import CascadeUCBRR, DPUCBMat, simulate
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Cascade, SemiBandit, TopK, UniformMatroid, build_problem
from algorithms.theory.regret import BOUNDS


def bound(name, problem, epsilon, horizon):
    return BOUNDS[name].evaluate(problem, epsilon_value=epsilon, horizon=horizon)


def test_bounds_belong_to_registered_learners():
    assert set(BOUNDS) <= {*learners, *linear_learners}
    matroid, cascade = {"omm", "dpucb-mat", "dpts-mat"}, {"cascade-ucb1", "cascade-ucb-rr"}
    assert {"cucb", "cucb-ldp1", "cucb-ldp2"} | matroid | cascade <= set(BOUNDS)


# Each formula once more, in plain numbers, on an instance where every term counts.
MATROID = SemiBandit(UniformMatroid(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
D = {3: (0.1, 0.4), 4: (0.5, 0.8)}  # element: least and largest gap; all 3 optimal ones are better
K_OPTIMAL = [0.4, 0.3, 0.1]


@pytest.mark.parametrize("horizon", [1, 2, 3, 100, 1023, 4096])
def test_theorem_4u_and_4t(horizon):
    epsilon, b = 0.7, 3 / 0.7
    batches = (horizon + 1).bit_length() - 1
    x = math.log(3 * 5 * batches * horizon)
    ucb, ts = 3.0, 4.0
    for least, largest in D.values():
        spread = min(3, 1 + math.log(largest / least))
        ucb += 16 * x / least + 16 * b * x * spread + largest
        ts += 81 * x / least + 24 * b * x * spread + largest
    ts += sum(2 * 61 / gap for gap in K_OPTIMAL)
    assert bound("dpucb-mat", MATROID, epsilon, horizon) == pytest.approx(ucb)
    assert bound("dpts-mat", MATROID, epsilon, horizon) == pytest.approx(ts)


def test_theorem_5_for_randomized_response():
    problem, epsilon, horizon = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3]), 1.3, 1000
    x = math.log(3 * 5 * horizon**2)
    p0 = (1 - 0.6) * (1 - 0.5)
    gain = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 3)
    square = 1 / (2 * gain**2)
    expected = 1.0
    for least, largest in ((0.3, 0.5), (0.1, 0.3)):
        spread = 1 + math.log(largest / least)
        expected += x / p0 * (8 * square / least + 4 * square * spread + square * largest) + largest
    assert bound("cascade-ucb-rr", problem, epsilon, horizon) == pytest.approx(expected)


def test_the_other_bounds():
    horizon, epsilon, log = 1000, 0.7, math.log(1000)
    top_k = SemiBandit(TopK(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
    worst = 2.3 - (0.6 + 0.5 + 0.1)
    cucb = 5 * worst * (6 * log * 3**2 / 0.1**2 + math.pi**2 / 3 + 1)
    assert bound("cucb", top_k, epsilon, horizon) == pytest.approx(cucb)
    # Every arm is charged: those of the best super arm with the least gap of all.
    members = 1 / 0.1 + 1 / 0.5 + 3 / 0.1
    ldp2 = 256 * 9 * log / epsilon**2 * members + 15 * worst
    ldp1 = 256 * 9 * 9 * log / epsilon**2 * members + 15 * worst
    assert bound("cucb-ldp2", top_k, epsilon, horizon) == pytest.approx(ldp2)
    assert bound("cucb-ldp1", top_k, epsilon, horizon) == pytest.approx(ldp1)
    omm = sum(16 * log / least + 4 / 3 * math.pi**2 * 3 * largest for least, largest in D.values())
    assert bound("omm", MATROID, epsilon, horizon) == pytest.approx(omm)
    cascade = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3])
    ucb1 = 12 * log * (1 / 0.3 + 1 / 0.1) + 5 * math.pi**2 / 3
    assert bound("cascade-ucb1", cascade, epsilon, horizon) == pytest.approx(ucb1)


@pytest.mark.parametrize("horizon", [1, 3, 7, 2**20 - 1, 2**20, 10**6])
def test_learner_and_theorem_have_the_same_exponent(horizon):
    from accountant import Simulation
    from algorithms.theory.regret import K, L, T, epsilon, x

    learner = DPUCBMat(MATROID.structure, Simulation(0, 64), epsilon=1.0, horizon=horizon)
    numbers = {T: horizon, L: 5, K: 3, epsilon: 1.0}
    assert learner.exponent == pytest.approx(float(dict(BOUNDS["dpucb-mat"].definitions)[x].subs(numbers)))
    cascade = Cascade(5, 3, [0.5] * 5)
    learner = CascadeUCBRR(cascade.structure, Simulation(0, 64), epsilon=1.0, horizon=horizon)
    assert learner.exponent == pytest.approx(
        float(dict(BOUNDS["cascade-ucb-rr"].definitions)[x].subs(numbers))
    )


def test_an_item_that_always_attracts_leaves_no_finite_bound():
    problem = Cascade(3, 2, [1.0, 0.5, 0.2])
    assert bound("cascade-ucb-rr", problem, 1.0, 100) == math.inf


def test_regimes():
    assert BOUNDS["cucb-ldp2"].applies(3.6, 4, 100)
    assert not BOUNDS["cucb-ldp2"].applies(3.7, 4, 100)
    assert BOUNDS["cucb-ldp1"].applies(14.0, 4, 100)
    assert BOUNDS["dpucb-mat"].applies(50.0, 4, 1)


# --- simulated regret below the bound, and learning ---------------------------------------------------

HORIZON, RUNS = 3000, 64
INSTANCES = {
    "semi-bandit": [
        build_problem("top-k"),
        SemiBandit(TopK(5, 2), [0.1, 0.9, 0.2, 0.8, 0.15]),
        SemiBandit(TopK(3, 1), [0.0, 0.5, 1.0]),
    ],
    "matroid": [
        build_problem("linear-matroid"),
        build_problem("uniform-matroid", {"elements": 6, "rank": 2}),
        build_problem("graphic-matroid", {"vertices": 4}),
    ],
    "cascade": [
        build_problem("cascade"),
        Cascade(5, 2, [0.05, 0.6, 0.1, 0.5, 0.02]),
        Cascade(4, 1, [0.1, 0.3, 0.9, 0.2]),
    ],
}


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("name", [name for name in BOUNDS if name in learners])
def test_simulated_regret_is_below_the_bound(name, epsilon):
    """Mean of 64 runs plus 5 s.e.; every bound is loose by a factor, so a false alarm is out of the question."""
    horizon = 500 if "cucb-dp" in name else HORIZON  # a tree's rounds take ten times as long
    for problem in INSTANCES[learners[name].family]:
        build = learners[name].build(problem, epsilon=epsilon, horizon=horizon)
        trace = simulate(build, problem, horizon=horizon, runs=RUNS, seed=9)
        upper = trace.regret_mean + 5 * trace.regret_sem
        assert upper[-1] < bound(name, problem, epsilon, horizon)


EASY = {
    "semi-bandit": SemiBandit(TopK(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "matroid": SemiBandit(UniformMatroid(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "cascade": Cascade(4, 2, [0.02, 0.55, 0.05, 0.5]),
}


@pytest.mark.parametrize("name", learners)
def test_learning_happens(name):
    """On an easy instance at epsilon = 20 the second half costs less than the first, and below a third of
    uniform play (not below half of the first: whoever learns in doubling batches pays in steps). Both
    differences are above 10 s.e. of 64 runs, so chance (1e-20) does not decide.
    """
    problem = EASY[learners[name].family]
    build = learners[name].build(problem, epsilon=20.0, horizon=4000)
    trace = simulate(build, problem, horizon=4000, runs=RUNS, seed=10, checkpoints=400)
    middle = int(np.searchsorted(trace.rounds, 2000))
    first, second = trace.regret[middle], trace.regret[-1] - trace.regret[middle]
    excess = first - second
    assert excess.mean() > 10 * excess.std() / math.sqrt(RUNS)
    rng = np.random.default_rng(0)
    uniform = np.argsort(rng.random((20_000, 4)), axis=1)[:, :2]
    per_round = problem.benchmark - problem.expected_reward(uniform).mean()
    assert second.mean() + 10 * second.std() / math.sqrt(RUNS) < per_round * 2000 / 3
