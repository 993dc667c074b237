"""Composition: exact results against golden values and brute force, bounds against exact curves."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from poisson import joining, subsampled
from scipy import stats

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    Binomial,
    BinomialProfile,
    Composed,
    ComposedProfile,
    DiscreteGaussianProfile,
    DiscreteLaplace,
    DiscreteLaplaceProfile,
    Gaussian,
    GaussianProfile,
    Laplace,
    LaplaceProfile,
    NoPrivacy,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    Repeated,
    ZeroConcentratedProfile,
)
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.related_profile import restate
from mechanisms.profiles.subsampled import SubsampledProfile

XS = np.array([-3.0, -0.7, 0.0, 0.2, 0.9, 1.4, 2.5, 6.0])


def response(epsilon: float, size: int = 2) -> PrivacyProfile:
    return RandomizedResponse(size=size, epsilon=epsilon).profile()


def lower_hull(rest: PrivacyProfile) -> Callable[[FloatArray], FloatArray]:
    """Return the greatest curve below that of a profile which is convex in e^ε, as every true curve is."""
    ends = np.exp(np.arange(-12.0, 12.0, 0.0005))
    heights, corners = rest.delta(np.log(ends)), [0]
    for i in range(1, ends.size):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (heights[b] - heights[a]) * (ends[i] - ends[a]) < (heights[i] - heights[a]) * (
                ends[b] - ends[a]
            ):
                break
            corners.pop()
        corners.append(i)
    return lambda x: np.interp(np.exp(x), ends[corners], heights[corners])


def with_laplace(curve: Callable[[FloatArray], FloatArray], scale: float, x: float) -> float:
    """Exact δ of Laplace(scale), shift 1, together with another: E[δ(x - loss)] by quadrature, δ that of the other."""

    edges = np.linspace(0.0, 1.0, 1001)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    y = (edges[:-1, None] + 0.0005 * (nodes + 1.0)).ravel()
    middle = 0.0005 * np.sum(
        np.tile(weights, 1000) * np.exp(-y / scale) / (2 * scale) * curve(x - (1.0 - 2.0 * y) / scale)
    )
    # Outside [0, 1] the loss is constant. A kink of the curve costs at most about 1e-7.
    low = 0.5 * curve(x - 1.0 / scale)
    return middle + low + 0.5 * math.exp(-1.0 / scale) * curve(x + 1.0 / scale)


def test_golden_randomized_response_100() -> None:
    profile = Repeated(RandomizedResponse(size=2, epsilon=math.log(3)), 100).profile()
    assert profile.attained()
    assert profile.epsilon(1e-6) == pytest.approx(94.28986789292487716742, rel=1e-14, abs=0.0)
    assert profile.pure_epsilon == 100 * Fraction(math.log(3))


def test_golden_heterogeneous_randomized_response() -> None:
    a, b = RandomizedResponse(size=2, epsilon=0.1), RandomizedResponse(size=2, epsilon=0.25)
    profile = Composed((Repeated(a, 60), Repeated(b, 40))).profile()
    assert profile.attained()
    exact = 8.980260852838054650753
    assert exact <= profile.epsilon(1e-6) <= exact * (1.0 + 1e-12)
    one_by_one = Composed((*[a] * 60, *[b] * 40)).profile()
    np.testing.assert_allclose(one_by_one.delta(XS), profile.delta(XS), rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 3000])
def test_repeated_response_is_binomial(count: int) -> None:
    epsilon = 0.05
    profile = composed_profile([(response(epsilon), count)])
    truths = np.arange(count + 1)
    mass = stats.binom.pmf(truths, count, 1 / (1 + math.exp(-epsilon)))
    for x in (-1.0, 0.0, 0.3 * epsilon * count, 0.2):
        losses = epsilon * (2 * truths - count)
        above = losses > x
        direct = (mass[above] * -np.expm1(x - losses[above])).sum()
        assert profile.delta(x) == pytest.approx(direct, rel=1e-10, abs=1e-300)


def test_a_large_composition_stays_exact() -> None:
    profile = composed_profile([(response(0.01), 20_000)])
    assert profile.attained()
    assert profile.pure_epsilon == 20_000 * Fraction(0.01)
    # Central limit: mean and variance of the sum of 20,000 losses.
    p = 1 / (1 + math.exp(-0.01))
    mean, sd = 200 * (2 * p - 1), 0.02 * math.sqrt(20_000 * p * (1 - p))
    above = stats.norm.sf(1.0, mean, sd) - math.exp(1.0) * stats.norm.sf(1.0, -mean, sd)
    assert profile.delta(1.0) == pytest.approx(above, abs=1e-4)


def test_discrete_laplace_twice_is_the_sum_over_the_plane() -> None:
    k = np.arange(-150, 151)
    log_p = -np.abs(k) / 2.0 + math.log(math.tanh(0.25))
    log_q = -np.abs(k - 3) / 2.0 + math.log(math.tanh(0.25))
    pair = composed_profile([(DiscreteLaplaceProfile(3, 2.0), 1), (DiscreteLaplaceProfile(3, 2.0), 1)])
    assert pair.attained()
    assert len(pair.atoms().losses) == 7
    for x in XS:
        plane = np.exp(np.add.outer(log_p, log_p)) - np.exp(x + np.add.outer(log_q, log_q))
        assert pair.delta(x) == pytest.approx(plane[plane > 0].sum(), rel=1e-11, abs=0.0)


def test_a_profile_says_what_the_composition_says() -> None:
    """Composed parts were convolved apart, with other rounding than the engine's."""
    parts = [(DiscreteLaplaceProfile(1, 277.9), 1000), (DiscreteLaplaceProfile(1, 109.2), 100)]
    nested = composed_profile([(composed_profile([part]), 1) for part in parts])
    for delta in (0.0, 1e-9, 1e-6):
        assert nested.epsilon(delta) == compose(parts).epsilon(delta).upper


def test_gaussians_add_in_quadrature() -> None:
    assert composed_profile([(GaussianProfile(3.0), 1), (GaussianProfile(4.0), 1)]) == GaussianProfile(5.0)
    assert composed_profile([(GaussianProfile(0.5), 4)]) == GaussianProfile(1.0)


@pytest.mark.parametrize(
    "rest", [LaplaceProfile(1.0, 0.8), GaussianProfile(0.9), DiscreteGaussianProfile(2, 2.0)]
)
def test_a_finite_loss_with_anything_exact_is_exact(rest: PrivacyProfile) -> None:
    pair = composed_profile([(response(0.6, 3), 1), (rest, 1)])
    assert pair.attained() == (pair,)
    pmf_p, pmf_q = (
        np.exp(RandomizedResponse(size=3, epsilon=0.6).log_density(np.arange(3), v)) for v in (0, 1)
    )
    expected = sum(p * rest.delta(XS - math.log(p / q)) for p, q in zip(pmf_p, pmf_q, strict=True))
    lower, upper = pair.bounds(XS)
    assert np.all(lower <= expected * (1.0 + 1e-12))
    assert np.all(expected <= upper * (1.0 + 1e-12))
    np.testing.assert_allclose(lower, upper, rtol=1e-8, atol=1e-15)
    # The order of three does not matter either, and compositions are flat.
    again = composed_profile([(pair, 1), (response(0.3), 1)])
    assert isinstance(again, ComposedProfile)
    assert all(not isinstance(profile, ComposedProfile) for profile, _ in again.releases)
    np.testing.assert_allclose(
        again.delta(XS), composed_profile([(response(0.3), 1), (pair, 1)]).delta(XS), rtol=1e-8, atol=1e-300
    )


def test_response_with_laplace_against_quadrature() -> None:
    pair = composed_profile([(LaplaceProfile(1.0, 0.8), 1), (response(0.6), 1)])
    np.testing.assert_allclose(
        pair.delta(XS), [with_laplace(response(0.6).delta, 0.8, x) for x in XS], atol=1e-7
    )


@pytest.mark.slow_cells("rest0-", "rest2-", "rest4-zero-concentrated differential privacy")
@pytest.mark.parametrize(
    ("rest", "bound"),
    [
        (LaplaceProfile(1.0, 0.5), ""),
        (GaussianProfile(0.7), ""),
        (DiscreteGaussianProfile(1, 1.4), ""),
        (PureProfile(Fraction(1, 2)), "pure differential privacy"),
        (ZeroConcentratedProfile(0.2), "zero-concentrated differential privacy"),
        (ApproximateProfile(Fraction(1, 2), 0.01), "approximate differential privacy"),
    ],
)
def test_compositions_with_laplace_name_their_bound_and_lie_above(rest: PrivacyProfile, bound: str) -> None:
    pair = composed_profile([(LaplaceProfile(1.0, 0.8), 1), (rest, 1)])
    assert (pair.attained() == (pair,)) == (not bound)
    assert pair.bound == bound
    curve = lower_hull(rest) if isinstance(rest, ZeroConcentratedProfile) else rest.delta
    exact = np.array([with_laplace(curve, 0.8, x) for x in XS])
    assert np.all(pair.delta(XS) >= exact - 1e-7)
    assert bound or np.all(pair.bounds(XS)[0] <= exact + 1e-7)
    one, two = Fraction(1.0) / Fraction(0.8), rest.pure_epsilon
    assert pair.pure_epsilon == (None if two is None else one + two)


def test_laplaces_add_their_epsilons_exactly() -> None:
    assert composed_profile(
        [(LaplaceProfile(1.0, 3.0), 1), (LaplaceProfile(1.0, 3.0), 1)]
    ).pure_epsilon == Fraction(2, 3)
    assert composed_profile([(LaplaceProfile(1.0, 4.0), 4)]).pure_epsilon == 1
    assert Composed((Laplace(scale=4.0),) * 4).epsilon == 1.0


def test_gaussian_with_discrete_gaussian_is_nearly_a_gaussian() -> None:
    pair = composed_profile([(GaussianProfile(0.5), 1), (DiscreteGaussianProfile(1, 2.0), 1)])
    assert pair.rho == pytest.approx(0.25)
    assert np.all(pair.delta(XS) <= ZeroConcentratedProfile(0.25).delta(XS))
    np.testing.assert_allclose(
        pair.delta(XS), GaussianProfile(math.sqrt(0.5)).delta(XS), rtol=0.02, atol=1e-4
    )


def test_a_repeated_mechanism_costs_what_the_composition_does() -> None:
    """Its profile was another computation, which said 50 where 8.204 is proved."""
    profile = Repeated(Laplace(scale=20.0), 1000).profile()
    found = compose([(LaplaceProfile(1.0, 20.0), 1000)]).epsilon(1e-6)
    assert profile.epsilon(1e-6) == found.upper == pytest.approx(8.204440343933935, rel=1e-9)
    assert profile.delta(found.upper) == pytest.approx(1e-6, rel=1e-6)
    assert profile.gaussian_mu == pytest.approx(math.sqrt(1000) * LaplaceProfile(1.0, 20.0).gaussian_mu)


def test_a_curve_at_many_points_lies_between_chords() -> None:
    profile = composed_profile([(LaplaceProfile(1.0, 2.0), 3), (GaussianProfile(0.5), 1)])
    x = np.linspace(-3.0, 6.0, 2001)
    lower, upper = profile.bounds(x)
    few = slice(0, 2001, 97)
    exact_low, exact_high = profile.bounds(x[few])
    assert np.all(lower[few] <= exact_high)
    assert np.all(exact_low <= upper[few])
    assert np.all(upper[few] <= exact_high * 1.1 + 1e-12)  # a chord is above by (s h)² / 8


def test_nothing_and_everything() -> None:
    for profile in (GaussianProfile(1.0), response(1.0), PureProfile(Fraction(1))):
        assert (
            composed_profile([(profile, 1), (PerfectPrivacy(), 1)])
            == composed_profile([(PerfectPrivacy(), 1), (profile, 1)])
            == profile
        )
        assert (
            composed_profile([(profile, 1), (NoPrivacy(), 1)])
            == composed_profile([(NoPrivacy(), 1), (profile, 1)])
            == NoPrivacy()
            == composed_profile([(NoPrivacy("unknown"), 1), (NoPrivacy(), 1)])
        )


def test_bounds_lie_above_what_they_bound() -> None:
    x = np.linspace(-4, 6, 101)
    assert np.all(PureProfile(Fraction(2)).delta(x) >= LaplaceProfile(2.0, 1.0).delta(x) - 1e-15)
    np.testing.assert_allclose(PureProfile(Fraction(2)).delta(x), response(2.0).delta(x), atol=1e-15)
    for mu in (0.01, 0.5, 3.0, 40.0):
        gaussian = GaussianProfile(mu)
        assert np.all(ZeroConcentratedProfile(mu * mu / 2).delta(x) >= gaussian.delta(x) - 1e-15)
        tight = ApproximateProfile(Fraction(gaussian.epsilon(0.01)), 0.01)
        assert np.all(tight.delta(x) >= gaussian.delta(x) - 1e-15)
        np.testing.assert_allclose(tight.delta(x), tight.atoms().delta(x), atol=1e-14)


@pytest.mark.parametrize("rho", [1e-4, 1e-8, 1e-16, 1e-28, 1e-32])
@pytest.mark.parametrize("deviations", [0.1, 2.0, 10.0])
def test_zcdp_bound_of_a_small_rho(rho: float, deviations: float) -> None:
    """Its exponent was a difference of numbers of size ε/ρ: δ = 1.6e-28 for 1.1e-17 at ρ = 1e-32."""
    epsilon = deviations * math.sqrt(rho)
    with mp.workdps(60):
        r, x = mp.mpf(rho), mp.mpf(epsilon)
        a = mp.findroot(
            lambda a: (2 * a + 1) * r - x - mp.log1p(1 / a), mp.mpf(epsilon) / (2 * rho) + 1 / mp.sqrt(r)
        )
        expected = mp.exp(a * ((a + 1) * r - x) - a * mp.log1p(1 / a) - mp.log1p(a))
        lower, upper = ZeroConcentratedProfile(rho).bounds(np.array(epsilon))
        assert lower <= expected
        if deviations > 1.0:  # nearer to 0 the total variation says more
            assert expected <= upper
        assert GaussianProfile(math.sqrt(2.0 * rho)).delta(epsilon) <= upper


def test_zcdp_bound_of_extreme_rho() -> None:
    at = np.array([0.0, 1.0, 1e5, 1e300])
    for rho in (5e-324, 1e-300, 800.0, 1e300, 1.7e308):
        found = ZeroConcentratedProfile(rho).delta(at)
        assert np.all((found >= 0.0) & (found <= 1.0))
        assert np.all(np.diff(found) <= 0.0)


def test_zcdp_bound_is_the_known_conversion() -> None:
    """At large ε it is at most Bun & Steinke's exp(-(ε - ρ)²/4ρ), and close to it in the exponent."""
    for rho, epsilon in [(0.1, 3.0), (1.0, 10.0), (1e-4, 0.2)]:
        known = math.exp(-((epsilon - rho) ** 2) / (4 * rho))
        found = ZeroConcentratedProfile(rho).delta(epsilon)
        assert GaussianProfile(math.sqrt(2 * rho)).delta(epsilon) < found < known
    assert composed_profile(
        [(ZeroConcentratedProfile(0.1), 1), (ZeroConcentratedProfile(0.15), 1)]
    ).rho == pytest.approx(0.25)
    assert ZeroConcentratedProfile(0.0).delta(0.0) == 0.0


def test_the_largest_losses_of_two_curves_add_where_both_have_one() -> None:
    half, none = PureProfile(Fraction(1, 2)), ZeroConcentratedProfile(1.0)
    assert composed_profile([(half, 2)]).pure_epsilon == 1
    for parts in ([(half, 1), (none, 1)], [(none, 2)]):
        assert composed_profile(parts).pure_epsilon is None


def test_approximate_profiles_compose() -> None:
    pair = composed_profile(
        [(ApproximateProfile(Fraction(1), 0.1), 1), (ApproximateProfile(Fraction(2), 0.2), 1)]
    )
    assert pair.attained() == ()
    assert pair.infinite_mass == pytest.approx(1.0 - 0.9 * 0.8, rel=1e-15)
    assert pair.epsilon(0.05) == math.inf
    assert pair.epsilon(pair.infinite_mass * (1.0 + 1e-9)) == pytest.approx(3.0, rel=1e-6)
    assert pair.epsilon(0.3) < 3.0


@pytest.mark.slow
def test_of_too_many_atoms_the_integral_is_taken() -> None:
    """18 incommensurable losses would give 2^18 atoms."""
    parts = [response(0.1 + 0.001 * math.sqrt(i)) for i in range(18)]
    total = parts[0]
    for part in parts[1:]:
        total = composed_profile([(total, 1), (part, 1)])
    assert total.attained() == (total,)
    assert total.pure_epsilon == sum(part.pure_epsilon for part in parts)
    x = np.array([0.0, 0.2])
    least, most = (composed_profile([(response(e), 18)]).delta(x) for e in (0.1, 0.1042))
    assert np.all(total.delta(x) >= least - 1e-14)
    assert np.all(total.bounds(x)[0] <= most + 1e-14)


def test_composed_gaussian_and_response_reads_nominal_delta() -> None:
    gaussian = Gaussian(sigma=2.0, sensitivity=Laplace(scale=1.0).sensitivity, delta=1e-6)
    both = Composed((gaussian, DiscreteLaplace(scale=2.0)))
    assert both.nominal_delta == 1e-6
    assert both.profile().attained()
    assert gaussian.epsilon < both.epsilon <= gaussian.epsilon + 0.5


def test_atoms_are_checked() -> None:
    for losses, probabilities, named in [
        ((1.0,), (0.5,), "add up"),
        ((1.0, 2.0), (1.0,), "as many"),
        ((), (), "as many"),
        ((1.0, 2.0), (-0.5, 1.5), "negative"),
        ((1.0,), (math.nan,), "negative"),
    ]:
        with pytest.raises(ParameterError, match=named):
            AtomicProfile(losses, probabilities)  # type: ignore[arg-type]


def test_infinite_mass() -> None:
    profile = AtomicProfile((Fraction(0),), (0.9,), 0.1)
    assert profile.delta(math.inf) == 0.1
    assert profile.epsilon(0.05) == math.inf
    assert profile.epsilon(0.1) == 0.0
    pair = composed_profile([(profile, 1), (profile, 1)])
    assert pair.infinite_mass == pytest.approx(0.19)
    assert composed_profile([(profile, 1), (GaussianProfile(1.0), 1)]).delta(100.0) == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_curves_refuse_bad_arguments(bad: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        GaussianProfile(1.0).epsilon(bad)
    with pytest.raises(ParameterError, match="epsilon = nan"):
        GaussianProfile(1.0).delta(np.array([0.0, math.nan]))
    with pytest.raises(ParameterError, match="count"):
        composed_profile([(LaplaceProfile(1.0, 1.0), 0)])


def test_mixtures_carry_the_bound_and_the_infinite_mass_of_both_parts() -> None:
    concentrated = ZeroConcentratedProfile(0.1)
    assert composed_profile([(response(0.5), 1), (concentrated, 1)]).bound == concentrated.bound
    failing = AtomicProfile((Fraction(0),), (0.9,), 0.1)
    approximate = ApproximateProfile(Fraction(1), 0.1)
    pair = composed_profile([(failing, 1), (approximate, 1), (GaussianProfile(1.0), 1)])
    assert pair.delta(math.inf) == pytest.approx(0.19)
    assert pair.delta(500.0) == pytest.approx(0.19)


def test_equal_losses_of_atoms_are_one() -> None:
    profile = AtomicProfile((Fraction(1, 2), 0.5, Fraction(-1, 2)), (0.35, 0.35, 0.3))
    assert profile.losses == (Fraction(1, 2), Fraction(-1, 2))
    assert profile.probabilities == (0.7, 0.3)


@pytest.mark.slow_cells("8")
@pytest.mark.parametrize("count", [8, 37, 1000])
def test_many_parts_cost_no_more_than_by_basic_composition(count: int) -> None:
    one = SubsampledProfile(restate(GaussianProfile(0.1), Neighbouring.ADD_OR_REMOVE), 0.01)
    many = composed_profile([(one, count)])
    x = np.array([0.0, 1.0])
    assert (many.delta(x) >= one.delta(x)).all()
    assert (many.delta(x) <= np.minimum(count * one.delta(x / count), 1.0) * (1.0 + 1e-9)).all()


def test_probabilities_of_many_compositions_add_up_within_their_rounding() -> None:
    """As those of a million randomized responses do; they were refused."""
    losses, probabilities = (Fraction(1), Fraction(-1)), (0.75, 0.25 + 2e-9)
    assert AtomicProfile(losses, probabilities, relative_rounding=3e-9).pure_epsilon == 1
    with pytest.raises(ParameterError, match="must add up to 1"):
        AtomicProfile(losses, probabilities)


def test_directions_are_composed_apart() -> None:
    """It took the worse of removing and adding at each loss of the finite part: 0.4384, which no data attain."""
    finite, rest = joining(DiscreteLaplaceProfile(1, 1.0)), subsampled(GaussianProfile(1.0), 0.3)
    together = composed_profile([(finite, 1), (rest, 1)])
    assert len(together.directions()) == 2
    for x in (0.1, 0.5, 1.0):
        apart = compose([(finite, 1), (rest, 1)]).delta(x)
        assert apart.lower <= together.delta(x) <= apart.upper * (1.0 + together.relative_error)
    removed, added = together.directions()
    at = np.array([-0.5, 0.5])
    np.testing.assert_allclose(  # one direction below 0 is the other one above
        removed.delta(at)[0], 1.0 - math.exp(-0.5) + math.exp(-0.5) * added.delta(at)[1], rtol=1e-8
    )
    assert (
        compose([(together, 2)]).epsilon(1e-3).upper
        < 1.0001 * compose([(finite, 2), (rest, 2)]).epsilon(1e-3).upper
    )


def test_a_mixture_with_pairs_that_may_switch_is_a_bound() -> None:
    """Binomial noise of p = 0.2 and discrete Laplace noise on one value: no data attain the worse pair at each loss."""
    both = Composed((DiscreteLaplace(scale=1.0), Binomial(trials=4, shift=1, probability=0.2))).profile()
    noise = math.tanh(0.5) * np.exp(-np.abs(np.arange(-40, 42)[:, None] - [0, 1]))
    k = np.arange(6)[:, None]
    ones = stats.binom.pmf(k - [0, 1], 4, 0.2)
    low, high = (np.outer(noise[:, i], ones[:, i]) for i in (0, 1))
    exact_at_half = 0.0
    for x in (0.05, 0.5):
        exact = max(float(np.maximum(p - math.exp(x) * q, 0.0).sum()) for p, q in ((low, high), (high, low)))
        assert both.delta(x) >= exact * (1.0 - 1e-12)
        exact_at_half = exact if x == 0.5 else exact_at_half
    assert both.delta(0.05) > 1.1 * 0.593235245353142
    assert both.bound
    one, other = both.attained()
    assert max(float(pair.bounds(np.array(0.5))[0]) for pair in (one, other)) <= exact_at_half * (1.0 + 1e-12)
    assert max(float(pair.bounds(np.array(0.5))[1]) for pair in (one, other)) >= exact_at_half * (1.0 - 1e-12)


def test_samples_of_what_may_switch_may_switch() -> None:
    skewed = BinomialProfile(20, 1, 0.3)
    sampled = subsampled(skewed, 0.5)
    assert compose([(sampled, 1)]).attained
    assert not compose([(sampled, 3)]).attained
