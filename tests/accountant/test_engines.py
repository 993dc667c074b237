"""The engines against each other, against closed forms, and against their own theorems."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining, subsampled

from mechanisms import (
    ApproximateProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    ZeroConcentratedProfile,
)
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.composition.contour import Contour, ContourPlan, TiltedLoss, plan_contour
from mechanisms.composition.equal_laplace import equal_laplace
from mechanisms.composition.grid import grid, rounded_down, rounded_up
from mechanisms.composition.inversion import invert
from mechanisms.composition.lattice import common_lattice, lattice_contour
from mechanisms.composition.saddle import Saddle, log_chernoff_factor, saddle_for_delta, saddle_for_epsilon
from mechanisms.losses.gaussian_loss import GaussianLoss
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.privacy_loss import PrivacyLoss, add_losses
from mechanisms.numerics.binomial_law import log_binomial

law = settings(max_examples=25, deadline=None, derandomize=True)


def ledger(*parts: tuple[PrivacyProfile, int], side: int = 0) -> PrivacyLoss:
    losses = [profile.directions()[min(side, len(profile.directions()) - 1)].loss() for profile, _ in parts]
    return add_losses([loss for loss in losses if loss is not None], [n for _, n in parts])


LEDGERS = [
    ledger((GaussianProfile(0.05), 1000)),
    ledger((LaplaceProfile(1.0, 20.0), 1000)),
    ledger((LaplaceProfile(1.0, 2.0), 10), (GaussianProfile(1.0), 1)),
    ledger((subsampled(GaussianProfile(1.25), 0.004), 10_000)),
    ledger((subsampled(GaussianProfile(1.25), 0.004), 10_000), side=1),
    ledger((subsampled(LaplaceProfile(1.0, 2.0), 0.05), 2000)),
    ledger((RandomizedResponse(size=2, epsilon=0.3).profile(), 50), (GaussianProfile(0.5), 1)),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("loss", LEDGERS)
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_intervals_from_different_abscissae_meet(loss: PrivacyLoss, delta: float) -> None:
    """Any s is valid, so all intervals contain one number: finds errors of 1e-12."""
    saddle = saddle_for_delta(loss, delta)
    low, high = 0.0, math.inf
    for factor in (0.6, 0.8, 1.0, 1.3, 1.7):
        moved = Saddle(saddle.s * factor, saddle.epsilon, saddle.log_delta - 3.0)
        plan = plan_contour(TiltedLoss(loss, moved.s), moved, 1e-11, 1e6)
        if plan is None:
            continue
        lower, upper = invert(Contour(loss, plan), delta, saddle.epsilon, loss.supremum)
        low, high = max(low, lower), min(high, upper)
    assert low <= high
    assert high - low < 1e-8


@law
@given(st.floats(0.3, 3.0), st.floats(0.5, 3.0), st.floats(1.0, 6.0), st.floats(0.0, 3.0))
def test_trapezoid_sum_is_the_alias_sum(mu: float, s: float, period: float, epsilon: float) -> None:
    """Theorem 2 at coarse steps: S(ε) = Σ δ(ε + nT) e^{snT} exactly, so S >= δ."""
    plan = ContourPlan(s, 2 * math.pi / period, 4000, 0.0, 0.0, 0.0, (-math.inf,))
    total, _ = Contour(GaussianLoss(mu * mu), plan).estimate(epsilon)
    n = np.arange(-400, 60)
    profile = GaussianProfile(mu)
    aliases = math.fsum(profile.delta(epsilon + n * period) * np.exp(np.minimum(s * n * period, 700.0)))
    assert total == pytest.approx(aliases, rel=1e-9)
    assert total >= profile.delta(epsilon)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 8), st.floats(0.2, 2.0), st.floats(0.05, 0.95), st.floats(1e-4, 0.3))
def test_phantom_gaussian_sandwiches_atoms(count: int, e: float, share: float, mu: float) -> None:
    """Theorem 4 with a visible phantom: the exact value of randomized responses lies inside."""
    profile = RandomizedResponse(size=2, epsilon=e).profile()
    epsilon = share * count * e
    exact = composed_profile([(profile, count)]).delta(epsilon)
    loss = ledger((profile, count))
    saddle = saddle_for_epsilon(loss, epsilon)
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-6, 1e6, mu * mu)
    assert plan is not None
    lower, upper = Contour(loss, plan).bounds(epsilon)
    assert lower <= exact <= upper
    assert upper <= exact * (1 + 3 * mu * mu * (saddle.s + 1) ** 2) + mu


@law
@given(
    st.integers(1, 60),
    st.floats(0.02, 1.0),
    st.floats(0.05, 0.98),
)
def test_series_and_phantom_contour_agree_on_equal_laplace(count: int, e: float, share: float) -> None:
    loss = LaplaceLoss((Fraction(e),), (count,))
    epsilon = share * count * e
    saddle = saddle_for_epsilon(loss, epsilon)
    series = equal_laplace(loss, e, count, saddle)
    assert series is not None
    low, high = series.bounds(epsilon)
    assert high - low <= 1e-7 * high
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-5, 1e6, 1e-5 / (saddle.s + 1) ** 2)
    if plan is not None:
        lower, upper = Contour(loss, plan).bounds(epsilon)
        assert max(low, lower) <= min(high, upper)


@pytest.mark.parametrize("looser", [20.0, 28.0, 32.0])
def test_what_the_series_leaves_out_is_inside_its_bound(looser: float) -> None:
    """With a coarse target few terms are kept, and the remainder shows."""
    loss = LaplaceLoss((Fraction(1, 10),), (100,))
    good = saddle_for_epsilon(loss, 3.0)
    series = equal_laplace(loss, 0.1, 100, Saddle(good.s, good.epsilon, good.log_delta + looser))
    assert series is not None
    lower, upper = series.bounds(3.0)
    assert lower < 0.001171174121526297618 * (1 - 1e-9)
    assert lower <= 0.001171174121526297618 <= upper


def test_series_keeps_a_window_for_large_counts() -> None:
    """The left-out terms are inside the bound: against the contour, whose envelope suffices from Σε = 50 on."""
    loss = LaplaceLoss((Fraction(1, 400),), (20_000,))
    saddle = saddle_for_delta(loss, 1e-6)
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-9, 1e6)
    series = equal_laplace(loss, 1 / 400, 20_000, saddle)
    assert plan is not None
    assert series is not None
    for epsilon in (0.5, 1.2, 2.0):
        lower, upper = Contour(loss, plan).bounds(epsilon)
        low, high = series.bounds(epsilon)
        assert max(low, lower) <= min(high, upper)


@given(st.integers(1, 5000), st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None)
def test_binomial_probabilities(n: int, share: float) -> None:
    m = int(share * (n // 2))
    exact = math.log(math.comb(n, m)) - n * math.log(2.0)
    value = float(log_binomial(np.array([float(m)]), n, 0.5)[0])
    assert value == pytest.approx(exact, abs=2.0**-53 * 64.0 * (1.0 - value) + 1e-12 * n)


@law
@given(st.integers(1, 3), st.floats(0.5, 8.0), st.integers(1, 60), st.floats(0.02, 0.98))
def test_lattice_contour_against_exact_convolution(
    shift: int, scale: float, count: int, share: float
) -> None:
    profile = DiscreteLaplaceProfile(shift, scale)
    epsilon = share * count * float(profile.pure_epsilon)
    exact = composed_profile([(profile, count)]).delta(epsilon)
    loss = ledger((profile, count))
    saddle = saddle_for_epsilon(loss, epsilon)
    engine = lattice_contour(TiltedLoss(loss, saddle.s), saddle, 1e-12)
    assert engine is not None
    lower, upper = engine.bounds(epsilon)
    assert lower * (1 - 1e-12) <= exact <= upper * (1 + 1e-12)
    assert upper - lower <= 1e-8 * upper + 1e-300


def test_common_lattice() -> None:
    exact = common_lattice(
        (((Fraction(-1, 2), Fraction(1, 2)), 3), ((Fraction(0), Fraction(1, 3)), 2)),
        Fraction(1, 100),
        exactly=False,
    )
    assert exact is not None
    assert (exact.origin, exact.spacing, exact.moved) == (Fraction(-3, 2), Fraction(1, 3), 0.0)
    # 0.1 and 0.25 as floats have no small common step; a lattice is close by, at a known distance.
    values = tuple(((-Fraction(e), Fraction(e)), n) for e, n in ((0.1, 60), (0.25, 40)))
    near = common_lattice(values, Fraction(1, 1000), exactly=False)
    assert near is not None
    assert float(near.spacing) == pytest.approx(0.1)
    assert 0.0 < near.moved < 1e-12
    assert common_lattice(values, Fraction(1), exactly=False) is None
    irrational = tuple(((-Fraction(e), Fraction(e)), 9) for e in (0.1, 0.1 * math.sqrt(2)))
    assert common_lattice(irrational, Fraction(1, 1000), exactly=False) is None


CURVES = [
    LaplaceProfile(1.0, 2.0),
    GaussianProfile(0.7),
    RandomizedResponse(size=3, epsilon=0.55).profile(),
    *subsampled(LaplaceProfile(1.0, 1.0), 0.2).directions(),
    *subsampled(GaussianProfile(1.0), 0.3).directions(),
    *subsampled(GaussianProfile(1.0 / 0.38), 3.4e-4).directions(),
]


@pytest.mark.few(2)
@pytest.mark.parametrize("profile", CURVES, ids=lambda profile: type(profile).__name__)
@pytest.mark.parametrize("step", [Fraction(1, 7), Fraction(1, 100)])
def test_grid_losses_lie_on_both_sides_of_the_curve(profile: PrivacyProfile, step: Fraction) -> None:
    """At every ε, between nodes too, and beyond the largest loss."""
    last = math.ceil(9 / step)
    above, below = rounded_up(profile, step, -last, last), rounded_down(profile, step, -last, last)
    nodes = float(step) * np.arange(-last, last + 1)
    x = np.linspace(-6.0, 6.0, 1501)
    kernel = -np.expm1(np.minimum(x[:, None] - nodes, 0.0))
    curve = np.asarray(profile.delta(x))
    slack = 1e-12 * curve + 1e-15
    assert (kernel @ above.masses + above.infinite_mass >= curve - slack).all()
    assert (kernel @ below.masses <= curve + slack).all()
    bends = profile is CURVES[-2]  # by more in one cell than is left of it: the tail is lost below
    tight = 2 * float(step) ** 2 if profile.pure_epsilon is None and not bends else float(step)
    assert (kernel @ above.masses - kernel @ below.masses).max() <= tight
    for lowered in (0.0, 1e-2):
        offset = Fraction(profile.loss().infimum if profile.loss().infimum > -9 else -0.123) % step
        kept = rounded_down(profile, step, -last, last, offset, most_lowered=lowered)
        kernel = -np.expm1(np.minimum(x[:, None] - nodes - float(offset), 0.0))
        assert (kernel @ kept.masses <= curve + slack).all()


@dataclass(frozen=True)
class SpikedCurve(GaussianProfile):
    """A curve that is not convex: far above a Gaussian one between two ε that lie close together."""

    bound = "a spike"

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return np.where(np.abs(epsilon - 0.7) < 1e-3, 1.0, super()._curve(epsilon))


@pytest.mark.slow_cells("step1")
@pytest.mark.parametrize("step", [Fraction(1, 10), Fraction(1, 3000)])
def test_a_curve_that_is_not_convex_is_rounded_to_chords_below_it(step: Fraction) -> None:
    """The true curve is convex, hence below every chord, and no more is known of it than the Gaussian one."""
    last = math.ceil(6 / step)
    spiked, plain = (rounded_up(own, step, -last, last) for own in (SpikedCurve(0.7), GaussianProfile(0.7)))
    x = np.linspace(-5.0, 5.0, 51)
    kernel = -np.expm1(np.minimum(x[:, None] - float(step) * np.arange(-last, last + 1), 0.0))
    curves = [kernel @ own.masses + own.infinite_mass for own in (spiked, plain)]
    assert (curves[0] >= GaussianProfile(0.7).delta(x)).all()
    assert (curves[0] <= curves[1] + (2e-3 + float(step)) ** 2).all()


def curve_of_two(q: float, sigma: float, epsilon: float) -> float:
    """Return δ of two sampled Gaussians, a record removed: E[δ_1(ε - L)], to 2e-7 (the curve has a kink)."""
    one = subsampled(GaussianProfile(1.0 / sigma), q).directions()[0]
    x = np.arange(-14.0 * sigma, 1.0 + 14.0 * sigma, sigma / 4096.0)
    ratio = 1.0 - q + q * np.exp((x - 0.5) / sigma**2)
    density = np.exp(-0.5 * (x / sigma) ** 2) / (4096.0 * math.sqrt(2.0 * math.pi))
    return float(np.sum(density * ratio * one.delta(epsilon - np.log(ratio))))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("q", "sigma", "delta"), [(3.4e-4, 0.38, 4.6e-7), (1e-3, 0.5, 1e-8), (1e-4, 0.3, 1e-6)]
)
def test_a_few_sampled_gaussians_of_little_noise(q: float, sigma: float, delta: float) -> None:
    """Most of the loss lies close to its least value, far from where ε is: contours take too many nodes."""
    found = compose([(subsampled(GaussianProfile(1.0 / sigma), q), 2)]).epsilon(delta)
    assert curve_of_two(q, sigma, found.lower) >= delta * (1.0 - 3e-7)
    assert curve_of_two(q, sigma, found.upper) <= delta * (1.0 + 3e-7)
    assert found.width <= 1e-3 * found.upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "parts",
    [
        [(LaplaceProfile(1.0, 20.0), 100)],
        [(GaussianProfile(0.2), 40), (LaplaceProfile(1.0, 5.0), 3)],
        [(subsampled(GaussianProfile(1.0), 0.1).directions()[0], 50)],
        [(subsampled(LaplaceProfile(1.0, 1.0), 0.1).directions()[1], 7)],
    ],
)
def test_grid_contains_what_the_other_engines_find(parts: list[tuple[PrivacyProfile, int]]) -> None:
    from mechanisms.composition.composed_loss import compose

    profiles, counts = zip(*parts, strict=True)
    engine = grid(profiles, counts, width=1e-5, delta=1e-7)
    assert engine is not None
    lower, upper = invert(engine, 1e-7, engine.start, math.inf)
    known = compose(parts).epsilon(1e-7)
    assert lower <= known.upper
    assert known.lower <= upper
    assert upper - lower < 1e-3


def test_grid_hull_of_a_bound_that_is_no_hockey_stick_curve() -> None:
    """The zCDP bound is a minimum of convex curves: upper ends stay above every ρ-zCDP mechanism's."""
    engine = grid([ZeroConcentratedProfile(0.05)], [6], width=1e-5, delta=1e-6)
    assert engine is not None
    upper = invert(engine, 1e-6, engine.start, math.inf)[1]
    assert upper >= GaussianProfile(math.sqrt(0.6)).epsilon(1e-6)


@given(st.floats(0.01, 100.0), st.floats(0.0, 20.0))
def test_chernoff_factor_is_the_supremum(s: float, v: float) -> None:
    c = math.exp(float(log_chernoff_factor(np.array(s))))
    assert -math.expm1(-v) * math.exp(-s * v) <= c * (1 + 1e-12)
    best = math.log1p(1.0 / s)
    assert -math.expm1(-best) * math.exp(-s * best) == pytest.approx(c, rel=1e-9)


def test_plans_refuse_what_does_not_decay() -> None:
    """A lattice loss has spikes for ever: no plain contour, whatever its last terms look like."""
    loss = ledger((RandomizedResponse(size=2, epsilon=0.2).profile(), 30))
    saddle = saddle_for_delta(loss, 1e-6)
    assert plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-9, 1e6) is None
    assert plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-9, 1e6, 1e-6) is not None


class Staircase:
    """Bounds that are valid but jump: inversion may not trust their slope."""

    name = "staircase"
    s = 1.0

    def bounds(self, epsilon: float) -> tuple[float, float]:
        true = math.exp(-epsilon)
        return true * 0.8, true * (1.0 + 0.3 * (math.floor(4 * epsilon) % 2))

    def estimate(self, epsilon: float) -> tuple[float, float]:
        return math.exp(-epsilon), -10.0 * math.exp(-epsilon)


@given(st.floats(1e-8, 0.99), st.floats(0.0, 30.0))
def test_inversion_proves_both_ends(delta: float, start: float) -> None:
    lower, upper = invert(Staircase(), delta, start, math.inf)
    assert lower <= -math.log(delta) <= upper


# Compositions that once broke an engine: every one is answered, and the interval holds what is known.


@pytest.mark.slow
def test_a_law_with_all_its_mass_at_zero_has_no_lattice_of_its_own() -> None:
    answer = compose([(ApproximateProfile(Fraction(0), 1e-8), 3)]).product_epsilon(1e-6)
    assert answer.lower == answer.upper == 0.0
    mixed = compose(
        [(subsampled(GaussianProfile(1.0), 0.01), 10), (joining(PureProfile(Fraction(1, 10))), 50)]
    )
    assert mixed.delta(1.0).lower <= mixed.delta(1.0).upper <= 1.0


def test_a_billion_releases_need_little_memory() -> None:
    # 10^9 Laplace releases with b = 10^6: nearly Gaussian with mu^2 = 10^9 / 10^12.
    answer = compose([(LaplaceProfile(1.0, 1e6), 10**9)]).epsilon(1e-6)
    assert answer.lower <= answer.upper
    assert answer.upper == pytest.approx(GaussianProfile(math.sqrt(1e-3)).epsilon(1e-6), rel=1e-2)


@pytest.mark.slow
def test_far_from_the_saddle_nothing_overflows() -> None:
    loss = compose(
        [
            (joining(DiscreteLaplaceProfile(4, 1 / 6.0)), 2),
            (subsampled(PureProfile(Fraction(466, 10000)), 1e-8), 3),
        ]
    )
    answer = loss.epsilon(1e-20)
    assert 0.0 <= answer.lower <= answer.upper <= 48.0 + 0.15


def test_delta_below_the_largest_loss_is_positive() -> None:
    assert compose([(GaussianProfile(1.0), 3)]).delta(335.0).upper > 0.0


@pytest.mark.slow_cells("profile2-2-1e-30")
@pytest.mark.parametrize(
    ("profile", "count", "delta"),
    [
        (RandomizedResponse(size=2, epsilon=math.log(3)).profile(), 100, 1e-100),
        (PureProfile(Fraction(4.397068780548205)), 2, 1e-16),
        (subsampled(LaplaceProfile(1.0, 1.0), 0.1), 2, 1e-30),
        pytest.param(LaplaceProfile(1.0, 1e-3), 10, 1e-100, marks=pytest.mark.slow),
    ],
)
def test_near_the_ceiling_the_lower_end_follows(profile: PrivacyProfile, count: int, delta: float) -> None:
    loss = compose([(profile, count)])
    ceiling = float(loss.pure_epsilon)
    answer = loss.product_epsilon(delta)
    assert 0.98 * ceiling < answer.lower <= answer.upper <= ceiling * (1 + 1e-12)


def test_the_bound_near_the_ceiling_never_passes_a_closed_form() -> None:
    profile = RandomizedResponse(size=2, epsilon=1.0).profile()
    for count in (1, 2, 5, 20):
        for delta in (1e-3, 1e-6, 1e-12):
            exact = composed_profile([(profile, count)]).epsilon(delta)
            answer = compose([(profile, count)]).epsilon(delta)
            assert answer.lower <= exact * (1 + 1e-12)
            assert answer.upper >= exact * (1 - 1e-12)
