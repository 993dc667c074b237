"""Wishart noise on moments: its law, its density, its theorem by hand and on worst pairs, and what it refuses."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from accountant import Accountant, Budget
from mechanisms import (
    Binomial,
    Integers,
    LaneStreams,
    NoPrivacy,
    NumpyNoise,
    OpenDPNoise,
    ParameterError,
    PerfectPrivacy,
    RegressionMoments,
    Sensitivity,
    Wishart,
    mechanism_from_dict,
)
from mechanisms.wishart import wishart_epsilon

ALPHA = 1e-6  # false-alarm rate of each statistical test
ROOT = math.sqrt(2.0)


def made(features: int, freedom: int, *, scale: float = 2.0, delta: float = 1e-5) -> Wishart:
    domain = RegressionMoments(features, ROOT)
    return Wishart(
        features=features, freedom=freedom, scale=scale, delta=delta, sensitivity=domain.sensitivity
    )


@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 4), (3, 40)])
def test_the_law_of_the_noise(d: int, k: int) -> None:
    """Traces are chi-square, and so are Schur complements and u' M^-1 u; off the diagonal the sign is fair."""
    mechanism = made(d, k, scale=0.5)
    value = np.arange(1.0, 1.0 + d * (d + 3) / 2)
    drawn = mechanism.release(np.tile(value, (10_000, 1)), np.random.default_rng(d)) - value
    matrix, vector = (part / 0.5 for part in RegressionMoments(d, ROOT).parts(drawn))
    inverse = np.linalg.inv(matrix)
    square = np.einsum("li,lij,lj->l", vector, inverse, vector)
    for seen, degrees in (
        (np.trace(matrix, axis1=1, axis2=2), k * d),
        (1.0 / inverse[:, 0, 0], k - d + 1),
        (1.0 / inverse[:, -1, -1], k - d + 1),
        (square, d),
    ):
        assert stats.kstest(seen, stats.chi2(degrees).cdf).pvalue > ALPHA
    np.testing.assert_allclose(drawn.std(axis=0), 0.5 * math.sqrt(2 * k), rtol=0.1)
    mean = np.append(np.eye(d)[np.triu_indices(d)] * k * 0.5, np.zeros(d))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * 0.5 * math.sqrt(2 * k / 10_000))


def test_the_density_is_that_of_scipy() -> None:
    """Of M that of a Wishart matrix, of u given M that of a normal vector; entries off the diagonal count sqrt 2."""
    mechanism, d, k, scale = made(2, 7, scale=3.0), 2, 7, 3.0
    matrix, vector = np.array([[20.0, 4.0], [4.0, 11.0]]), np.array([5.0, -2.0])
    value = np.array([0.3, 0.1, 0.2, 0.0, 0.5])
    output = value + np.array([20.0, 4.0 * ROOT, 11.0, 5.0 * ROOT, -2.0 * ROOT])
    expected = (
        stats.wishart(k, scale * np.eye(d)).logpdf(matrix)
        + stats.multivariate_normal(np.zeros(2), scale * matrix).logpdf(vector)
        - 1.5 * math.log(2.0)
    )
    found = mechanism.log_density(output, value)
    assert found.shape == (5,)
    assert found.sum() == pytest.approx(expected, rel=1e-12)
    assert (mechanism.log_density(value, output) == -np.inf).all()  # noise that is not positive definite


def test_the_density_of_one_feature_is_normalised() -> None:
    mechanism = made(1, 6, scale=1.0)
    m, u = np.meshgrid(np.linspace(1e-3, 60, 300), np.linspace(-60, 60, 300), indexing="ij")
    density = np.exp(mechanism.log_density(np.stack([m, u], axis=-1), np.zeros(2)).sum(axis=-1))
    assert density.sum() * (m[1, 0] - m[0, 0]) * (u[0, 1] - u[0, 0]) == pytest.approx(1.0, abs=1e-3)


def test_the_theorem_in_plain_numbers() -> None:
    p, k, moved, delta = 3, 10_000, 1.5, 0.01
    a, v, x, t = (k - 4) / 2, k - 2, math.log(1200.0), math.sqrt(2 * math.log(200.0))
    low, high = v - 2 * math.sqrt(v * x), v + 2 * math.sqrt(v * x) + 2 * x
    least = (100 - math.sqrt(3) - t) ** 2
    g = max(a / low - 0.5, 0.5 - a / high)
    expected = g * math.sqrt(3) * moved + a * moved**2 / (2 * least * (least - moved))
    assert wishart_epsilon(p, k, moved, delta) == pytest.approx(expected, rel=2e-9)
    assert wishart_epsilon(p, k, moved, delta) > expected
    mechanism = made(2, k, delta=delta)
    assert mechanism.profile(Sensitivity(3.0, 3.0, 3.0)).epsilon(delta) == pytest.approx(expected, rel=2e-9)
    assert mechanism.profile().delta(1e3) == delta


@pytest.mark.parametrize("d", [1, 3])
def test_losses_are_beyond_the_theorem_as_seldom_as_it_says(d: int) -> None:
    """Of pairs that are far apart, in both directions; and the bound is within a factor of 10 of the truth."""
    delta, n = 0.05, 4_000
    mechanism = made(d, 300, delta=delta)
    domain = RegressionMoments(d, ROOT)
    one, other = domain.of(np.eye(d)[0], 1.0), domain.of(np.eye(d)[0], -1.0)
    for start, end in ((one, other), (other, one), (one, np.zeros_like(one)), (np.zeros_like(one), one)):
        drawn = mechanism.release(np.tile(start, (n, 1)), np.random.default_rng(4))
        loss = (mechanism.log_density(drawn, start) - mechanism.log_density(drawn, end)).sum(axis=1)
        assert stats.binom.sf((loss > mechanism.epsilon).sum() - 1, n, delta) > ALPHA
        assert np.quantile(loss, 1.0 - delta) > mechanism.epsilon / 10
        # the loss is about N(m^2 / 2, m^2), m = D / sqrt(2 k)
        m = np.linalg.norm(start - end) / 2.0 / math.sqrt(600.0)
        assert loss.std() == pytest.approx(m, rel=0.2)


@given(
    p=st.integers(2, 60),
    more=st.integers(1, 10**7),
    moved=st.floats(1e-6, 100.0),
    delta=st.floats(1e-12, 0.9),
)
def test_more_noise_less_loss(p: int, more: int, moved: float, delta: float) -> None:
    epsilon = wishart_epsilon(p, p + more, moved, delta)
    assert epsilon > 0.0
    assert wishart_epsilon(p, p + 2 * more, moved, delta) <= epsilon
    assert wishart_epsilon(p, p + more, moved / 2, delta) <= epsilon
    assert wishart_epsilon(p + 1, p + 1 + more, moved, delta) >= epsilon * (1 - 1e-12)


def test_where_the_theorem_says_nothing_there_is_no_privacy() -> None:
    assert isinstance(made(1, 3).profile(), NoPrivacy)
    assert math.isinf(made(1, 3).epsilon)
    assert isinstance(made(1, 3).profile(Sensitivity(0.0, 0.0, 0.0)), PerfectPrivacy)
    assert isinstance(made(2, 1000).profile(Sensitivity(1e9, 1e9, 1e9)), NoPrivacy)


def test_it_is_written_down_and_read_back() -> None:
    mechanism = made(3, 50)
    assert mechanism_from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism
    assert mechanism.nominal_delta == 1e-5


def test_lanes_do_not_depend_on_their_number() -> None:
    few, many = (made(2, 9).release(np.zeros((n, 5)), NumpyNoise(LaneStreams(5, n))) for n in (64, 256))
    np.testing.assert_array_equal(few, many[:64])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"features": 0}, "features"),
        ({"freedom": 4}, "freedom = 4"),
        ({"freedom": 6.5}, "freedom"),
        ({"scale": 0.0}, "scale"),
        ({"scale": math.inf}, "scale"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"sensitivity": 1.0}, "sensitivity"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, object], message: str) -> None:
    right = {
        "features": 3,
        "freedom": 5,
        "scale": 1.0,
        "delta": 0.1,
        "sensitivity": Sensitivity(1.0, 1.0, 1.0),
    }
    Wishart(**right)
    with pytest.raises(ParameterError, match=message):
        Wishart(**(right | wrong))


def test_values_of_another_length_and_secure_sources_are_refused() -> None:
    with pytest.raises(ParameterError, match="5 coordinates"):
        made(2, 9).release(np.zeros((4, 4)), np.random.default_rng(0))
    with pytest.raises(ParameterError, match="5 coordinates"):
        made(2, 9).log_density(np.ones(4), 0.0)
    with pytest.raises(ParameterError, match="no secure sampler"):
        made(2, 9).release(np.zeros((4, 5)), OpenDPNoise())


def test_an_accountant_with_secure_noise_refuses_before_it_charges() -> None:
    domain, mechanism = RegressionMoments(2, ROOT), made(2, 10**6)
    counted = Binomial(trials=100, shift=1, probability=0.25, delta=1e-5)
    accountant = Accountant(Budget(100.0, 0.1))
    moments = accountant.private(domain.of([0.6, 0.8], 1.0), domain, record="ann")
    whole = accountant.private([1], Integers(0, 1), record="ann")
    for mechanism_used, value in ((mechanism, moments), (counted, whole)):
        with pytest.raises(ValueError, match=f"{type(mechanism_used).__name__} has no secure sampler"):
            accountant.release(mechanism_used, value)
        with pytest.raises(ValueError, match="no secure sampler"):
            accountant.price(mechanism_used, value)
    with pytest.raises(ValueError, match="no secure sampler"):
        accountant.sums(5).add(moments, np.arange(5)[np.newaxis], release=mechanism)
    assert accountant.spent("ann").epsilon == 0
    drawing = Accountant(Budget(100.0, 0.1), noise=np.random.default_rng(0))
    moments = drawing.private(domain.of([0.6, 0.8], 1.0), domain, record="ann")
    assert drawing.release(mechanism, moments).shape == (1, 5)
    assert float(drawing.spent("ann").epsilon) == pytest.approx(mechanism.epsilon, rel=1e-3)


def test_freedom_beyond_64_bits_is_drawn() -> None:
    """It was an OverflowError: `published/tree-linucb-wishart` has so much at epsilon = 1e-6."""
    noise = made(1, 2**70, scale=1.0)
    drawn = noise.release(np.zeros(2), np.random.default_rng(1))
    assert drawn[0] == pytest.approx(2.0**70, rel=1e-6)
