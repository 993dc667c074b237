"""OpenDP as an independent check of what our mechanisms cost, and as a supplier of mechanisms."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import (
    ApproximateProfile,
    Composed,
    DensityUnavailable,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianProfile,
    Laplace,
    Mechanism,
    Neighbouring,
    NoPrivacy,
    OpenDPMeasurement,
    ParameterError,
    PureProfile,
    RandomizedResponse,
    Sensitivity,
    ZeroConcentratedProfile,
    from_opendp,
    to_opendp,
)
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.noise.measurement import _approximate_concentrated, _sensitivity_of
from mechanisms.profiles.related_profile import restate

UNIT = Sensitivity(1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def dp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 123.456])
@pytest.mark.parametrize("l1", [1, 2, 7])
def test_pure_maps_agree(scale: float, l1: int) -> None:
    moved = Sensitivity(l1, l1, l1)
    for mechanism in (
        Laplace(scale=scale, sensitivity=moved),
        DiscreteLaplace(scale=scale, sensitivity=moved),
    ):
        distance = l1 if isinstance(mechanism, DiscreteLaplace) else float(l1)
        ours, theirs = mechanism.profile().pure_epsilon, to_opendp(mechanism).map(distance)
        assert ours is not None
        assert ours <= Fraction(theirs)
        assert float(ours) == pytest.approx(theirs, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5])
def test_gaussian_maps_agree(sigma: float) -> None:
    gaussian = Gaussian(sigma=sigma, sensitivity=UNIT)
    profile = gaussian.profile()
    assert isinstance(profile, GaussianProfile)
    assert to_opendp(gaussian).map(1.0) == pytest.approx(profile.mu**2 / 2, rel=1e-14, abs=0.0)
    discrete = DiscreteGaussian(sigma=sigma, sensitivity=UNIT)
    assert to_opendp(discrete).map(1) == pytest.approx(discrete.profile().rho, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, math.log(3), 8.0])
def test_randomized_response_stays_within_epsilon(size: int, epsilon: float) -> None:
    certified = to_opendp(RandomizedResponse(size=size, epsilon=epsilon)).map(1)
    # OpenDP computes ln(p (k-1) / (1-p)): near p = 1/2 a unit in the last place of p is 4e-16 in the loss.
    assert epsilon - 1e-12 < certified <= epsilon


def test_zcdp_conversion_against_opendp(dp: Any) -> None:
    """OpenDP converts zCDP by the same theorem (Canonne, Kamath, Steinke); near ε = 0 Pinsker says more."""
    converted = dp.c.make_zCDP_to_approxDP(to_opendp(Gaussian(sigma=2.0, sensitivity=UNIT)))
    theirs, ours = converted.map(1.0), ZeroConcentratedProfile(0.125)
    assert GaussianProfile(0.5).delta(0.1) < ours.delta(0.1) < theirs.delta(0.1)
    for epsilon in (1.0, 2.5, 5.0):
        assert ours.delta(epsilon) == pytest.approx(theirs.delta(epsilon), rel=1e-5, abs=0.0)
    for delta in (1e-2, 1e-6, 1e-12):
        assert ours.epsilon(delta) == pytest.approx(theirs.epsilon(delta), rel=1e-5, abs=0.0)


@pytest.mark.parametrize(
    ("mechanism", "d_in", "expected"),
    [
        (Laplace(scale=2.0), 1.0, PureProfile(Fraction(1, 2))),
        (Gaussian(sigma=2.0, sensitivity=UNIT), 1.0, ZeroConcentratedProfile(0.125)),
        (DiscreteLaplace(scale=2.0), 1, PureProfile(Fraction(1, 2))),
        (DiscreteGaussian(sigma=2.0, sensitivity=UNIT), 1, ZeroConcentratedProfile(0.125)),
    ],
)
def test_there_and_back(mechanism: Mechanism, d_in: float, expected: PureProfile) -> None:
    back = from_opendp(to_opendp(mechanism), d_in, nominal_delta=1e-6)
    assert isinstance(back, Mechanism)
    assert not back.profile().attained()
    x = np.linspace(-1, 3, 21)
    np.testing.assert_allclose(back.profile().delta(x), expected.delta(x), rtol=1e-12, atol=1e-300)
    assert np.all(back.profile().delta(x) >= mechanism.profile().delta(x) - 1e-15)
    assert back.epsilon == back.profile().epsilon(1e-6)
    assert back.sensitivity.covers(UNIT)
    only_l2 = isinstance(mechanism, Gaussian | DiscreteGaussian)
    assert (back.sensitivity.l1 == math.inf) is only_l2
    assert to_opendp(back) is back.measurement
    value = np.zeros((3, 2), dtype=np.int64 if isinstance(d_in, int) else np.float64)
    assert back.release(value, np.random.default_rng(0)).shape == (3, 2)
    with pytest.raises(DensityUnavailable):
        back.log_density(value, value)
    assert back.profile(Sensitivity(9, 9, 9)) == NoPrivacy("OpenDP's privacy map")
    assert hash(back) == hash(back)
    assert Composed((back, back)).profile().delta(0.5) >= back.profile().delta(0.5)
    with pytest.raises(ParameterError, match="saved"):
        back.to_dict()


def test_randomized_response_there_and_back() -> None:
    back = from_opendp(to_opendp(RandomizedResponse(size=4, epsilon=1.0)), 1)
    assert back.release(np.array([[0], [1], [2], [3]]), np.random.default_rng(0)).shape == (4, 1)
    assert back.epsilon == pytest.approx(1.0, abs=1e-12)
    assert back.sensitivity == UNIT


@pytest.mark.slow
def test_curves_of_opendp_compose(dp: Any) -> None:
    """It is asked for tens of thousands of values, in calls that cost more than they compute."""
    curve = from_opendp(
        dp.c.make_zCDP_to_approxDP(to_opendp(Gaussian(sigma=2.0, sensitivity=UNIT))), 1.0
    ).profile()
    assert composed_profile([(curve, 1), (curve, 1)]).delta(2.0) <= 2 * curve.delta(1.0)


def test_other_measures(dp: Any) -> None:
    gaussian = to_opendp(Gaussian(sigma=2.0, sensitivity=UNIT))
    smoothed = dp.c.make_zCDP_to_approxDP(gaussian)
    curve = from_opendp(smoothed, 1.0).profile()
    assert curve.delta(1.0) == pytest.approx(ZeroConcentratedProfile(0.125).delta(1.0), rel=1e-5, abs=0.0)
    fixed = from_opendp(dp.c.make_fix_delta(smoothed, 1e-6), 1.0).profile()
    assert isinstance(fixed, ApproximateProfile)
    assert fixed.infinite_mass == 1e-6
    approximate = from_opendp(dp.c.make_approximate(gaussian), 1.0).profile()
    assert approximate == ZeroConcentratedProfile(0.125)


def test_approximate_concentrated_privacy_fails_with_probability_delta() -> None:
    profile = _approximate_concentrated(0.125, 1e-3)
    assert profile.infinite_mass == pytest.approx(1e-3)
    rest = ZeroConcentratedProfile(0.125).delta(1.0)
    assert profile.delta(1.0) == pytest.approx(1e-3 + (1 - 1e-3) * rest, rel=1e-12)
    assert _approximate_concentrated(0.125, 0.0) == ZeroConcentratedProfile(0.125)
    assert _approximate_concentrated(0.125, 1.0) == NoPrivacy("OpenDP's privacy map")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("L1Distance(f64)", Sensitivity(2.0, 2.0, 2.0)),
        ("AbsoluteDistance(f64)", Sensitivity(2.0, 2.0, 2.0)),
        ("DiscreteDistance()", Sensitivity(2.0, 2.0, 2.0)),
        ("L2Distance(f64)", Sensitivity(math.inf, 2.0, 2.0)),
        ("LInfDistance(f64)", Sensitivity(math.inf, math.inf, 2.0)),
        ("SymmetricDistance()", Sensitivity(0.0, 0.0, 0.0)),
    ],
)
def test_a_distance_bounds_the_norms_that_it_dominates(metric: str, expected: Sensitivity) -> None:
    assert _sensitivity_of(metric, 2.0) == expected


def test_a_measurement_says_nothing_of_larger_movements_and_cannot_be_saved() -> None:
    wrapped = from_opendp(to_opendp(Laplace(scale=2.0)), 1.0, nominal_delta=1e-3)
    assert wrapped.profile(Sensitivity(0.5, 0.5, 0.5)) == wrapped.profile()
    assert wrapped.profile(Sensitivity(1.5, 1.5, 1.5)) == NoPrivacy("OpenDP's privacy map")
    assert wrapped.epsilon == wrapped.profile().epsilon(1e-3) < 0.5
    with pytest.raises(ParameterError, match="cannot be saved"):
        wrapped.to_dict()
    with pytest.raises(ParameterError, match="d_in"):
        from_opendp(wrapped.measurement, -1.0)


def test_a_query_on_data_sets_has_a_cost_and_releases_nothing_that_a_record_moves(dp: Any) -> None:
    space = dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance()
    counting = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=2.0)
    query = from_opendp(counting, 1)
    assert query.profile().epsilon(0.0) == pytest.approx(0.5)
    moved = query.profile(Sensitivity(1e-9, 1e-9, 1e-9))
    assert moved == restate(NoPrivacy("OpenDP's privacy map"), Neighbouring.ADD_OR_REMOVE)
    assert moved.attained() == ()


@pytest.mark.parametrize(
    ("d_in", "relation"), [(1, Neighbouring.ADD_OR_REMOVE), (2, Neighbouring.REPLACE_ONE)]
)
def test_a_metric_of_added_and_removed_records_says_its_relation(
    dp: Any, d_in: int, relation: Neighbouring
) -> None:
    space = dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance()
    counting = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=2.0)
    wrapped = OpenDPMeasurement(counting, d_in, declared_sensitivity=Sensitivity(1.0, 1.0, 1.0))
    assert wrapped.neighbouring is wrapped.profile().neighbouring is relation
    assert wrapped.profile(Sensitivity(9.0, 9.0, 9.0)).neighbouring is relation
    assert from_opendp(to_opendp(Laplace(scale=2.0)), 1.0).neighbouring is Neighbouring.REPLACE_ONE


def test_unknown_mechanisms_have_no_counterpart() -> None:
    with pytest.raises(ParameterError, match="counterpart"):
        to_opendp(Composed((Laplace(scale=1.0),)))


def test_integers_are_asked_for_where_a_measurement_takes_them(dp: Any) -> None:
    single = dp.m.make_laplace(dp.atom_domain(T="i32"), dp.absolute_distance(T="i32"), scale=2.0)
    vector = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=2.0)
    for measurement, whole in ((single, True), (vector, True), (to_opendp(Laplace(scale=2.0)), False)):
        assert from_opendp(measurement, 1.0).whole_numbers is whole
    wrapped = from_opendp(single, 1.0)  # a whole number, as the metric needs one
    assert wrapped.profile().pure_epsilon == Fraction(1, 2)
    assert wrapped.release(np.array([[3], [4]]), np.random.default_rng(0)).shape == (2, 1)
    with pytest.raises(ParameterError, match=r"d_in = 0.5: must be whole"):
        from_opendp(single, 0.5)
    assert from_opendp(vector, 0.5).profile().rho == ZeroConcentratedProfile(0.5**2 / 8).rho


def user_measurement(dp: Any, measure: Any, certified: Any) -> Any:
    """Return a measurement whose privacy map gives this at every distance."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dp.m.make_user_measurement(*space, measure, lambda value: value, lambda d_in: certified)


def test_a_map_without_a_finite_number_certifies_nothing(dp: Any) -> None:
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurements = [
        dp.m.make_laplace(*space, 0.0),
        dp.m.make_gaussian(*space, 0.0),
        user_measurement(dp, dp.approximate(dp.max_divergence()), (math.inf, 0.5)),
        user_measurement(dp, dp.approximate(dp.zero_concentrated_divergence()), (math.inf, 0.5)),
        user_measurement(dp, dp.approximate(dp.max_divergence()), (1.0, 1.0)),
    ]
    for measurement in measurements:
        profile = from_opendp(measurement, d_in=1.0).profile()
        assert float(profile.delta(100.0)) == 1.0
        assert profile.neighbouring is Neighbouring.REPLACE_ONE


@pytest.mark.parametrize("certified", [math.nan, -1.0])
def test_a_map_that_certifies_what_is_no_number_is_refused(dp: Any, certified: float) -> None:
    for measure in (dp.max_divergence(), dp.zero_concentrated_divergence()):
        mechanism = from_opendp(user_measurement(dp, measure, certified), d_in=1.0)
        with pytest.raises(ParameterError, match="the privacy map's value = "):
            mechanism.profile()


def test_distances_that_count_records_are_whole(dp: Any) -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counts = space >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    for measurement in (counts, dp.m.make_randomized_response_bool(0.75)):
        at = from_opendp(measurement, d_in=1.0).profile().pure_epsilon
        assert at == from_opendp(measurement, d_in=1).profile().pure_epsilon
        with pytest.raises(ParameterError, match=r"d_in = 0\.5: must be whole"):
            from_opendp(measurement, d_in=0.5)


def test_data_sets_of_a_fixed_size_are_two_apart_or_more(dp: Any) -> None:
    """At distance 1 there are none, and OpenDP's map says 1e-14."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=10), dp.symmetric_distance()
    mean = space >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_mean() >> dp.m.then_laplace(1.0)
    with pytest.raises(ParameterError, match="d_in = 1: must be at least 2, as data sets of a fixed size"):
        from_opendp(mean, d_in=1)
    assert from_opendp(mean, d_in=2).profile().epsilon(0.0) == pytest.approx(1.0, rel=1e-9)
