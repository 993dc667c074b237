"""Losses on a lattice: one period of the contour against sums of 40 digits, at counts up to 1e12."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from mechanisms import DiscreteGaussian, RandomizedResponse, Sensitivity
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.composition.grid import GridLoss
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.noise import discrete_gaussian
from mechanisms.noise.discrete_gaussian import DiscreteGaussianProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile


def response(size: int, epsilon: float) -> PrivacyProfile:
    return RandomizedResponse(size=size, epsilon=epsilon).profile()


@pytest.mark.parametrize(
    ("profile", "count", "expected", "width"),
    [
        (response(2, 1e-3), 10**6, 4.88654374375766, 2e-13),
        (response(2, 1e-6), 10**12, 4.88655411745026, 2e-13),
        (response(16, 0.5), 40, 6.7940148299945, 5e-13),
        (response(16, 1e-3), 10**6, 1.5440027220006, 2e-13),
        (DiscreteGaussianProfile(1, 1000.0), 10, 0.0096595033279456, 5e-15),
        (DiscreteGaussianProfile(1, 3.0), 10, 5.19071075948252, 2e-13),
        (DiscreteGaussianProfile(1, 1e6), 10**12, 4.88655411746221, 2e-13),
    ],
)
def test_intervals_do_not_widen_with_the_count(
    profile: PrivacyProfile, count: int, expected: float, width: float
) -> None:
    """Of 1e12 responses it was 2e-3 wide, of 1e9 discrete Gaussians [5e-5, 5.2]."""
    found = compose([(profile, count)]).epsilon(1e-6)
    assert isinstance(found, Enclosure)
    assert found.width <= width
    assert found.lower - width <= expected <= found.upper + width


@pytest.mark.parametrize("where", [7.0, 8.05, 8.1, math.nextafter(8.1, 9.0), 48.0])
def test_a_thousand_responses_against_40_digits(where: float) -> None:
    """On lattice points (float(8.1) is one ulp from one), beside them and near the largest loss, 50."""
    count, epsilon = 1000, Fraction(0.05)
    found = compose([(response(2, 0.05), count)]).delta(where)
    assert isinstance(found, Enclosure)
    with mp.workdps(60):
        e = mp.mpf(0.05)
        p = 1 / (1 + mp.exp(-e))
        exact = mp.fsum(
            mp.binomial(count, k)
            * p**k
            * (1 - p) ** (count - k)
            * (1 - mp.exp(mp.mpf(where) - (2 * k - count) * e))
            for k in range(count + 1)
            if (2 * k - count) * epsilon > Fraction(where)
        )
        assert found.lower <= exact <= found.upper
    assert found.upper - found.lower <= 1e-11 * found.upper


@pytest.mark.slow_cells("DiscreteGaussianLoss(shift=1, sigma=0.6)")
@pytest.mark.parametrize("loss", [DiscreteGaussianLoss(2, 1.5), DiscreteGaussianLoss(1, 0.6)], ids=str)
def test_a_discrete_gaussian_beyond_its_period(
    loss: DiscreteGaussianLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mp.mp, "dps", 40)
    variance = mp.mpf(loss.sigma) ** 2
    mass = {k: mp.exp(-(mp.mpf(k) ** 2) / (2 * variance)) for k in range(-80, 81)}
    t = np.linspace(0.0, 5.0 * math.pi * loss.sigma**2 / loss.shift, 23)
    value, error = loss.log_mgf_line(0.7, t)
    for k, x in enumerate(t):
        values = (
            p * mp.exp(mp.mpc(0.7, x) * loss.shift * (loss.shift - 2 * j) / (2 * variance))
            for j, p in mass.items()
        )
        exact = mp.fsum(values) / mp.fsum(mass.values())
        computed = mp.exp(mp.mpc(value[k]))
        assert abs(computed - exact) <= abs(computed) * mp.expm1(error[k])
    assert error[0] < 1e-13


@pytest.mark.parametrize(
    "loss",
    [
        DiscreteGaussianLoss(1, 0.6),
        DiscreteGaussianLoss(2, 3.0),
        AtomicLoss((Fraction(1, 4), Fraction(0), Fraction(-1, 4), Fraction(3, 4)), (0.3, 0.3, 0.2, 0.2)),
    ],
    ids=str,
)
def test_envelopes_of_lattices_bound_one_period(loss: AtomicLoss | DiscreteGaussianLoss) -> None:
    values = sorted(loss.lattice[0][0])
    spacing = min(b - a for a, b in pairwise(values))
    t = np.linspace(0.0, math.pi / float(spacing), 200)
    for s in (0.1, 2.0):
        value, error = loss.log_mgf_line(s, t)
        beyond = np.maximum.accumulate((value.real - error)[::-1])[::-1]
        assert (loss.log_lattice_envelope(s, t, spacing) >= beyond - 1e-12).all()


def test_a_curve_by_the_contour_is_the_one_by_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    profile, x = DiscreteGaussianProfile(3, 9e4), np.array([-1e-4, 0.0, 1e-6, 3e-5, 1e-4, 5e-4, 9.0])
    sums = profile.bounds(x)
    monkeypatch.setattr(discrete_gaussian, "_LARGEST_SUMMED", 10.0)
    low, high = profile.bounds(x)
    assert (low <= sums[1]).all()
    assert (sums[0] <= high).all()
    assert (high - low <= 4e-12 * high + 1e-300).all()


def test_a_discrete_gaussian_with_much_noise_is_exact() -> None:
    found = DiscreteGaussian(sigma=1e7, sensitivity=Sensitivity(1, 1, 1)).profile()
    assert isinstance(found, DiscreteGaussianProfile)
    assert found.delta(0.0) == pytest.approx(0.3989422804 / 1e7, rel=1e-9)


def test_a_transform_on_a_grid_has_as_many_nodes_as_asked_for() -> None:
    """A contour that ends early asked for fewer than one period's, and got all."""
    masses = np.linspace(0.01, 0.19, 10)
    t = 2.0 * math.pi / (32 * 0.125) * np.arange(5.0)
    value, error = GridLoss(-3, Fraction(1, 8), masses).log_mgf_line(1.5, t)
    exact = np.exp(np.multiply.outer(1.5 + 1j * t, 0.125 * np.arange(-3.0, 7.0))) @ masses
    assert value.shape == error.shape == t.shape
    assert (np.abs(np.exp(value) - exact) <= np.abs(exact) * np.expm1(error)).all()
