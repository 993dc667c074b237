import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from mechanisms import (
    ApproximateProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.composition.conversions import (
    corollary_4_1,
    deltas_of_renyi,
    epsilons_of_renyi,
    gaussian_dp_of,
    pure_to_gaussian,
    pure_to_zcdp,
    zcdp_of,
)


@pytest.mark.slow
@given(st.floats(1e-3, 20.0))
def test_pure_to_zcdp_is_tight_for_randomized_response(epsilon: float) -> None:
    rho = pure_to_zcdp(epsilon)
    assert rho <= 0.5 * epsilon**2 * (1 + 1e-9)
    orders = 1.0 + np.geomspace(1e-2, 1e3, 60)
    curve = PureProfile(epsilon).renyi(orders)  # type: ignore[arg-type]
    assert (curve <= rho * orders * (1 + 1e-9) + 1e-12).all()
    assert curve[0] == pytest.approx(rho * orders[0], rel=2e-2)


@given(st.floats(1e-3, 30.0), st.floats(0.0, 30.0))
def test_pure_to_gaussian_dominates_and_touches(epsilon: float, x: float) -> None:
    mu = pure_to_gaussian(epsilon)
    assert GaussianProfile(mu).delta(x) >= PureProfile(epsilon).delta(x) * (1 - 1e-9)  # type: ignore[arg-type]
    corner = 1.0 / (1.0 + math.exp(epsilon))
    assert norm.cdf(norm.isf(corner) - mu) == pytest.approx(corner, rel=1e-6)


@given(st.one_of(st.floats(1e-12, 1e-2), st.floats(1e-2, 600.0)))
def test_pure_to_gaussian_is_just_above_40_digits(epsilon: float) -> None:
    mu = pure_to_gaussian(epsilon)
    with mpmath.workdps(40):
        corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert mpmath.ncdf(-mpmath.mpf(mu) / 2) <= corner <= mpmath.ncdf(-mpmath.mpf(mu) * (1 - 1e-10) / 2)


@settings(max_examples=12)
@given(st.floats(0.01, 3.0), st.floats(1e-9, 0.1))
def test_renyi_conversions_invert_each_other_and_hold(mu: float, delta: float) -> None:
    orders = 1.0 + np.geomspace(1e-2, 1e3, 200)
    curve = GaussianProfile(mu).renyi(orders)
    epsilon = float(epsilons_of_renyi(orders, curve, delta))
    assert epsilon >= GaussianProfile(mu).epsilon(delta)
    if epsilon > 0.0:
        assert deltas_of_renyi(orders, curve, epsilon) == pytest.approx(delta, rel=1e-6)
        bound = ZeroConcentratedProfile(mu * mu / 2)
        best = bound.epsilon(delta)
        assert best * (1 - 1e-9) <= epsilon
        assert (
            epsilon <= max(best, bound._chord[0]) * 1.01 + 1e-3
        )  # below the chord's end the bound is better


def test_known_parameters() -> None:
    assert zcdp_of(GaussianProfile(2.0)) == 2.0
    assert gaussian_dp_of(GaussianProfile(2.0)) == 2.0
    assert zcdp_of(LaplaceProfile(1.0, 2.0)) <= pure_to_zcdp(0.5)
    assert gaussian_dp_of(LaplaceProfile(1.0, 2.0)) <= pure_to_gaussian(0.5)
    assert zcdp_of(ApproximateProfile(1.0, 1e-6)) is None  # type: ignore[arg-type]
    assert gaussian_dp_of(ZeroConcentratedProfile(1.0)) is None
    assert pure_to_zcdp(0.0) == pure_to_gaussian(0.0) == 0.0
    assert pure_to_gaussian(math.inf) == math.inf


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: pure_to_zcdp(-1.0), "epsilon"),
        (lambda: pure_to_gaussian(float("nan")), "epsilon"),
        (lambda: corollary_4_1(1.0, 1e-6, 10), "0.9"),
        (lambda: corollary_4_1(0.5, 1e-6, 0), "count"),
    ],
)
def test_parameters_are_checked(call: object, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        call()  # type: ignore[operator]
