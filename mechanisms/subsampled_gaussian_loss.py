"""The privacy loss of Gaussian noise on a Poisson subsample, both directions, by certified quadrature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.neighbouring import Neighbouring
from mechanisms.privacy_loss import ROUNDING, ComplexArray, LossSum, PrivacyLoss, log1p_complex

_NEED = 46.0
"""Rules are chosen so that their errors are below e^{-46}, about 1e-20, of A(b)."""
_OUTSIDE = 4.0 * math.exp(-_NEED)
"""What lies outside of the nodes, of A(b): 2 Φ(-R/σ) <= e^{-R²/2σ²}."""
_SHARES = (0.42, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
"""How far paths are moved, in πσ². Far helps single releases, little helps many at small heights."""
_BLOCK = 2**17
"""Numbers in an array."""
_MOST_NODES = 2**14
"""Of a rule for a tilt that may be chosen."""
_SAMPLE = 12
"""Losses that say which path is best for all."""


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

    @cached_property
    def _alone(self) -> SubsampledGaussianLossSum:
        return SubsampledGaussianLossSum((self,), (1,))

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a fortieth (a matrix product); their number grows with the height."""
        variance = self.sigma * self.sigma
        rate = height / variance + 10.0 / self.sigma + 16.0 / variance
        return 0.025 * (20.0 * self.sigma + 10.0) * rate / (2.0 * math.pi)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule of the class docstring; the step is chosen for the largest t."""
        return self._alone.log_mgf_line(s, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln A on the real line, one quadrature for each s."""
        return self._alone.log_mgf_real(s)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound from a path moved off the real line; see `SubsampledGaussianLossSum`."""
        return self._alone.log_envelope(s, heights)

    @classmethod
    def together(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Return the sum, its transforms by one rule; apart for the two directions."""
        sums = []
        for added in (False, True):
            own = [
                (loss, n)
                for loss, n in zip(losses, counts, strict=True)
                if isinstance(loss, SubsampledGaussianLoss) and loss.added is added
            ]
            if own:
                sums.append(SubsampledGaussianLossSum(tuple(one for one, _ in own), tuple(n for _, n in own)))
        return sums[0] if len(sums) == 1 else LossSum(tuple(sums), (1, 1))


@dataclass(frozen=True)
class SubsampledGaussianLossSum(LossSum):
    """Losses of Gaussian noise on Poisson subsamples, all in one direction, on common nodes x = σu.

    Envelope. With l(x+ia) = R + iI, R = ln |α + βe^{iθ}|, I = arg(α + βe^{iθ}), α = 1-q, β = q e^v, θ = a/σ² in
    (0, π/2), and J(τ) = ∫ φ_σ(x) e^{bR - τI} dx,  |M(s+it)| <= e^{a²/2σ²} J(τ) for |t| >= τ.

        *Proof.* The path of A(b+it), or its mirror image, is moved to Im x = a: |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}, and
        e^{-|t|I} falls with |t| as I >= 0. []

    The trapezoid rule for J: the integrand is that of φ_σ exp(((b+iτ) l(x+ia) + (b-iτ) l(x-ia)) / 2), analytic for
    |Im x| = y with y + a < πσ². There its modulus is at most e^{y²/2σ²} φ_σ(x) e^{bl(x)} c, because
    I(a+y) + I(a-y) >= 0 for y <= a (both are) and for (a+y)/σ² <= π/2 (I is odd in the angle, and increases up to
    there); c = 1 for b >= 0 and ((cos(a/σ²) + cos(y/σ²))/2)^{b/2} for b < 0, as Re l >= l + ln cos(angle/2). So the
    rule is off by at most 2 A(b) e^{y²/2σ²} c / (e^{2πy/g} - 1); what lies outside is as for the transform.
    """

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        rates, sigmas = (
            np.array([getattr(loss, name) for loss in self.losses])[:, None] for name in ("rate", "sigma")
        )
        return rates, sigmas, np.array(self.counts, dtype=np.float64)

    @cached_property
    def _added(self) -> bool:
        return isinstance(self.losses[0], SubsampledGaussianLoss) and self.losses[0].added

    def _power(self, s: float) -> float:
        return -s if self._added else s + 1.0

    def _range(self, s: float, step: float) -> tuple[int, int]:
        """Return the first and last node of a rule of this step, outside of which `_OUTSIDE` of every A(b) is left."""
        b, (q, sigma, _) = self._power(s), self._columns
        low, high = float(np.min(sigma)), float(np.max(sigma))
        extra = -s * math.log1p(-float(np.max(q))) if self._added else (s + 2.0) * math.log(2.0)
        reach = math.sqrt(2.0 * (_NEED + extra))
        first = -math.ceil(reach / step) - 1
        if self._added:
            return first, -first
        far = b * (b - 1.0) / (2.0 * sigma * sigma) + b * np.log(q / 2.0)
        if bool(np.all(far >= _NEED + 1.0)):
            first = max(first, math.floor((b / high - reach) / step) - 1)
        return first, math.ceil((b / low + reach) / step) + 1

    def _nodes(self, s: float, step: float) -> FloatArray:
        """Return u at all nodes."""
        first, last = self._range(s, step)
        return np.asarray(step * np.arange(first, last + 1, dtype=np.float64))

    def _blocks(self, size: int) -> Iterator[slice]:
        """Return slices of losses, so that as many arrays of ``size`` numbers each stay small."""
        rows = max(1, _BLOCK // size)
        return (slice(i, i + rows) for i in range(0, len(self.losses), rows))

    def _log_masses(self, s: float, u: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return v, l and ln(weight e^{bl}) at the nodes."""
        q, sigma, _ = self._columns
        v = u / sigma[rows] - 0.5 / sigma[rows] ** 2
        log_ratio = log_mixture(q[rows], v)
        log_weight = math.log(float(u[1] - u[0]) / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
        return v, log_ratio, log_weight + self._power(s) * log_ratio

    def _strip(self, b: float) -> tuple[FloatArray, FloatArray]:
        """Return the half-width a of the strip of the transform's rule, and ln c."""
        sigma = self._columns[1][:, 0]
        flat = np.sqrt(1.0 + max(0.0, -b) / (4.0 * sigma * sigma))  # ln cos(y) is about -y²/2
        widest = (0.5 if b < 0.0 else 0.9) * math.pi * sigma * sigma
        a = np.minimum(sigma * math.sqrt(2.0 * _NEED) / flat, widest)
        log_c = b * np.log(np.cos(a / (2.0 * sigma * sigma))) if b < 0.0 else np.zeros(a.shape)
        return a, log_c

    def _step(self, b: float, height: float) -> float:
        """Return the largest step in u that is good enough for every loss."""
        sigma = self._columns[1][:, 0]
        a, log_c = self._strip(b)
        rate = (_NEED + a * a / (2.0 * sigma * sigma) + log_c) / a + height / (sigma * sigma)
        return float(np.min(2.0 * math.pi / (rate * sigma)))

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule, summed over the losses.

        With weights w_j = m_j / Σ m it is (Σ m) φ(t), φ - 1 = Σ w_j (e^{itl_j} - 1). Nodes t_k = kh with k = aB + b
        have e^{it_k l} - 1 = D_a (D_b + 1) + D_b, D_a = e^{iaBhl} - 1: one matrix product, and
        D_{a+1} = D_a (D_1 + 1) + D_1, off by 6u a |Bhl|. What is summed is at most t|l_j| (or 2) times w_j, so that
        with r_j the relative error of m_j, r' its mean and u λ_j the error of l_j

            |computed φ - φ| <= Σ w_j min(2, t|l_j|) (r_j + r' + u (J + 16 + 8 (B + N/B))) + u t Σ w_j λ_j + quadrature.

        φ may be close to 1 and M(s), too, where counts are large: then ln Σ m = ln(1 + Σ m_j (1 - e^{-bl_j})), the rule
        for φ_σ itself being 1.
        """
        b, (q, sigma, counts) = self._power(s), self._columns
        height = float(t[-1])
        step = self._step(b, height)
        u = self._nodes(s, step)
        a, log_c = self._strip(b)
        variance = sigma[:, 0] ** 2
        turn = 2.0 * math.pi * a / (step * sigma[:, 0])
        exponent = (a * a / (2.0 * variance) + log_c - turn)[:, None] + np.outer(a / variance, t)
        quadrature = 2.0 * np.exp(exponent) / -np.expm1(-turn)[:, None] + _OUTSIDE
        block = math.isqrt(max(t.size - 1, 1)) + 1
        rows_of_t = -(-t.size // block)
        spacing = float(t[1]) if t.size > 1 else 0.0
        terms = u.size + 16.0 + 8.0 * (block + rows_of_t)
        total, bound = np.zeros(t.size, dtype=np.complex128), np.zeros(t.size)
        size = np.zeros(t.size)
        for rows in self._blocks(u.size * (block + rows_of_t)):
            v, log_ratio, log_masses = self._log_masses(s, u, rows)
            share = np.minimum(1.0, q[rows] * np.exp(np.minimum(v, 50.0)))
            inner = share * (6.0 * np.abs(v) + 6.0) + 4.0 * np.abs(log_ratio)
            relative = ROUNDING * (16.0 + 4.0 * np.abs(log_masses - b * log_ratio) + abs(b) * inner)
            top = np.max(log_masses, axis=1)
            weights = np.exp(log_masses - top[:, None])
            sums = np.sum(weights, axis=1)
            weights /= sums[:, None]
            scatter = np.einsum("ij,ij->i", weights, relative)
            log_m = top + np.log(sums)
            error_of_log_m = scatter + ROUNDING * (u.size + 16.0 + 4.0 * np.abs(top)) + quadrature[rows, 0]
            near = np.abs(log_m) < 0.3
            if near.any():
                masses, part = np.exp(log_masses[near]), _excess(log_masses[near], b * log_ratio[near])
                log_m[near] = np.log1p(np.sum(part, axis=1))
                off = np.abs(part) * (relative[near] + ROUNDING * (u.size + 16.0))
                off += masses * (ROUNDING * abs(b) * inner[near])
                error_of_log_m[near] = 3.0 * np.sum(off, axis=1) + 3.0 * quadrature[rows, 0][near]
            phi = np.zeros((weights.shape[0], 1), dtype=np.complex128)
            if t.size > 1:
                signed = -log_ratio if self._added else log_ratio
                ahead = _turns(spacing * block * signed, rows_of_t)
                beside = _turns(spacing * signed, block)
                alone = np.einsum("ij,kij->ik", weights, beside)
                beside += 1.0
                beside *= weights
                product = np.matmul(ahead.transpose(1, 0, 2), beside.transpose(1, 2, 0)) + alone[:, None, :]
                phi = product.reshape(weights.shape[0], -1)[:, : t.size]
            lengths = np.abs(log_ratio)
            slope = np.einsum("ij,ij->i", weights, lengths)
            own = np.einsum("ij,ij,ij->i", weights, lengths, relative) + (scatter + ROUNDING * terms) * slope
            most = 2.0 * (2.0 * scatter + ROUNDING * terms)
            error = np.minimum(np.outer(own, t), most[:, None])
            error += np.outer(ROUNDING * np.einsum("ij,ij->i", weights, inner + 5.0 * lengths), t)
            error += quadrature[rows] * (t > 0.0)
            logs = log1p_complex(np.where(np.abs(1.0 + phi) > 1e-290, phi, 1e-290 - 1.0))
            modulus = np.maximum(np.abs(1.0 + phi), 1e-300)
            turned = 8.0 * ROUNDING * np.abs(phi) / modulus
            n = counts[rows]
            total.real += n @ (logs.real + log_m[:, None])
            total.imag += n @ logs.imag
            bound += n @ (np.log1p(error / modulus) + turned + error_of_log_m[:, None])
            size += n @ (np.abs(logs) + np.abs(log_m)[:, None])
        return total, bound + (len(self.losses) + 4) * ROUNDING * size

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return Σ n ln A on the real line, one rule for each s; inf where that takes too many nodes."""
        out = np.zeros(s.shape)
        for i, own in enumerate(s.tolist()):
            step = self._step(self._power(own), 0.0)
            first, last = self._range(own, step)
            if last - first > _MOST_NODES:
                out[i] = math.inf
                continue
            u = self._nodes(own, step)
            for rows in self._blocks(u.size):
                _, log_ratio, log_masses = self._log_masses(own, u, rows)
                log_a = logsumexp(log_masses, axis=1)
                near = np.abs(log_a) < 0.3
                part = _excess(log_masses[near], self._power(own) * log_ratio[near])
                log_a[near] = np.log1p(np.sum(part, axis=1))
                out[i] += self._columns[2][rows] @ log_a
        return out

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return Σ n ln of the class docstring's bound, for each height with the path that is best for a few losses."""
        few = self
        if len(self.losses) > _SAMPLE:
            chosen = np.linspace(0, len(self.losses) - 1, _SAMPLE).astype(int).tolist()
            few = SubsampledGaussianLossSum(
                tuple(self.losses[i] for i in chosen), tuple(self.counts[i] for i in chosen)
            )
        tried = np.stack([few._shifted(s, heights, share) for share in _SHARES])
        if few is self:
            return np.asarray(np.min(tried, axis=0))
        best = np.argmin(tried, axis=0)
        out = np.empty(heights.shape)
        for i in np.unique(best).tolist():
            out[best == i] = self._shifted(s, heights[best == i], _SHARES[i])
        return out

    def oscillations(self, s: float) -> None:
        """None: there are no atoms."""

    def _shifted(self, s: float, heights: FloatArray, share: float) -> FloatArray:
        """Return Σ n ln of the bound of paths moved by a = share·πσ²."""
        b, (q, sigma, counts) = self._power(s), self._columns
        theta = share * math.pi
        variance = sigma[:, 0] ** 2
        angle = np.minimum(max(theta, 0.5 * math.pi - theta), math.sqrt(2.0 * _NEED) / sigma[:, 0])
        y = angle * variance
        log_c = 0.5 * b * np.log(0.5 * (math.cos(theta) + np.cos(angle))) if b < 0.0 else np.zeros(y.shape)
        steps = 2.0 * math.pi * y / (_NEED + y * y / (2.0 * variance) + log_c)
        step = float(np.min(steps / sigma[:, 0]))
        u = self._nodes(s, step)
        turn = 2.0 * math.pi * y / (step * sigma[:, 0])
        missed = 2.0 * np.exp(y * y / (2.0 * variance) + log_c - turn) / -np.expm1(-turn) + _OUTSIDE
        total = np.zeros(heights.shape)
        for rows in self._blocks(u.size * heights.size):
            v, log_ratio, log_masses = self._log_masses(s, u, rows)
            of_beta = np.exp(np.log(q[rows]) + v - log_ratio)
            turned = np.exp(np.log1p(-q[rows]) - log_ratio) + of_beta * complex(
                math.cos(theta), math.sin(theta)
            )
            exponent = log_masses + b * np.log(np.abs(turned))
            top = np.max(exponent, axis=1)
            phase = np.angle(turned)
            terms = np.exp((exponent - top[:, None])[:, None, :] - heights[:, None] * phase[:, None, :])
            j = np.log(np.sum(terms, axis=2) + 1e-300) + top[:, None]
            left_out = (logsumexp(log_masses, axis=1) + np.log(missed[rows]))[:, None]
            rounding = 40.0 * (1.0 + np.max(np.abs(u))) ** 2 + 16.0 * abs(b) * np.max(
                np.abs(log_ratio), axis=1
            )
            rounding = rounding[:, None] + 8.0 * heights
            bound = (
                np.logaddexp(j, left_out) + 0.5 * theta * theta * variance[rows, None] + ROUNDING * rounding
            )
            total += counts[rows] @ bound
        return total + 4 * ROUNDING * len(self.losses) * np.abs(total)


def _excess(log_masses: FloatArray, tilt: FloatArray) -> FloatArray:
    """Return m (e^{tilt} - 1), given ln m + tilt: without cancellation, to 2.2 times the error of m e^{tilt} and m."""
    masses = np.exp(log_masses)
    small = np.clip(tilt, -1.0, 1.0)
    far = masses - np.exp(np.minimum(log_masses - tilt, 700.0))
    return np.where(np.abs(tilt) < 1.0, masses * -np.expm1(-small), far)


def _turns(angles: FloatArray, count: int) -> ComplexArray:
    """Return e^{ikθ} - 1 for k = 0, 1, ... (the first axis) without cancellation."""
    out = np.empty((count, *angles.shape), dtype=np.complex128)
    out[0] = 0.0
    once = np.empty(angles.shape, dtype=np.complex128)
    once.real = -2.0 * np.sin(0.5 * angles) ** 2
    once.imag = np.sin(angles)
    for k in range(1, count):
        np.multiply(out[k - 1], once, out=out[k])
        out[k] += out[k - 1]
        out[k] += once
    return out


def log_mixture(q: float | FloatArray, v: FloatArray) -> FloatArray:
    """Return ln(1 - q + q e^v), also at v = -inf: to a few u, relative; beyond 700, and below 0 for q > 1/2, absolute.

    Absolute errors are relative to |v| + |ln q|.
    """
    out = np.log1p(q * np.expm1(np.minimum(v, 700.0)))
    if np.max(q) > 0.5:  # 1 + q (e^v - 1) would cancel
        near = np.log((1.0 - q) + q * np.exp(np.minimum(v, 0.0)))
        out = np.where((v < -0.5) & (np.asarray(q) > 0.5), near, out)
    if not np.max(v, initial=0.0) > 700.0:
        return np.asarray(out)
    return np.where(v > 700.0, v + np.log(q + (1.0 - q) * np.exp(-np.maximum(v, 700.0))), out)


def log_drop(q: float, high: float, height: FloatArray) -> FloatArray:
    """Return a lower bound on Re m(l + iy) - m(l), m(l) = ln(1 - q + q e^l), for real l <= high, |y| <= height < π.

    |α + βe^{iy}|² = (α+β)² (1 - 4κ(1-κ) sin²(y/2)), κ = β/(α+β) = dm/dl, which increases with l.
    """
    steepest = 1.0 / (1.0 + (1.0 - q) / q * math.exp(-min(high, 700.0)))
    bend = 4.0 * steepest * (1.0 - steepest) if steepest < 0.5 else 1.0
    return 0.5 * np.log1p(-bend * np.sin(0.5 * np.minimum(height, 3.0)) ** 2)
