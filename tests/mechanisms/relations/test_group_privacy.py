"""Group privacy: exact where a pair is known, never below the truth elsewhere."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining, subsampled
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import binom, norm

from mechanisms import (
    ApproximateProfile,
    BoundedRangeProfile,
    DiscreteLaplace,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    NoPrivacy,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    Sensitivity,
    ZeroConcentratedProfile,
    convert,
    for_group,
    sampled,
)
from mechanisms.amplification.sampled_group import (
    PoissonReplacedProfile,
    SampledGroupDirection,
    SampledGroupProfile,
)
from mechanisms.amplification.sampling import Sampling
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.losses.privacy_loss import SampledPair
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledDirection, SubsampledProfile
from mechanisms.relations.group_privacy import GroupProfile

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT
X = np.array([-2.0, -0.3, 0.0, 0.05, 0.3, 1.0, 2.0, 3.5])


@pytest.mark.parametrize(
    ("profile", "group"),
    [
        (GaussianProfile(0.25), GaussianProfile(0.75)),
        (LaplaceProfile(1.0, 4.0), LaplaceProfile(3.0, 4.0)),
        (PureProfile(Fraction(1, 3)), PureProfile(Fraction(1))),
        (ZeroConcentratedProfile(0.125), ZeroConcentratedProfile(1.125)),
        (PerfectPrivacy(), PerfectPrivacy()),
        (NoPrivacy(), NoPrivacy()),
    ],
)
def test_families_stay_what_they_are(profile: PrivacyProfile, group: PrivacyProfile) -> None:
    found = for_group(profile, 3)
    assert type(found) is type(group)
    np.testing.assert_array_equal(found.delta(X), group.delta(X))
    assert for_group(profile, 1) is profile


def test_an_approximate_guarantee() -> None:
    found = for_group(ApproximateProfile(Fraction(1), 1e-6), 3)
    assert isinstance(found, ApproximateProfile)
    assert found.epsilon_bound == 3
    assert found.delta_bound == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-11)
    everything = for_group(ApproximateProfile(Fraction(9), 1e-3), 3)
    assert isinstance(everything, NoPrivacy)
    assert everything.attained() == ()
    nothing = for_group(ApproximateProfile(Fraction(0), 1e-6), 3)
    assert isinstance(nothing, ApproximateProfile)
    assert nothing.delta_bound == pytest.approx(3e-6)


def test_relations_stay() -> None:
    stated = RelatedProfile(GaussianProfile(0.5), A)
    assert for_group(stated, 2) == RelatedProfile(GaussianProfile(1.0), A)
    zeroed = convert(for_group(GaussianProfile(0.5), 2), Z)
    assert for_group(convert(GaussianProfile(0.5), Z), 2) == zeroed
    replaced = for_group(convert(stated, R), 3)  # three removed together, three others added: twice as far
    assert (replaced.neighbouring, replaced.gaussian_mu) == (R, 3.0)
    assert for_group(RelatedProfile(BoundedRangeProfile(Fraction(1)), A), 2).neighbouring is A


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_a_size_that_is_none(size: object) -> None:
    with pytest.raises(ParameterError, match="group size"):
        for_group(GaussianProfile(1.0), size)  # type: ignore[arg-type]


TRUTHS = [
    (GaussianProfile(0.3), GaussianProfile(0.9)),
    (LaplaceProfile(1.0, 3.0), LaplaceProfile(3.0, 3.0)),
    (DiscreteLaplace(scale=3.0).profile(), LaplaceProfile(3.0, 3.0)),
]


@pytest.mark.parametrize(("base", "truth"), TRUTHS)
def test_steps_are_never_below_the_pair_of_the_group(base: PrivacyProfile, truth: PrivacyProfile) -> None:
    """Discrete noise of three steps to one side is no worse than Laplace noise, which it is a rounding of."""
    bound = GroupProfile(base, 3)
    assert not bound.attained()
    lower = truth.bounds(X)[0]
    if isinstance(base, GaussianProfile | LaplaceProfile):
        assert np.all(bound.bounds(X)[1] >= lower)
        steps = bound._by_steps(np.abs(X))
        assert np.all(steps >= truth.bounds(np.abs(X))[0])
    else:
        scale, points = 3.0, np.arange(-200, 210)
        p, q = (np.exp(-np.abs(points - at) / scale) * math.tanh(0.5 / scale) for at in (3, 0))
        for x, found in zip(X, bound.bounds(X)[1], strict=True):
            assert found >= np.maximum(p - math.exp(x) * q, 0.0).sum() - 1e-15


@settings(max_examples=20)
@given(st.floats(0.05, 2.0), st.integers(2, 6))
def test_reports_of_several_people(epsilon: float, size: int) -> None:
    """Randomized responses of k people, each of whom changes the answer: k of them composed."""
    report = RandomizedResponse(size=2, epsilon=epsilon).profile()
    assert np.all(for_group(report, size).bounds(X)[1] >= composed_profile([(report, size)]).bounds(X)[0])


def test_what_is_lost_with_certainty_stays_below_its_bound() -> None:
    """A mechanism that publishes with probability 1e-3, or answers at random: k independent ones publish oftener."""
    base = ApproximateProfile(Fraction(1, 2), 1e-3)
    bound = GroupProfile(base, 2)
    several = composed_profile([(base, 2)])
    assert several.infinite_mass <= bound.infinite_mass < 0.01
    x = np.array([0.0, 0.5, 1.0, 1.5, 20.0])
    delta = bound.bounds(x)[1]
    assert np.all(np.diff(delta) <= 1e-8)
    assert np.all(delta >= 1 - (1 - 1e-3) ** 2)


def test_renyi_curves_are_above_those_of_the_group() -> None:
    orders = np.array([1.5, 2.0, 4.0, 16.0])
    base, truth = GaussianProfile(0.3), GaussianProfile(0.9)
    assert np.all(GroupProfile(base, 3).renyi(orders) >= truth.renyi(orders) * (1 - 1e-12))
    small = sampled(joining(GaussianProfile(1.0)), 0.01, R)
    assert np.all(np.isfinite(GroupProfile(small, 3).renyi(orders)))


def best_event(mu: float, rate: float, size: int, epsilon: float, added: bool) -> float:
    """Return δ as the best of all events of large, or small, outputs: the likelihood ratio increases."""
    j, w = np.arange(size + 1), math.exp(epsilon)
    weights = binom.pmf(j, size, rate)

    def gain(threshold: float) -> float:
        if added:
            return float(ndtr(threshold) - w * weights @ ndtr(threshold - j * mu))
        return float(weights @ ndtr(j * mu - threshold) - w * ndtr(-threshold))

    starts = np.linspace(-12.0, 12.0 + size * mu, 200)
    best = starts[int(np.argmax([gain(at) for at in starts]))]
    found = minimize_scalar(lambda at: -gain(at), bounds=(best - 0.3, best + 0.3), method="bounded")
    return max(0.0, 1.0 - w, -float(found.fun))


@pytest.mark.parametrize(
    ("mu", "rate", "size"), [(0.7, 0.2, 3), (1.3, 0.05, 5), (0.5, 0.9, 2), (2.0, 1e-3, 4)]
)
@pytest.mark.parametrize("added", [False, True])
def test_a_group_on_a_poisson_sample(mu: float, rate: float, size: int, added: bool) -> None:
    side = SampledGroupDirection(RelatedProfile(GaussianProfile(mu), A), rate, size, added)
    none = size * math.log1p(-rate)
    x = np.array([-0.3, 0.0, 0.1, 1.5, none if not added else -none])
    lower, upper = side.bounds(x)
    truth = np.array([best_event(mu, rate, size, own, added) for own in x])
    assert np.all(lower <= truth + 1e-10)
    assert np.all(upper >= truth - 1e-10)
    assert np.all(upper[:-1] - lower[:-1] <= 1e-9 * upper[:-1] + 1e-300)


@pytest.mark.parametrize("rate", [0.01, 0.6])
@pytest.mark.parametrize("added", [False, True])
def test_one_record_on_a_poisson_sample(rate: float, added: bool) -> None:
    base = RelatedProfile(GaussianProfile(1.0), A)
    x = np.linspace(-3.0, 6.0, 301)
    low, high = SampledGroupDirection(base, rate, 1, added).bounds(x)
    other_low, other_high = SubsampledDirection(base, rate, added).bounds(x)
    assert np.all(low <= other_high)
    assert np.all(other_low <= high)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("sigma", "rate", "size", "s"), [(1.0, 0.01, 2, 4.0), (0.8, 0.3, 5, 0.7), (3.0, 0.05, 9, 11.0)]
)
def test_the_transform_of_a_group(added: bool, sigma: float, rate: float, size: int, s: float) -> None:
    """Against a plain sum over outputs, four times as fine as it needs to be; the envelope lies above."""
    loss = SampledGroupDirection(RelatedProfile(GaussianProfile(1.0 / sigma), A), rate, size, added).loss()
    t = np.linspace(0.0, 6.0, 7)
    power = (-s if added else s + 1.0) + 1j * t * (-1.0 if added else 1.0)
    mu = 1.0 / sigma
    u = np.arange(-20.0 - (s + 1.0) * added, 20.0 + (s + 1.0) * size * mu, 0.01)
    terms = np.log(binom.pmf(np.arange(size + 1), size, rate))[:, None] + np.outer(
        np.arange(size + 1), mu * u
    )
    ratio = np.logaddexp.reduce(terms - 0.5 * (np.arange(size + 1)[:, None] * mu) ** 2, axis=0)
    exponent = norm.logpdf(u) + np.outer(power, ratio)
    top = exponent.real.max()
    truth = np.log(np.exp(exponent - top).sum(axis=1) * (u[1] - u[0])) + top
    found, error = loss.log_mgf_line(s, t)
    assert np.all(np.abs(np.exp(found - truth) - 1.0) <= np.expm1(error) + 1e-11)
    assert np.all(np.expm1(error) * np.exp((found - found[0]).real) < 1e-10)
    assert loss.log_mgf_real(np.array([s]))[0] == pytest.approx(truth[0].real, abs=1e-10)
    for height, envelope in zip(t[1:], loss.log_envelope(s, t[1:]), strict=True):
        assert envelope >= truth[t >= height].real.max() - 1e-10


GOLDEN = [(1, 1.5803318997), (2, 3.3406726040), (5, 9.2087545116)]


@pytest.mark.parametrize(("size", "epsilon"), GOLDEN)
def test_golden_values_of_sampled_groups(size: int, epsilon: float) -> None:
    """500 releases, σ = 1, q = 0.01 at 1e-6: by contour; those for groups lie in intervals by grids (next test)."""
    found = compose([(for_group(subsampled(GaussianProfile(1.0), 0.01), size), 500)]).epsilon(1e-6)
    assert found.lower - 1e-9 <= epsilon <= found.upper + 1e-9
    assert found.width < 1e-8


@pytest.mark.slow
def test_contours_and_grids_agree() -> None:
    """The same composition by certified curves alone, on grids: two methods that share neither rule nor transform."""

    class Curve(SampledGroupDirection):
        def loss(self) -> None:  # type: ignore[override]
            return None

    base = RelatedProfile(GaussianProfile(1.0), A)
    exact = compose([(SampledGroupDirection(base, 0.01, 2, False), 20)]).epsilon(1e-6)
    curve = compose([(Curve(base, 0.01, 2, False), 20)]).epsilon(1e-6)
    assert (curve.by, exact.by) == ("grid", "contour")
    assert curve.lower <= exact.upper
    assert exact.lower <= curve.upper
    assert curve.width < 1e-3


def test_zeroing_out_on_a_sample_is_like_removing() -> None:
    removed, zeroed = (
        compose([(for_group(SubsampledProfile(RelatedProfile(GaussianProfile(0.5), relation), 0.02), 3), 50)])
        for relation in (A, Z)
    )
    assert zeroed.neighbouring is Z
    assert zeroed.epsilon(1e-6).upper == removed.epsilon(1e-6).upper


@pytest.mark.few(1)
@pytest.mark.parametrize("sampling", [Sampling.POISSON, Sampling.FIXED_SIZE, Sampling.SHUFFLED])
def test_replacing_records_of_a_sample_goes_by_steps(sampling: Sampling) -> None:
    base = joining(GaussianProfile(1.0)) if sampling is Sampling.POISSON else GaussianProfile(1.0)
    one = sampled(base, 0.01, R, sampling)
    first, second = (compose([(for_group(one, k), 4)]).epsilon(1e-6) for k in (1, 2))
    assert 2.0 * first.upper < second.upper < 5.0 * first.upper


@pytest.mark.parametrize(
    ("base", "rate", "size", "message"),
    [
        (RelatedProfile(PureProfile(Fraction(1)), A), 0.1, 2, "PureProfile no pair is proved"),
        (GaussianProfile(1.0), 0.1, 2, "replace one"),
        (RelatedProfile(GaussianProfile(1.0), A), 1.5, 2, "sampling rate"),
        (RelatedProfile(GaussianProfile(1.0), A), 0.1, 257, "at most 256"),
    ],
)
def test_groups_that_no_pair_is_known_for(base: PrivacyProfile, rate: float, size: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SampledGroupProfile(base, rate, size)


SAMPLED = for_group(sampled(RelatedProfile(GaussianProfile(4.868820923358131), A), 0.05, R), 3)
"""A bound by steps that is 0.21 at epsilon = 1, and would be 0.52 at 3 by itself."""


def test_a_bound_by_steps_does_not_grow_again() -> None:
    for profile in (SAMPLED, GroupProfile(DiscreteLaplace(scale=0.4).profile(), 5)):
        values = profile.delta(np.geomspace(1e-6, 300.0, 256))  # where it is looked at
        assert (np.diff(values) <= 1e-12).all()
    assert SAMPLED.delta(3.0) <= SAMPLED.delta(0.9) * (1.0 + 1e-9)


@pytest.mark.slow
def test_a_bound_that_is_no_pairs_curve_is_no_lower_end() -> None:
    """The audit of these two ended with an error: one was said to cost more than both."""
    noise = DiscreteLaplace(scale=2.4000028606659174, sensitivity=Sensitivity(2, 2, 2)).profile()
    alone = ZeroConcentratedProfile(0.1)
    for pair in ((noise, SAMPLED), (RandomizedResponse(size=2, epsilon=0.001).profile(), alone)):
        found = compose(tuple((profile, 1) for profile in pair))
        for epsilon in (0.0, 0.5, 3.0):
            interval = found.delta(epsilon)
            assert 0.0 <= interval.lower <= interval.upper
            bounds = composed_profile([(pair[0], 1), (pair[1], 1)]).bounds(np.array([epsilon]))[1]
            assert interval.lower <= bounds * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "size"), [(1e-13, 10**14), (5e-13, 10**14), (1e-15, 10**12), (0.0, 7), (0.3, 5)]
)
def test_the_sum_over_the_steps(epsilon: float, size: int) -> None:
    """Of more than 10^12 records e^{kε} was taken to be at most e."""
    profile = for_group(ApproximateProfile(Fraction(epsilon), 1e-60), size)
    assert isinstance(profile, ApproximateProfile)
    exact = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon else size
    assert profile.delta_bound == pytest.approx(1e-60 * exact, rel=1e-9, abs=0.0)
    assert profile.delta_bound >= 1e-60 * exact


def test_next_to_certainty_a_group_is_rounded_up() -> None:
    mu, rate = 18.042683869835024, 0.9999998166741714
    none = (1 - Fraction(rate)) ** 2  # at ε = 0 all but what no member of the sample gives is told apart
    upper = SampledGroupDirection(joining(GaussianProfile(mu)), rate, 2, True).bounds(np.array([0.0]))[1]
    assert Fraction(float(upper[0])) >= 1 - none - Fraction(1, 10**18)


def test_replaced_groups_on_a_sample_are_a_pair_of_mixtures() -> None:
    """A pair of sampled Gaussians converted took 8.7 s for seven releases; a group of three of it did not end."""
    one = SubsampledProfile(RelatedProfile(GaussianProfile(1.0), A), 0.01)
    found = compose([(convert(one, R), 7)]).epsilon(1e-6)
    own = compose([(PoissonReplacedProfile(one.base, 0.01), 7)]).epsilon(1e-6)
    assert found.upper == pytest.approx(own.upper, abs=1e-8)
    three = for_group(convert(one, R), 3)
    assert found.upper < compose([(three, 7)]).epsilon(1e-6).upper < 3.0


@pytest.mark.parametrize(("rate", "mu", "size"), [(0.3, 1.0, 1), (0.02, 0.5, 3), (0.6, 2.0, 2)])
def test_the_curve_of_a_replaced_group_is_that_of_its_mixtures(rate: float, mu: float, size: int) -> None:
    base = RelatedProfile(GaussianProfile(mu), A)
    x = np.array([-0.7, 0.0, 0.3, 1.5, 4.0])
    low, high = PoissonReplacedProfile(base, rate, size).bounds(x)
    z = np.linspace(-12.0 - size * mu, 12.0 + size * mu, 400_001)
    p, q = (
        sum(
            math.comb(size, j) * rate**j * (1 - rate) ** (size - j) * norm.pdf(z, side * j * mu)
            for j in range(size + 1)
        )
        for side in (1, -1)
    )
    exact = [np.trapezoid(np.maximum(p - math.exp(own) * q, 0.0), z) for own in x]
    assert (low <= np.array(exact) * (1 + 1e-7) + 1e-14).all()
    assert (high >= np.array(exact) * (1 - 1e-7) - 1e-14).all()
    assert (high - low <= 1e-9 * high).all()


def laplace_tail(x: mp.mpf) -> mp.mpf:
    """P(noise > x) of scale 1."""
    return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2


def exact_laplace(rate: float, e: float, size: int, pair: SampledPair, epsilon: float) -> mp.mpf:
    """P(x > τ) - w Q(x > τ) where the ratio of densities is w, by bisection, to 50 digits."""
    q, e, w = mp.mpf(rate), mp.mpf(e), mp.exp(mp.mpf(epsilon))
    taken = [(mp.binomial(size, j) * q**j * (1 - q) ** (size - j), j * e) for j in range(size + 1)]
    alone = [(mp.mpf(1), mp.mpf(0))]
    above = alone if pair is SampledPair.ADDED else taken
    below = alone if pair is SampledPair.REMOVED else [(p, -at) for p, at in taken]

    def excess(x: mp.mpf) -> mp.mpf:
        one, other = (sum(p * mp.exp(-abs(x - at)) for p, at in side) for side in (above, below))
        return one - w * other

    low, high = -size * e - 1, size * e + 1
    if excess(high) <= 0:
        return mp.mpf(0)
    if excess(low) >= 0:
        return 1 - w
    for _ in range(180):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    one, other = (sum(p * laplace_tail(high - at) for p, at in side) for side in (above, below))
    return one - w * other


LAPLACE_GROUPS = [(0.3, 1.0, 1), (0.01, 0.5, 2), (0.2, 2.0, 3), (0.9, 0.3, 5), (0.5, 6.0, 4), (1e-6, 1e-3, 2)]


@pytest.mark.few(8)
@pytest.mark.slow_cells("SampledPair.REPLACED-0.9-0.3-5")
@pytest.mark.parametrize(("rate", "e", "size"), LAPLACE_GROUPS)
@pytest.mark.parametrize("pair", [SampledPair.REMOVED, SampledPair.ADDED, SampledPair.REPLACED])
def test_the_curve_of_a_group_under_laplace_noise(
    rate: float, e: float, size: int, pair: SampledPair
) -> None:
    base = RelatedProfile(LaplaceProfile(e, 1.0), A)
    own = (
        PoissonReplacedProfile(base, rate, size)
        if pair is SampledPair.REPLACED
        else SampledGroupDirection(base, rate, size, pair is SampledPair.ADDED)
    )
    top = float(own.pure_epsilon)
    x = np.array([-0.9, -0.3, 0.0, 0.1, 0.5, 0.99]) * top
    low, high = own.bounds(x)
    with mp.workdps(50):
        for i, at in enumerate(x.tolist()):
            exact = exact_laplace(rate, e, size, pair, at)
            assert low[i] <= exact <= high[i]
    assert (high - low <= 1e-7 * high + 1e-15).all()
    assert own.bounds(np.array([top]))[1] == 0.0


@pytest.mark.parametrize(("rate", "e", "size"), LAPLACE_GROUPS[:5])
@pytest.mark.parametrize("pair", [SampledPair.REMOVED, SampledPair.ADDED, SampledPair.REPLACED])
def test_the_transform_of_a_group_under_laplace_noise(
    rate: float, e: float, size: int, pair: SampledPair
) -> None:
    """M(0) = 1, and M against sums over outputs; the envelope lies above."""
    loss = SampledLaplaceLoss(rate, Fraction(e), pair, size)
    assert loss.log_mgf_real(np.array([1e-9]))[0] == pytest.approx(0.0, abs=1e-8 * max(1.0, loss.supremum))
    cell = e / math.ceil(e / 5e-4)  # the kinks are at ends: midpoints err by h²/24 of (2|z+1|)², at most 4e-6
    x = cell * (np.arange(-round(40.0 / cell), round((40.0 + size * e) / cell)) + 0.5)
    logs = binom.logpmf(np.arange(size + 1), size, rate)[:, None]
    moved = np.arange(size + 1)[:, None] * e
    taken, mirrored = (np.logaddexp.reduce(logs - np.abs(x - side * moved), axis=0) for side in (1, -1))
    above = -np.abs(x) if pair is SampledPair.ADDED else taken
    below = {SampledPair.REMOVED: -np.abs(x), SampledPair.ADDED: taken}.get(pair, mirrored)
    for s, t in ((0.5, 0.0), (2.0, 3.0), (6.0, 6.0)):
        true = np.sum(np.exp(above + (s + 1j * t) * (above - below))) * 0.5 * cell
        heights = np.array([0.0, t]) if t else np.zeros(1)
        value, error = loss.log_mgf_line(s, heights)
        assert abs(np.exp(value[-1]) - true) <= 1e-5 * abs(np.exp(value[0].real))
        assert error[0] < 1e-11
        if t:
            assert loss.log_envelope(s, heights[1:])[0] >= math.log(abs(true)) - 1e-5


@pytest.mark.parametrize("joined", [(1.0, 0.0), (0.6, 0.4), (0.3, -0.7)])
def test_laplace_noise_on_several_numbers_loses_no_more(joined: tuple[float, float]) -> None:
    """Two records that move two numbers by 1 in L1, replaced: by sums over the plane."""
    x = np.arange(-14.0, 14.0, 0.05)
    plane = np.meshgrid(x, x, indexing="ij")

    def noise(at: np.ndarray) -> np.ndarray:
        return 0.25 * np.exp(-np.abs(plane[0] - at[0]) - np.abs(plane[1] - at[1])) * 0.05**2

    q, (one, other) = 0.3, (np.array(joined), np.array([0.5, 0.5]))
    law = [((1 - q) ** 2, 0 * one), (q * (1 - q), one), (q * (1 - q), other), (q * q, one + other)]
    left = sum(p * noise(at) for p, at in law)
    right = sum(p * noise(-at) for p, at in law)
    curve = PoissonReplacedProfile(RelatedProfile(LaplaceProfile(1.0, 1.0), A), q, 2)
    for epsilon in (0.0, 0.3, 0.8):
        assert np.maximum(left - math.exp(epsilon) * right, 0.0).sum() <= curve.delta(epsilon) + 2e-3


def test_groups_of_sampled_laplace_cost_less_than_by_steps() -> None:
    one = SubsampledProfile(RelatedProfile(LaplaceProfile(1.0, 3.0), A), 0.01)
    found, steps = (compose([(own, 40)]).epsilon(1e-6) for own in (for_group(one, 2), GroupProfile(one, 2)))
    assert found.width < 1e-6
    assert found.upper < steps.upper
    replaced = compose([(for_group(sampled(one.base, 0.01, R), 2), 40)]).epsilon(1e-6)
    assert found.upper < replaced.upper
    assert replaced.width < 1e-6


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    "noise", [*map(GaussianProfile, (1e300, 1e8)), *map(LaplaceProfile, (1.0, 1.0), (1e-3, 1e-200))]
)
def test_next_to_no_noise_on_a_sample_costs_a_group_that_one_of_it_takes_part(
    noise: PrivacyProfile, size: int
) -> None:
    """Powers and exponentials of the movement were beyond floats."""
    low, high = SampledGroupProfile(RelatedProfile(noise, A), 0.01, size).bounds(np.array([0.0, 10.0]))
    taken = -math.expm1(size * math.log1p(-0.01))
    assert np.all(low <= taken * (1.0 + 1e-12))
    assert high == pytest.approx(taken, rel=1e-12)


@pytest.mark.slow_cells("5")
@pytest.mark.parametrize("size", [2, 5])
def test_the_mass_near_the_largest_loss_of_a_bound_is_no_lower_end(size: int) -> None:
    """The hull of the bound, of which the composition is made, says less than the bound near its end."""
    response = RandomizedResponse(size=16, epsilon=0.3).profile()
    for own in (response, SubsampledProfile(RelatedProfile(response, A), 0.2)):
        composed = compose([(for_group(own, size), 3)])
        found = composed.epsilon(1e-6)
        assert 0.5 * float(composed.pure_epsilon) < found.upper <= composed.pure_epsilon
        assert composed.product_epsilon(1e-6).lower == 0.0
