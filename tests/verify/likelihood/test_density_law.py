"""δ and ε of densities by quadrature: against mechanisms' exact profiles, and where supports differ."""

import math

import numpy as np
import pytest

from mechanisms import Gaussian, Laplace, ParameterError, Sensitivity
from verify.events.event import Interval
from verify.events.view_sample import Column
from verify.likelihood.density_law import DensityLaw, law_of

UNIT = Sensitivity(1.0, 1.0, 1.0)
COLUMN = (Column("output", "the output", "real"),)
MECHANISMS = [Laplace(scale=1.0), Laplace(scale=0.3), Gaussian(sigma=2.0, sensitivity=UNIT)]


def uniform(low):
    return DensityLaw(lambda x: np.where((x >= low) & (x <= low + 1), 0.0, -np.inf), (low, low + 1.0))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_noisy_sum_has_its_mechanisms_profile(mechanism):
    pair = law_of(mechanism, 0.0).compared(law_of(mechanism, 1.0))
    for epsilon in (0.0, 0.2, 1.0):
        exact = float(mechanism.profile().delta(epsilon))
        for one in (pair, pair.swapped):
            found = one.delta(epsilon)
            assert found.lower <= exact <= found.upper
            assert found.width < 1e-8
    for delta in (1e-6, 0.05):
        found = pair.epsilon(delta)
        assert found.lower <= mechanism.profile().epsilon(delta) <= found.upper
        assert found.width < 2e-5


def test_a_pure_epsilon_is_read_off_the_ratio():
    found = law_of(Laplace(scale=0.5), 0.0).compared(law_of(Laplace(scale=0.5), 1.0)).epsilon()
    assert 2.0 - 1e-8 <= found.lower <= 2.0
    assert found.upper == math.inf


def test_supports_that_differ_lose_without_bound():
    pair = uniform(0.0).compared(uniform(0.25))
    assert pair.epsilon().lower == math.inf
    for epsilon in (0.0, 5.0, 100.0):
        found = pair.delta(epsilon)
        assert found.lower <= 0.25 <= found.upper
        assert found.width < 1e-9
    assert pair.epsilon(0.1).lower == math.inf
    assert pair.epsilon(0.3).upper == 0.0
    assert pair.loss(np.array([[0.1], [0.5], [1.1]])).tolist() == [math.inf, 0.0, -math.inf]


def test_the_best_event_is_an_interval_with_its_masses():
    laplace = law_of(Laplace(scale=1.0), 0.0).compared(law_of(Laplace(scale=1.0), 1.0))
    event = laplace.event(0.5, COLUMN)
    assert isinstance(event, Interval)
    assert (event.low, event.high) == (-math.inf, pytest.approx(0.25, abs=1e-9))
    p, q = laplace.mass(laplace.intervals_above(0.5))
    assert (p, q) == pytest.approx((1 - math.exp(-0.25) / 2, math.exp(-0.75) / 2), abs=1e-9)
    wide = law_of(Gaussian(sigma=2.0, sensitivity=UNIT), 0.0)
    narrow = law_of(Gaussian(sigma=1.0, sensitivity=UNIT), 0.0)
    outside = wide.compared(narrow).event(0.5, COLUMN)
    assert outside.complement
    assert outside.high == pytest.approx(-outside.low, abs=1e-6)
    assert wide.compared(narrow).event(40.0, COLUMN) is not None
    assert narrow.compared(wide).event(40.0, COLUMN) is None


def test_the_distribution_function_and_draws_that_contradict_it():
    law = law_of(Laplace(scale=1.0), 0.0)
    x = np.array([-2.0, 0.0, 0.7, 5.0])
    assert law.cumulative(x) == pytest.approx(np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-x) / 2), abs=1e-10)
    rng = np.random.default_rng(1)
    assert law.contradiction(rng.laplace(size=(50_000, 1)), 1e-6) is None
    assert "at most" in law.contradiction(rng.laplace(scale=0.9, size=(50_000, 1)), 1e-6)
    assert "NaN" in law.contradiction(np.array([[0.0], [math.nan]]), 1e-6)
    assert "2 numbers, 1 by the law" in law.contradiction(np.zeros((4, 2)), 1e-6)


def power(exponent):
    """Return the law on [0, 1] with density (a + 1) x^a; for small a > 0 a rule converges slowly, from above."""

    def log_density(x):
        inside = (x > 0.0) & (x <= 1.0)
        return np.where(inside, math.log1p(exponent) + exponent * np.log(np.where(inside, x, 1.0)), -math.inf)

    return DensityLaw(log_density, (0.0, 1.0))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("a", [0.01, 0.05, 0.2, 0.5])
def test_the_stated_error_covers_integrals_that_converge_slowly(a, epsilon):
    # x^a - e^ε 2x changes its sign once, at t.
    t = ((a + 1.0) / (2.0 * math.exp(epsilon))) ** (1.0 / (1.0 - a))
    exact = t ** (a + 1.0) - math.exp(epsilon) * t**2
    found = power(a).compared(power(1.0)).delta(epsilon)
    assert found.lower <= exact <= found.upper
    value = (found.lower + found.upper) / 2.0
    assert value - exact > 1e-9  # so that the value itself would be no lower bound
    assert found.width < 1e-5


def test_the_stated_error_is_ten_times_the_difference_of_two_rules():
    a, pieces = 0.05, 256
    edges = np.linspace(0.0, 1.0, pieces + 1)
    integrals = []
    for nodes in (15, 31):
        points, weights = np.polynomial.legendre.leggauss(nodes)
        x = edges[:-1, None] + (points + 1.0) / (2.0 * pieces)
        integrals.append(((a + 1.0) * x**a - 0.25) @ weights / (2.0 * pieces))
    differences = np.abs(integrals[0] - integrals[1]).sum()
    # The uniform density on [0, 4] lies below that of the power everywhere but next to 0.
    uniform_on_four = DensityLaw(
        lambda x: np.where((x >= 0.0) & (x <= 4.0), -math.log(4.0), -math.inf), (0, 4)
    )
    found = power(a).compared(uniform_on_four).delta(0.0)
    assert found.width / 2.0 == pytest.approx(10.0 * differences, rel=1e-4)


@pytest.mark.parametrize("points", [(), (0.0,), (1.0, 0.0), (0.0, math.inf)])
def test_breakpoints_are_checked(points):
    with pytest.raises(ParameterError, match="breakpoints"):
        DensityLaw(np.zeros_like, points)
