"""The privacy loss of Laplace noise on a Poisson subsample when one record is replaced by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.log_sum import log_drop, log_mixture, log_sum
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.quadrature import NODE_ERROR, Panels
from mechanisms.rounding import up


@dataclass(frozen=True)
class PoissonReplacedLaplaceLoss(PrivacyLoss):
    """Loss of ((1-q) F(x) + q F(x-e), (1-q) F(x) + q F(x+e)), F Laplace noise of scale 1: symmetric, bounded.

    **Theorem.** Let a query of one coordinate move by at most D when a record joins or leaves the sample, each
    record taking part with probability q, under symmetric log-concave noise. For replacing one record by another
    the mechanism is dominated, at every real ε, by the pair with movements D and -D.

    *Proof.* As for Gaussian noise (`PoissonReplacedProfile`), for w >= 1, δ = E_u(q - c_0 X - c_1 Y)^+ with
    X = dN_0/dN_u and
    Y = dN_v/dN_u. By symmetry the law of X depends on |u| only, that of Y on |u-v| only. With 0 and v on the
    same side of u both are monotone in the noise (log-concavity), so c_0 X + c_1 Y is largest in convex order: such
    u, v are worst for given distances. There the best set is [τ, ∞) or (-∞, τ], and its value increases in both
    distances, as the tails do: |u| = D, |u-v| = 2D. For w < 1 exchange the data sets. []

    **Transform.** With m(l) = ln(1-q + q e^l), c = m(-e) and Ã(w) = ∫_{-e}^e e^{-(e+l)/2} e^{w m(l)} dl / 4,

        M(z) = e^{-zc} Ã(z+1) + e^{(z+1)c} Ã(-z) + (e^{-e}/2) (e^{(z+1)m(e) - zc} + e^{(z+1)c - z m(e)}):

    for noise x in (0, e) the loss is m(2x-e) - c, beyond it is m(e) - c, and x < 0 mirrors it.

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    epsilon : Fraction
        Largest loss e of the Laplace mechanism for adding or removing a record, positive.
    """

    rate: float
    epsilon: Fraction

    @cached_property
    def _e(self) -> float:
        return up(self.epsilon)

    def _mixture(self, l0: FloatArray) -> FloatArray:
        return log_mixture(self.rate, l0)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return m(-e) and m(e)."""
        low, high = self._mixture(np.array([-self._e, self._e]))
        return float(low), float(high)

    @property
    def supremum(self) -> float:
        """m(e) - m(-e), rounded up."""
        low, high = self._ends
        return (high - low) * (1.0 + 16 * ROUNDING)

    @property
    def infimum(self) -> float:
        """Minus the supremum."""
        return -self.supremum

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        half = min(0.5, self._e, 8.0 / (height + 1.0))
        return 0.1 * 64.0 * (2.0 + self._e / half)

    def _heavy(self, power: float) -> tuple[float, float]:
        """Return the part of (-e, e) outside of which e^{power m(l0)} is below e^{-60-e} of its largest value."""
        e, q, (low, top) = self._e, self.rate, self._ends
        fall = (60.0 + e) / abs(power) if power else math.inf
        if fall >= top - low:
            return -e, e
        # m(l0) = y  <=>  l0 = ln(1 + (e^y - 1) / q)
        y = top - fall if power > 0.0 else low + fall
        ratio = math.expm1(y) / q
        if ratio > -0.5:
            at = math.log1p(ratio)
        else:  # 1 + ratio cancels
            grown = (math.exp(y) - (1.0 - q)) / q
            at = math.log(grown) if grown > 0.0 else -math.inf
        return (max(-e, min(at, e * 0.999)), e) if power > 0.0 else (-e, min(e, max(at, -e * 0.999)))

    def _rule(self, s: float, height: float) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return ln(mass e^{sL}), the losses, a bound on their rounding, and the quadrature's error over M(s).

        M(s) is at least 1, and at least the larger atom's share: what `_heavy` leaves out is below 2e e^{-60} of it.
        """
        e, (low, top) = self._e, self._ends
        log_masses = [np.array([-e - math.log(2.0) + (s + 1.0) * top - s * low])]
        log_masses.append(np.array([-e - math.log(2.0) + (s + 1.0) * low - s * top]))
        losses = [np.array([top - low]), np.array([low - top])]
        shifts = [np.zeros(2)]
        errors = []
        least = max(0.0, float(log_masses[0][0]))
        for power, rest, side in ((s + 1.0, -s * low, 1.0), (-s, (s + 1.0) * low, -1.0)):

            def log_bounds(panels: Panels, power: float = power, rest: float = rest) -> FloatArray:
                real = panels.centres[:, None] + panels.reach[:, None] * np.array([-1.0, 1.0])
                up = np.max(power * self._mixture(real), axis=1)
                logs = up - 0.5 * (e + real[:, 0]) - math.log(4.0) + rest + panels.height * height
                if power < 0.0:
                    logs = logs + power * log_drop(self.rate, e, panels.height)
                return np.where(panels.height < 3.0, logs, np.inf)

            first, last = self._heavy(power)
            panels, error = Panels.refined(first, last, min(1.0, e, 12.0 / (height + 1.0)), log_bounds, least)
            errors.append(error)
            nodes, log_weights = panels.rule()
            own = self._mixture(nodes)
            log_masses.append(log_weights - 0.5 * (e + nodes) - math.log(4.0) + power * own + rest)
            losses.append(side * (own - low))
            shifts.append(np.repeat(panels.halves, nodes.size // panels.halves.size))
        masses = np.concatenate(log_masses)
        return (
            masses,
            np.concatenate(losses),
            np.concatenate(shifts),
            math.exp(min(700.0, float(np.logaddexp(errors[0], errors[1])) - least))
            + 4.0 * e * math.exp(-60.0),
        )

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum over both atoms and the quadrature nodes."""
        top = float(t[-1])
        log_masses, losses, shifts, quadrature = self._rule(s, top)
        # The loss through l0 (dl/dl0 <= 1), through q, and by its own rounding.
        inner = NODE_ERROR * shifts + ROUNDING * (8.0 * np.abs(losses) + 4.0 * (self._e + abs(self._ends[0])))
        relative = ROUNDING * (24.0 + 6.0 * np.abs(log_masses)) + 2.0 * NODE_ERROR
        relative = relative + (2.0 * s + 2.0 + top) * inner
        return fourier_of_masses(log_masses, losses, relative, quadrature, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, one rule for each s."""
        return np.array([log_sum(self._rule(float(own), 0.0)[0]) for own in s])

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound: both atoms in full, the densities ρ by their variation.

        On either side of 0 the tilted density is e^{-e/2 - 3l0/2 + (p+1) m(l0) + const}, p = s+1 or -s, over
        l0 in (-e, e): convex in l0 in the logarithm for p + 1 > 0, else decreasing. A density of bounded
        variation on an interval has |transform| <= (ρ at both ends + TV ρ) / τ, at most 2 (ρ at both ends) / τ.
        """
        e, q, (low, top) = self._e, self.rate, self._ends
        log_m_line, error = self.log_mgf_line(s, np.zeros(1))
        log_m = float(log_m_line[0].real + error[0])
        variation = -math.inf
        for power, rest in ((s + 1.0, -s * low), (-s, (s + 1.0) * low)):
            for l0, m in ((-e, low), (e, top)):
                log_density = -0.5 * e - 1.5 * l0 + (power + 1.0) * m - math.log(4.0 * q) + rest
                variation = float(np.logaddexp(variation, math.log(2.0) + log_density))
        atoms = -e - math.log(2.0) + np.logaddexp((s + 1.0) * top - s * low, (s + 1.0) * low - s * top)
        logs = np.logaddexp(atoms, variation - np.log(np.maximum(heights, 1e-300)))
        return np.asarray(np.minimum(log_m, logs + 1e-9))
