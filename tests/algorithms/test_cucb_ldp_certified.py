import math

import numpy as np
import pytest
from scipy import optimize

from accountant import Simulation
from algorithms import CUCBLDPBit, CUCBLDPGaussian
from algorithms.play import play_fresh
from algorithms.problems import MaximumCoverage, SemiBandit, ShortestPath, TopK, UniformMatroid
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import GaussianProfile, LaneStreams

# Ids do not ascend along these paths: s-b-t walks edges 1, 2 but s-a-c-t walks 4, 3, 0.
PATHS = ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "one arm": SemiBandit(TopK(1, 1), [0.4]),
    "all arms": SemiBandit(TopK(3, 3), [0.4, 0.1, 0.9]),
    "matroid": SemiBandit(UniformMatroid(5, 3), [0.4, 0.1, 0.9, 0.5, 0.6]),
    "paths of different length": SemiBandit(PATHS, [0.8, 0.6, 0.7, 0.9, 0.8, 0.3]),
    "coverage": SemiBandit(MaximumCoverage(4, 2, 2), [0.1, 0.5, 0.4, 0.3, 0.9, 0.2, 0.1, 0.6]),
}
EPSILON, HORIZON, DELTA = 20.0, 300, 1e-3


def build(learner, structure, gate, epsilon=EPSILON, horizon=HORIZON):
    delta = {"delta": DELTA} if learner is CUCBLDPGaussian else {}
    return learner(structure, gate, epsilon=epsilon, horizon=horizon, **delta)


def radius(horizon, arms, width, n):
    """Return the radius of Gaussian noise of this deviation."""
    return math.sqrt(2 * math.log(2 * arms * horizon**2) * (1 / 4 + width**2) / n)


def bits_together(epsilon, size):
    """Return the number of bits of a message, one after the other."""
    few = 1
    while few < min(size, 20) and 2 ** (few + 1) <= (math.exp(epsilon) - 1) / 32:
        few += 1
    return few


def chance_index(tau, n, ones):
    """Return the largest u with ``H(n kl(ones / n, u)) <= ln+(tau / n)``."""
    level = math.log(max(tau / n, 1.0))

    def over(u):
        v = sum(k * math.log(k / n / p) for k, p in ((ones, u), (n - ones, 1 - u)) if k)
        return v + 0.4 * math.log1p(4 * math.pi * max(v, 0.0)) - level

    if level == 0 or ones == n:
        return ones / n
    return optimize.brentq(over, ones / n, 1 - 1e-15, xtol=1e-13)


@pytest.mark.slow_cells("top-k", "coverage")
@pytest.mark.few(3)
@pytest.mark.parametrize("name", PROBLEMS)
def test_bits_are_read_as_the_pseudocode_says(name, recorded_run):
    """Which arms, when their batches are full, and the indices then, by plain search (to 1e-4, as of three steps)."""
    problem = PROBLEMS[name]
    m, size = problem.structure.arms, problem.structure.size
    run = recorded_run(lambda s, g: build(CUCBLDPBit, s, g), problem, HORIZON, 3)
    (mechanism,) = {release.mechanism for release in run.releases}
    few = bits_together(EPSILON, size)
    assert (mechanism.size, mechanism.epsilon) == (2**few, EPSILON)
    gain = 1 + 2**few / (math.exp(EPSILON) - 1)
    for lane in (0, 63):
        noise = run.noise(lane)
        n, y, held, ones, tau = [0] * m, [0] * m, [0] * m, [0] * m, 0
        for t in range(1, HORIZON + 1):
            played = [int(i) for i in run.actions[t - 1, lane] if i >= 0]
            for k, i in enumerate(sorted(played, key=lambda i: (n[i], i))[:few]):
                held[i] += 1
                ones[i] += (int(noise[t, 0]) >> k) % 2
                if held[i] == max(1, math.ceil(0.1 * n[i])):
                    n[i], y[i], held[i], ones[i], tau = n[i] + held[i], y[i] + ones[i], 0, 0, t
        shown = run.learner.confidence()
        np.testing.assert_array_equal(shown.count[lane], n)
        np.testing.assert_allclose(
            shown.estimate[lane],
            [0.5 + (a / b - 0.5) * gain if b else 0 for a, b in zip(y, n, strict=True)],
            atol=1e-9,
        )
        index = [
            0.5 + (chance_index(tau, b, a) - 0.5) * gain if b else 1.0 for a, b in zip(y, n, strict=True)
        ]
        np.testing.assert_allclose(shown.index[lane], np.clip(index, 0, 1), rtol=0, atol=1e-4)


def literal(structure, records, noise, width):
    """Follow the algorithm with Gaussian noise on one lane; yield the actions and at last means and counts."""
    n, mean = [0] * structure.arms, [0.0] * structure.arms
    for t in range(1, HORIZON + 1):
        index = [
            min(max(mean[i] + radius(HORIZON, structure.arms, width, n[i]), 0.0), 1.0) if n[i] else 1.0
            for i in range(structure.arms)
        ]
        played = [int(i) for i in structure.solve(np.array([index]))[0] if i >= 0]
        yield played
        for k, i in enumerate(played):
            n[i] += 1
            mean[i] += (records[t, i] + noise[t, k] - mean[i]) / n[i]
    yield mean, n


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_plays_as_the_pseudocode(name, recorded_run):
    problem = PROBLEMS[name]
    run = recorded_run(lambda s, g: build(CUCBLDPGaussian, s, g), problem, HORIZON, 3)
    (mechanism,) = {release.mechanism for release in run.releases}
    for lane in (0, 17, 63):
        replay = literal(problem.structure, run.records[:, lane], run.noise(lane), mechanism.sigma)
        *actions, (mean, n) = replay
        for t, played in enumerate(actions):
            assert [i for i in run.actions[t, lane] if i >= 0] == played
        np.testing.assert_allclose(run.learner.estimates.mean[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.estimates.count[lane], n)


@pytest.mark.slow_cells("1.0", "0.2")
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 9.0])
def test_a_bit_of_any_value_in_0_1_is_unbiased(epsilon):
    """Within 5 s.e. of X for 5 values: false alarm 3e-6; and the flip rate is randomized response's."""
    samples = 64 * 500
    for value in (0.0, 0.1, 0.5, 0.9, 1.0):
        gate = Simulation(3, samples)
        learner = CUCBLDPBit(TopK(1, 1), gate, epsilon=epsilon, horizon=10)
        learner.act()
        learner.observe(gate.private(np.full((samples, 1), value), learner.feedback_domain, 1))
        heard = learner.confidence().estimate[:, 0]
        assert len(np.unique(heard)) == (1 if epsilon == 9.0 and heard.std() == 0 else 2)
        assert abs(heard.mean() - value) < 5 * max(heard.std(), 1e-3) / math.sqrt(samples)


@pytest.mark.parametrize("epsilon", [5.0, 5.6, 7.0])
def test_bits_of_one_message_are_unbiased_one_by_one(epsilon):
    """Within 5 s.e. for each of 4 values: false alarm 2e-6; each bit is flipped as often as the gain says."""
    samples, values = 64 * 500, np.array([0.0, 0.3, 0.8, 1.0])
    gate = Simulation(3, samples)
    learner = CUCBLDPBit(TopK(4, 4), gate, epsilon=epsilon, horizon=10)
    few = bits_together(epsilon, 4)
    assert (learner.few, learner.bits.randomizer.size) == (few, 2**few)
    learner.act()
    learner.observe(gate.private(np.tile(values, (samples, 1)), learner.feedback_domain, 1))
    np.testing.assert_array_equal(learner.confidence().count, np.tile(np.arange(4) < few, (samples, 1)))
    heard = learner.confidence().estimate[:, :few]
    error = np.maximum(heard.std(axis=0), 1e-3) / math.sqrt(samples)
    assert (np.abs(heard.mean(axis=0) - values[:few]) < 5 * error).all()
    flipped = 2**few / 2 / (math.exp(epsilon) + 2**few - 1)
    lied = (heard[:, 0] > 0.5).mean()  # of a value of 0
    assert abs(lied - flipped) < 5 * math.sqrt(flipped / samples)


def test_messages_are_about_more_arms_from_where_it_pays():
    for epsilon, size, few in (
        (1.0, 9, 1),
        (4.85, 9, 1),
        (4.87, 9, 2),
        (5.6, 9, 3),
        (10.0, 9, 9),
        (800.0, 50, 20),
    ):
        learner = CUCBLDPBit(TopK(60, size), Simulation(0, 64), epsilon=epsilon, horizon=10)
        assert learner.few == few == bits_together(min(epsilon, 700.0), size)
        bound = BOUNDS["cucb-ldp-bit"]
        instance = Instance(SemiBandit(TopK(60, size), np.linspace(0.1, 0.9, 60)), epsilon, 1000)
        assert bound.value_of(bound.confidence.few, instance) == few
        assert bound.value_of(bound.confidence.scale, instance) == pytest.approx(learner.bits.gain, rel=1e-12)


def test_the_gaussian_noise_is_exactly_enough_for_k_values():
    sigma = build(CUCBLDPGaussian, TopK(9, 4), Simulation(0, 64), 0.7).randomizer.sigma
    assert GaussianProfile(math.sqrt(4) / sigma).delta(0.7) == pytest.approx(DELTA, rel=1e-9)


def test_no_confidence_bound_fails():
    """The theorem allows one run in T = 1,000 to fail: of 256 more than 4 with probability 1e-5."""
    problem = SemiBandit(TopK(6, 3), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1])
    gate = Simulation(7, 256)
    learner = build(CUCBLDPGaussian, problem.structure, gate, 6.0, 1000)
    failed = np.zeros(256, dtype=bool)
    for _ in play_fresh(learner, problem, gate, LaneStreams(7, 256, key=(2,)), 1000):
        failed |= (learner.estimates.index < problem.means).any(axis=1)
    assert failed.sum() <= 4
    assert (learner.estimates.index < 1).any(axis=1).all()


def test_a_path_sends_one_number_per_edge_walked(recorded_run):
    problem = PROBLEMS["paths of different length"]
    run = recorded_run(lambda s, g: build(CUCBLDPGaussian, s, g), problem, 50, 5)
    for action, release in zip(run.actions, run.releases, strict=True):
        np.testing.assert_array_equal(release.where, action >= 0)
