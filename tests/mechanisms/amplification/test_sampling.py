"""Sampled mechanisms under every relation: golden values, curves by quadrature, and what is refused."""

import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining, subsampled

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
)
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.amplification.sampling import Sampling, sampled
from mechanisms.composition.composed_loss import compose
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import SampledPair
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledDirection

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT


def replaced(sigma: float, rate: float) -> PrivacyProfile:
    return sampled(joining(GaussianProfile(1.0 / sigma)), rate, R)


def fixed(sigma: float, rate: float, movement: float = 1.0) -> PrivacyProfile:
    return sampled(GaussianProfile(movement / sigma), rate, R, Sampling.FIXED_SIZE)


REMOVED, ADDED = subsampled(GaussianProfile(1.0), 0.01).directions()

# Two or three lines and quadratures that agree to the digits shown.
GOLDEN = [
    (REMOVED, 500, 1e-6, 1.5803318997),
    (ADDED, 500, 1e-6, 1.0473676973),
    (subsampled(GaussianProfile(1.0), 0.01), 500, 1e-6, 1.5803318997),
    (sampled(RelatedProfile(GaussianProfile(1.0), Z), 0.01, Z), 500, 1e-6, 1.5803318997),
    (replaced(1.0, 0.01), 500, 1e-6, 2.2382069821),
    (fixed(1.0, 0.01), 500, 1e-6, 1.7977803895),
    (fixed(1.0, 0.01, 2.0), 500, 1e-6, 12.898057742),
    (replaced(1.0, 0.01), 1000, 1e-5, 2.8434402593),
    (fixed(1.0, 0.01), 1000, 1e-5, 2.1989099489),
    (replaced(2.0, 0.1), 100, 1e-6, 4.8863375807),
    (fixed(2.0, 0.1), 100, 1e-6, 2.8838436981),
    (fixed(2.0, 0.1, 2.0), 100, 1e-6, 8.8243559415),
    (replaced(0.8, 0.004), 10_000, 1e-6, 6.0281716042),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("profile", "count", "delta", "epsilon"), GOLDEN)
def test_golden_values(profile: PrivacyProfile, count: int, delta: float, epsilon: float) -> None:
    composed = compose([(profile, count)])
    found, product = composed.epsilon(delta), composed.product_epsilon(delta)
    assert product.width < 1e-9
    assert product.upper == pytest.approx(epsilon, abs=2e-10, rel=5e-11)
    assert found.upper <= product.upper  # equal but where Rényi DP over all data says less
    assert found.width < (1e-9 if composed.attained else 0.2 * epsilon)
    assert found.upper == product.upper or not composed.attained


def other_data(epsilon: float, rate: float, w: np.ndarray) -> np.ndarray:
    """δ at w of one release, responses of a sampled record, the other data being the worst at each w."""
    p, q = 1.0 / (1.0 + math.exp(-epsilon)), 1.0 / (1.0 + math.exp(epsilon))
    mixed = (1.0 - rate) * np.array([q, p]) + rate * np.array([p, q])
    pairs = (
        (mixed, np.array([q, p])),
        (np.array([p, q]), (1.0 - rate) * np.array([p, q]) + rate * np.array([q, p])),
    )
    return np.maximum.reduce([np.maximum(a - np.multiply.outer(w, b), 0.0).sum(axis=-1) for a, b in pairs])


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.6])
def test_other_records_are_worst_in_one_way_only(epsilon: float) -> None:
    """Two releases on samples of fixed size, the second one's data chosen by the first: less than the pair, twice."""
    loss, rate = 1.0, 0.5
    profile = FixedSizeProfile(RandomizedResponse(size=2, epsilon=loss).profile(), rate)
    p, q = 1.0 / (1.0 + math.exp(-loss)), 1.0 / (1.0 + math.exp(loss))
    mixed = (1.0 - rate) * np.array([q, p]) + rate * np.array([p, q])
    w = math.exp(epsilon)
    first = float(mixed @ other_data(loss, rate, w * np.array([q, p]) / mixed))
    exact = max(first, float(np.array([p, q]) @ other_data(loss, rate, w * mixed[::-1] / np.array([p, q]))))
    composed = compose([(profile, 2)])
    found = composed.delta(epsilon)
    assert found.lower <= exact * (1.0 + 1e-12)
    assert exact <= found.upper * (1.0 + 1e-12)
    assert not composed.attained
    assert compose([(profile, 1)]).attained


def test_samples_of_fixed_size_have_lower_ends_that_data_sets_attain() -> None:
    """Truthful answers with probability p on one of two records: all adaptive choices of the other one, counted."""
    q, p = 0.5, math.e / (1.0 + math.e)
    old, new = (p, 1.0 - p), (1.0 - p, p)
    between = tuple(q * a + (1.0 - q) * b for a, b in zip(old, new, strict=True))
    mixed = tuple(q * b + (1.0 - q) * a for a, b in zip(old, new, strict=True))

    def largest(releases: int, w: float) -> float:
        """Return sup P - w Q over sets, for the worst choice of pairs by what was released before."""
        if releases == 0:
            return max(0.0, 1.0 - w)
        pairs = ((between, new), (old, mixed))
        return max(
            sum(a * largest(releases - 1, w * b / a) for a, b in zip(*pair, strict=True)) for pair in pairs
        )

    profile = FixedSizeProfile(RandomizedResponse(epsilon=1.0, size=2).profile(), q)
    for releases in (1, 2, 3):
        for epsilon in (0.0, 0.3, 0.6, 1.0):
            found, truth = compose([(profile, releases)]).delta(epsilon), largest(releases, math.exp(epsilon))
            assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


def hockey_stick(log_p: object, log_q: object, cuts: list[float], epsilon: float) -> mp.mpf:
    """Integrate (P - e^ε Q)^+ between cuts."""
    w = mp.exp(epsilon)
    return mp.quad(lambda x: max(mp.mpf(0), log_p(x) - w * log_q(x)), cuts)  # type: ignore[operator]


@pytest.mark.slow_cells("-0.7")
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [-0.7, -0.05, 0.0, 0.02, 0.4])
def test_curves_by_quadrature(epsilon: float) -> None:
    """One release each, from the densities of the pairs."""
    q, s = 0.2, 0.9
    with mp.workdps(20):

        def laplace(x: mp.mpf, at: float) -> mp.mpf:
            return mp.exp(-abs(x - at) / s) / (2 * s)

        def mixed(at: float) -> object:
            return lambda x: (1 - q) * laplace(x, 0) + q * laplace(x, at)

        steps = [-40, -8, -3, -2, *np.linspace(-1.5, 1.5, 61), 2, 3, 8, 40]
        poisson = hockey_stick(mixed(1.0), mixed(-1.0), steps, epsilon)
        pair = mixed(1.0), lambda x: laplace(x, 0)
        size = hockey_stick(*(pair if epsilon >= 0 else pair[::-1]), steps, epsilon)
    ours = sampled(joining(LaplaceProfile(1.0, s)), q, R)
    assert ours.delta(epsilon) == pytest.approx(float(poisson), abs=2e-5)
    assert sampled(LaplaceProfile(1.0, s), q, R, Sampling.FIXED_SIZE).delta(epsilon) == pytest.approx(
        float(size), abs=2e-5
    )


PROFILES = st.one_of(
    st.builds(
        lambda mu, q: sampled(joining(GaussianProfile(mu)), q, R), st.floats(0.1, 4.0), st.floats(0.001, 0.9)
    ),
    st.builds(
        lambda e, q: sampled(joining(LaplaceProfile(e, 1.0)), q, R),
        st.floats(0.05, 20.0),
        st.floats(0.001, 0.9),
    ),
    st.builds(
        lambda base, q: sampled(base, q, R, Sampling.FIXED_SIZE),
        st.one_of(
            st.builds(GaussianProfile, st.floats(0.1, 4.0)),
            st.builds(LaplaceProfile, st.floats(0.05, 20.0), st.just(1.0)),
            st.builds(DiscreteLaplaceProfile, st.integers(1, 3), st.sampled_from([2.0, 5.0])),
            st.builds(PureProfile, st.fractions(Fraction(1, 10), 3)),
        ),
        st.floats(0.001, 0.9),
    ),
)


@settings(max_examples=60, deadline=None)
@given(PROFILES, st.floats(0.0, 3.0))
def test_curves_are_symmetric_fall_and_lie_in_their_bounds(profile: PrivacyProfile, x: float) -> None:
    assert profile.neighbouring is R
    grid = np.array([-x, 0.0, 0.5 * x, x])
    delta, (lower, upper) = profile.delta(grid), profile.bounds(grid)
    assert ((lower <= delta) & (delta <= upper) & (upper <= lower * (1 + 1e-6) + 1e-12)).all()
    assert delta[0] == pytest.approx(-math.expm1(-x) + math.exp(-x) * delta[3], abs=1e-12)
    assert (np.diff(delta) <= 1e-15).all()
    largest = profile.pure_epsilon
    if largest is not None:
        assert profile.bounds(np.array([float(largest) * (1 + 1e-15)]))[1][0] == 0.0
        assert profile.delta(0.999 * float(largest)) > 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sigma", "rate", "delta", "count"), [(1.0, 0.01, 1e-6, 1), (0.5, 0.3, 1e-3, 50), (2.0, 0.1, 1e-6, 200)]
)
def test_replacing_costs_more_than_removing_and_less_than_a_group_of_two(
    sigma: float, rate: float, delta: float, count: int
) -> None:
    one = compose([(subsampled(GaussianProfile(1.0 / sigma), rate), count)])
    two = compose([(replaced(sigma, rate), count)])
    epsilon = two.epsilon(delta)
    assert epsilon.upper >= one.epsilon(delta).lower
    removed, added = (
        compose([(side, count)]) for side in subsampled(GaussianProfile(1.0 / sigma), rate).directions()
    )
    half = 0.5 * epsilon.lower
    group = removed.delta(half).upper + math.exp(half) * added.delta(half).upper
    assert two.delta(epsilon.lower).lower <= group * (1 + 1e-9)
    wide = compose([(fixed(sigma, rate, 2.0), count)])  # a record of the sample replaced by its opposite
    assert wide.epsilon(delta).upper >= epsilon.lower


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.05, 0.95),
    st.floats(-1.0, 1.0),
    st.floats(-1.0, 1.0),
    st.floats(0.3, 3.0),
    st.floats(-1.5, 1.5),
)
def test_no_pair_of_records_beats_the_pair_for_replacing(
    rate: float, u: float, v: float, sigma: float, epsilon: float
) -> None:
    """δ of ((1-q) N_0 + q N_u, (1-q) N_0 + q N_v) on a fine grid, |u|, |v| <= 1."""
    x = np.linspace(-12.0 * sigma, 12.0 * sigma, 20_001)

    def density(at: float) -> np.ndarray:
        mixed = (1 - rate) * np.exp(-0.5 * (x / sigma) ** 2) + rate * np.exp(-0.5 * ((x - at) / sigma) ** 2)
        return mixed / (sigma * math.sqrt(2 * math.pi))

    delta = np.sum(np.maximum(density(u) - math.exp(epsilon) * density(v), 0.0)) * (x[1] - x[0])
    assert delta <= replaced(sigma, rate).delta(epsilon) + 1e-6


REFUSED = [
    (GaussianProfile(1.0), 0.1, A, Sampling.POISSON, "RelatedProfile\\(profile"),
    (GaussianProfile(1.0), 0.1, R, Sampling.POISSON, "movement of a record that joins or leaves"),
    (RelatedProfile(GaussianProfile(1.0), Z), 0.1, R, Sampling.POISSON, "is for 'zero out'"),
    (RelatedProfile(GaussianProfile(1.0), Z), 0.1, A, Sampling.POISSON, "must be for 'add or remove one'"),
    (joining(GaussianProfile(1.0)), 0.1, Z, Sampling.POISSON, "must be for 'zero out'"),
    (joining(GaussianProfile(1.0)), 0.1, R, Sampling.FIXED_SIZE, "twice the norm"),
    (GaussianProfile(1.0), 0.1, A, Sampling.FIXED_SIZE, "would change with the record"),
    (GaussianProfile(1.0), 0.1, Z, Sampling.FIXED_SIZE, "convert"),
    (joining(PureProfile(Fraction(1))), 0.1, R, Sampling.POISSON, "a group of two"),
    (joining(PerfectPrivacy()), 0.1, R, Sampling.POISSON, "no pair is proved"),
    (joining(DiscreteLaplaceProfile(1, 1.0)), 0.1, R, Sampling.POISSON, "no pair"),
    (
        joining(AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25))),
        0.1,
        A,
        Sampling.POISSON,
        "the same loss",
    ),
    (AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25)), 0.1, R, Sampling.FIXED_SIZE, "the same loss"),
    (
        joining(GaussianProfile(1.0)),
        1.0,
        R,
        Sampling.POISSON,
        "without sampling it must be for 'replace one'",
    ),
    (GaussianProfile(1.0), 0.0, R, Sampling.FIXED_SIZE, "sampling rate = 0.0"),
    (subsampled(GaussianProfile(1.0), 0.1), 0.1, A, Sampling.POISSON, "already subsampled"),
    (replaced(1.0, 0.1), 0.1, R, Sampling.FIXED_SIZE, "already subsampled"),
    (fixed(1.0, 0.1), 0.1, R, Sampling.FIXED_SIZE, "already subsampled"),
]


@pytest.mark.parametrize(("profile", "rate", "relation", "scheme", "words"), REFUSED)
def test_what_is_not_proved_is_refused(
    profile: PrivacyProfile, rate: float, relation: Neighbouring, scheme: Sampling, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        sampled(profile, rate, relation, scheme)


def test_a_sampled_curve_cannot_be_stated_for_another_relation() -> None:
    for profile in (replaced(1.0, 0.1), fixed(1.0, 0.1)):
        with pytest.raises(ParameterError, match="no statement changes"):
            RelatedProfile(profile, A)
    assert isinstance(replaced(1.0, 0.1), PoissonReplacedProfile)
    assert isinstance(fixed(1.0, 0.1), FixedSizeProfile)


def test_a_direction_is_of_a_record_that_joins_and_is_not_mixed_with_the_other() -> None:
    with pytest.raises(ParameterError, match="is for 'replace one'"):
        SubsampledDirection(GaussianProfile(1.0), 0.1, False)
    with pytest.raises(ParameterError, match="no pair of data sets has both"):
        compose([(REMOVED, 2), (ADDED, 2)])
    assert compose([(REMOVED, 2), (subsampled(GaussianProfile(1.0), 0.01), 2)]).neighbouring is A


def test_beyond_its_largest_loss_an_added_record_counts_nothing() -> None:
    """It is ln 2 at q = 1/2; a removed record has q times the base's δ at ln(1 + (w - 1)/q)."""
    base = joining(GaussianProfile(0.2))
    low, high = subsampled(base, 0.5).bounds(np.array([3.0, 1.0]))
    expected = 0.5 * GaussianProfile(0.2).delta(np.log1p(2.0 * np.expm1([3.0, 1.0])))
    assert low == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert high == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_largest_losses_of_laplace_noise_where_the_rate_is_about_its_inverse() -> None:
    """There ln(1-q + q e^e) is about 1, and e in the hundreds: rounding e moves it by hundreds of units."""
    rng = random.Random(3)
    for _ in range(60):
        rate, scale = 10.0 ** rng.uniform(-280.0, -20.0), rng.uniform(0.5, 1.5)
        base = LaplaceProfile((rng.uniform(-3.0, 8.0) - math.log(rate)) * scale, scale)
        with mp.workdps(340):
            e, q = mp.mpf(base.pure_epsilon.numerator) / base.pure_epsilon.denominator, mp.mpf(rate)
            low, high = mp.log(1 - q + q * mp.exp(-e)), mp.log(1 - q + q * mp.exp(e))
            cases: list[tuple[PrivacyProfile, mp.mpf]] = [
                (FixedSizeProfile(base, rate), high),
                (SubsampledDirection(joining(base), rate, False), high),
                (PoissonReplacedProfile(joining(base), rate), high - low),
            ]
            for profile, largest in cases:
                own, loss = profile.pure_epsilon, profile.loss()
                assert own is not None
                assert loss is not None
                assert largest <= mp.mpf(own.numerator) / own.denominator <= largest * (1 + 1e-12)
                assert loss.supremum >= largest
                assert loss.infimum <= (low if profile is cases[1][0] else -largest)
                epsilon = float(largest) * (1.0 - 10.0 ** rng.uniform(-15.0, -12.0))
                # For Laplace noise beyond the record's, δ = q (1 - e^{-(e - l0)/2}) at the base loss l0.
                grown = (
                    mp.exp(epsilon) * (1 - q + q * mp.exp(-e)) if profile is cases[2][0] else mp.exp(epsilon)
                )
                true = q * (1 - mp.exp((mp.log((grown - 1 + q) / q) - e) / 2))
                assert float(profile.bounds(np.array(epsilon))[1]) >= true


def test_no_delta_of_unbounded_losses_is_rounded_to_zero() -> None:
    """Below normal floats a rate times a δ has few digits or none."""
    with mp.workdps(60):
        q, mu, epsilon = (
            mp.mpf(1.5358848829214327e-88),
            mp.mpf(10.705506660642918),
            mp.mpf(202.19838149743066),
        )
        at = mp.log((mp.exp(epsilon) - 1 + q) / q)
        true = q * (mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu))
    for profile in (
        subsampled(GaussianProfile(10.705506660642918), 1.5358848829214327e-88),
        FixedSizeProfile(GaussianProfile(10.705506660642918), 1.5358848829214327e-88),
    ):
        low, high = profile.bounds(np.array(202.19838149743066))
        assert low <= true <= high
        assert not profile.proves(1e3, 0.0)
    assert subsampled(LaplaceProfile(1.0, 1.0), 1e-100).proves(2.0, 0.0)


@pytest.mark.parametrize("s", [1e2, 1e3, 1e6])
def test_transforms_of_nearly_all_records_at_large_tilts(s: float) -> None:
    """What counts of the density was looked for at ln 0."""
    loss = SampledLaplaceLoss(1.0 - 2.0**-53, Fraction(300), SampledPair.REPLACED)
    value, error = loss.log_mgf_line(s, np.zeros(1))
    low, high = float(value[0].real - error[0]), float(value[0].real + error[0])
    q = mp.mpf(1.0 - 2.0**-53)
    least, most = (mp.log(1 - q + q * mp.exp(side * 300)) for side in (-1, 1))
    atom = -300 - mp.log(2) + (s + 1) * most - s * least  # the largest loss
    assert high >= atom
    assert low <= s * (most - least)


@pytest.mark.parametrize("pair", SampledPair)
def test_transforms_of_no_tilt_are_one_at_zero(pair: SampledPair) -> None:
    """They were a division by zero."""
    loss, t = SampledLaplaceLoss(0.01, Fraction(3), pair), np.array([0.0, 0.5, 1.0])
    (value, error), (beside, off) = (loss.log_mgf_line(s, t) for s in (0.0, 1e-200))
    assert abs(value[0]) <= error[0] < 1e-10
    assert (np.abs(value - beside) <= error + off).all()
    assert loss.cost(0.0, 1.0) > 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize("mu", [1e-170, 1e-155])
def test_noise_so_large_that_its_square_is_no_float(mu: float) -> None:
    """Two of them were a division by zero. δ(0) is φ(0) μ, times the rate and the distance."""
    base = GaussianProfile(mu)
    for profile, moved in (
        (fixed(1.0 / mu, 0.5), 0.5),
        (subsampled(base, 0.5), 0.5),
        (replaced(1.0 / mu, 0.5), 1.0),
    ):
        found = compose([(profile, 1)]).delta(0.0)
        true = moved * mu / math.sqrt(2.0 * math.pi)
        assert found.lower <= true * (1 + 1e-9)
        assert true * (1 - 1e-9) <= found.upper <= 1e-13
        assert [side.loss() for side in profile.directions()] == [None] * len(profile.directions())


def test_products_below_normal_floats_are_rounded_to_their_side() -> None:
    """A δ of 1.7 times the smallest float is neither of the two beside it."""
    mass, rate = 1e-300, 8.4e-24
    removed, _ = subsampled(ApproximateProfile(Fraction(1), mass), rate).directions()
    lower, upper = (Fraction(float(end)) for end in removed.bounds(np.array(1.0)))
    exact = Fraction(rate) * Fraction(mass)
    assert Fraction(5e-324) < exact < 2 * Fraction(5e-324)
    assert lower <= exact <= upper <= 3 * Fraction(5e-324)
