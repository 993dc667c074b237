"""The privacy loss of a Poisson subsample when one record is replaced by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.log_sum import log_sum
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.quadrature import NEED, NODE_ERROR, Panels
from mechanisms.rounding import up
from mechanisms.subsampled_gaussian_loss import log_drop, log_mixture

_SHIFTS = np.array([0.42, 0.3, 0.2, 0.12, 0.06, 0.02])  # paths tried for the envelope, over πσ²


@dataclass(frozen=True)
class PoissonReplacedGaussianLoss(PrivacyLoss):
    """Loss of the pair ((1-q) N(0,σ²) + q N(1,σ²), (1-q) N(0,σ²) + q N(-1,σ²)), symmetric and unbounded.

    **Theorem.** Let a query move by at most 1 in L2 when a record joins or leaves the sample, and let each
    record take part with probability q. With Gaussian noise σ, also in several dimensions, this pair dominates
    the mechanism for replacing one record by another, at every real ε.

    *Proof.* Fix the other records' sample: the two data sets give (1-q) N_0 + q N_u and (1-q) N_0 + q N_v,
    |u|, |v| <= 1, and δ is jointly convex. For w = e^ε >= 1, δ = ∫ (q n_u - (w-1)(1-q) n_0 - wq n_v)^+. For
    c_i >= 0, ∫ (q n_{m_0} - Σ c_i n_{m_i})^+ does not decrease in any entry of the Gram matrix
    G_ij = (m_i - m_0)·(m_j - m_0): it is E h(Σ c_i X_i), h(t) = (q - t)^+, X_i = exp(g_i - G_ii/2),
    g ~ N(0, G/σ²), and along (1-t) G + t G* its derivative is ½ Σ (G*-G)_ij c_i c_j E[h'' X_i X_j] >= 0 (the
    heat equation; the drift cancels the terms in h'). Here |u|² <= 1, |u-v|² <= 4 and u·(u-v) <= 2, all attained
    by u = 1, v = -1 on a line. For w < 1 use δ_{P,Q}(ε) = 1 - w + w δ_{Q,P}(-ε) and the symmetry of the set.

    **Transform.** With v(x) = (2x-1)/2σ² and l(x) = ln(1-q + q e^v) the loss at output x is l(x) - l(-x), and
    M(z) = ∫ φ_σ(x) e^{(z+1) l(x) - z l(-x)} dx.

    *Quadrature.* As for `SubsampledGaussianLoss`: in the strip |Im x| < a, |Im l(x)| + |Im l(-x)| is at most
    k a/σ², where k = 1 if q² e^{-1/σ²} <= (1-q)², else 2: arg(1 + r e^{iθ}) = θ/2 + atan(tanh(½ ln r) tan(θ/2)) is
    θ/2 plus an odd increasing function of ln r, and the two r multiply to at most 1. So the trapezoid rule of
    step g errs by at most 2 M(s) e^{a²/2σ² + |t| k a/σ²} cos(a/2σ²)^{-s} / (e^{2πa/g} - 1). With b = s + 1,
    M(s) >= 1 and M(s) >= B/2, B = q^b e^{b(b-1)/2σ²} (as l(-x) <= 0 for x > 0): what lies outside [-R, b+R] is at
    most 2^b (1-q)^{-s} 3 Φ(-R/σ) of M(s), by e^{-s l(-x)} <= (1-q)^{-s} and (α+β)^b <= 2^b (α^b + β^b).

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    sigma : float
        Noise over the L2 movement of the query when one record joins or leaves, positive.
    """

    rate: float
    sigma: float

    def _range(self, s: float) -> tuple[float, float]:
        """Return ends outside of which less than 2e^{-46} of M(s) lies."""
        b, q, sigma = s + 1.0, self.rate, self.sigma
        spread = b * math.log(2.0) - s * math.log1p(-q) + math.log(3.0)
        reach = sigma * math.sqrt(2.0 * (NEED + spread))
        log_shifted = b * (b - 1.0) / (2.0 * sigma * sigma) + b * math.log(q)
        # Left of b - R the integrand is below 2^b (1-q)^{-s} (φ_σ(x) + B φ_σ(x - b)).
        return (b - reach if log_shifted >= NEED + spread else -reach), b + reach

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return v(x), l(x) and l(-x)."""
        variance = self.sigma * self.sigma
        v = (2.0 * x - 1.0) / (2.0 * variance)
        return v, log_mixture(self.rate, v), log_mixture(self.rate, (-2.0 * x - 1.0) / (2.0 * variance))

    @cached_property
    def _turn(self) -> float:
        """Return k: the phase turns by at most k |t| a/σ² in a strip of half-width a."""
        q = self.rate
        return 1.0 if 2.0 * (math.log(q) - math.log1p(-q)) <= self.sigma**-2 else 2.0

    def _strip(self, s: float, height: float) -> tuple[float, float, float]:
        """Return the strip a, the step g, and ln of the growth of the integrand in the strip, without t."""
        sigma = self.sigma
        flat = math.sqrt(1.0 + s / (4.0 * sigma * sigma))  # ln cos(y) is about -y²/2
        a = min(sigma * math.sqrt(2.0 * NEED) / flat, 0.5 * math.pi * sigma * sigma)
        growth = a * a / (2.0 * sigma * sigma) - s * math.log(math.cos(a / (2.0 * sigma * sigma)))
        rate = (NEED + growth) / a + self._turn * height / (sigma * sigma)
        return a, 2.0 * math.pi / rate, growth

    def _nodes(self, s: float, step: float) -> FloatArray:
        low, high = self._range(s)
        return step * np.arange(math.floor(low / step) - 1, math.ceil(high / step) + 2, dtype=np.float64)

    def _log_masses(self, s: float, x: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """Return ln of the rule's masses and the losses."""
        _, right, left = self._parts(x)
        weight = -0.5 * (x / self.sigma) ** 2 + math.log(step / (self.sigma * math.sqrt(2.0 * math.pi)))
        return weight + (s + 1.0) * right - s * left, right - left

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        variance = self.sigma * self.sigma
        rate = self._turn * height / variance + 10.0 / self.sigma + 16.0 / variance
        return 0.1 * (20.0 * self.sigma + 10.0) * rate / (2.0 * math.pi)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule of the class docstring; the step is chosen for the largest t."""
        top, q, sigma = float(t[-1]), self.rate, self.sigma
        a, step, growth = self._strip(s, top)
        x = self._nodes(s, step)
        log_masses, losses = self._log_masses(s, x, step)
        v, right, left = self._parts(x)
        exponent = growth + t * (self._turn * a / (sigma * sigma)) - 2.0 * math.pi * a / step
        quadrature = 2.0 * np.exp(exponent) / -math.expm1(-2.0 * math.pi * a / step)
        # Rounding of each term: the Gaussian exponent, and l through v (dl/dv <= min(1, q e^v)).
        back = -v - 1.0 / (sigma * sigma)

        def rounding_of(at: FloatArray, log_ratio: FloatArray) -> FloatArray:
            share = np.minimum(1.0, q * np.exp(np.minimum(at, 50.0)))
            return share * (6.0 * np.abs(at) + 6.0) + 4.0 * np.abs(log_ratio)

        gaussian = log_masses - (s + 1.0) * right + s * left
        relative = 16.0 + 4.0 * np.abs(gaussian)
        relative = relative + (s + 1.0 + top) * rounding_of(v, right) + (s + top) * rounding_of(back, left)
        return fourier_of_masses(
            log_masses, losses, ROUNDING * relative, quadrature + 4.0 * math.exp(-NEED), t
        )

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, one quadrature for each s."""
        out = np.empty(s.shape)
        for i, own in enumerate(s):
            step = self._strip(float(own), 0.0)[1]
            out[i] = log_sum(self._log_masses(float(own), self._nodes(float(own), step), step)[0])
        return out

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound from a path moved by ia, 0 < a < πσ²/2.

        With θ = a/σ², R(x) + iI(x) = l(x + ia), I >= 0, and l(-x - ia) = R(-x) - iI(-x). For |t| >= τ

            |M(s+it)| <= e^{a²/2σ²} J,  J = ∫ φ_σ(x) e^{(s+1) R(x) - s R(-x) - τ (I(x) + I(-x))} dx,

        R(x) = ½ ln(α² + β² + 2αβ cos θ), I(x) = arg(α + β e^{iθ}), α = 1-q, β = q e^{v(x)}. The integrand of J is
        analytic for |Im x| <= a, and there at most φ_σ e^{a²/2σ²} e^{(s+1) l(x) - s l(-x)} cos(a/σ²)^{-s}: it is
        the product of square roots at x ± ia, I(a + y) + I(a - y) >= 0, Re l(x+iy) lies between
        l(x) + ln cos(y/2σ²) and l(x). Hence the trapezoid rule errs by at most
        2 M(s) e^{a²/2σ²} cos(a/σ²)^{-s} / (e^{2πa/g} - 1), and what lies outside the range, where
        R(-x) >= l(-x) + ln cos(θ/2), is at most 4e^{-46} cos(θ/2)^{-s} of M(s).
        """
        log_top, error = self.log_mgf_line(s, np.zeros(1))
        log_m = float(log_top[0].real + error[0])
        best = np.full(heights.shape, log_m)
        variance = self.sigma * self.sigma
        for a in _SHIFTS * (math.pi * variance):
            theta, moved = a / variance, a * a / (2.0 * variance)
            growth = moved - s * math.log(math.cos(theta))
            step = 2.0 * math.pi * a / (NEED + growth)
            x = self._nodes(s, step)
            if x.size * heights.size > 2_000_000:
                continue
            (r_right, i_right), (r_left, i_left) = (self._moved(side * x, theta) for side in (1.0, -1.0))
            logs = -0.5 * (x / self.sigma) ** 2 + math.log(step / (self.sigma * math.sqrt(2.0 * math.pi)))
            logs = logs + (s + 1.0) * r_right - s * r_left
            own = log_sum(logs - np.multiply.outer(heights, i_right + i_left), axis=1)
            left_out = math.log(4.0) - NEED - s * math.log(math.cos(0.5 * theta))
            rest = log_m + np.logaddexp(math.log(2.1) - NEED - moved, left_out)
            best = np.minimum(best, moved + np.logaddexp(own, rest))
        return best + 1e-9

    def _moved(self, x: FloatArray, theta: float) -> tuple[FloatArray, FloatArray]:
        """Return R and I at x."""
        log_ratio = math.log(self.rate) - math.log1p(-self.rate) + (2.0 * x - 1.0) / (2.0 * self.sigma**2)
        far = np.exp(-np.abs(log_ratio))
        real = np.maximum(log_ratio, 0.0) + 0.5 * np.log1p(far * (far + 2.0 * math.cos(theta)))
        angle = np.arctan2(math.sin(theta), np.exp(np.minimum(-log_ratio, 700.0)) + math.cos(theta))
        return real + math.log1p(-self.rate), angle


@dataclass(frozen=True)
class PoissonReplacedLaplaceLoss(PrivacyLoss):
    """Loss of ((1-q) F(x) + q F(x-e), (1-q) F(x) + q F(x+e)), F Laplace noise of scale 1: symmetric, bounded.

    **Theorem.** Let a query of one coordinate move by at most D when a record joins or leaves the sample, each
    record taking part with probability q, under symmetric log-concave noise. For replacing one record by another
    the mechanism is dominated, at every real ε, by the pair with movements D and -D.

    *Proof.* As for `PoissonReplacedGaussianLoss`, for w >= 1, δ = E_u(q - c_0 X - c_1 Y)^+ with X = dN_0/dN_u and
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
