"""The exact privacy profile of Gaussian noise, and the largest movement that it protects."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from scipy.special import erfcx, log_ndtr

from mechanisms.arrays import FloatArray
from mechanisms.losses.atomic_loss import NO_LOSS
from mechanisms.losses.gaussian_loss import GaussianLoss
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.rounding import up
from mechanisms.parameters import LEAST_DELTA, finite_nonnegative
from mechanisms.profiles.privacy_profile import PrivacyProfile, log_or_floor, smallest

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


def _mills_drop(t: FloatArray) -> FloatArray:
    """Return -M'(t) = 1 - t M(t), M(t) = Φ(-t) / φ(t) the Mills ratio, to 13 digits.

    Above t = 6 by the continued fraction M(t) = 1/(t + 1/(t + 2/(t + ...))), whose first 20 terms are enough there:
    with K = 1/(t + 2/(t + ...)), 1 - t M(t) = K / (t + K) has no cancellation.
    """
    direct = 1.0 - t * (math.sqrt(math.pi / 2.0) * erfcx(t / math.sqrt(2.0)))
    if (t <= 6.0).all():
        return np.asarray(direct)
    far = np.maximum(t, 6.0)
    fraction = np.zeros_like(far)
    for k in range(20, 0, -1):
        fraction = k / (far + fraction)
    return np.where(t <= 6.0, direct, fraction / (far + fraction))


def _gaussian_delta(mu: float | FloatArray, x: FloatArray) -> FloatArray:
    """Return δ(x) = Φ(μ/2 - x/μ) - e^x Φ(-μ/2 - x/μ) at x >= 0, accurate relative to δ; element by element.

    With t = x/μ - μ/2 the two terms are φ(t) M(t) and φ(t) M(t + μ), M the Mills ratio. For μ <= 1 their
    difference is φ(t) ∫_t^{t+μ} (1 - s M(s)) ds by Gauss-Legendre quadrature, all terms positive; for
    larger μ it is Φ(-t) (1 - M(t + μ) / M(t)), in which x does not cancel.
    """
    t = np.minimum(x, mu * (1e4 + 0.5 * mu)) / mu - 0.5 * mu  # δ is below every float long before t = 1e4
    small = np.asarray(mu) <= 1.0
    if small.all():
        return _small_mu_delta(mu, t)
    if not small.any():
        return _large_mu_delta(mu, t)
    # At the t of a large μ the quadrature would overflow.
    quadrature = _small_mu_delta(np.minimum(mu, 1.0), np.where(small, t, 0.0))
    return np.where(small, quadrature, _large_mu_delta(np.maximum(mu, 1.0), t))


def _small_mu_delta(mu: float | FloatArray, t: FloatArray) -> FloatArray:
    half = 0.5 * np.asarray(mu)
    points = t[..., None] + half[..., None] * (_NODES + 1.0)
    integral = half * (_mills_drop(points) @ _WEIGHTS)
    return np.asarray(np.exp(-0.5 * t * t - _LOG_ROOT_2PI) * integral)


def _large_mu_delta(mu: float | FloatArray, t: FloatArray) -> FloatArray:
    root2 = math.sqrt(2.0)
    near = np.maximum(t, -37.0)  # below, the ratio is under 1e-290 beside 1
    ratio = erfcx((near + mu) / root2) / erfcx(near / root2)
    return np.asarray(np.exp(log_ndtr(-t)) * (1.0 - ratio))


def gaussian_epsilons(mus: FloatArray, delta: float) -> FloatArray:
    """Return an upper bound on ε(delta) of each μ-Gaussian DP mechanism, within 1e-9 of it for a delta up to ½.

    Nearer to 1 it may be less tight: ε moves while delta moves by less than its bound adds. Newton's method on ln δ for
    all at once; each result is moved up a little, and taken only where the curve's certified bound proves it (else
    `GaussianProfile.epsilon` is asked).
    """
    with np.errstate(all="ignore"):
        x = mus * (0.5 * mus + math.sqrt(-2.0 * math.log(delta)))
        at_zero = _gaussian_delta(mus, np.zeros_like(mus))
        for _ in range(40):
            value = _gaussian_delta(mus, x)
            slope = -np.exp(x + log_ndtr(-x / mus - 0.5 * mus)) / value
            step = (np.log(value) - math.log(delta)) / slope
            x = np.where(np.isfinite(step), np.maximum(x - step, 0.0), x)
            if not float(np.max(np.abs(step) / np.maximum(x, 1e-12), initial=0.0)) > 1e-12:
                break
        x = np.where(at_zero * (1.0 + 2e-12 + 1e-14 * mus) <= delta, 0.0, x * (1.0 + 5e-10) + 1e-300)
        proved = _gaussian_delta(mus, x) * (1.0 + 2e-12 + 1e-14 * mus) <= delta
    for i in np.flatnonzero(~proved):
        x[i] = GaussianProfile(float(mus[i])).epsilon(delta)
    return x


@dataclass(frozen=True)
class GaussianProfile(PrivacyProfile):
    """Profile of N(0, 1) against N(μ, 1): δ(x) = Φ(μ/2 - x/μ) - e^x Φ(-μ/2 - x/μ).

    Balle & Wang 2018, "Improving the Gaussian mechanism for differential privacy", Thm 5 / Eq. 6, with
    μ = l2 / σ. For a vector the noise is invariant under rotation, so only the L2 movement matters.
    Relative error below about 1e-12 down to the smallest floats.

    Parameters
    ----------
    mu : float
        L2 movement over sigma, nonnegative and finite.
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", finite_nonnegative("mu", self.mu))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None: the loss of a Gaussian is unbounded (0 for mu = 0)."""
        return None if self.mu else Fraction(0)

    @property
    def rho(self) -> float:
        """μ² / 2 (Bun & Steinke 2016, Prop. 1.6), rounded up."""
        return up(Fraction(self.mu) ** 2 / 2)

    def loss(self) -> PrivacyLoss:
        """Return N(μ²/2, μ²)."""
        return GaussianLoss(self.mu * self.mu) if self.mu else NO_LOSS

    @property
    def gaussian_mu(self) -> float:
        """μ itself: the definition of Gaussian DP."""
        return self.mu

    @property
    def relative_error(self) -> float:
        """1e-12, and 1e-14 μ: the difference μ/2 - ε/μ is rounded, which the tail (|t| < 39) amplifies."""
        return 1e-12 + 1e-14 * self.mu

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return np.zeros_like(epsilon) if self.mu == 0.0 else _gaussian_delta(self.mu, epsilon)


def _mu_for(epsilon: float, delta: float) -> float:
    """Return the μ with δ_μ(epsilon) = delta; δ increases in μ."""

    def excess(log_mu: float) -> float:
        return log_or_floor(GaussianProfile(math.exp(log_mu)).delta(epsilon)) - math.log(delta)

    low = high = 0.0
    while excess(low) > 0.0:
        low -= 1.0
    while excess(high) < 0.0:
        high += 1.0
    if low >= high:
        return 1.0
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=300))


@functools.lru_cache(maxsize=1024)  # a learner that plans its phases asks for the same few, run after run
def largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ with a Gaussian profile that is proved to be (epsilon, delta)-DP; delta in (0, 1).

    0 for delta below 1e-300: near the smallest floats too few digits are left to prove a bound.
    """
    if delta < LEAST_DELTA:
        return 0.0

    def too_large(mu: float) -> bool:
        profile = GaussianProfile(mu)
        return not (profile.proves(epsilon, delta) and profile.epsilon(delta) <= epsilon)

    return math.nextafter(smallest(_mu_for(epsilon, delta), too_large), 0.0)
