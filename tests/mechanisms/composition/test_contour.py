"""Truncation of the contour: bounds on what lies beyond, against the integrals that they bound."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from mechanisms.composition.contour import _log_tails
from mechanisms.losses.gaussian_loss import GaussianLoss
from mechanisms.losses.laplace_loss import LaplaceLoss

S, EPSILON = 0.8, 0.6


@pytest.mark.parametrize("height", [0.5, 3.0, 8.0])
def test_what_is_cut_off_a_gaussians_contour_is_below_its_bound_and_near_it(height: float) -> None:
    """For a loss of variance ρ, |M(s + it)| = e^{ρ (s(s+1) - t²)/2}: the bounds' integrals beyond τ, by quadrature."""
    square, phantom, tau = 0.5, 0.3, np.array([height])
    loss, rho = GaussianLoss(square), square + phantom
    tails = np.exp(_log_tails(loss, S, tau, phantom, loss.log_envelope(S, tau)) - S * EPSILON)[:, 0]

    def beyond(weight: float, power: float) -> float:
        """The integral of |M_μ| |e^{-εz}| weight / |z(z + 1)|^power beyond the height, over both of its ends."""
        size = weight / math.pi * math.exp(0.5 * rho * S * (S + 1.0) - S * EPSILON)
        decay = lambda t: math.exp(-0.5 * rho * t * t) / (math.hypot(S, t) * math.hypot(S + 1.0, t)) ** power  # noqa: E731
        return size * float(quad(decay, height, math.inf, epsrel=1e-9)[0])

    cut = np.array([beyond(1.0, 1.0), beyond(phantom * math.exp(phantom / 8.0), 0.0)])
    assert (cut <= tails).all()
    if height > 2.0:  # else the integrand's own fall is not what the bound is made of
        assert (cut >= tails / 3.0).all()


def test_without_a_gaussian_part_the_whole_tail_counts() -> None:
    """|z(z + 1)| >= s² + t², whose integral is (π/2 - atan(τ/s))/s."""
    loss, height = LaplaceLoss((Fraction(1, 2),)), 4.0
    envelope = loss.log_envelope(S, np.array([height]))
    (tail,) = np.exp(_log_tails(loss, S, np.array([height]), 0.0, envelope) - S * EPSILON)[:, 0]
    most = math.exp(float(envelope[0]) - S * EPSILON) / math.pi
    assert tail == pytest.approx(most * (math.pi / 2.0 - math.atan(height / S)) / S, rel=1e-9)
