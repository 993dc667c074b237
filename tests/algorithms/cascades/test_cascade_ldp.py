import math

import numpy as np
import pytest
from scipy.optimize import brentq

from accountant import Simulation
from algorithms import CascadeUCBLDPGaussian, CascadeUCBLDPLaplace
from algorithms.play import play_fresh
from algorithms.problems import Cascade, RankedLists
from mechanisms import GaussianProfile, LaneStreams

MEANS = [0.2, 0.7, 0.1, 0.5, 0.3, 0.5]
ROUNDS, DELTA = 300, 1e-3
LAPLACE, GAUSSIAN = "laplace", "gaussian"


def build(law, structure, gate, epsilon, horizon=ROUNDS):
    if law == LAPLACE:
        return CascadeUCBLDPLaplace(structure, gate, epsilon=epsilon, horizon=horizon)
    return CascadeUCBLDPGaussian(structure, gate, epsilon=epsilon, delta=DELTA, horizon=horizon)


def literal_index(law, width, items, positions, horizon, n, c, e):
    """Return sup {u >= 0 : u E <= C + R_n(u)} of section 5, by search (negative where no u >= 0 qualifies)."""
    x = math.log(3 * items * horizon**2)

    def radius(u):
        if law == LAPLACE:
            return math.sqrt(n * x * (1 / 2 + 4 * width**2 * (1 + u * u * (positions - 1)))) + width * x
        return math.sqrt(2 * n * x * (1 / 4 + width**2 * (1 + u * u * (positions - 1))))

    slope = math.sqrt((4 if law == LAPLACE else 2) * width**2 * n * x * (positions - 1))
    if n == 0 or e <= slope:
        return math.inf

    def over(u):
        return u * e - c - radius(u)

    high = 1.0
    while over(high) < 0:
        high *= 2
    return brentq(over, -high, high, xtol=1e-14) if over(-high) < 0 else -high


def literal(law, width, items, positions, records, noise, played):
    """Follow section 5 on one lane along the lists played; yield each round's indices and displays."""
    n, c, e = [0] * items, [0.0] * items, [0.0] * items
    for t in range(1, ROUNDS + 1):
        yield (
            [literal_index(law, width, items, positions, ROUNDS, n[i], c[i], e[i]) for i in range(items)],
            list(n),
        )
        attracted = [k for k, i in enumerate(played[t - 1]) if records[t, i]]
        z = [float(attracted[:1] == [k]) + noise[t, k] for k in range(positions)]
        for k, i in enumerate(played[t - 1]):
            n[i] += 1
            c[i] += z[k]
            e[i] += 1 - sum(z[:k])
    yield n, c, e


@pytest.mark.few(1)
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize(("positions", "epsilon"), [(1, 2.0), (3, 20.0), (6, 40.0)])
def test_it_plays_as_the_pseudocode(law, positions, epsilon, recorded_run):
    problem = Cascade(6, positions, MEANS)
    run = recorded_run(lambda s, g: build(law, s, g, epsilon), problem, ROUNDS, 1)
    (mechanism,) = {release.mechanism for release in run.releases}
    width = mechanism.scale if law == LAPLACE else mechanism.sigma
    for lane in (0, 17, 63):
        played = run.actions[:, lane].tolist()
        noise = run.noise(lane)
        *rounds, totals = literal(law, width, 6, positions, run.records[:, lane], noise, played)
        assert len(noise) == ROUNDS * positions
        for shown, (bound, n) in zip(played, rounds, strict=True):
            least = min(bound[i] for i in shown)
            assert all(bound[i] <= least + 1e-7 * abs(least) for i in range(6) if i not in shown)
            if math.isinf(least):  # of unreliable items the least displayed are taken
                last = max(n[i] for i in shown)
                assert all(n[i] >= last or bound[i] < least for i in range(6) if i not in shown)
            assert [n[i] for i in shown] == sorted(n[i] for i in shown)
        estimates = run.learner.estimates
        np.testing.assert_array_equal(estimates.displays[lane], totals[0])
        np.testing.assert_allclose(estimates.clicks[lane], totals[1], rtol=0, atol=1e-9)
        np.testing.assert_allclose(estimates.examinations[lane], totals[2], rtol=0, atol=1e-9)
        expected = [
            literal_index(law, width, 6, positions, ROUNDS, *(total[i] for total in totals)) for i in range(6)
        ]
        finite = np.isfinite(expected)
        np.testing.assert_allclose(estimates.index[lane][finite], np.array(expected)[finite], rtol=1e-7)


@pytest.mark.parametrize(("positions", "distance"), [(1, 1), (2, 2), (5, 2)])
def test_noise_is_for_two_different_clicks_whatever_the_length_of_the_list(positions, distance):
    structure, gate = RankedLists(7, positions), Simulation(0, 64)
    assert build(LAPLACE, structure, gate, 0.5).randomizer.scale == distance / 0.5
    sigma = build(GAUSSIAN, structure, gate, 0.5).randomizer.sigma
    # The exact curve of the Gaussian mechanism passes through (epsilon, delta).
    assert GaussianProfile(math.sqrt(distance) / sigma).delta(0.5) == pytest.approx(DELTA, rel=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_click_estimates_and_the_estimating_equation_are_unbiased(law):
    """Means within 5 s.e. of X_k and of 0, in 8 comparisons: false alarm 5e-6 at most."""
    samples, positions = 64 * 2000, 4
    gate = Simulation(11, samples)
    problem = Cascade(positions, positions, np.linspace(0.15, 0.6, positions))
    learner = build(law, problem.structure, gate, 3.0)
    shown = learner.act()
    clicks = problem.draw_feedback(shown, LaneStreams(12, samples))
    learner.observe(gate.private(clicks, learner.feedback_domain, 1))
    for k in range(positions):
        item = int(shown[0, k])
        z, examinations = learner.estimates.clicks[:, item], learner.estimates.examinations[:, item]
        for difference in (z - clicks[:, k], z - problem.means[item] * examinations):
            assert abs(difference.mean()) < 5 * difference.std() / math.sqrt(samples)


@pytest.mark.few(1)
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_no_confidence_bound_fails(law):
    """The theorem allows one run in T = 1,000 to fail: of 256 runs more than 4 with probability 1e-5."""
    problem, horizon = Cascade(6, 3, MEANS), 1000
    gate = Simulation(7, 256)
    learner = build(law, problem.structure, gate, 8.0, horizon)
    failed = np.zeros(256, dtype=bool)
    for _ in play_fresh(learner, problem, gate, LaneStreams(7, 256, key=(2,)), horizon):
        failed |= (learner.estimates.index < problem.means).any(axis=1)
    assert failed.sum() <= 4
    assert (learner.estimates.index < 1e6).all(axis=1).mean() > 0.9  # and most bounds are finite by then


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, math.nan, "0.1", None, True])
def test_a_delta_outside_0_and_1_is_refused(delta):
    with pytest.raises(ValueError, match="delta="):
        CascadeUCBLDPGaussian(RankedLists(4, 2), Simulation(0, 64), epsilon=1.0, delta=delta, horizon=10)
