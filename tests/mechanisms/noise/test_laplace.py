import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from mechanisms import Laplace, LaplaceProfile, NoPrivacy, ParameterError, Sensitivity


def test_nice_calibrations_are_exact() -> None:
    mechanism = Laplace.for_epsilon(1.0, sensitivity=Sensitivity.of_box([1.0] * 4))
    assert mechanism.scale == 4.0
    assert mechanism.profile().pure_epsilon == 1
    assert mechanism.epsilon == 1.0


@settings(deadline=None)
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_calibration_never_exceeds_epsilon(epsilon: float, l1: float) -> None:
    mechanism = Laplace.for_epsilon(epsilon, sensitivity=Sensitivity(l1, l1, l1))
    assert mechanism.profile().pure_epsilon <= Fraction(epsilon)
    assert mechanism.epsilon <= epsilon
    less = math.nextafter(mechanism.scale, 0.0)
    assert Fraction(l1) / Fraction(less) > Fraction(epsilon)


def test_rational_epsilon() -> None:
    assert Laplace.for_epsilon(Fraction(1, 2), sensitivity=Sensitivity(1, 1, 1)).scale == 2.0


def test_golden_epsilon() -> None:
    assert LaplaceProfile(1.0, 2.0).epsilon(1e-6) == pytest.approx(
        0.4999979999989999993333, rel=1e-15, abs=0.0
    )
    assert LaplaceProfile(1.0, 2.0).epsilon(0.0) == 0.5
    assert LaplaceProfile(1.0, 2.0).epsilon(0.9) == 0.0


@settings(deadline=None)
@given(st.floats(0.01, 50.0), st.floats(-1.2, 1.2))
def test_profile_is_the_closed_form(e: float, share: float) -> None:
    x = share * e
    expected = -math.expm1((x - e) / 2) if abs(x) <= e else 0.0 if x > 0 else -math.expm1(x)
    assert LaplaceProfile(e, 1.0).delta(x) == pytest.approx(expected, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("x", [-0.8, 0.0, 0.4, 0.9])
def test_one_coordinate_is_the_worst_movement(x: float) -> None:
    """Over the L1 ball, δ is largest at a vertex; the movement (v, w) has δ(x) = E[δ_v(x - loss of w)]."""

    def delta_of(v: float, w: float) -> float:
        rest = LaplaceProfile(v, 1.0)

        def integrand(y: float) -> float:
            return 0.5 * math.exp(-abs(y)) * rest.delta(x - (abs(y - w) - abs(y)))

        kinks = [0.0, w, (w + v - x) / 2, (w - v - x) / 2]
        return sum(
            integrate.quad(integrand, a, b, epsabs=1e-12)[0]
            for a, b in np.lib.stride_tricks.sliding_window_view(np.unique([-40.0, *kinks, 40.0]), 2)
        )

    vertex = LaplaceProfile(1.0, 1.0).delta(x)
    assert delta_of(1.0, 0.0) == pytest.approx(vertex, abs=1e-10)
    for share in (0.05, 0.3, 0.5, 0.8):
        assert delta_of(share, 1.0 - share) <= vertex + 1e-10


def test_a_vector_without_a_vertex_is_marked_as_a_bound() -> None:
    assert Laplace(scale=1.0).profile().attained()
    box = Laplace(scale=4.0, sensitivity=Sensitivity.of_box([1.0] * 4)).profile()
    assert not box.attained()
    assert "l1" in box.bound
    several = Laplace(scale=1.0).profile(
        Sensitivity(math.inf, 1.0, 1.0)
    )  # as many coordinates as there may be
    assert (several.delta(9.0), several.attained()) == (1.0, ())
    assert Laplace(scale=1.0).profile(Sensitivity(math.inf, math.inf, math.inf)) == NoPrivacy()


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Laplace(scale=0.0), "scale = 0.0"),
        (lambda: Laplace(scale=-2.0), "scale = -2.0"),
        (lambda: Laplace(scale=math.nan), "scale = nan"),
        (lambda: Laplace(scale=math.inf), "scale = inf"),
        (lambda: Laplace(scale=[1.0]), "scale"),  # type: ignore[arg-type]
        (lambda: Laplace(scale=True), "scale"),
        (lambda: Laplace.for_epsilon(0.0, sensitivity=Sensitivity(1, 1, 1)), "epsilon = 0.0"),
        (lambda: Laplace.for_epsilon(math.nan, sensitivity=Sensitivity(1, 1, 1)), "epsilon = nan"),
        (lambda: Laplace.for_epsilon(1.0, sensitivity=Sensitivity(0, 0, 0)), "sensitivity.l1"),
        (lambda: Laplace.for_epsilon(1.0, sensitivity=Sensitivity(math.inf, 1, 1)), "sensitivity.l1"),
    ],
)
def test_refusals_name_parameter_and_value(build, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=named):
        build()


def test_noise_parameters_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        Laplace(1.0)  # type: ignore[misc]
