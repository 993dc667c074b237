import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    Gaussian,
    GaussianProfile,
    NoPrivacy,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    Repeated,
    Sensitivity,
)
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.profiles.gaussian_profile import gaussian_epsilons

UNIT = Sensitivity(1.0, 1.0, 1.0)


def true_delta(mu: float, x: float) -> mpmath.mpf:
    """Φ(μ/2 - x/μ) - e^x Φ(-μ/2 - x/μ) with 400 digits."""
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(x)

        def phi(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-z / mpmath.sqrt(2)) / 2

        return phi(m / 2 - e / m) - mpmath.exp(e) * phi(-m / 2 - e / m)


@settings(max_examples=15, deadline=None)
@given(st.floats(-7.0, 3.0), st.floats(-6.0, 36.5))
def test_delta_is_accurate_relative_to_itself(log_mu: float, t: float) -> None:
    mu = 10.0**log_mu
    x = max(0.0, mu * (t + mu / 2))
    # Rounding x by one part in 2^53 alone moves delta by h(t) (t + μ/2) parts, with the hazard rate
    # h(t) = φ(t)/Φ(-t) <= 1 + |t| of the normal law.
    conditioning = 1.0 + (1.0 + abs(t)) * (abs(t) + mu / 2)
    profile = GaussianProfile(mu)
    assert profile.delta(x) == pytest.approx(
        float(true_delta(mu, x)), rel=4e-16 * conditioning + 2e-14, abs=0.0
    )
    assert 2.0**-53 * conditioning <= profile.relative_error


@pytest.mark.parametrize("x", [-50.0, -2.0, -1e-9, 0.0, 0.3, 7.0])
def test_negative_epsilon(x: float) -> None:
    assert GaussianProfile(1.3).delta(x) == pytest.approx(float(true_delta(1.3, x)), rel=1e-14, abs=0.0)


def test_extreme_arguments() -> None:
    for mu in (1e-300, 1e-9, 1.0, 1e9, 1e300):
        profile = GaussianProfile(mu)
        for x in (0.0, 1e-300, 1.0, 1e300, -1e300, -1e-300):
            assert 0.0 <= profile.delta(x) <= 1.0
    assert GaussianProfile(0.0).delta(np.array([-math.inf, -1.0, 0.0, math.inf])).tolist() == pytest.approx(
        [1.0, 1.0 - math.exp(-1.0), 0.0, 0.0]
    )
    assert 0.0 < GaussianProfile(1.0).delta(37.5) < 1e-290


@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [
        (1.0, 4.88655411746221199637),
        (0.01, 5474.365500194636757056),
        (0.03, 713.0684168002704618014),
    ],
)
def test_golden_epsilons_at_1e6(sigma: float, epsilon: float) -> None:
    assert epsilon <= Gaussian(sigma=sigma, sensitivity=UNIT, delta=1e-6).epsilon <= epsilon * (1.0 + 1e-12)


def test_golden_thousandfold() -> None:
    repeated = Repeated(Gaussian(sigma=20.0, sensitivity=UNIT), 1000).profile()
    exact = 8.306225049954728191177
    assert exact <= repeated.epsilon(1e-6) <= exact * (1.0 + 1e-12)
    one_by_one: PrivacyProfile = GaussianProfile(0.25)
    for _ in range(15):
        one_by_one = composed_profile([(one_by_one, 1), (GaussianProfile(0.25), 1)])
    assert isinstance(one_by_one, GaussianProfile)
    assert 1.0 <= one_by_one.mu <= 1.0 + 1e-14  # every step rounds up


def test_classical_calibration_tells_the_truth() -> None:
    """Known facts: exact delta and epsilon of the textbook sigma where its theorem does not apply."""
    loose = Gaussian.classical(10.0, 0.25, sensitivity=UNIT)
    assert loose.sigma == pytest.approx(math.sqrt(2 * math.log(5)) / 10)
    assert loose.profile().delta(10.0) == pytest.approx(0.78862, abs=1e-5)
    assert loose.epsilon == pytest.approx(18.356, abs=1e-3)
    for claim, truth in [(0.2, 0.0903), (0.5, 0.2772), (1.0, 0.6339), (2.0, 1.4488)]:
        two = Sensitivity(4.0, 2.0, 1.0)
        assert Gaussian.classical(claim, 1e-3, sensitivity=two).epsilon == pytest.approx(truth, abs=5e-5)
    for delta, largest in [(0.25, 5.1216), (1e-3, 7.4635)]:
        for claim, holds in [(largest - 1e-4, True), (largest + 1e-4, False)]:
            profile = Gaussian.classical(claim, delta, sensitivity=UNIT).profile()
            assert (profile.delta(claim) <= delta) is holds


@pytest.mark.few(3)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.5, 1.0, 10.0, 200.0, 1e4])
@pytest.mark.parametrize("delta", [1e-100, 1e-12, 1e-5, 0.25, 0.9, 0.999])
def test_analytic_calibration_holds_and_is_tight(epsilon: float, delta: float) -> None:
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=Sensitivity(2.0, math.sqrt(2.0), 1.0))
    assert mechanism.epsilon <= epsilon
    assert mechanism.nominal_delta == delta
    less_noise = Gaussian(sigma=mechanism.sigma * (1 - 1e-9), sensitivity=mechanism.sensitivity)
    assert less_noise.profile().delta(epsilon) > delta
    exact = true_delta(math.sqrt(2.0) / mechanism.sigma, epsilon)
    assert delta * (1.0 - 1e-11) <= exact <= delta


@settings(max_examples=10, deadline=None)
@given(st.floats(-6.0, 2.5), st.floats(-30.0, -0.05))
def test_calibration_and_its_inverse_are_bounds(log_size: float, log_delta: float) -> None:
    """The curve itself, to fifty digits, is nowhere above what was asked for."""
    size, delta = 10.0**log_size, 10.0**log_delta
    mechanism = Gaussian.for_epsilon_delta(size, delta, sensitivity=UNIT)
    with mpmath.workdps(60):
        mu = 1 / mpmath.mpf(mechanism.sigma)
    assert true_delta(mu, size) <= delta
    assert true_delta(size, GaussianProfile(size).epsilon(delta)) <= delta


@pytest.mark.parametrize("count", [2, 3, 7, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (7.0, 0.01)])
def test_releases_with_noise_by_the_root_of_their_number_fit_as_one(
    count: int, epsilon: float, delta: float
) -> None:
    one = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=UNIT)
    each = Gaussian(sigma=one.sigma * math.sqrt(count), sensitivity=UNIT)
    assert Repeated(each, count).profile().epsilon(delta) <= epsilon


def test_calibration_facts() -> None:
    assert Gaussian.for_epsilon_delta(10.0, 0.25, sensitivity=UNIT).sigma == pytest.approx(0.2472, abs=5e-5)
    assert Gaussian.for_epsilon_delta(1.0, 0.25, sensitivity=UNIT).sigma == pytest.approx(0.7557, abs=5e-5)


def test_rho_calibration() -> None:
    mechanism = Gaussian.for_rho(0.125, sensitivity=UNIT, delta=1e-6)
    assert mechanism.sigma == 2.0
    assert mechanism.profile().rho == 0.125
    for rho in (0.1, 3.7, 1e-8):
        found = Gaussian.for_rho(rho, sensitivity=UNIT)
        assert Fraction(found.sigma) ** 2 * 2 * Fraction(rho) >= 1


def test_only_the_l2_movement_counts() -> None:
    mechanism = Gaussian(sigma=2.0, sensitivity=Sensitivity(100.0, 1.0, 0.5))
    assert mechanism.profile() == GaussianProfile(0.5)
    assert mechanism.profile(Sensitivity(0, 0, 0)) == PerfectPrivacy()
    assert mechanism.profile(Sensitivity(math.inf, math.inf, math.inf)) == NoPrivacy()
    several = mechanism.profile(Sensitivity(math.inf, math.inf, 1.0))  # how many coordinates move is unknown
    assert (several.delta(9.0), several.attained()) == (1.0, ())
    assert mechanism.epsilon == math.inf  # no nominal delta


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Gaussian(sigma=-1.0, sensitivity=UNIT), "sigma = -1.0"),
        (lambda: Gaussian(sigma=0.0, sensitivity=UNIT), "sigma = 0.0"),
        (lambda: Gaussian(sigma=math.nan, sensitivity=UNIT), "sigma = nan"),
        (lambda: Gaussian(sigma=math.inf, sensitivity=UNIT), "sigma = inf"),
        (lambda: Gaussian(sigma=np.ones(2), sensitivity=UNIT), "sigma"),  # type: ignore[arg-type]
        (lambda: Gaussian(sigma=1.0, sensitivity="1"), "sensitivity = .1."),  # type: ignore[arg-type]
        (lambda: Gaussian(sigma=1.0, sensitivity=UNIT, delta=0.0), "delta = 0.0"),
        (lambda: Gaussian(sigma=1.0, sensitivity=UNIT, delta=1.0), "delta = 1.0"),
        (lambda: Gaussian.for_epsilon_delta(0.0, 0.1, sensitivity=UNIT), "epsilon = 0.0"),
        (lambda: Gaussian.for_epsilon_delta(math.nan, 0.1, sensitivity=UNIT), "epsilon = nan"),
        (lambda: Gaussian.for_epsilon_delta(1.0, 0.0, sensitivity=UNIT), "delta = 0.0"),
        (lambda: Gaussian.classical(1.0, 1.0, sensitivity=UNIT), "delta = 1.0"),
        (lambda: Gaussian.for_epsilon_delta(1.0, 0.1, sensitivity=Sensitivity(0, 0, 0)), "sensitivity.l2"),
        (lambda: Gaussian.for_rho(-1.0, sensitivity=UNIT), "rho = -1.0"),
        (lambda: GaussianProfile(math.inf), "mu = inf"),
    ],
)
def test_refusals_name_parameter_and_value(build, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=named):
        build()


def test_noise_parameters_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        Gaussian(1.0, UNIT)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("mu", "t"), [(2.0**-20, 8.0), (2.0**-40, 0.5), (0.5, 30.0), (2.0, 36.0), (1024.0, 0.25), (2.0**14, 1.0)]
)
def test_delta_at_points_without_input_rounding(mu: float, t: float) -> None:
    """Here x and t = x/μ - μ/2 are floats, so only the last roundings are left."""
    x = mu * (t + mu / 2)
    assert Fraction(x) == Fraction(mu) * (Fraction(t) + Fraction(mu) / 2)
    relative = 1e-15 + 4e-16 * t * t  # the exponential of -t²/2 has this much
    assert GaussianProfile(mu).delta(x) == pytest.approx(float(true_delta(mu, x)), rel=relative, abs=0.0)


@pytest.mark.parametrize(("mu", "delta"), [(40.0, 1.0 - 1e-12), (1e9, 0.5)])
def test_where_rounding_hides_the_root_the_certified_epsilon_stands(mu: float, delta: float) -> None:
    """A little more epsilon moves delta by less than what its bound adds."""
    (found,) = gaussian_epsilons(np.array([mu]), delta)
    profile = GaussianProfile(mu)
    assert found == profile.epsilon(delta)
    assert profile.proves(found, delta)


def test_small_and_large_mu_together_are_as_each_alone():
    """Each takes its own form of the curve; the other one overflows there."""
    mus = np.array([1e-3, 0.5, 1.0, 1.5, 80.0, 1e4])
    for delta in (0.5, 1e-6, 1e-200):
        alone = [float(gaussian_epsilons(mus[i : i + 1], delta)[0]) for i in range(mus.size)]
        np.testing.assert_allclose(gaussian_epsilons(mus, delta), alone, rtol=2e-9)


def test_an_epsilon_next_to_0_is_found() -> None:
    """It is 299 powers of ten away from where the search begins: an error, after 300 halvings."""
    profile = GaussianProfile(1e-200)
    assert 0.0 < profile.epsilon(1e-280) < 1e-197
    assert profile.delta(profile.epsilon(1e-280)) <= 1e-280


@pytest.mark.few(1)
@pytest.mark.parametrize("mu", [1e-10, 0.5, 7.0])
def test_delta_within_rounding_of_that_at_0_has_an_epsilon(mu: float) -> None:
    """It is not proved at 0, and no root lies between 0 and where it is."""
    profile = GaussianProfile(mu)
    delta = math.nextafter(profile.delta(0.0), 1.0)
    found = profile.epsilon(delta)
    assert not profile.proves(0.0, delta)
    assert profile.proves(found, delta)
    assert profile.delta(found) > delta * (1.0 - 2.0 * profile.relative_error)


@pytest.mark.few(1)
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-17, 1e-5), (1.0, 1.0 - 2.0**-53)])
def test_extreme_claims_are_calibrated(epsilon: float, delta: float) -> None:
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=UNIT)
    assert mechanism.profile().proves(epsilon, delta)
    assert not GaussianProfile(1.001 / mechanism.sigma).proves(epsilon, delta)


def test_a_delta_near_the_smallest_floats_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta = 5e-324: must be at least 1e-300"):
        Gaussian.for_epsilon_delta(1.0, 5e-324, sensitivity=UNIT)


@given(st.floats(-12.0, 6.0), st.floats(-5.0, 5.0))
def test_what_is_charged_for_a_rho_is_at_most_that_rho(log_rho: float, log_l2: float) -> None:
    """Noise for a ρ was charged a unit in the last place more, and refused by a filter whose limit the ρ was."""
    rho, l2 = 10.0**log_rho, 10.0**log_l2
    mechanism = Gaussian.for_rho(rho, sensitivity=Sensitivity(l2, l2, l2))
    assert rho * (1 - 2e-15) <= mechanism.profile().rho <= rho


@pytest.mark.parametrize(("rho", "l2"), [(1e-300, 1e160), (5e-324, 1e308), (1e-20, 1.7e308)])
def test_noise_for_a_rho_that_is_beyond_floats_is_refused_by_name(rho: float, l2: float) -> None:
    with pytest.raises(ParameterError, match=rf"rho = {rho!r}: must be larger, .* sensitivity\.l2 = "):
        Gaussian.for_rho(rho, sensitivity=Sensitivity(l2, l2, l2))
