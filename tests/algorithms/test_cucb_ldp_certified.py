import functools
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
LEARNERS = [CUCBLDPBit, CUCBLDPGaussian]


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


@functools.cache
def bit_index(epsilon, horizon, size, ones, n):
    """Return the largest mean whose bits are no less likely than under the Beta(1/2, 1/2) mixture, over K T."""
    values = 2 ** bits_together(epsilon, size)
    flipped = values / 2 / (math.exp(epsilon) + values - 1)

    def rejected(u):
        chance = flipped + (1 - 2 * flipped) * u
        likelihood = sum(k * math.log(p) for k, p in ((ones, chance), (n - ones, 1 - chance)) if k)
        mixture = (
            math.lgamma(ones + 0.5) + math.lgamma(n - ones + 0.5) - math.log(math.pi) - math.lgamma(n + 1)
        )
        return mixture - likelihood > math.log(size * horizon)

    low = min(max((ones / n - flipped) / (1 - 2 * flipped), 0.0), 1.0)
    if low == 1.0 or not rejected(1.0):
        return 1.0
    return (
        optimize.bisect(lambda u: 1.0 if rejected(u) else -1.0, low, 1.0, xtol=1e-13)
        if not rejected(low)
        else 0.0
    )


def literal(learner, structure, records, noise, width):
    """Follow the algorithm on one lane; yield the actions and at last means and counts."""
    few = bits_together(EPSILON, structure.size) if learner is CUCBLDPBit else structure.size
    n, mean = [0] * structure.arms, [0.0] * structure.arms
    gain = 1 + 2**few / (math.exp(EPSILON) - 1)
    for t in range(1, HORIZON + 1):
        index = [1.0] * structure.arms
        for i in range(structure.arms):
            if n[i] and learner is CUCBLDPBit:
                ones = round(n[i] * (0.5 + (mean[i] - 0.5) / gain))
                index[i] = bit_index(EPSILON, HORIZON, structure.size, ones, n[i])
            elif n[i]:
                index[i] = mean[i] + radius(HORIZON, structure.arms, width, n[i])
        index = [min(max(u, 0.0), 1.0) for u in index]
        played = [int(i) for i in structure.solve(np.array([index]))[0] if i >= 0]
        yield played
        ranked = sorted(played, key=lambda i: (n[i], i))
        chosen = ranked[:few] if few < structure.size or learner is CUCBLDPBit else played
        for k, i in enumerate(chosen):
            if learner is CUCBLDPBit:
                heard = 0.5 + ((int(noise[t, 0]) >> k) % 2 - 0.5) * gain
            else:
                heard = records[t, i] + noise[t, k]
            n[i] += 1
            mean[i] += (heard - mean[i]) / n[
                i
            ]  # in this form: arms that heard the same bits tie up to rounding
    yield mean, n


@pytest.mark.slow_cells("CUCBLDPBit-top-k")
@pytest.mark.few(5)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_it_plays_as_the_pseudocode(name, learner, recorded_run):
    problem = PROBLEMS[name]
    run = recorded_run(lambda s, g: build(learner, s, g), problem, HORIZON, 3)
    (mechanism,) = {release.mechanism for release in run.releases}
    if learner is CUCBLDPBit:
        assert (mechanism.size, mechanism.epsilon) == (2**problem.structure.size, EPSILON)
    width = getattr(mechanism, "sigma", None)
    for lane in (0, 17, 63):
        replay = literal(learner, problem.structure, run.records[:, lane], run.noise(lane), width)
        *actions, (mean, n) = replay
        for t, played in enumerate(actions):
            assert [i for i in run.actions[t, lane] if i >= 0] == played
        np.testing.assert_allclose(run.learner.estimates.mean[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.estimates.count[lane], n)


@pytest.mark.slow_cells("1.0")
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 9.0])
def test_a_bit_of_any_value_in_0_1_is_unbiased(epsilon):
    """Within 5 s.e. of X for 5 values: false alarm 3e-6; and the flip rate is randomized response's."""
    samples = 64 * 500
    for value in (0.0, 0.1, 0.5, 0.9, 1.0):
        gate = Simulation(3, samples)
        learner = CUCBLDPBit(TopK(1, 1), gate, epsilon=epsilon, horizon=10)
        learner.act()
        learner.observe(gate.private(np.full((samples, 1), value), learner.feedback_domain, 1))
        heard = learner.estimates.mean[:, 0]
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
    np.testing.assert_array_equal(learner.estimates.count, np.tile(np.arange(4) < few, (samples, 1)))
    heard = learner.estimates.mean[:, :few]
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


@pytest.mark.slow_cells("CUCBLDPBit")
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_confidence_bound_fails(learner):
    """The theorem allows one run in T = 1,000 to fail: of 256 more than 4 with probability 1e-5 (bits: two, 2e-4)."""
    problem = SemiBandit(TopK(6, 3), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1])
    gate = Simulation(7, 256)
    learner = build(learner, problem.structure, gate, 6.0, 1000)
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
