"""Moment generating functions of privacy losses against 30-digit values, with their certified errors."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining, subsampled

from mechanisms import (
    AtomicProfile,
    DiscreteGaussianProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    ZeroConcentratedProfile,
)
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.losses.gaussian_loss import GaussianLoss, sampled_gaussian_loss
from mechanisms.losses.gaussian_mixture_loss import (
    AT_ZERO,
    GaussianMixtureLoss,
    GaussianMixtureLossSum,
    _transforms,
)
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.privacy_loss import LossSum, PrivacyLoss, SampledPair, add_losses, log1p_complex
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss
from mechanisms.profiles.bounded_range import BoundedRangeLoss, BoundedRangeProfile
from mechanisms.profiles.subsampled import SubsampledProfile

mp.mp.dps = 30


def laplace(e: float, z: mp.mpc) -> mp.mpc:
    e = mp.mpf(e)
    return ((z + 1) * mp.exp(z * e) + z * mp.exp(-(z + 1) * e)) / (2 * z + 1)


def sampled_gaussian(q: float, sigma: float, w: mp.mpc) -> mp.mpc:
    q, sigma = mp.mpf(q), mp.mpf(sigma)

    def integrand(x: mp.mpf) -> mp.mpc:
        ratio = 1 - q + q * mp.exp((2 * x - 1) / (2 * sigma**2))
        return mp.npdf(x, 0, sigma) * mp.exp(w * mp.log(ratio))

    return mp.quad(integrand, mp.linspace(-14 * sigma, max(float(w.real), 0) + 14 * sigma, 30))


def sampled_laplace(q: float, e: float, w: mp.mpc) -> mp.mpc:
    q, e = mp.mpf(q), mp.mpf(e)

    def power(x: mp.mpf) -> mp.mpc:
        return mp.exp(w * mp.log(1 - q + q * mp.exp(x)))

    density = mp.quad(lambda x: mp.exp(-(e + x) / 2) / 4 * power(x), mp.linspace(-e, e, 13))
    return mp.exp(-e) / 2 * power(e) + power(-e) / 2 + density


def assert_certified(loss: PrivacyLoss, s: float, t: np.ndarray, exact: list[mp.mpc], count: int = 1) -> None:
    """|computed - M| <= |computed| (e^E - 1) at each node."""
    value, error = loss.log_mgf_line(s, t)
    for k, true in enumerate(exact):
        computed = mp.exp(mp.mpc(value[k]))
        assert abs(computed - true**count) <= abs(computed) * mp.expm1(error[k]), (s, t[k])


@pytest.mark.parametrize(("e", "count"), [(0.05, 1000), (3.0, 7), (1e-6, 10**6), (0.3, 1), (1e-3, 10**6)])
@pytest.mark.parametrize("s", [0.02, 3.0, 60.0])
def test_laplace(e: float, count: int, s: float) -> None:
    t = np.linspace(0.0, 300.0, 7)
    loss = LaplaceLoss((Fraction(e),), (count,))
    assert_certified(loss, s, t, [laplace(e, mp.mpc(s, x)) for x in t], count)


@dataclass(frozen=True)
class Known:
    """A subsampled loss, where its transform is known (at ``s + it``), and its values to 25 digits."""

    loss: GaussianMixtureLoss | SampledLaplaceLoss
    rate: float
    s: float
    t: tuple[float, ...]
    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.loss}-{self.s}"

    @property
    def exact(self) -> list[mp.mpc]:
        return [mp.mpc(*value) for value in self.values]

    def by_quadrature(self) -> list[mp.mpc]:
        loss = self.loss
        added = (
            loss.pair is SampledPair.ADDED if isinstance(loss, SampledLaplaceLoss) else loss.above == AT_ZERO
        )
        powers = [-mp.mpc(self.s, x) if added else mp.mpc(self.s, x) + 1 for x in self.t]
        if isinstance(loss, GaussianMixtureLoss):
            return [sampled_gaussian(self.rate, loss.sigma, w) for w in powers]
        return [sampled_laplace(loss.rate, float(loss.epsilon), w) for w in powers]


def known_transforms() -> list[Known]:
    """Read the file; each line holds what it takes to compute its values again."""
    found = []
    path = Path(__file__).parent / "subsampled_transforms.json"
    for kind, q, size, added, s, t, values in json.loads(path.read_text(encoding="ascii")):
        loss = (
            sampled_gaussian_loss(q, size, added)
            if kind == "gaussian"
            else SampledLaplaceLoss(q, Fraction(size), SampledPair.ADDED if added else SampledPair.REMOVED)
        )
        found.append(Known(loss, q, s, tuple(t), tuple((re, im) for re, im in values)))
    return found


KNOWN = known_transforms()


@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_subsampled(known: Known) -> None:
    assert_certified(known.loss, known.s, np.array(known.t), known.exact)


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_the_digits_of_the_file_are_those_of_a_quadrature(known: Known) -> None:
    for value, again in zip(known.exact, known.by_quadrature(), strict=True):
        assert abs(value - again) <= mp.mpf(10) ** -20 * abs(again)


@pytest.mark.parametrize("s", [1e6, 1e12])
def test_a_sampled_laplace_loss_takes_few_panels_at_every_order(s: float) -> None:
    """Where e^{-sl} is large the loss of a record added hardly moves: at s = 1e12 there were millions of panels."""
    loss = SampledLaplaceLoss(1e-4, Fraction(20), SampledPair.ADDED)
    for height in (0.0, 1e3, s):
        panels = loss._pieces[0].panels(-s, height)
        assert 32 * panels.centres.size <= 1e5
        assert 0.1 * 32 * panels.centres.size <= 4.0 * loss.cost(s, height)


@pytest.mark.parametrize(("q", "sigma"), [(0.01, 1.0), (0.2, 3.0)])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_subsampled_gaussian_at_whole_orders(q: float, sigma: float, k: int) -> None:
    """A(k) = Σ_j C(k,j) (1-q)^{k-j} q^j e^{j(j-1)/2σ²} (Mironov, Talwar, Zhang 2019)."""
    terms = [
        math.comb(k, j) * (1 - q) ** (k - j) * q**j * math.exp(j * (j - 1) / (2 * sigma**2))
        for j in range(k + 1)
    ]
    value, _ = sampled_gaussian_loss(q, sigma).log_mgf_line(k - 1.0, np.zeros(1))
    assert value[0].real == pytest.approx(math.log(math.fsum(terms)), rel=1e-12, abs=1e-16)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("s", "top"), [(0.7, 40.0), (12.0, 9.0), (150.0, 3.0)])
def test_many_sampled_gaussians_by_one_rule_are_each_by_its_own(added: bool, s: float, top: float) -> None:
    losses = [sampled_gaussian_loss(q, sigma, added) for q, sigma in [(1e-4, 0.8), (0.1, 2.0), (0.6, 1.1)]]
    t = np.linspace(0.0, top, 40)
    value, error = add_losses(losses, [3, 1, 2]).log_mgf_line(s, t)
    each = [loss.log_mgf_line(s, t) for loss in losses]
    product = np.exp(sum(n * own for n, (own, _) in zip([3, 1, 2], each, strict=True)) - value)
    allowed = error + sum(n * off for n, (_, off) in zip([3, 1, 2], each, strict=True))
    assert (np.abs(product - 1.0) <= np.expm1(np.minimum(allowed, 30.0))).all()


@pytest.mark.slow
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("s", "top"), [(0.7, 40.0), (12.0, 9.0)])
def test_many_sampled_gaussians_are_the_sum_of_each(added: bool, s: float, top: float) -> None:
    """The rule for all together against 25 digits for each."""
    each = [(0.004, 0.8, 3), (0.1, 2.0, 1), (0.3, 1.1, 2), (0.9, 4.0, 1)]
    total = add_losses(
        [sampled_gaussian_loss(q, sigma, added) for q, sigma, _ in each], [n for *_, n in each]
    )
    t = np.linspace(0.0, top, 6)
    powers = [-mp.mpc(s, x) if added else mp.mpc(s, x) + 1 for x in t]
    exact = [mp.fprod(sampled_gaussian(q, sigma, w) ** n for q, sigma, n in each) for w in powers]
    assert_certified(total, s, t, exact)


def test_transforms_close_to_one_keep_their_digits() -> None:
    """A(2) - 1 = q² (e^{1/σ²} - 1): counts of 1e9 multiply the error of ln M."""
    q, sigma = 1e-4, 2.0
    value, error = sampled_gaussian_loss(q, sigma).log_mgf_line(1.0, np.array([0.0, 0.5]))
    true = math.log1p(q * q * math.expm1(1.0 / sigma**2))
    assert abs(value[0].real - true) <= error[0] < 1e-17


@pytest.mark.few(1)
@pytest.mark.parametrize(("shift", "sigma"), [(1, 0.2), (2, 3.0), (1, 20.0)])
def test_discrete_gaussian(shift: int, sigma: float) -> None:
    reach, variance = int(60 * sigma + 60), mp.mpf(sigma) ** 2
    mass = {k: mp.exp(-(mp.mpf(k) ** 2) / (2 * variance)) for k in range(-reach, reach + 1)}
    total = mp.fsum(mass.values())
    t = np.linspace(0.0, 3.0 * sigma, 4)
    exact = [
        mp.fsum(
            p * mp.exp(mp.mpc(0.7, x) * shift * (shift - 2 * k) / (2 * variance)) for k, p in mass.items()
        )
        / total
        for x in t
    ]
    assert_certified(DiscreteGaussianLoss(shift, sigma), 0.7, t, exact)


LOSSES = [
    GaussianLoss(0.3),
    LaplaceLoss((Fraction(1, 2), Fraction(1, 7)), (3, 5)),
    sampled_gaussian_loss(0.1, 1.0),
    sampled_gaussian_loss(0.1, 1.0, True),
    SampledLaplaceLoss(0.2, Fraction(1)),
    SampledLaplaceLoss(0.2, Fraction(1), SampledPair.ADDED),
    AtomicLoss((Fraction(1), Fraction(-1)), (math.e / (1 + math.e), 1 / (1 + math.e))),
    DiscreteGaussianLoss(1, 2.0),
    BoundedRangeLoss(Fraction(3, 4)),
    *(
        add_losses(
            [sampled_gaussian_loss(0.03 * k, 0.7 + 0.1 * k, added) for k in range(1, 16)], [1, 2, 3] * 5
        )
        for added in (False, True)
    ),
]


@pytest.mark.slow_cells("GaussianMixtureLossSum0", "GaussianMixtureLossSum1")
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@settings(max_examples=15, deadline=None)
@given(s=st.floats(0.05, 30.0), top=st.floats(1.0, 300.0))
def test_envelope_bounds_the_transform_beyond_every_height(loss: PrivacyLoss, s: float, top: float) -> None:
    t = np.linspace(0.0, 4.0 * top, 160)
    value, error = loss.log_mgf_line(s, t)
    # |M| >= |computed| (2 - e^E): beyond E = ln 2 what is computed is noise, and says nothing.
    certain = np.where(error < 0.69, np.log(2.0 - np.exp(np.minimum(error, 0.69))), -np.inf)
    size = value.real + certain + 0.5 * loss.precision * t * t
    envelope = loss.log_envelope(s, t[1:])
    assert (np.maximum.accumulate(size[1:][::-1])[::-1] <= envelope + 1e-9 * (1.0 + np.abs(envelope))).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_real_line_and_points_agree_with_the_line(loss: PrivacyLoss) -> None:
    line, _ = loss.log_mgf_line(1.5, np.array([0.0, 2.0]))
    assert loss.log_mgf_real(np.array([1.5]))[0] == pytest.approx(line[0].real, rel=1e-9, abs=1e-12)
    points = loss.log_mgf(np.array([[1.5 + 2.0j], [1.5 - 2.0j]]))
    assert points.shape == (2, 1)
    np.testing.assert_allclose(np.exp(points[:, 0]), np.exp([line[1], np.conj(line[1])]), rtol=1e-12)


@pytest.mark.slow_cells("3.0-DiscreteGaussianProfile")
@pytest.mark.parametrize(
    "profile",
    [
        LaplaceProfile(1.0, 2.0),
        GaussianProfile(0.7),
        DiscreteLaplaceProfile(3, 2.0),
        DiscreteGaussianProfile(2, 3.0),
        RandomizedResponse(size=4, epsilon=1.0).profile(),
        PureProfile(Fraction(1, 2)),
        BoundedRangeProfile(Fraction(5, 4)),
        *subsampled(LaplaceProfile(1.0, 1.0), 0.2).directions(),
        *subsampled(GaussianProfile(1.0), 0.2).directions(),
        *subsampled(RandomizedResponse(size=3, epsilon=1.0).profile(), 0.2).directions(),
    ],
    ids=lambda profile: type(profile).__name__,
)
@pytest.mark.parametrize("s", [0.5, 3.0])
def test_loss_is_the_one_behind_the_curve(profile: PrivacyProfile, s: float) -> None:
    """∫ δ(x) e^{sx} dx = M(s) / (s(s+1)), by a fine trapezoid rule."""
    loss = profile.loss()
    assert loss is not None
    high = 12.0 if profile.pure_epsilon is None else float(profile.pure_epsilon)
    x = np.linspace(-60.0 / s, high, 20_001)
    integral = np.trapezoid(profile.delta(x) * np.exp(s * x), x)
    expected = math.exp(loss.log_mgf_real(np.array([s]))[0]) / (s * (s + 1.0))
    assert integral == pytest.approx(expected, rel=5e-4)


def test_the_other_direction_is_the_reflected_transform() -> None:
    """M_add(z) = M_remove(-1-z): both are A at -z; at q near 1 the directions of a symmetric pair meet."""
    near_one = 1.0 - 1e-12
    s = np.array([0.5, 2.0])
    for added in (False, True):
        value = sampled_gaussian_loss(near_one, 1.5, added).log_mgf_real(s)
        np.testing.assert_allclose(value, GaussianLoss(1 / 1.5**2).log_mgf_real(s), rtol=1e-9)


@pytest.mark.slow_cells("3.0-1500", "0.01-1500", "1e-09-1500")
@pytest.mark.parametrize("count", [2, 3, 40, 1500])
@pytest.mark.parametrize("spread", [1e-9, 1e-2, 3.0])
def test_transforms_of_weights_are_within_their_bound(count: int, spread: float) -> None:
    """Against sums of extended precision: a twentieth of the bound is enough, and what (2H+1) θ is rounded by."""
    rng = np.random.default_rng(count)
    weights, angles = rng.dirichlet(np.ones(300), 2), spread * rng.standard_normal((2, 300))
    half = math.isqrt(count // 2)
    width = 2 * half + 1
    found, kappa = _transforms(weights, angles, half, -(-(count - 1 - half) // width) + 1)
    k = np.arange(count)
    phase = k[:, None, None].astype(np.longdouble) * angles
    real = (weights * (-2.0 * np.sin(phase / 2.0) ** 2)).sum(axis=2).T
    off = np.hypot(
        found[:, :count].real - real, found[:, :count].imag - (weights * np.sin(phase)).sum(axis=2).T
    )
    ahead = width * ((k + half) // width)
    sizes = np.minimum(4.0, (ahead + np.abs(k - ahead))[:, None, None] * np.abs(angles))
    bound = kappa / 20.0 * (weights * sizes).sum(axis=2).T + (weights * np.abs(phase)).sum(axis=2).T
    assert (off <= 2.0**-53 * bound).all()


@pytest.mark.parametrize("added", [False, True])
def test_some_losses_speak_for_a_thousand(added: bool) -> None:
    rng = np.random.default_rng(5)
    losses = [
        sampled_gaussian_loss(float(q), float(sigma), added)
        for q, sigma in zip(
            10.0 ** rng.uniform(-3, -1, 1000), 10.0 ** rng.uniform(-0.2, 0.7, 1000), strict=True
        )
    ]
    whole = add_losses(losses, [int(n) for n in rng.integers(1, 20, 1000)])
    assert isinstance(whole, GaussianMixtureLossSum)
    assert len(whole.approximation().losses) <= 16
    for s in (0.5, 3.0, 12.0):
        at = np.array([s])
        assert whole.approximation().log_mgf_real(at)[0] == pytest.approx(whole.log_mgf_real(at)[0], rel=0.5)


def test_sums_count_equal_losses_once() -> None:
    one, two = LaplaceLoss((Fraction(1, 2),)), LaplaceLoss((Fraction(1, 3),))
    total = add_losses([one, two, one], [2, 1, 3])
    assert total == LaplaceLoss((Fraction(1, 2), Fraction(1, 3)), (5, 1))
    mixed = add_losses([one, GaussianLoss(0.5), GaussianLoss(0.25)], [1, 1, 2])
    assert isinstance(mixed, LossSum)
    assert mixed.precision == pytest.approx(1.0)
    assert (mixed.supremum, mixed.infimum) == (math.inf, -math.inf)
    assert mixed.lattice is None


@pytest.mark.parametrize("most", [1, 3, 7, 100])
def test_pieces_of_a_sum_add_up_to_it(most: int) -> None:
    sampled = [sampled_gaussian_loss(0.01, 1.0 + 0.1 * i, added) for i in range(6) for added in (True, False)]
    laplace = [LaplaceLoss((Fraction(i + 1, 20),), (2,)) for i in range(7)]
    total = add_losses([*sampled, *laplace], (3,) * 19)
    pieces, t = total.pieces(most), np.array([0.0, 1.5, 3.0])
    assert total.distinct_count == 19
    assert sum(piece.distinct_count for piece, _ in pieces) == 19
    assert all(piece.distinct_count <= most for piece, _ in pieces)
    values = sum(n * piece.log_mgf_line(2.0, t)[0] for piece, n in pieces)
    whole, error = total.log_mgf_line(2.0, t)
    assert np.all(np.abs(values - whole) <= 4.0 * error)


def test_mass_at_infinity_composes() -> None:
    loss = AtomicLoss((Fraction(0),), (0.9,), 0.1)
    assert add_losses([loss], [3]).infinite_mass == pytest.approx(1 - 0.9**3)
    assert LossSum((loss, GaussianLoss(1.0)), (2, 1)).infinite_mass >= 1 - 0.9**2
    assert np.isinf(loss.renyi(2.0))


@given(st.integers(-3000, 3000), st.integers(-3000, 3000), st.integers(-15, -3))
def test_complex_logarithm_keeps_small_real_parts(x: int, y: int, exponent: int) -> None:
    w = complex(x, y) * 10.0**exponent
    size = abs(1 + w)
    if size < 1e-3:
        return
    with mp.workdps(80):
        exact = mp.log(1 + mp.mpc(w))
        computed = mp.mpc(complex(log1p_complex(np.array([w]))[0]))
        assert abs(computed - exact) <= 2.0**-53 * (8 * abs(w) / size + 4 * abs(exact))


@pytest.mark.parametrize("order", [1.0, 0.5, float("nan")])
def test_renyi_orders_are_above_one(order: float) -> None:
    with pytest.raises(ParameterError, match="must be above 1"):
        GaussianProfile(1.0).renyi(order)


def test_renyi_curves() -> None:
    orders = np.array([1.5, 2.0, 20.0])
    np.testing.assert_allclose(GaussianProfile(0.6).renyi(orders), 0.18 * orders, rtol=1e-14)
    np.testing.assert_allclose(ZeroConcentratedProfile(0.2).renyi(orders), 0.2 * orders)
    e = 0.5  # Mironov 2017, Table II
    expected = np.log(
        (orders * np.exp((orders - 1) * e) + (orders - 1) * np.exp(-orders * e)) / (2 * orders - 1)
    )
    np.testing.assert_allclose(LaplaceProfile(1.0, 2.0).renyi(orders), expected / (orders - 1), rtol=1e-13)
    np.testing.assert_allclose(PerfectPrivacy().renyi(orders), 0.0, atol=1e-15)
    both = SubsampledProfile(joining(GaussianProfile(1.0)), 0.1)
    sides = [side.loss().renyi(orders) for side in both.directions()]
    np.testing.assert_array_equal(both.renyi(orders), np.maximum(*sides))


def test_subsampled_atoms() -> None:
    """Randomized response on a sample, from its definition."""
    p, q = math.e / (1 + math.e), 0.3
    base = AtomicProfile((Fraction(1), Fraction(-1)), (p, 1 - p))
    under_q = np.array([1 - p, p])
    mixed = (1 - q) * under_q + q * np.array([p, 1 - p])
    for x in (-0.3, 0.0, 0.1, 0.4):
        remove, add = subsampled(base, q).directions()
        assert remove.delta(x) == pytest.approx(np.maximum(mixed - math.exp(x) * under_q, 0).sum(), abs=1e-15)
        assert add.delta(x) == pytest.approx(np.maximum(under_q - math.exp(x) * mixed, 0).sum(), abs=1e-15)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan")])
def test_sampling_rates_are_checked(rate: float) -> None:
    with pytest.raises(ParameterError, match="sampling rate"):
        subsampled(GaussianProfile(1.0), rate)


def test_rate_one_is_no_sampling_and_sampling_is_not_repeated() -> None:
    base = joining(GaussianProfile(1.0))
    assert subsampled(base, 1.0) is base
    with pytest.raises(ParameterError, match="already subsampled"):
        subsampled(subsampled(base, 0.5), 0.5)


@given(st.floats(0.01, 0.99), st.floats(0.05, 5.0), st.floats(0.0, 4.0))
def test_subsampling_only_helps_and_largest_loss_is_logarithmic(rate: float, e: float, x: float) -> None:
    base = LaplaceProfile(e, 1.0)
    sample = subsampled(base, rate)
    assert sample.delta(x) <= base.delta(x) + 1e-15
    assert float(sample.pure_epsilon) == pytest.approx(math.log1p(rate * math.expm1(e)), rel=1e-12)
    assert sample.delta(float(sample.pure_epsilon)) == 0.0


@given(st.floats(0.01, 50.0), st.floats(1e-6, 1e4))
def test_a_renyi_divergence_is_rounded_up(ratio: float, above: float) -> None:
    """Of Gaussian noise it is αμ²/2 exactly, of randomized bits a quotient that 60 digits decide."""
    order = 1.0 + above
    exact = Fraction(order) * Fraction(ratio) ** 2 / 2
    found = float(GaussianProfile(ratio).renyi(order))
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**12))
    assert Fraction(float(ZeroConcentratedProfile(ratio).renyi(order))) >= Fraction(ratio) * Fraction(order)
    with mp.workdps(60):
        scale, alpha = mp.mpf(ratio), mp.mpf(order)
        loss = 1 / scale
        a = alpha / (2 * alpha - 1) * mp.exp((alpha - 1) * loss)
        b = (alpha - 1) / (2 * alpha - 1) * mp.exp(-alpha * loss)
        exact_laplace = mp.log(a + b) / (alpha - 1)
        assert mp.mpf(float(LaplaceProfile(1.0, ratio).renyi(order))) >= exact_laplace
