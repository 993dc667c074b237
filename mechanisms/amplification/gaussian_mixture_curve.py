"""δ(ε) of one release between two mixtures of Gaussians on a line, one on either side of 0.

Of the pair of `mechanisms.losses.gaussian_mixture_loss.GaussianMixtureLoss` with σ = 1 the loss l(x) increases. With w
= e^ε at l(τ) = ε, s_i = b_i n_i(τ) / Σ b n(τ) the shares of the second mixture's parts there and g_m the Gaussian curve
at m,

    δ(ε) = Σ_ij a_j s_i g_{m_j + n_i}(ln n_j(τ)/n_i(τ)):

P(x > τ) - w Q(x > τ), w = Σ a n(τ) / Σ b n(τ), is Σ_ij a_j s_i (N_j(x > τ) - (n_j(τ)/n_i(τ)) N_i(x > τ)). All terms
are nonnegative; at any other τ they add up to δ at ε = l(τ).
"""

from __future__ import annotations

import abc
import math
from collections import defaultdict

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.gaussian_mixture_loss import Mixture, binomial_mixture
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.log_sum import log_sum
from mechanisms.profiles.gaussian_profile import GaussianProfile

MARGIN = 64.0 * ROUNDING
_STEPS = 200
_DOUBLINGS = 60


class MixtureCurve(abc.ABC):
    """Curve at many ε at once, of a pair with a loss l that increases with the output.

    δ at ε = l(τ) is a sum of nonnegative terms. As δ falls, a τ on the one side of the one for which l is ε, found to
    be there by l itself, gives an upper bound, and one on the other side a lower bound.
    """

    _infimum: float
    _supremum: float
    _size: float
    """Of logarithms that are added up, at most, and 1."""

    @abc.abstractmethod
    def _point(self, target: FloatArray) -> FloatArray:
        """Return about the τ with l(τ) = target."""

    @abc.abstractmethod
    def _loss(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return l(x), and its slope."""

    @abc.abstractmethod
    def _off(self, x: FloatArray) -> FloatArray:
        """Return a bound on the error of l(x)."""

    @abc.abstractmethod
    def _sums(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return l(x), a bound on its error, and bounds on δ there."""

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (lower, upper) with lower <= δ(ε) <= upper, from both sides of τ.

        Beyond the losses, or close to their ends: δ is 1 - w to their left, 0 to their right, at most its value at the
        least of them, and at most 1 - e^{ε - sup L}.
        """
        x = np.asarray(epsilon, dtype=np.float64)
        inside = (x > self._infimum + MARGIN * abs(self._infimum)) if self._infimum > -math.inf else x == x
        inside = inside & (
            (x < self._supremum - MARGIN * self._supremum) if self._supremum < math.inf else True
        )
        least, most = self._infimum, self._supremum
        middle = 0.5 * (max(least, min(most, 0.0) - 2.0) + min(most, max(least, 0.0) + 2.0))
        tau = self._point(np.where(inside, x, middle))
        (_, slope), off = self._loss(tau), self._off(tau)
        apart = 4.0 * off / np.maximum(slope, 1e-12 * off + 1e-300) + MARGIN * (1.0 + np.abs(tau))
        left, off_left, _, high = self._sums(tau - apart)
        right, off_right, low, _ = self._sums(tau + apart)
        certain = -np.expm1(np.minimum(x, 0.0)) * (1.0 - 8.0 * ROUNDING)  # 1 - w
        rounding = 1e-12 + MARGIN * (np.abs(x) + self._size)
        rest = np.minimum(1.0, -np.expm1(np.minimum(x - self._supremum - rounding, 0.0)))
        if self._infimum > -math.inf:
            rest = np.minimum(rest, np.maximum(-math.expm1(self._infimum), -np.expm1(np.minimum(x, 0.0))))
        rest = rest * (1.0 + rounding)
        upper = np.where(inside & (left + off_left <= x), np.minimum(high, rest), rest)
        lower = np.where(inside & (right - off_right >= x), low, 0.0)
        return np.maximum(lower, certain), np.minimum(1.0, np.maximum(upper, certain))


class GaussianMixtureCurve(MixtureCurve):
    """Curve of (Σ a_j N(m_j, 1), Σ b_i N(-n_i, 1)), at least one m_j or n_i not 0, at many ε at once."""

    def __init__(self, above: Mixture, below: Mixture) -> None:
        """Take both mixtures, as `GaussianMixtureLoss` does; parts of no weight are left out."""
        self._sides = tuple(
            np.array([part for part in side if part[1] > -math.inf]).T for side in (above, below)
        )
        (m, log_a), (n, log_b) = self._sides
        self._infimum = float(log_a[0]) if m[0] == 0.0 == n[-1] else -math.inf
        self._supremum = -float(log_b[0]) if n[0] == 0.0 == m[-1] else math.inf
        self._size = 1.0 + float(max(np.max(np.abs(log_a)), np.max(np.abs(log_b))))
        pairs: dict[float, list[tuple[int, int]]] = defaultdict(list)
        for j, one in enumerate(m.tolist()):
            for i, other in enumerate(n.tolist()):
                pairs[one + other].append((j, i))
        self._pairs = [(apart, *np.array(own).T) for apart, own in pairs.items() if apart > 0.0]

    def _parts(self, x: FloatArray) -> tuple[tuple[FloatArray, FloatArray, FloatArray], ...]:
        """Return, for both mixtures, ln n_j(x)/n_0(x), and ln of the parts and of their sum, over n_0(x).

        Where the sum is about 1, Σ a_j (n_j/n_0 - 1) does not cancel, as weights add up to one.
        """
        found = []
        for (centres, logs), at in zip(self._sides, (x, -x), strict=True):
            shape = (-1, *([1] * x.ndim))
            centres, logs = centres.reshape(shape), logs.reshape(shape)
            v = centres * (at - 0.5 * centres)
            parts, total = logs + v, np.zeros(x.shape)
            if len(v) > 1 or v.any():
                terms = np.exp(np.minimum(parts, 700.0))
                small = np.exp(logs) * np.expm1(np.minimum(v, 1.0))
                excess = np.sum(np.where(v > 1.0, terms - np.exp(logs), small), axis=0)
                near = np.abs(excess) < 0.3
                total = np.where(near, np.log1p(np.where(near, excess, 0.0)), log_sum(parts, axis=0))
            found.append((v, parts, total))
        return tuple(found)

    def _loss(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return l(x), and its slope."""
        slope, sides = np.zeros(x.shape), self._parts(x)
        for (centres, _), (_, parts, total) in zip(self._sides, sides, strict=True):
            slope += np.tensordot(centres, np.exp(parts - total), axes=1)
        return sides[0][2] - sides[1][2], slope

    def _off(self, x: FloatArray) -> FloatArray:
        return self._off_of(x, self._parts(x))

    def _off_of(
        self, x: FloatArray, sides: tuple[tuple[FloatArray, FloatArray, FloatArray], ...]
    ) -> FloatArray:
        off = np.zeros(x.shape)
        for (centres, logs), at, (v, parts, total) in zip(self._sides, (x, -x), sides, strict=True):
            shape = (-1, *([1] * x.ndim))
            centres, logs = centres.reshape(shape), logs.reshape(shape)
            sizes = np.minimum(1.0, np.abs(v)) * (len(v) + 8.0 - 3.0 * logs)
            sizes = sizes + 6.0 * centres * (np.abs(at) + 0.5 * centres)
            off += np.sum(
                np.exp(np.minimum(np.maximum(parts, logs) - total, 300.0)) * sizes, axis=0
            ) + 10.0 * np.abs(total)
        return 4.0 * ROUNDING * off

    def _point(self, target: FloatArray) -> FloatArray:
        """Return about the τ with l(τ) = target, by Newton's steps that never leave a bracket, or bisection."""
        goal: FloatArray = np.ravel(target)
        low: FloatArray = np.full(goal.shape, -1.0)
        high: FloatArray = -low
        for _ in range(_DOUBLINGS):
            below, above = self._loss(low)[0] > goal, self._loss(high)[0] < goal
            if not (below.any() or above.any()):
                break
            low, high = np.where(below, 2.0 * low, low), np.where(above, 2.0 * high, high)
        x: FloatArray = 0.5 * (low + high)
        found, left = x.copy(), np.arange(x.size)
        for _ in range(_STEPS):
            value, slope = self._loss(x)
            low, high = np.where(value <= goal, x, low), np.where(value >= goal, x, high)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                new = x - (value - goal) / slope
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            found[left] = x
            go_on = np.abs(new - x) > 8.0 * ROUNDING * (1.0 + np.abs(x))
            if not go_on.any():
                break
            x, low, high, goal = (own[go_on] for own in (new, low, high, goal))
            left = left[go_on]
        return found.reshape(target.shape)

    def _sums(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        (first, _, a), (second, parts, b) = sides = self._parts(x)
        log_a = self._sides[0][1]
        low, high = np.zeros(x.shape), np.zeros(x.shape)
        for apart, j, i in self._pairs:
            curve = GaussianProfile(apart)
            own = first[j] - second[i]
            # g falls by at most (1 + 40/m) of itself a unit of its argument while it is above 1e-300.
            error = 1e-12 + MARGIN * (np.abs(own) + apart**2 + 40.0 * (np.abs(own) / apart + apart))
            below, above = curve.bounds(own)
            factor = np.exp(log_a[j].reshape(-1, *([1] * x.ndim)) + parts[i] - b)
            low += np.sum(factor * below * np.maximum(1.0 - error, 0.0), axis=0)
            high += np.sum(factor * above * (1.0 + error), axis=0)
        off = self._off_of(x, sides)
        error = off + MARGIN * self._size
        return a - b, off, low * np.maximum(1.0 - error, 0.0), high * (1.0 + error)


class ReplacedGaussianCurve(GaussianMixtureCurve):
    """Curve of one record that is replaced, at ε >= 0, with τ in closed form.

    With c = ((1-q)/q) e^{μ²/2}, μτ = ε/2 + y, sinh y = c sinh(ε/2).
    """

    def __init__(self, rate: float, mu: float) -> None:
        """Take q and μ."""
        taken = tuple((mu * j, weight) for j, weight in binomial_mixture(1, rate))
        super().__init__(taken, taken)
        self._mu, self._log_scale = mu, math.log1p(-rate) - math.log(rate) + 0.5 * mu * mu

    def _point(self, target: FloatArray) -> FloatArray:
        half = 0.5 * target
        with np.errstate(divide="ignore"):
            logs = half + np.log(-0.5 * np.expm1(-2.0 * half)) + self._log_scale
        y = np.where(logs > 300.0, logs + math.log(2.0), np.arcsinh(np.exp(np.minimum(logs, 300.0))))
        return (half + y) / self._mu
