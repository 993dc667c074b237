"""The privacy loss on a sample of fixed size, drawn without replacement, when one record is replaced.

**Theorem** (Balle, Barthe, Gaboardi 2018, "Privacy amplification by subsampling", Thm 5; the pair: Zhu, Dong, Wang
2022, Prop. 30). Draw m of n records without replacement, q = m/n, and let (P, Q) dominate the mechanism on the
sample for replacing one record of it, with the loss of (Q, P) that of (P, Q). For replacing one record of the n the
mechanism is dominated by ((1-q) Q + q P, Q) at ε >= 0 and by its reverse at ε < 0.

*Proof.* Fix m - 1 other records and one more, k: the sample holds k or, with probability q, the record in question.
The two data sets give (1-q) R + q U and (1-q) R + q V, where R, U, V are the outputs on three samples any two of which
differ in one record, and δ is jointly convex. For w = e^ε >= 1 and w' = 1 + (w-1)/q

    δ = ∫ (qU - (w-1)(1-q) R - wq V)^+ = q ∫ (U - w' T)^+,  T = ((1-w/w') R + (w/w') V),

a mixture as w' q = w q + (w-1)(1-q), at most q δ_base(ln w') by convexity: what ((1-q) Q + q P, Q) attains. For w < 1
use δ_{P,Q}(ε) = 1 - w + w δ_{Q,P}(-ε) and the symmetry of the relation. []

So the base's movement is that of *replacing* a record of the sample. The loss is l = ln(1-q + q e^{l0}) where the base
loss l0 is positive, -l for the reverse, and 0 otherwise. With H(w) = E_Q[(1-q + q e^{l0})^w; l0 > 0]

    M(z) = H(z+1) + H(-z) + 1 - H(0) - H(1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.point_masses import fourier_of_masses
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.numerics.log_sum import log_mixture, log_sum
from mechanisms.numerics.quadrature import NEED, NODE_ERROR, Panels, layer_cake

_CELLS = 120


@dataclass(frozen=True)
class FixedSizeGaussianLoss(PrivacyLoss):
    """Loss of Gaussian noise on a sample of fixed size: symmetric, unbounded, an atom at 0.

    With v(x) = (2x-1)/2σ² and l(x) = ln(1-q + q e^v), H(w) = ∫_{1/2}^∞ φ_σ(x) e^{w l(x)} dx. The atom is
    (1-q)(1 - 2Φ(-1/2σ)).

    *Quadrature* by `Panels`. In an ellipse of height y < πσ²: |φ_σ| <= φ_σ(Re x) e^{y²/2σ²}, |Im l| <= y/σ², and Re l
    lies between l(Re x) + ln cos(y/2σ²) and l(Re x). For p >= 0, p l is at most its chord over the ellipse's real
    axis, for p < 0 at most its tangent (l is convex), which leaves the maximum of a parabola. With b = s + 1,
    B = q^b e^{b(b-1)/2σ²}, M(s) is at least 1 and at least B/2: what lies beyond b + R is at most 2^b 3Φ(-R/σ) of M(s).

    Parameters
    ----------
    rate : float
        m/n in (0, 1).
    sigma : float
        Noise over the L2 movement of the query when one record of the sample is replaced, positive.
    """

    rate: float
    sigma: float

    def _ratio(self, x: FloatArray) -> FloatArray:
        return log_mixture(self.rate, (2.0 * x - 1.0) / (2.0 * self.sigma**2))

    def _range(self, s: float, power: float) -> tuple[float, float]:
        """Return the part of (1/2, ∞) that counts for ``power`` s + 1 or -s."""
        sigma = self.sigma
        if power < 0.0:
            return 0.5, max(1.0, sigma * math.sqrt(2.0 * NEED))
        spread = power * math.log(2.0) + math.log(3.0)
        reach = sigma * math.sqrt(2.0 * (NEED + spread))
        log_shifted = power * (power - 1.0) / (2.0 * sigma * sigma) + power * math.log(self.rate)
        return (max(0.5, power - reach) if log_shifted >= NEED + spread else 0.5), power + reach

    def _log_bounds(self, panels: Panels, power: float, height: float) -> FloatArray:
        """Return ln of the largest modulus of φ_σ e^{(power + it) l} in each ellipse; inf where y >= πσ²."""
        variance = self.sigma * self.sigma
        low, high = panels.centres - panels.reach, panels.centres + panels.reach
        if power >= 0.0:
            at = self._ratio(low)
            slope = power * (self._ratio(high) - at) / (high - low)
            start, level = low, power * at
        else:
            at = self._ratio(panels.centres)
            v = (2.0 * panels.centres - 1.0) / (2.0 * variance)
            slope = power * np.exp(math.log(self.rate) + v - at) / variance
            start, level = panels.centres, power * at
        top = np.clip(slope * variance, low, high)  # the maximum of -x²/2σ² + slope x
        logs = level + slope * (top - start) - 0.5 * (top / self.sigma) ** 2
        y = panels.height
        logs = logs + y * y / (2.0 * variance) + height * y / variance
        if power < 0.0:
            logs = logs + power * np.log(np.cos(np.minimum(y / (2.0 * variance), 1.5)))
        bounded = np.where(y < min(3.0, math.pi) * variance, logs, np.inf)
        return np.asarray(bounded - math.log(self.sigma * math.sqrt(2.0 * math.pi)))

    def _panels(self, s: float, power: float, height: float) -> tuple[Panels, float]:
        """Return panels, and ln of their rules' error over 1 or B/2, whichever is larger."""
        variance, b = self.sigma**2, s + 1.0
        low, high = self._range(s, power)
        least = max(0.0, b * (b - 1.0) / (2.0 * variance) + b * math.log(self.rate) - math.log(2.0))
        half = min(self.sigma, variance, 12.0 * variance / (height + 1.0))
        panels, error = Panels.refined(
            low, high, half, lambda panels: self._log_bounds(panels, power, height), least
        )
        return panels, error - least

    def _masses(
        self, s: float, height: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
        """Return ln(mass e^{sL}), the losses, v, half-widths (0 for the atom), and the error over M(s)."""
        atom = (1.0 - self.rate) * math.erf(0.5 / (self.sigma * math.sqrt(2.0)))
        log_masses, losses = [np.array([math.log(atom)])], [np.zeros(1)]
        places, halves = [np.zeros(1)], [np.zeros(1)]
        error = 0.0
        for power, side in ((s + 1.0, 1.0), (-s, -1.0)):
            panels, log_error = self._panels(s, power, height)
            x, log_weights = panels.rule()
            own = self._ratio(x)
            log_density = -0.5 * (x / self.sigma) ** 2 - math.log(self.sigma * math.sqrt(2.0 * math.pi))
            log_masses.append(log_weights + log_density + power * own)
            losses.append(side * own)
            places.append(x)
            halves.append(np.repeat(panels.halves, x.size // panels.halves.size))
            error += math.exp(min(700.0, log_error)) + 2.0 * math.exp(-NEED)
        return (
            np.concatenate(log_masses),
            np.concatenate(losses),
            np.concatenate(places),
            np.concatenate(halves),
            error,
        )

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        variance = self.sigma**2
        half = min(0.5 * self.sigma, 0.5 * variance, 8.0 * variance / (height + 1.0))
        return 0.1 * 32.0 * (2.0 + (25.0 * self.sigma + 2.0) / (2.0 * half))

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum over the atom and the quadrature nodes; the panels are chosen for the largest t."""
        top, variance = float(t[-1]), self.sigma**2
        log_masses, losses, x, halves, quadrature = self._masses(s, top)
        v = (2.0 * x - 1.0) / (2.0 * variance)
        steep = np.minimum(1.0, self.rate * np.exp(np.minimum(v, 50.0)))  # dl/dv is at most this
        inner = ROUNDING * (steep * (6.0 * np.abs(v) + 6.0) + 4.0 * np.abs(losses))
        inner = inner + NODE_ERROR * halves * steep / variance
        relative = ROUNDING * (24.0 + 4.0 * (x / self.sigma) ** 2 + 4.0 * np.abs(log_masses)) + NODE_ERROR
        relative = relative + NODE_ERROR * halves * np.abs(x) / variance + (2.0 * s + 1.0 + top) * inner
        return fourier_of_masses(log_masses, losses, relative, quadrature, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, one rule for each s."""
        return np.array([log_sum(self._masses(float(own), 0.0)[0]) for own in s])

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound from the density of the loss (`layer_cake`); the atom counts in full.

        Tilted, the density is φ_σ(x) e^{p l} / (M(s) dl/dx) at the loss ±l(x), p = s+1 or -s. On a cell of width d in
        x, φ_σ e^{p l} >= min(end values) e^{-p^+ d²/32σ⁴}, because its logarithm's second derivative is at most
        p^+/4σ⁴, and dl/dx increases.
        """
        log_top, error = self.log_mgf_line(s, np.zeros(1))
        log_m = float(log_top[0].real + error[0])
        variance, b = self.sigma**2, s + 1.0
        span = 2.0 * self.sigma * math.sqrt(12.0)
        around = np.linspace(0.5, b + span, 257)
        mode = float(around[int(np.argmax(-0.5 * (around / self.sigma) ** 2 + b * self._ratio(around)))])
        first = max(0.5, mode - span)
        pieces = [(b, np.linspace(first, mode + span, _CELLS + 1))]
        if first == 0.5:
            pieces.insert(0, (-s, np.linspace(0.5, 0.5 + span, _CELLS + 1)))
        density, widths = [], []
        for power, x in pieces:
            ratio = self._ratio(x)
            logs = (
                power * ratio - 0.5 * (x / self.sigma) ** 2 - math.log(self.sigma * math.sqrt(2.0 * math.pi))
            )
            d = float(x[1] - x[0])
            floor = np.minimum(logs[1:], logs[:-1]) - max(0.0, power) * d * d / (32.0 * variance * variance)
            v = (2.0 * x[1:] - 1.0) / (2.0 * variance)
            floor = floor - (math.log(self.rate) + v - ratio[1:] - math.log(variance)) - log_m
            order = slice(None, None, 1 if power > 0.0 else -1)
            density.append(np.exp(np.minimum(floor, 700.0))[order])
            widths.append(np.diff(ratio)[order])
        return layer_cake(log_m, np.concatenate(density), np.concatenate(widths), heights)
