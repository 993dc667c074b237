import functools
import itertools
import math

import numpy as np
import pytest

from algorithms import CascadeUCBRR, DPUCBMat, simulate
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Cascade, SemiBandit, TopK, UniformMatroid
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


# --- learning, and simulated regret below the bound -------------------------------------------------

EASY = {
    "semi-bandit": SemiBandit(TopK(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "matroid": SemiBandit(UniformMatroid(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "cascade": Cascade(4, 2, [0.02, 0.55, 0.05, 0.5]),
}
RUNS = 64

USUAL = (20.0, 4000)
"""Epsilon and horizon at which most bounds lie below the regret of uniform play."""

OTHERS = {
    "cucb-ldp1": (7.0, 6000),  # its theorem ends at epsilon = 7.3
    "cucb-ldp2": (3.6, 6000),  # and here at 3.65
    "cucb-batch-all": (20.0, 20_000),
    "cucb-batch-gaussian": (20.0, 20_000),
    "cucb-dp": (1000.0, 4000),
    "cucb-dp-least": (100.0, 4000),
    "cascade-ucb-ldp-laplace": (100.0, 6000),
    "cascade-ucb-ldp-gaussian": (100.0, 6000),
    "cascade-ucb-batch": (20.0, 30_000),
    "cascade-ucb-batch-gaussian": (20.0, 30_000),
}
"""The same for learners whose bound says nothing there."""

SAYS_NOTHING = {"published/cucb-dp", "published/cucb-dp-least"}
"""Learners whose bound exceeds the regret of uniform play for 6,000 rounds, whatever epsilon is."""


def uniform_regret(problem):
    """Return what a round of uniform play costs: pairs of four arms, in both orders where order counts."""
    pairs = np.array(list(itertools.permutations(range(4), 2)))
    return problem.benchmark - problem.expected_reward(pairs).mean()


@functools.cache
def easy_trace(name, epsilon, horizon):
    problem = EASY[learners[name].family]
    build = learners[name].build(problem, epsilon=epsilon, horizon=horizon)
    return simulate(build, problem, horizon=horizon, runs=RUNS, seed=10, checkpoints=horizon // 10)


@pytest.mark.parametrize("name", [name for name in BOUNDS if name in learners and name not in SAYS_NOTHING])
def test_simulated_regret_is_below_the_bound(name):
    """A learner that learns nothing would break each bound; mean plus 5 s.e. lies a factor below it."""
    epsilon, horizon = OTHERS.get(name, USUAL)
    problem = EASY[learners[name].family]
    assert BOUNDS[name].applies(epsilon, 2, horizon)
    below = bound(name, problem, epsilon, horizon)
    assert below < uniform_regret(problem) * horizon
    trace = easy_trace(name, epsilon, horizon)
    assert trace.regret_mean[-1] + 5 * trace.regret_sem[-1] < below


@pytest.mark.parametrize("name", sorted(SAYS_NOTHING))
def test_bounds_that_say_nothing_say_nothing(name):
    problem = EASY[learners[name].family]
    assert bound(name, problem, 1000.0, 6000) > uniform_regret(problem) * 6000


COSTLY = {"published/cascade-ucb-hybrid", "published/cucb-dp", "published/cucb-dp-least"}
"""Learners whose trees take five seconds; they are replayed against their pseudocode, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in COSTLY else []) for name in learners]
)
def test_learning_happens(name):
    """On an easy instance at epsilon = 20 the second half costs less than the first, and below a third of
    uniform play (not below half of the first: whoever learns in doubling batches pays in steps). Both
    differences are above 10 s.e. of 64 runs, so chance (1e-20) does not decide.
    """
    epsilon, horizon = USUAL
    trace = easy_trace(name, epsilon, horizon)
    middle = int(np.searchsorted(trace.rounds, horizon // 2))
    first, second = trace.regret[middle], trace.regret[-1] - trace.regret[middle]
    excess = first - second
    assert excess.mean() > 10 * excess.std() / math.sqrt(RUNS)
    third = uniform_regret(EASY[learners[name].family]) * horizon / 2 / 3
    assert second.mean() + 10 * second.std() / math.sqrt(RUNS) < third
