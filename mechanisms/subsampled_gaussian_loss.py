"""The privacy loss of Gaussian noise on a Poisson subsample, both directions, by certified quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.neighbouring import Neighbouring
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.quadrature import layer_cake

_CELLS = 160


@dataclass(frozen=True)
class SubsampledGaussianLoss(PrivacyLoss):
    """Loss of the pair ((1-q) N(0,σ²) + q N(1,σ²), N(0,σ²)), or of the reversed pair if ``added``.

    With v = (2x-1)/2σ² and l(x) = ln(1-q + q e^v), A(w) = E[e^{w l(x)}] under x ~ N(0, σ²): M(z) = A(z+1) if
    a record is removed, A(-z) if one is added.

    Trapezoid rule of step g (Poisson summation in the strip |Im x| < a, a < πσ²): there
    |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}, |Im l| <= a/σ², Re l <= l(x) and Re l >= l(x) + ln cos(a/2σ²), because
    |α + βe^{iθ}|² = (α+β)² - 4αβ sin²(θ/2) >= (α+β)² cos²(θ/2). So for w = b + it

        |trapezoid - A(w)| <= 2 A(b) e^{a²/2σ² + |t|a/σ²} c / (e^{2πa/g} - 1),

    c = 1 for b >= 0 and cos(a/2σ²)^b for b < 0. What lies outside [-R, R] (added) or [-R, b+R] (removed) is
    at most (1-q)^b 2Φ(-R/σ), or 2^{b+1} 2Φ(-R/σ), of A(b) >= 1: left of -R the integrand is below φ_σ;
    right of b + R, (α+β)^b <= 2^b (α^b + β^b), and A(b) >= B := q^b e^{b(b-1)/2σ²}. If B >= 2^b e^{46} the same
    bound lets the rule start at b - R.

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    sigma : float
        Noise over the l2 movement of one record, positive.
    added : bool
        The direction.
    """

    rate: float
    sigma: float
    added: bool = False

    @property
    def neighbouring(self) -> Neighbouring:
        """Adding or removing a record."""
        return Neighbouring.ADD_OR_REMOVE

    @property
    def supremum(self) -> float:
        """-ln(1-q) if added, else inf."""
        return -math.log1p(-self.rate) * (1.0 + 8 * ROUNDING) if self.added else math.inf

    @property
    def infimum(self) -> float:
        """ln(1-q) if removed, else -inf."""
        return -math.inf if self.added else math.log1p(-self.rate) * (1.0 + 8 * ROUNDING)

    def _power(self, s: float) -> float:
        return -s if self.added else s + 1.0

    def _rule(
        self, s: float, height: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, float, float, float]:
        """Return nodes' l, ln(weight e^{bl}), v, and strip a, step g, truncation error for |t| <= height."""
        b, sigma = self._power(s), self.sigma
        need = 46.0
        extra = -s * math.log1p(-self.rate) if self.added else (s + 2.0) * math.log(2.0)
        flat = math.sqrt(1.0 + max(0.0, -b) / (4.0 * sigma * sigma))  # ln cos(y) is about -y²/2
        a = min(sigma * math.sqrt(2.0 * need) / flat, (0.5 if self.added else 0.9) * math.pi * sigma * sigma)
        penalty = b * math.log(math.cos(a / (2.0 * sigma * sigma))) if b < 0.0 else 0.0
        rate = (need + a * a / (2.0 * sigma * sigma) + penalty) / a + height / (sigma * sigma)
        g = 2.0 * math.pi / rate
        reach = sigma * math.sqrt(2.0 * (need + extra))
        first = -math.ceil(reach / g) - 1
        last = -first if self.added else math.ceil((reach + b) / g) + 1
        if b > 0.0 and b * (b - 1.0) / (2.0 * sigma * sigma) + b * math.log(self.rate / 2.0) >= need + 1.0:
            first = max(first, math.floor((b - reach) / g) - 1)
        x = g * np.arange(first, last + 1, dtype=np.float64)
        v = (2.0 * x - 1.0) / (2.0 * sigma * sigma)
        log_ratio = log_mixture(self.rate, v)
        log_weight = -0.5 * (x / sigma) ** 2 + math.log(g / (sigma * math.sqrt(2.0 * math.pi)))
        # 2 Φ(-R/σ) <= e^{-R²/2σ²}
        return log_ratio, log_weight + b * log_ratio, v, a, g, 4.0 * math.exp(-need)

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        variance = self.sigma * self.sigma
        rate = height / variance + 10.0 / self.sigma + 16.0 / variance
        return 0.1 * (20.0 * self.sigma + 10.0) * rate / (2.0 * math.pi)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule of the class docstring; the step is chosen for the largest t."""
        b, q = self._power(s), self.rate
        log_ratio, log_masses, v, a, g, truncation = self._rule(s, float(t[-1]))
        variance = self.sigma * self.sigma
        penalty = b * math.log(math.cos(a / (2.0 * variance))) if b < 0.0 else 0.0
        exponent = a * a / (2.0 * variance) + t * (a / variance) + penalty - 2.0 * math.pi * a / g
        quadrature = 2.0 * np.exp(exponent) / (1.0 - math.exp(-2.0 * math.pi * a / g))
        # Rounding of each term: the Gaussian exponent, and l through v (dl/dv <= min(1, q e^v)).
        share = np.minimum(1.0, q * np.exp(np.minimum(v, 50.0)))
        inner = share * (6.0 * np.abs(v) + 6.0) + 4.0 * np.abs(log_ratio)
        relative = ROUNDING * (
            16.0 + 4.0 * np.abs(log_masses - b * log_ratio) + (abs(b) + float(t[-1])) * inner
        )
        signed = -log_ratio if self.added else log_ratio
        return fourier_of_masses(log_masses, signed, relative, quadrature + truncation, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln A on the real line, one quadrature for each s."""
        out = np.empty(s.shape)
        for i, own in enumerate(s):
            log_masses = self._rule(float(own), 0.0)[1]
            top = log_masses.max()
            out[i] = top + math.log(float(np.sum(np.exp(log_masses - top))))
        return out

    @cached_property
    def _span(self) -> float:
        return 2.0 * self.sigma * math.sqrt(12.0)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound from the density of the loss (`layer_cake`).

        Tilted by e^{sL}, L has density ρ(l) = φ_σ(x) e^{(a+1)l - v} σ² / (q A), a = b. On a cell of width d
        in x, ρ >= min(end values) e^{-(a+1)^+ d²/32σ⁴}, because (ln ρ)'' <= (a+1)^+/4σ⁴ in x.
        """
        b, q, sigma = self._power(s), self.rate, self.sigma
        log_top, error = self.log_mgf_line(s, np.zeros(1))
        log_m = float(log_top[0].real + error[0])
        centre = 0.0 if self.added else _mode(q, sigma, b)
        x = np.linspace(centre - self._span, centre + self._span, _CELLS + 1)
        v = (2.0 * x - 1.0) / (2.0 * sigma * sigma)
        log_ratio = log_mixture(q, v)
        log_density = (
            -0.5 * (x / sigma) ** 2
            - math.log(sigma * math.sqrt(2.0 * math.pi))
            + (b + 1.0) * log_ratio
            - v
            + math.log(sigma * sigma / q)
            - log_m
        )
        width = float(x[1] - x[0])
        floor = np.minimum(log_density[1:], log_density[:-1]) - max(0.0, b + 1.0) * width * width / (
            32.0 * sigma**4
        )
        return layer_cake(log_m, np.exp(np.minimum(floor, 700.0)), np.diff(log_ratio), heights)


def _mode(q: float, sigma: float, b: float) -> float:
    """Return the x near which φ_σ(x) e^{(b+1) l - v} is largest: between 0 and b."""
    x = np.linspace(-2.0 * sigma, max(b, 0.0) + 2.0 * sigma, 129)
    v = (2.0 * x - 1.0) / (2.0 * sigma * sigma)
    return float(x[int(np.argmax(-0.5 * (x / sigma) ** 2 + b * log_mixture(q, v)))])


def log_mixture(q: float, v: FloatArray) -> FloatArray:
    """Return ln(1 - q + q e^v), also at v = -inf: to a few u, relative; beyond 700, and below 0 for q > 1/2, absolute.

    Absolute errors are relative to |v| + |ln q|.
    """
    out = np.log1p(q * np.expm1(np.minimum(v, 700.0)))
    if q > 0.5:  # 1 + q (e^v - 1) would cancel
        out = np.where(v < -0.5, np.log((1.0 - q) + q * np.exp(np.minimum(v, 0.0))), out)
    return np.where(v > 700.0, v + np.log(q + (1.0 - q) * np.exp(-np.maximum(v, 700.0))), out)


def log_drop(q: float, high: float, height: FloatArray) -> FloatArray:
    """Return a lower bound on Re m(l + iy) - m(l), m(l) = ln(1 - q + q e^l), for real l <= high, |y| <= height < π.

    |α + βe^{iy}|² = (α+β)² (1 - 4κ(1-κ) sin²(y/2)), κ = β/(α+β) = dm/dl, which increases with l.
    """
    steepest = 1.0 / (1.0 + (1.0 - q) / q * math.exp(-min(high, 700.0)))
    bend = 4.0 * steepest * (1.0 - steepest) if steepest < 0.5 else 1.0
    return 0.5 * np.log1p(-bend * np.sin(0.5 * np.minimum(height, 3.0)) ** 2)
