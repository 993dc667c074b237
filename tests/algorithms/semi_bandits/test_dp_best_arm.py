"""Finding the best arm: the pseudocode on the same releases, error and rounds against the theorems, cost."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from accountant import Accountant, Budget, Simulation
from algorithms import DPBestArm
from algorithms.estimates.chernoff import (
    SHORTFALL,
    NoiseTail,
    _chernoff_exponent,
    chernoff_separation,
    sum_exponent,
)
from algorithms.problems import Arms
from algorithms.semi_bandits.dp_best_arm import first_batch, phase_exponent
from algorithms.theory.best_arm import _arm_plays, expected_rounds, most_plays
from mechanisms import Laplace, Sensitivity

NOISE = NoiseTail.from_mechanism(Laplace(scale=1.0, sensitivity=Sensitivity(1.0, 1.0, 1.0)))


def identify(means, seed, lanes=64, most=3000, **settings):
    """Play until all lanes have stopped; return the learner and the plays of each arm."""
    gate, rng = Simulation(seed, lanes), np.random.default_rng(seed + 1)
    learner = DPBestArm(Arms(len(means)), gate, **settings)
    plays, means = np.zeros((lanes, len(means))), np.array(means)
    for step in range(most):
        if learner.has_stopped.all():
            break
        action = learner.act()
        held = np.where(learner.has_stopped, 0, learner.committed_rounds)
        totals = rng.binomial(held[:, np.newaxis], means[action]).astype(float)
        learner.observe(gate.private(totals, learner.feedback_domain, step), held)
        plays[np.arange(lanes), action[:, 0]] += held
    return learner, plays


def literal_separation(n, j, larger, smaller, shift):
    """The least sum of the exponents on a fine grid of means, which is not below the infimum."""
    u = np.linspace(0, 1 - shift, 2_001)
    counts, noises = np.full(u.size, n), np.full(u.size, j)
    low = _chernoff_exponent(u + shift, counts, noises, np.full(u.size, smaller), noise=NOISE)
    high = _chernoff_exponent(1 - u, counts, noises, np.full(u.size, n - larger), noise=NOISE)
    return (low + high).min()


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_separation_is_the_least_sum_of_exponents(shift):
    rng = np.random.default_rng(0)
    n, j = rng.integers(5, 500, 20).astype(float), rng.integers(1, 8, 20).astype(float)
    totals = np.sort(rng.uniform(-0.05, 1.05, (2, 20)), axis=0) * n
    found = chernoff_separation(n, j, totals[1], totals[0], noise=NOISE, shift=shift)
    for i in range(20):
        exact = literal_separation(n[i], j[i], totals[1, i], totals[0, i], shift)
        assert exact * (1 - 1e-3) - 1e-6 <= found[i] <= exact * (1 + 1e-9)


def test_separation_is_seldom_large_where_the_order_is_the_other_one():
    """6,000 pairs of equal means: above x with probability (1 + x) e^-x at most; false alarm below 1e-5."""
    rng = np.random.default_rng(1)
    n, j, runs = 60.0, 3.0, 6_000
    noise = rng.laplace(0, 1, (2, runs, 3)).sum(axis=2)
    totals = np.sort(rng.binomial(60, 0.1, (2, runs)) + noise, axis=0)
    found = chernoff_separation(np.full(runs, n), np.full(runs, j), totals[1], totals[0], noise=NOISE)
    for x in (2.0, 4.0):  # either of the two may be the larger one
        assert binom.sf((found > x).sum() - 1, runs, min(1, 2 * (1 + x) * math.exp(-x))) > 1e-5
    assert (found > 1).mean() > 0.01


@pytest.mark.parametrize("probability", [0.9, 0.3, 1e-3, 1e-15])
def test_the_exponent_of_a_sum(probability):
    x = float(sum_exponent(np.array([probability]))[0])
    assert (1 + x) * math.exp(-x) == pytest.approx(probability, rel=1e-9)
    assert float(phase_exponent(4, 0.1, np.array([2.0]))[0]) == sum_exponent(np.array([0.1 / 18]))[0]


@pytest.mark.slow
def test_the_pseudocode_on_the_same_releases():
    kept = []

    class Kept(Simulation):
        def release(self, mechanism, private, where=None):
            released = super().release(mechanism, private, where)
            kept.append((released, where))
            return released

    means = np.array([0.1, 0.95, 0.3, 0.4])
    gate, rng, lane = Kept(3, 64), np.random.default_rng(4), 7
    learner = DPBestArm(Arms(4), gate, epsilon=1.0, error=0.4, tolerance=0.1)
    left, phase, n, y = [0, 1, 2, 3], 1, 0, [0.0] * 4
    size = math.ceil(float(sum_exponent(np.array([0.4 / 6]))[0]))
    assert size == first_batch(4, 0.4, 1.0)
    record = 0
    while len(left) > 1:
        for arm in left:
            for _ in range(size):
                action = learner.act()
                assert action[lane, 0] == arm
                assert not learner.has_stopped[lane]
                values = (rng.random((64, 1)) < means[action]).astype(float)
                learner.observe(gate.private(values, learner.feedback_domain, record))
                record += 1
            released, where = kept[-1]
            assert where[lane].tolist() == [arm == i for i in range(4)]
            y[arm] += released[lane, arm]
        n += size
        level = float(sum_exponent(np.array([0.4 / (3 * phase * (phase + 1))]))[0])
        leader = max(left, key=lambda i: y[i])

        def apart(arm, shift, n=n, phase=phase, leader=leader, level=level):
            return literal_separation(float(n), float(phase), y[leader], y[arm], shift) > level

        if all(apart(arm, 0.1) for arm in left if arm != leader):
            break
        left = [arm for arm in left if arm == leader or not apart(arm, 0.0)]
        phase, size = phase + 1, math.ceil(n / 2)
    assert learner.recommendation[lane] == leader == 1
    assert learner.act()[lane, 0] == 1
    assert phase > 2


def test_error_and_rounds_are_within_the_theorems():
    """128 runs: none of them wrong (each is with 5 % at most), and the means of plays below their bounds."""
    means = [0.5, 0.8, 0.6]
    learner, plays = identify(means, 5, lanes=128, epsilon=0.5)
    assert (learner.recommendation == 1).mean() > 1 - 0.2
    bounds = [_arm_plays(1e9, 3, 0.5, gap) for gap in (0.3, 0.2)]
    assert (plays.mean(axis=0)[[0, 2]] < bounds).all()
    total = expected_rounds(means, epsilon=0.5)
    assert total / 4 < plays.sum(axis=1).mean() < total


@pytest.mark.slow
def test_a_wrong_arm_is_seldom_recommended_where_the_error_may_be_large():
    """Two arms .5 and .4 at error 0.5: the share of wrong recommendations in 128 runs is far below one half."""
    learner, _ = identify([0.4, 0.5], 6, lanes=128, epsilon=5.0, error=0.5)
    assert 0 < (learner.recommendation == 0).sum() < 64


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [5.0, 0.5])
def test_equal_arms_are_played_as_often_as_the_tolerance_allows(epsilon):
    learner, plays = identify([0.5, 0.5], 7, epsilon=epsilon, tolerance=0.4)
    assert learner.has_stopped.all()
    assert plays.max() <= most_plays(2, epsilon=epsilon, tolerance=0.4)
    endless, _ = identify([0.5, 0.5], 7, epsilon=epsilon, most=15)
    assert not endless.has_stopped.all()


def test_a_record_pays_epsilon_once_and_late_feedback_changes_nothing_after_the_end():
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(1))
    learner = DPBestArm(Arms(2), accountant, epsilon=1.0, error=0.2)

    def reward(user, arm):
        return accountant.private([float(arm == 1)], learner.feedback_domain, record=user)

    late, user = learner.issue(), 0
    while not learner.has_stopped[0]:
        arm = learner.act()[0, 0]
        learner.observe(reward(user, arm))
        user += 1
    releases = learner.batches.releases.copy()
    learner.observe(reward("late", 0), ticket=late)
    assert learner.recommendation[0] == learner.act()[0, 0] == 1
    for user in range(200):
        learner.act()
        learner.observe(reward(f"after-{user}", 1))
    assert (learner.batches.releases == releases).all()
    assert accountant.worst()[1].epsilon == 1
    assert accountant.spent("after-3").epsilon == 0


def test_feedback_that_is_late_for_its_phase_is_not_used():
    """All arms of a phase have the same count, whatever comes late."""
    gate = Simulation(8, 64)
    learner = DPBestArm(Arms(2), gate, epsilon=20.0, error=0.4)
    value = np.full((64, 1), 0.5)
    late = [learner.issue() for _ in range(5)]
    while not (learner.batches.releases[:, 0] > 0).all():
        learner.act()
        learner.observe(gate.private(value, learner.feedback_domain, 0))
    releases = learner.batches.releases.copy()
    for number, ticket in enumerate(late):
        learner.observe(gate.private(value, learner.feedback_domain, 1 + number), ticket=ticket)
    assert (learner.batches.releases == releases).all()


def test_one_arm_is_found_at_once():
    learner = DPBestArm(Arms(1), Simulation(1, 64), epsilon=1.0)
    assert learner.has_stopped.all()
    assert (learner.act() == 0).all()
    assert expected_rounds([0.5], epsilon=1.0) == 0 == most_plays(1, epsilon=1.0, tolerance=0.1)


@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_the_bounds_once_more_in_plain_numbers(epsilon):
    """C_j by search over s, w_j as the distance at which twice C_j of its half is x_j."""
    b, error, gap, n, j, plays, most = 1 / epsilon, 0.05, 0.4, first_batch(2, 0.05, 1 / epsilon), 1, 0.0, None
    plays = float(n)
    while n < 10_000:
        level = float(sum_exponent(np.array([error / (j * (j + 1))]))[0])

        def exponent(distance, n=n, j=j):
            s = np.linspace(0, 1 / b, 20_001)[:-1]
            return (s * n * distance - (n / 4 + 2 * b * b * j) * s * s / 2 / (1 - b * s)).max()

        width = brentq(lambda w, level=level, exponent=exponent: 2 * exponent(w / 2) - level, 0, 100)
        width /= 1 - SHORTFALL
        batch = math.ceil(n / 2)
        plays += batch * (math.exp(-2 * exponent((gap - width) / 2)) if width < gap else 1.0)
        if most is None and 2 * exponent(0.15 * (1 - SHORTFALL)) > level:
            most = n
        n, j = n + batch, j + 1
    assert _arm_plays(1e9, 2, epsilon, gap) == pytest.approx(plays, rel=1e-4)
    assert expected_rounds([0.9, 0.5], epsilon=epsilon) == pytest.approx(2 * plays, rel=1e-4)
    assert most_plays(2, epsilon=epsilon, tolerance=0.3) == most
    assert _arm_plays(50, 2, epsilon, 0.01) == 50


def test_two_best_arms_are_never_told_apart():
    assert expected_rounds([0.5, 0.5], epsilon=1.0) == math.inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"error": 0}, "error = 0: must lie in"),
        ({"error": 1.0}, "error = 1.0: must"),
        ({"error": math.nan}, "error = nan: must"),
        ({"error": True}, "error = True: must"),
        ({"tolerance": -0.1}, "tolerance = -0.1: must lie in"),
        ({"tolerance": "x"}, "tolerance = 'x': must"),
    ],
)
def test_bad_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DPBestArm(Arms(2), Simulation(0, 64), **({"epsilon": 1.0} | settings))


def test_bad_parameters_of_the_theorems_are_refused():
    with pytest.raises(ValueError, match="tolerance = 0"):
        most_plays(2, epsilon=1.0, tolerance=0)
    with pytest.raises(ValueError, match="means: must"):
        expected_rounds([], epsilon=1.0)
