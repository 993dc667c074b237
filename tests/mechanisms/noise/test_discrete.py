"""Discrete Laplace, discrete Gaussian and randomized response against brute-force sums."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    DiscreteGaussian,
    DiscreteGaussianProfile,
    DiscreteLaplace,
    DiscreteLaplaceProfile,
    DomainError,
    ParameterError,
    PureProfile,
    RandomizedResponse,
    Sensitivity,
    ZeroConcentratedProfile,
)

UNIT = Sensitivity(1.0, 1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.floats(-1.0, 3.0), st.floats(-1.1, 0.999))
def test_discrete_laplace_against_high_precision(shift: int, log_scale: float, share: float) -> None:
    scale = 10.0**log_scale
    x = share * shift / scale
    with mpmath.workdps(50):
        b, e = mpmath.mpf(scale), mpmath.mpf(x)
        a = mpmath.exp(-1 / b)
        below, above = 1 / (1 + a), a**shift / (1 + a)
        mass = [below, *((1 - a) / (1 + a) * a**k for k in range(1, shift)), above]
        losses = [mpmath.mpf(shift - 2 * k) / b for k in range(shift + 1)]
        true = sum(
            p * max(mpmath.mpf(0), 1 - mpmath.exp(e - loss)) for p, loss in zip(mass, losses, strict=True)
        )
    profile = DiscreteLaplaceProfile(shift, scale)
    # Close to the largest loss, rounding x alone moves delta by 1e-16 x / (loss - x).
    relative = 1e-14 + 1e-15 / (1.0 - share)
    assert profile.delta(x) == pytest.approx(float(true), rel=relative, abs=0.0)
    assert profile.atoms().delta(x) == pytest.approx(float(true), rel=relative, abs=0.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.floats(-1.2, 1.0), st.floats(-2.0, 20.0))
def test_discrete_gaussian_against_high_precision(shift: int, log_sigma: float, share: float) -> None:
    sigma = 10.0**log_sigma
    x = share * shift / sigma
    with mpmath.workdps(50):
        s, e = mpmath.mpf(sigma), mpmath.mpf(x)
        reach = int(40 * sigma) + 2 * shift + 3
        weights = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-reach, reach + 1)}
        true = sum(
            w * max(mpmath.mpf(0), 1 - mpmath.exp(e - shift * (shift - 2 * k) / (2 * s * s)))
            for k, w in weights.items()
        ) / sum(weights.values())
    relative = 1e-14 + 4e-16 * (abs(share) + 1) ** 2
    assert DiscreteGaussianProfile(shift, sigma).delta(x) == pytest.approx(
        float(true), rel=relative, abs=1e-290
    )


@pytest.mark.parametrize(
    ("shift", "sigma", "atom"),
    [
        (1, 0.1932002857975424, 93.76753846729692),
        (2, 0.31221981981671515, 205.16773224608454),
        (3, 0.0660657262410951, 1718.3389582357302),
        (1, 0.5, 2.0),
    ],
)
def test_discrete_gaussian_where_a_loss_is_a_float_away(shift: int, sigma: float, atom: float) -> None:
    """There δ is all from one noise, of a probability times how far the loss is beyond x: down to 1e-21 of itself."""
    profile = DiscreteGaussianProfile(shift, sigma)
    near = [atom * (1.0 - 2e-14), math.nextafter(atom, 0.0), atom, math.nextafter(atom, math.inf)]
    found = profile.delta(np.array(near)).tolist()
    for x, own in zip(near, found, strict=True):
        with mpmath.workdps(60):
            s, e = mpmath.mpf(sigma), mpmath.mpf(x)
            weights = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-60, 61)}
            losses = {k: shift * (shift - 2 * k) / (2 * s * s) for k in weights}
            true = sum(w * max(mpmath.mpf(0), -mpmath.expm1(e - losses[k])) for k, w in weights.items())
            expected = float(true / sum(weights.values()))
        rounded = 4e-16 * (atom * sigma / shift) ** 2  # the probability of k: u (k / sigma)^2
        assert own == pytest.approx(expected, rel=2e-14 + rounded, abs=0.0)
        assert profile.delta(x) == own


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0, 1000.0])
def test_randomized_response_closed_form(size: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(size=size, epsilon=epsilon)
    p, q = mechanism.truth_probability, mechanism.lie_probability
    assert p + (size - 1) * q == pytest.approx(1.0, rel=1e-15, abs=0.0)
    for x in np.array([-1.5, -0.5, 0.0, 0.3, 0.999, 1.0, 1.1]) * epsilon:
        # e^x q as e^{x - ε} p, which does not overflow
        delta = max(0.0, -p * math.expm1(x - epsilon)) if x < epsilon else 0.0
        delta += max(0.0, -q * math.expm1(x + epsilon)) if x < -epsilon else 0.0
        delta += max(0.0, -(size - 2) * q * math.expm1(x)) if x < 0 else 0.0
        assert mechanism.profile().delta(x) == pytest.approx(delta, rel=1e-14, abs=1e-300)
    assert mechanism.profile().pure_epsilon == Fraction(epsilon)
    assert mechanism.profile().attained()


def test_several_categories_of_one_record_add_up() -> None:
    mechanism = RandomizedResponse(size=3, epsilon=0.7)
    two = mechanism.profile(Sensitivity(2.0, math.sqrt(2.0), 1.0))
    assert two.pure_epsilon == 2 * Fraction(0.7)
    pmf = np.exp(mechanism.log_density(np.arange(3)[:, None], np.arange(3)))
    for x in (-1.0, 0.0, 0.5, 1.2):
        direct = sum(
            max(0.0, pmf[a, 0] * pmf[b, 0] - math.exp(x) * pmf[a, 1] * pmf[b, 1])
            for a, b in itertools.product(range(3), repeat=2)
        )
        assert two.delta(x) == pytest.approx(direct, rel=1e-12, abs=0.0)


def test_log_density_off_the_support() -> None:
    assert (
        RandomizedResponse(size=3, epsilon=1.0).log_density([-1, 3, 1.5], [0, 0, 0]).tolist()
        == [-math.inf] * 3
    )
    for mechanism in (DiscreteLaplace(scale=1.0), DiscreteGaussian(sigma=1.0, sensitivity=UNIT)):
        found = mechanism.log_density([0.5, 2.0], [0, 0])
        assert found[0] == -math.inf
        assert found[1] == mechanism.log_density(2, 0)


def test_discrete_laplace_calibration() -> None:
    mechanism = DiscreteLaplace.for_epsilon(0.5, sensitivity=Sensitivity(2, math.sqrt(2), 1))
    assert mechanism.scale == 4.0
    assert mechanism.epsilon == 0.5


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplace(scale=1.5, sensitivity=Sensitivity(2, math.sqrt(2), 1)),
        DiscreteGaussian(sigma=1.5, sensitivity=Sensitivity(2, math.sqrt(2), 1)),
    ],
)
def test_vector_bounds_lie_above_the_exact_curve(mechanism: DiscreteLaplace | DiscreteGaussian) -> None:
    """The movement (1, -1): the exact δ by a sum over the plane."""
    bound = mechanism.profile()
    assert not bound.attained()
    k = np.arange(-60, 61)
    p, q = mechanism.log_density(k, 0), mechanism.log_density(k, 1)
    log_p, log_q = np.add.outer(p, p), np.add.outer(q, q)
    for x in (-1.0, 0.0, 0.3, 1.0, 1.3):
        exact = np.maximum(np.exp(log_p) - np.exp(x + log_q), 0.0).sum()
        assert 0.0 < exact <= bound.delta(x) + 1e-13
    expected = (PureProfile, ZeroConcentratedProfile)[isinstance(mechanism, DiscreteGaussian)]
    assert isinstance(bound, expected)


def test_whole_numbers_move_by_whole_numbers() -> None:
    assert DiscreteLaplace(scale=2.0).profile(Sensitivity(2.9, 2.9, 2.9)).pure_epsilon == 1
    assert DiscreteGaussian(sigma=2.0, sensitivity=UNIT).profile(Sensitivity(0.5, 0.5, 0.5)).pure_epsilon == 0
    assert DiscreteLaplace(scale=2.0).profile(Sensitivity(1e6, 1e6, 1e6)).epsilon(0.0) == 5e5


def test_large_sigma_falls_back_to_the_certified_bound() -> None:
    coarse = DiscreteGaussian(sigma=2e9, sensitivity=UNIT).profile()
    assert not coarse.attained()
    assert coarse.rho == pytest.approx(1 / (2 * 4e18))
    with pytest.raises(ParameterError, match="sigma"):
        DiscreteGaussianProfile(1, 2e9)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: DiscreteLaplace(scale=0.0), "scale = 0.0"),
        (lambda: DiscreteGaussian(sigma=math.nan, sensitivity=UNIT), "sigma = nan"),
        (lambda: DiscreteGaussian(sigma=1.0, sensitivity=UNIT, delta=2.0), "delta = 2.0"),
        (lambda: RandomizedResponse(size=1, epsilon=1.0), "size = 1"),
        (lambda: RandomizedResponse(size=2.5, epsilon=1.0), "size = 2.5"),  # type: ignore[arg-type]
        (lambda: RandomizedResponse(size=2, epsilon=0.0), "epsilon = 0.0"),
        (lambda: RandomizedResponse(size=2, epsilon=math.nan), "epsilon = nan"),
        (lambda: RandomizedResponse(size=2, epsilon=math.inf), "epsilon = inf"),
    ],
)
def test_refusals_name_parameter_and_value(build, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=named):
        build()


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplace(scale=1.0),
        DiscreteGaussian(sigma=1.0, sensitivity=UNIT),
        RandomizedResponse(size=2, epsilon=1.0),
    ],
)
def test_real_values_are_refused(mechanism: DiscreteLaplace) -> None:
    with pytest.raises(DomainError, match="integer type"):
        mechanism.release(np.array([0.5]), np.random.default_rng(0))


@pytest.mark.parametrize("norms", [(0.5, 0.5, 0.5), (2.0, 0.9, 0.5), (1.0, 1.0, 0.99)])
def test_whole_numbers_move_by_at_least_one(norms: tuple[float, float, float]) -> None:
    for make in (
        lambda moved: DiscreteLaplace(scale=1.0, sensitivity=moved),
        lambda moved: DiscreteGaussian(sigma=1.0, sensitivity=moved),
        lambda moved: DiscreteLaplace.for_epsilon(1.0, sensitivity=moved),
    ):
        with pytest.raises(ParameterError, match="each norm must be 0 or at least 1"):
            make(Sensitivity(*norms))
    assert DiscreteLaplace(scale=1.0, sensitivity=Sensitivity(0.0, 0.0, 0.0)).epsilon == 0.0
    assert DiscreteLaplace(scale=1.0, sensitivity=Sensitivity(2.5, 2.0, 1.5)).epsilon == 2.0


def test_more_changes_than_anybody_makes_are_priced_at_once() -> None:
    """Ten trillion of them took twenty seconds of convolutions; 10,000 are exact, and below the sum of their ε."""
    response = RandomizedResponse(size=2, epsilon=0.01)
    exact = response.profile(Sensitivity(1e4, 1e4, 1e4))
    assert exact.attained()
    bound = response.profile(Sensitivity(10_001.0, 10_001.0, 10_001.0))
    assert not bound.attained()
    assert bound.pure_epsilon == 10_001 * Fraction(0.01)
    assert bound.epsilon(1e-6) > exact.epsilon(1e-6)
    assert response.profile(Sensitivity(1e13, 1e13, 1e13)).pure_epsilon == 10**13 * Fraction(0.01)


@pytest.mark.parametrize("sigma", [20_000.0, 100_000.0])
def test_one_point_of_a_curve_of_much_discrete_noise(sigma: float) -> None:
    """The sum for one ε was split into several parts, all of them empty but one: an error of NumPy's."""
    profile = DiscreteGaussianProfile(1, sigma)
    alone, many = profile.delta(0.0), profile.delta(np.array([0.0, 1e-6]))
    assert alone == many[0] == pytest.approx(math.erf(1.0 / sigma / math.sqrt(8.0)), rel=1e-8)


def test_movements_beyond_floats_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"shift = 1000.*: must be at most 1e\+150 sigma"):
        DiscreteGaussianProfile(10**151, 1.0)
    for moved in (Sensitivity(1e200, 1e200, 1e200), Sensitivity(1e201, 1e200, 1e200)):
        with pytest.raises(ParameterError, match=r"sigma = 1\.0: must be at least 1e-150 times as large"):
            DiscreteGaussian(sigma=1.0, sensitivity=moved).profile()
