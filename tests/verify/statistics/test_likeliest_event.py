"""P and Q of {privacy loss > ε} against their closed forms."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtr

from mechanisms import Gaussian, Laplace, Sensitivity
from verify.statistics.likeliest_event import likeliest_event

UNIT = Sensitivity(1.0, 1.0, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_of_gaussian_noise(sigma: float, epsilon: float) -> None:
    """The loss at x is (1 - 2x) / 2σ², of x at most 1/2 - εσ²; D has mean 0, D′ 1."""
    profile = Gaussian(sigma=sigma, sensitivity=UNIT).profile()
    threshold = 0.5 - epsilon * sigma**2
    p, q = likeliest_event(lambda at: float(profile.delta(at)), epsilon)
    assert p == pytest.approx(ndtr(threshold / sigma), abs=1e-6)
    assert q == pytest.approx(ndtr((threshold - 1.0) / sigma), abs=1e-6)


def test_of_laplace_noise() -> None:
    """The loss at x in [0, 1] is (1 - 2x) / b, more than ε below (1 - εb) / 2."""
    profile, epsilon, scale = Laplace(scale=0.5).profile(), 1.0, 0.5
    threshold = (1.0 - epsilon * scale) / 2.0
    p, q = likeliest_event(lambda at: float(profile.delta(at)), epsilon)
    assert p == pytest.approx(1.0 - math.exp(-threshold / scale) / 2.0, abs=1e-6)
    assert q == pytest.approx(math.exp((threshold - 1.0) / scale) / 2.0, abs=1e-6)


def test_beyond_the_largest_loss_nothing_is_left() -> None:
    profile = Laplace(scale=1.0).profile()
    assert likeliest_event(lambda at: float(profile.delta(at)), 1.5) == (0.0, 0.0)
