import itertools
import json
import math
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import stats

from mechanisms import (
    Binomial,
    BinomialProfile,
    DomainError,
    GaussianProfile,
    LaneStreams,
    Mechanism,
    NoPrivacy,
    NumpyNoise,
    OpenDPNoise,
    ParameterError,
    PerfectPrivacy,
    Sensitivity,
    mechanism_from_dict,
)
from mechanisms.numerics.binomial_law import log_binomial, window
from mechanisms.profiles.binomial_profile import BinomialShift

ALPHA = 1e-6  # false-alarm rate of each statistical test


@pytest.mark.parametrize(
    ("trials", "probability"), [(1, 0.5), (10, 0.5), (40, 0.1), (1000, 0.25), (10**6, 0.5), (1617318454, 0.5)]
)
def test_log_binomial_is_accurate(trials: int, probability: float) -> None:
    spread = math.sqrt(trials * probability * (1 - probability))
    y = np.unique(np.clip(np.rint(trials * probability + spread * np.arange(-30, 31, 3)), 0, trials)).astype(
        int
    )
    with mpmath.workdps(60):
        p = mpmath.mpf(probability)
        exact = [
            float(
                mpmath.log(mpmath.binomial(trials, int(k)))
                + int(k) * mpmath.log(p)
                + (trials - int(k)) * mpmath.log(1 - p)
            )
            for k in y
        ]
    np.testing.assert_allclose(log_binomial(y, trials, probability), exact, rtol=2e-15, atol=2e-14)
    assert log_binomial([-1, trials + 1], trials, probability).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize(
    ("trials", "probability"), [(2**20, 0.3), (4576488122, 0.9999999978553099), (141054249214, 1 - 2.0**-23)]
)
def test_log_binomial_is_that_of_the_probability_itself(trials: int, probability: float) -> None:
    """N p was rounded: at 1 - p = 2e-9 a logarithm was off by 1e-6."""
    spread = math.sqrt(trials * probability * (1 - probability))
    y = [round(trials * probability + z * spread) for z in (-20, -5, -1, 0, 1)]
    with mpmath.workdps(60):
        p = mpmath.mpf(probability)
        exact = [
            float(
                mpmath.loggamma(trials + 1)
                - mpmath.loggamma(k + 1)
                - mpmath.loggamma(trials - k + 1)
                + k * mpmath.log(p)
                + (trials - k) * mpmath.log(1 - p)
            )
            for k in y
        ]
    np.testing.assert_allclose(log_binomial(y, trials, probability), exact, rtol=4e-14)


@pytest.mark.parametrize("probability", [1e-9, 1e-20, 1e-300])
def test_a_probability_next_to_0(probability: float) -> None:
    """1 - p was rounded; where it was 1 there was a math domain error."""
    profile = BinomialProfile(1000, 1, probability)
    kept = math.exp(1000 * math.log1p(-probability))  # nothing is hidden unless there is noise
    lower, upper = (float(end[0]) for end in profile.bounds(np.array([1.0])))
    assert lower <= kept <= upper
    one = 1000 * probability * math.exp(999 * math.log1p(-probability))  # P(1), beside which Q(1) = P(0)
    beyond = BinomialShift(1000, -1, probability)
    assert float(beyond.bounds(np.array([-math.log(1 / one)]))[1][0]) <= 1.0
    assert beyond.infinite_mass == pytest.approx(kept, rel=1e-10)
    assert math.isinf(Binomial(trials=1000, shift=1, probability=probability, delta=0.5).epsilon)


def test_several_coordinates_with_one_finite_loss() -> None:
    """Only noise 0 of the larger value, or 4 of the smaller one, is possible under the other: a division by zero."""
    profile = BinomialProfile(4, 4, 0.3, 2)
    assert profile.delta(0.0) == pytest.approx(1.0 - 0.3**8, rel=1e-9)


@pytest.mark.parametrize(("trials", "probability"), [(2, 0.513771663187637), (1, 0.3), (2, 0.9999)])
def test_several_coordinates_with_one_finite_loss_at_every_epsilon(trials: int, probability: float) -> None:
    """A deviation that is rounding alone asks for a tilt at which all masses vanished: a math domain error."""
    profile = BinomialProfile(trials, trials, probability, 2)
    for epsilon in np.geomspace(1e-9, 5.0, 12).tolist():
        exact = max(
            brute_force(trials, (one * trials, two * trials), probability, epsilon)
            for one, two in itertools.product((1, -1), repeat=2)
        )
        assert exact * (1 - 1e-12) <= profile.delta(epsilon) <= exact * 1.001


@pytest.mark.parametrize(("trials", "probability"), [(1, 0.5), (100, 0.5), (5000, 0.5), (10**5, 0.01)])
def test_window_leaves_out_nothing_that_counts(trials: int, probability: float) -> None:
    low, high = window(trials, probability)
    for outside in (low - 1, high + 1):
        assert log_binomial(outside, trials, probability) < -690.0
    mass = np.exp(log_binomial(np.arange(low, high + 1), trials, probability)).sum()
    assert mass == pytest.approx(1.0, abs=1e-13)


def brute_force(trials: int, shifts: tuple[int, ...], probability: float, epsilon: float) -> float:
    """Σ (P - e^ε Q)^+ over all outputs, P with the signed shifts."""
    wide = trials + 2 * max(map(abs, shifts))
    y = np.arange(-wide, wide + 1)
    q = np.exp(log_binomial(y, trials, probability))
    p = [np.exp(log_binomial(y - shift, trials, probability)) for shift in shifts]
    joint_p, joint_q = p[0], q
    for one in p[1:]:
        joint_p = np.multiply.outer(joint_p, one)
        joint_q = np.multiply.outer(joint_q, q)
    return float(np.maximum(joint_p - math.exp(epsilon) * joint_q, 0.0).sum())


@pytest.mark.parametrize(
    ("trials", "shift", "probability"), [(6, 2, 0.5), (30, 1, 0.5), (40, 5, 0.35), (3, 3, 0.6)]
)
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 1.0, 4.0])
def test_one_coordinate_is_the_hockey_stick(
    trials: int, shift: int, probability: float, epsilon: float
) -> None:
    exact = max(brute_force(trials, (sign * shift,), probability, epsilon) for sign in (1, -1))
    profile = BinomialProfile(trials, shift, probability)
    assert profile.attained()
    assert exact <= profile.delta(epsilon) + 1e-15
    assert profile.delta(epsilon) == pytest.approx(exact, rel=1e-11, abs=1e-15)


@pytest.mark.few(5)
@pytest.mark.parametrize(("trials", "shift", "probability"), [(40, 2, 0.5), (60, 3, 0.4), (25, 1, 0.5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 2.5])
def test_several_coordinates_bound_the_hockey_stick_closely(
    trials: int, shift: int, probability: float, epsilon: float
) -> None:
    for d in (2, 3):
        exact = max(
            brute_force(trials, tuple(sign * shift for sign in signs), probability, epsilon)
            for signs in itertools.product((1, -1), repeat=d)
        )
        delta = BinomialProfile(trials, shift, probability, d).delta(epsilon)
        assert exact <= delta <= exact * 1.005 + 1e-15
        assert BinomialProfile(trials, shift, probability, d).attained() == ()


def test_smaller_shifts_of_fewer_coordinates_lose_less() -> None:
    """All shifts within the box, p on both sides of 1/2: the corner is the worst."""
    trials, shift = 20, 3
    for probability in (0.5, 0.3):
        corner = BinomialProfile(trials, shift, probability, 2)
        for a, b in itertools.product(range(-shift, shift + 1), repeat=2):
            for epsilon in (0.1, 0.7, 2.0):
                assert brute_force(trials, (a, b), probability, epsilon) <= corner.delta(epsilon) + 1e-12


@pytest.mark.slow_cells("100000000-100-1-0.5", "100000000-100-1-0.4", "100000000-10-20-0.4")
@pytest.mark.parametrize("probability", [0.5, 0.4])
@pytest.mark.parametrize(("trials", "shift", "coordinates"), [(10**8, 10, 20), (10**8, 100, 1)])
def test_many_trials_come_to_the_gaussian_mechanism(
    trials: int, shift: int, coordinates: int, probability: float
) -> None:
    """The central limit is a few parts in 10⁵ away here, the grid adds as much, 16 times more for two laws."""
    sigma = math.sqrt(trials * probability * (1 - probability))
    limit = GaussianProfile(shift * math.sqrt(coordinates) / sigma)
    profile = BinomialProfile(trials, shift, probability, coordinates)
    for delta in (1e-3, 1e-9, 1e-15):
        accuracy = 5e-5 if probability == 0.5 else 1e-3
        assert profile.epsilon(delta) == pytest.approx(limit.epsilon(delta), rel=accuracy)


def test_tiny_deltas_keep_their_relative_accuracy() -> None:
    """Far out, where an untilted transform has no digit left, against direct convolution of rounded losses."""
    trials, epsilon, step = 4000, 0.6, 2e-4
    y = np.arange(0, trials)
    log_p = log_binomial(np.arange(0, trials + 1), trials, 0.5)
    losses = log_p[:-1] - log_p[1:]
    y = y[np.abs(losses) < 0.4]  # the rest has mass below 1e-33
    bracket = []
    for rounded in (np.floor, np.ceil):
        cells = rounded(losses[y] / step).astype(int)
        masses = np.bincount(cells - cells.min(), np.exp(log_p[y]))
        two = np.convolve(masses, masses)
        four = np.convolve(two, two)
        grid = (np.arange(four.size) + 4 * cells.min()) * step
        bracket.append(float((four * -np.expm1(np.minimum(epsilon - grid, 0.0))).sum()))
    delta = BinomialProfile(trials, 1, 0.5, 4).delta(epsilon)
    assert 1e-28 < bracket[0] < delta < bracket[1] < 1e-18


@pytest.mark.parametrize("coordinates", [1, 5])
def test_profile_is_a_privacy_profile(coordinates: int) -> None:
    profile = BinomialProfile(300, 2, 0.5, coordinates)
    x = np.linspace(-2.0, 4.0, 61)
    delta = profile.delta(x)
    assert np.all(np.diff(delta) <= 1e-9)
    assert np.all(delta >= np.maximum(0.0, -np.expm1(x)) - 1e-12)
    assert profile.delta(math.inf) == profile.infinite_mass
    for target in (0.1, 1e-6, 1e-12):
        assert profile.delta(profile.epsilon(target)) <= target


@pytest.mark.parametrize("probability", [0.3, 0.5, 0.7])
def test_infinite_mass_is_that_of_the_worse_direction(probability: float) -> None:
    """Upwards the g largest noises give the shift away, downwards the g smallest."""
    y = np.arange(8)
    law = stats.binom.pmf(y, 7, probability)
    worse = max(law[-3:].sum(), law[:3].sum())
    assert BinomialProfile(7, 3, probability).infinite_mass == pytest.approx(worse)
    several = BinomialProfile(7, 3, probability, 4).infinite_mass
    assert several == pytest.approx(1 - (1 - worse) ** 4)
    assert BinomialProfile(7, 3, probability).delta(math.inf) == pytest.approx(worse)


MECHANISM = Binomial(trials=500, shift=3, dimension=4, delta=1e-6)


def test_is_a_mechanism() -> None:
    assert isinstance(MECHANISM, Mechanism)
    again = mechanism_from_dict(json.loads(json.dumps(MECHANISM.to_dict())))
    assert again == MECHANISM
    assert hash(again) == hash(MECHANISM)
    assert MECHANISM.epsilon == MECHANISM.profile().epsilon(1e-6)
    assert MECHANISM.sensitivity == Sensitivity.of_box([3.0] * 4)


def test_profile_at_other_movements() -> None:
    assert MECHANISM.profile(Sensitivity(0.0, 0.0, 0.0)) == PerfectPrivacy()
    assert MECHANISM.profile(Sensitivity(math.inf, math.inf, math.inf)) == NoPrivacy()
    assert MECHANISM.profile(Sensitivity(1.0, 1.0, 1.0)) == BinomialProfile(500, 1)
    # At most two coordinates move, and neither by more than 1; that both move by 2 is impossible.
    partial = MECHANISM.profile(Sensitivity(2.0, 2.0, 2.0))
    assert partial == BinomialProfile(500, 2, 0.5, 2, "every moved coordinate moving by linf")
    assert not partial.attained()


@pytest.mark.parametrize("source", [np.random.default_rng(3), OpenDPNoise()], ids=["numpy", "secure"])
def test_samples_follow_log_density(source) -> None:  # type: ignore[no-untyped-def]
    """Chi-square at rate ALPHA."""
    mechanism = Binomial(trials=60, shift=2)
    samples = mechanism.release(np.full((20_000, 1), 7), source).ravel()
    points = np.arange(7, 68)
    expected = samples.size * np.exp(mechanism.log_density(points, 7))
    assert expected.sum() == pytest.approx(samples.size)
    common = expected > 10
    observed = np.bincount(samples - 7, minlength=61)
    p_value = stats.chisquare(
        np.append(observed[common], observed[~common].sum()),
        np.append(expected[common], expected[~common].sum()),
    ).pvalue
    assert p_value > ALPHA


def test_lanes_do_not_depend_on_their_number() -> None:
    few, many = (
        MECHANISM.release(np.zeros((n, 4), dtype=int), NumpyNoise(LaneStreams(5, n))) for n in (64, 192)
    )
    np.testing.assert_array_equal(few, many[:64])


def test_sums_of_whole_floats_are_accepted_and_halves_are_not() -> None:
    released = MECHANISM.release(np.array([[1.0, 2.0]]), np.random.default_rng(0))
    assert released.dtype == np.int64
    with pytest.raises(DomainError, match="whole numbers"):
        MECHANISM.release(np.array([[0.5]]), np.random.default_rng(0))


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="5 coordinates"):
        MECHANISM.release(np.zeros((64, 5), dtype=int), np.random.default_rng(0))
    with pytest.raises(ParameterError, match="secure binomial noise"):
        Binomial(trials=10, shift=1, probability=0.4).release([0], OpenDPNoise())
    with pytest.raises(ParameterError, match="shift = 11"):
        Binomial(trials=10, shift=11)
    with pytest.raises(ParameterError, match="trials"):
        BinomialProfile(0, 1)


def test_coordinates_that_leave_what_the_noise_reaches_are_seen():
    """Two coordinates move by as much as there are random bits: no loss in the window of likely noise is finite."""
    profile = BinomialProfile(10**6, 10**6, 0.5, 2)
    assert profile.delta(1.0) == 1.0
    assert profile.infinite_mass == 1.0


@pytest.mark.parametrize("make", [partial(Binomial, shift=1), partial(BinomialProfile, shift=1)])
def test_a_law_of_too_many_terms_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    """Its curve took all memory."""
    with pytest.raises(ParameterError, match=r"trials = 1000000000000000: must be at most 274877906944"):
        make(trials=10**15)


def test_secure_bits_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10^10 bits at once, more than a GB was held."""
    drawn = []
    monkeypatch.setattr("secrets.randbits", lambda size: (drawn.append(size), (1 << size) - 1)[1])
    monkeypatch.setattr("mechanisms.noise.binomial._PART", 8)
    assert Binomial(trials=21, shift=1).release(np.array([3]), OpenDPNoise()).tolist() == [24]
    assert drawn == [8, 8, 5]
