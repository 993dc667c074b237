import math

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_records
from algorithms.problems import Cascade, RankedLists
from algorithms.published import CascadeUCBLDPComposition, CascadeUCBLDPGaussian, CascadeUCBLDPLaplace
from mechanisms import Gaussian, GaussianProfile

MEANS = [0.2, 0.7, 0.1, 0.5, 0.3, 0.5]
ROUNDS, EPSILON, DELTA = 300, 60.0, 1e-3
LEARNERS = [CascadeUCBLDPLaplace, CascadeUCBLDPGaussian, CascadeUCBLDPComposition]


def build(learner, structure, gate, epsilon=EPSILON, **settings):
    delta = {} if learner is CascadeUCBLDPLaplace else {"delta": DELTA}
    return learner(structure, gate, epsilon=epsilon, **delta, **settings)


def width(learner, positions, epsilon):
    """Return the printed Laplace scale or sigma."""
    if learner is CascadeUCBLDPLaplace:
        return positions / epsilon
    if learner is CascadeUCBLDPGaussian:
        return math.sqrt(2 * positions * math.log(1.25 / DELTA)) / epsilon
    return math.sqrt(4 * positions * math.log(math.e + epsilon / DELTA)) / epsilon


def radius(learner, positions, t, n):
    log = math.log(t)
    if learner is CascadeUCBLDPLaplace:
        return math.sqrt(1.5 * log / n) + positions / EPSILON * math.sqrt(24 * log / n)
    if learner is CascadeUCBLDPGaussian:
        sigma = width(learner, positions, EPSILON)
        return math.sqrt(1.5 * log / n) + sigma * math.sqrt(2 * math.log(2 * t**3) / n)
    inside = 6 * positions * math.log(math.e + EPSILON / DELTA) * log / n
    return 4 / EPSILON * math.sqrt(inside) + math.sqrt(3 * log / (2 * n))


def printed(learner, items, positions, records, noise):
    count, mean = [1] * items, list(records[0])
    for t in range(1, ROUNDS + 1):
        bound = [mean[e] + radius(learner, positions, t, count[e]) for e in range(items)]
        shown = sorted(range(items), key=lambda e: (-bound[e], e))[:positions]
        yield shown, bound
        attracted = [k for k, e in enumerate(shown) if records[t, e]]
        click = attracted[0] if attracted else math.inf
        for k in range(min(click, positions - 1) + 1):
            e = shown[k]
            mean[e] = (count[e] * mean[e] + (k == click) + noise.pop((t, k))) / (count[e] + 1)
            count[e] += 1
    assert not noise
    yield mean, count


@pytest.mark.few(2)
@pytest.mark.parametrize("multiplier", [1.0, 0.01])
@pytest.mark.parametrize("positions", [1, 3, 6])
@pytest.mark.parametrize("learner", LEARNERS)
def test_it_plays_as_the_pseudocode(learner, positions, multiplier, recorded_run):
    """The first list differs only where bounds tie up to rounding (in round 1, items with equal w_0)."""
    problem = Cascade(6, positions, MEANS)
    run = recorded_run(lambda s, g: build(learner, s, g, noise_multiplier=multiplier), problem, ROUNDS, 1)
    expected = width(learner, positions, EPSILON) * multiplier
    for release in run.releases:
        noise = getattr(release.mechanism, "scale", None) or release.mechanism.sigma
        assert noise == pytest.approx(expected, rel=1e-12)
    for lane in (0, 17, 63):
        *rounds, (mean, count) = printed(learner, 6, positions, run.records[:, lane], run.noise(lane))
        for t, (shown, _) in enumerate(rounds):
            assert run.actions[t, lane].tolist() == shown
        np.testing.assert_allclose(run.learner.confidence().estimate[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.count[lane], count)


@pytest.mark.parametrize("learner", LEARNERS)
def test_both_leaks_are_found(learner):
    """w_0 and the number of reports leave unprotected: both are declassified, with their reasons."""
    problem = Cascade(6, 3, MEANS)
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1))
    built = build(learner, problem.structure, accountant, 1.0)
    for _ in play_records(built, problem, accountant, np.zeros((5, 6))):
        pass
    reasons = {entry.note for entry in accountant.ledger.entries if entry.mechanism is None}
    assert any("raw outcomes of round 0" in reason for reason in reasons)
    assert any("min(C_t, K)" in reason for reason in reasons)
    assert all(accountant.spent(record).epsilon is None for record in range(5))


@pytest.mark.parametrize("multiplier", [1.0, 0.01])
def test_the_accountant_sees_the_multiplier(multiplier):
    """What a user who examines all K positions pays for the noise alone: one-hot clicks, so 2 / scale."""
    problem = Cascade(6, 4, MEANS)
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1))
    settings = {"noise_multiplier": multiplier}
    entry = learners["published/cascade-ucb-ldp-laplace"]
    learner = entry.build(problem, epsilon=2.0, horizon=9, settings=settings)(accountant)
    for _ in play_records(learner, problem, accountant, np.zeros((2, 6))):
        pass
    (charged,) = [entry for entry in accountant.ledger.entries if entry.mechanism is not None]
    assert charged.mechanism.scale == 2.0 * multiplier
    assert charged.sensitivity.l1 == 2.0


def test_theorem_8_adds_more_noise_than_algorithm_2_in_the_papers_experiments():
    """Spec, row 003-8: scale 46.1 against 20 at K = 4, epsilon = 0.2."""
    structure, gate = RankedLists(20, 4), Simulation(0, 64)
    assert build(CascadeUCBLDPComposition, structure, gate, 0.2).mechanism.scale == pytest.approx(
        46.1, abs=0.05
    )
    assert build(CascadeUCBLDPLaplace, structure, gate, 0.2).mechanism.scale == 20


@pytest.mark.parametrize(("claimed", "true"), [(0.2, 0.0582), (0.5, 0.1823), (1.0, 0.4196), (2.0, 0.9574)])
def test_algorithm_3_with_padding_would_have_slack(claimed, true):
    """Spec, row 003-5: with all positions sent, one-hot clicks are sqrt(2) apart; K = 4, delta = 1e-3."""
    mechanism = build(CascadeUCBLDPGaussian, RankedLists(20, 4), Simulation(0, 64), claimed).mechanism
    assert isinstance(mechanism, Gaussian)
    assert GaussianProfile(math.sqrt(2) / mechanism.sigma).epsilon(DELTA) == pytest.approx(true, abs=6e-5)


@pytest.mark.parametrize("multiplier", [0, -1.0, math.nan, math.inf, True])
def test_a_multiplier_that_is_no_positive_number_is_refused(multiplier):
    with pytest.raises(ValueError, match="noise_multiplier = "):
        build(CascadeUCBLDPLaplace, RankedLists(4, 2), Simulation(0, 64), noise_multiplier=multiplier)
