"""δ(ε) of Laplace noise on a Poisson sample, for records that are removed, added or replaced together.

Of the pairs of `mechanisms.losses.sampled_laplace_loss.SampledLaplaceLoss` with k >= 1 the loss l(x) increases with the
noise x. P(x > τ) - w Q(x > τ) at w = e^{l(τ)} is, for 0 <= τ <= ke,

    Σ_{je > τ} p_j (1 - e^{τ-je})

if they are removed, and if they are replaced; and if they are added, with τ for -τ,

    w (Σ_{je <= τ} p_j (e^{je} - 1) + Σ_{je > τ} p_j e^{-je} (e^{2τ} - e^τ)):

with α + β e^{l0} for the ratio of densities the terms of w times it cancel all others, and the rest is nonnegative.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mechanisms.amplification.gaussian_mixture_curve import MARGIN, MixtureCurve
from mechanisms.arrays import FloatArray
from mechanisms.losses.gaussian_mixture_loss import binomial_mixture
from mechanisms.losses.privacy_loss import ROUNDING, SampledPair
from mechanisms.losses.sampled_laplace_loss import laplace_parts, log_mean
from mechanisms.numerics.log_sum import log_mixture

_UNITS = 8.0 * ROUNDING


class LaplaceMixtureCurve(MixtureCurve):
    """Curve of a pair of k records, of Laplace noise with largest loss e, at many ε at once.

    Of replaced records, where the loss of x < 0 is that of -x with the other sign, at ε >= 0.
    """

    def __init__(self, rate: float, e: float, size: int, pair: SampledPair) -> None:
        """Tabulate the parts of the curve; the parameters are those of `SampledLaplaceLoss`."""
        self._e, self._pair, self._sign = e, pair, -1.0 if pair is SampledPair.ADDED else 1.0
        self._places, self._log_weights = np.array(binomial_mixture(size, rate)).T
        parts = laplace_parts(rate, e, size)
        self._shares = np.array([shares for shares, _, _ in parts]).T
        self._offsets, self._uncertain = np.array([own for _, *own in parts]).T
        low, high = (size * log_mixture(rate, np.array([-e, e]))).tolist()
        self._shift = low if pair is SampledPair.REPLACED else 0.0
        top = high - self._shift
        self._infimum = {SampledPair.REMOVED: low, SampledPair.ADDED: -high}.get(pair, -top)
        self._supremum = -low if pair is SampledPair.ADDED else top
        self._size = 1.0 + size * e + float(np.max(np.abs(self._log_weights)))
        self._starts, _, _ = self._ratio(e * np.arange(float(size)))

    def _ratio(self, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log-ratio of densities at τ in [0, ke], a bound on its error, and its slope."""
        e, last = self._e, len(self._offsets) - 1
        i = np.clip(np.floor(tau / e), 0, last).astype(np.intp)
        (p, q), l0 = self._shares[:, i], np.clip(2.0 * tau - (2.0 * i + 1.0) * e, -e, e)
        value = self._offsets[i] + log_mean(p, q, l0)
        kappa = expit(l0 + np.log(q) - np.log(p))
        sizes = (
            kappa * (tau + (2.0 * i + 1.0) * e) + np.abs(value - self._offsets[i]) + np.abs(self._offsets[i])
        )
        return value, self._uncertain[i] + _UNITS * sizes, 2.0 * kappa

    def _loss(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, _, slope = self._ratio(np.maximum(self._sign * x, 0.0))
        if self._pair is SampledPair.REPLACED:
            value = np.where(x <= 0.0, 0.0, value - self._shift)
        return self._sign * value, slope

    def _off(self, x: FloatArray) -> FloatArray:
        _, off, slope = self._ratio(np.maximum(self._sign * x, 0.0))
        if self._pair is SampledPair.REPLACED:
            off = np.where(x < 0.0, 0.0, off + _UNITS * (abs(self._shift) + slope * self._e))
        return off

    def _point(self, target: FloatArray) -> FloatArray:
        sign, e = self._sign, self._e
        goal = sign * target + self._shift
        i = np.clip(np.searchsorted(self._starts, goal, side="right") - 1, 0, self._starts.size - 1)
        (p, q), y = self._shares[:, i], np.clip(goal - self._offsets[i], -700.0, 700.0)
        with np.errstate(over="ignore"):
            near = np.log1p(np.maximum(np.expm1(y) / q, -1.0 + ROUNDING))
        l0 = np.where(q <= 0.5, near, np.log(np.maximum(np.exp(y) - p, 1e-300)) - np.log(q))
        return np.asarray(sign * 0.5 * (np.clip(l0, -e, e) + (2.0 * i + 1.0) * e))

    def _sums(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        (value, _), off, tau = self._loss(x), self._off(x), np.maximum(self._sign * x, 0.0)
        shape = (-1, *([1] * x.ndim))
        places, logs = (self._e * self._places).reshape(shape), self._log_weights.reshape(shape)
        error = MARGIN * (self._size + np.abs(value))
        if self._pair is SampledPair.ADDED:
            with np.errstate(divide="ignore"):
                below = places + np.log(-np.expm1(-places))
                above = 2.0 * tau - places + np.log(-np.expm1(-tau))
            sums = np.sum(np.exp(logs + value + np.where(places <= tau, below, above)), axis=0)
            error = error + off
            return value, off, sums * np.maximum(1.0 - error, 0.0), sums * (1.0 + error)
        moved = _UNITS * (places + tau)
        low, high = (
            np.sum(np.exp(logs) * -np.expm1(np.minimum(tau - places + wrong, 0.0)), axis=0)
            for wrong in (moved, -moved)
        )
        return value, off, low * np.maximum(1.0 - error, 0.0), high * (1.0 + error)
