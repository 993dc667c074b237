"""Chernoff upper confidence bounds for means of noisy sums: they use the small variance of small means.

Take n values in [0, 1] of mean w each and m sums of independent noises. Every exponent s > 0 gives an inequality
for w, and all of them hold together except with probability ``e^-x`` (they are tail events of one variable). So
any sequence of exponents may be used to lower a valid bound, and nothing here has to converge to be valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw

from mechanisms import Gaussian, Laplace
from mechanisms.arrays import FloatArray

_STEPS = 12  # in random cases within 1e-7 of the limit, in all but one of a hundred
_LARGEST = 600.0  # e^-600 is still a normal float


@dataclass(frozen=True, slots=True)
class NoiseTail:
    """The tail of one centred Laplace or Gaussian noise N: bounds on ``ln E e^{sN}``.

    Attributes
    ----------
    proxy
        The variance proxy: ``2 b^2`` or ``sigma^2``.
    scale
        b, or 0 for Gaussian noise.
    """

    proxy: float
    scale: float

    @classmethod
    def from_mechanism(cls, mechanism: Laplace | Gaussian | None) -> NoiseTail:
        """Return the tail of the noise that `mechanism` adds to a coordinate: none adds none."""
        if mechanism is None:
            return cls(0.0, 0.0)
        if isinstance(mechanism, Gaussian):
            return cls(mechanism.sigma**2, 0.0)
        return cls(2.0 * mechanism.scale**2, mechanism.scale)

    @property
    def limit(self) -> float:
        """The largest exponent used: below 1/b, and such that no exponential underflows."""
        return min((1.0 - 1e-9) / self.scale, _LARGEST) if self.scale > 0 else _LARGEST

    def first_size(self, horizon: float) -> float:
        """Return of how many values a first batch is, before it is rounded up: the noise of fewer hides them.

        ``b ln T`` for Laplace, ``sigma sqrt(2 ln T)`` for Gaussian noise.
        """
        logarithm = math.log(horizon)
        return self.scale * logarithm if self.scale > 0 else math.sqrt(2 * self.proxy * logarithm)

    def log_moment(self, s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``ln E e^{sN}`` and its first two derivatives at ``0 <= s < 1/b``.

        ``-ln(1 - b^2 s^2)`` for Laplace, ``sigma^2 s^2 / 2`` for Gaussian noise.
        """
        if self.scale == 0:
            return 0.5 * self.proxy * s * s, self.proxy * s, np.full_like(s, self.proxy)
        square = (self.scale * s) ** 2
        gap = 1.0 - square
        return -np.log1p(-square), self.proxy * s / gap, self.proxy * (1.0 + square) / (gap * gap)


def chernoff_upper(
    start: FloatArray,
    n: FloatArray,
    m: FloatArray,
    total: FloatArray,
    examined: FloatArray,
    *,
    noise: NoiseTail,
    exponent: float | FloatArray,
    above: int = 0,
) -> FloatArray:
    """Lower a valid upper bound on w by Chernoff's inequality; the result is valid too.

    With y the noisy total and E the noisy number of examined values (E = n where all n are seen), m noises in y
    and, for each, `above` further ones in E, at every ``0 < s < 1/b``, if w <= U,

    ``g_s(w) = s (w E - y) - n (s w + ln(1 - w + w e^-s)) - m (k(s) + above k(U s)) <= x``

    with k the noise's log moment (Markov's inequality for the supermartingale ``e^{g_s(w)}``, and ``E e^-sX <=
    1 - w + w e^-s``). For fixed U, g_s is convex in w and at most 0 at ``w = y / E``. So where ``g_s(U) > x``, a
    Newton step ``U - (g_s(U) - x) / g_s'(U)`` stays above every w that satisfies the inequality. Before each, s
    makes a Newton step to the maximum of g_s(U), which is concave in s.

    Parameters
    ----------
    start
        Valid upper bounds in [0, 1].
    n, m, total, examined
        n, m, y and E > 0, of the same shape.
    noise
        The law of the noises.
    exponent
        x; one, or one of each.
    above
        The number of further noises in E.
    """
    upper = start.copy()
    # Where the Gaussian tail of the largest variance (n/4 for the values, the proxy for each noise) reaches x.
    variance = 0.25 * n + noise.proxy * m * (1.0 + above * upper * upper)
    s = np.minimum(np.sqrt(2.0 * exponent / variance), 0.5 * noise.limit)
    for _ in range(_STEPS):
        decayed = np.exp(-s)
        survival = (1.0 - upper) + upper * decayed
        share = upper * decayed / survival  # the mean tilted by e^-s
        _, own, own_curvature = noise.log_moment(s)
        further, further_curvature = noise.log_moment(upper * s)[1:] if above else (0.0, 0.0)
        slope = upper * (examined - n) - total + n * share - m * (own + above * upper * further)
        curvature = n * share * (1.0 - share) + m * (own_curvature + above * upper**2 * further_curvature)
        step = np.clip(s + slope / np.maximum(curvature, 1e-300), 0.5 * s, 2.0 * s)
        s = np.where(step >= noise.limit, 0.5 * (s + noise.limit), step)
        survival = (1.0 - upper) + upper * np.exp(-s)
        charge = m * (noise.log_moment(s)[0] + (above * noise.log_moment(upper * s)[0] if above else 0.0))
        over = s * (upper * (examined - n) - total) - n * np.log(survival) - charge - exponent
        gradient = s * (examined - n) - n * np.expm1(-s) / survival
        lower = (over > 0) & (gradient > 0)
        upper = np.maximum(upper - np.where(lower, over, 0.0) / np.where(lower, gradient, 1.0), 0.0)
    return upper


_EXPONENT_STEPS = 24
_HALVINGS = 60
_CLOSE = 1e-9  # of the exponent, and as much absolutely
_SETTLED = 1e-9  # of s: after so short a Newton step the next one is below float resolution


def _chernoff_exponent(
    mean: FloatArray, n: FloatArray, m: FloatArray, total: FloatArray, *, noise: NoiseTail
) -> FloatArray:
    """Return with which exponent Chernoff's inequality rejects that n values have at least some mean.

    ``I(u) = sup_{0 <= s < 1/b} g(s)``, ``g(s) = -s y - n ln(1 - u + u e^-s) - m k(s)``: at the true mean of the values,
    ``P(I > x) <= e^-x`` for y their total with m noises of log moment k. 0 where ``y >= n u``.

    g is concave with g(0) = 0; s makes Newton steps to its maximum, or where they leave what is known to hold it the
    geometric mean of both ends. g at any s is a lower bound, and the maximum is no higher than the slope there leads in
    what is known to hold it: where that is not close, as steps went round in a circle, the interval is halved.

    Parameters
    ----------
    mean
        u in [0, 1].
    n, m, total
        n > 0, m and y, of the same shape.
    noise
        The law of the noises.
    """
    rejects = n * mean > total
    u, n, m, y = mean[rejects], n[rejects], m[rejects], total[rejects]
    variance = n * u * (1.0 - u) + noise.proxy * m

    def slope_at(
        s: FloatArray, where: npt.NDArray[Any] | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        """Return g' and -g''."""
        decayed, mean = np.exp(-s), u[where]
        share = mean * decayed / ((1.0 - mean) + mean * decayed)
        _, own, curvature = noise.log_moment(s)
        slope = n[where] * share - y[where] - m[where] * own
        return slope, n[where] * share * (1.0 - share) + m[where] * curvature

    def value(s: FloatArray) -> FloatArray:
        """Return g."""
        return np.asarray(-s * y - n * np.log((1.0 - u) + u * np.exp(-s)) - m * noise.log_moment(s)[0])

    s = np.minimum((n * u - y) / np.maximum(variance, 1e-300), 0.5 * noise.limit)
    low, high = np.zeros_like(s), np.full_like(s, noise.limit)
    moving = np.arange(s.size)
    for _ in range(_EXPONENT_STEPS):
        at = s[moving]
        slope, curvature = slope_at(at, moving)
        below, above = np.where(slope > 0, at, low[moving]), np.where(slope > 0, high[moving], at)
        step = at + slope / np.maximum(curvature, 1e-300)
        inside = (step >= below) & (step <= above)
        step = np.where(inside, step, np.where(below > 0, np.sqrt(below * above), 0.1 * above))
        s[moving], low[moving], high[moving] = step, below, above
        moving = moving[np.abs(step - at) > _SETTLED * at]
        if not moving.size:
            break
    exponent = np.zeros_like(mean)
    found = value(s)
    far = np.abs(slope_at(s)[0]) * (high - low) > _CLOSE * (1.0 + np.abs(found))
    if far.any():
        low, high = low[far], high[far]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            rises = slope_at(middle, far)[0] > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        s[far] = low
        found = value(s)
    exponent[rejects] = np.maximum(found, 0.0)
    return exponent


_SECTION_STEPS = 18
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SHORTFALL = 2e-4
"""Share of the means' distance that the computed separation may miss; above ``_GOLDEN^_SECTION_STEPS``."""


def chernoff_separation(
    n: FloatArray,
    m: FloatArray,
    larger: FloatArray,
    smaller: FloatArray,
    *,
    noise: NoiseTail,
    shift: float = 0.0,
) -> FloatArray:
    """Return with which exponent two noisy totals reject that the smaller one's mean is larger by `shift` at least.

    ``Z = inf_u I(u + shift) + J(u)``, u in [0, 1 - shift]: I is the exponent (`_chernoff_exponent`) with which the
    smaller total rejects a mean of ``u + shift`` or more, J the one with which the larger total rejects u or less, the
    first one's for ``1 - value``. At true means ``w <= w' - shift`` of the larger and the smaller total, Z is at most
    ``I(w') + J(w)``; if the totals are independent, it exceeds x with probability ``(1 + x) e^-x`` at most.

    Both exponents are convex in u, I rises and J falls. A golden section search keeps an interval [a, b] of the
    minimum, and ``I(a + shift) + J(b)`` is returned: at most Z, whatever is rounded; and as b - a is below `SHORTFALL`
    times the distance of the means, at least ``2 C((1 - SHORTFALL) distance / 2)`` for any convex C, 0 at 0, that is
    below I of the distance from the smaller mean and J of that from the larger one.

    Parameters
    ----------
    n, m
        The numbers of values and of noises in each of the two totals.
    larger, smaller
        The totals.
    noise
        The law of the noises.
    shift
        In [0, 1).
    """

    def reject(low: FloatArray, high: FloatArray) -> FloatArray:
        """Return ``I(low + shift) + J(high)``."""
        means = np.concatenate((low + shift, 1.0 - high))
        totals = np.concatenate((smaller, n - larger))
        both = _chernoff_exponent(means, np.tile(n, 2), np.tile(m, 2), totals, noise=noise)
        return np.asarray(both[: n.size] + both[n.size :])

    # Below the smaller mean I is 0 and J falls, above the larger one J is 0 and I rises.
    low = np.clip(smaller / n - shift, 0.0, 1.0 - shift)
    high = np.maximum(low, np.clip(larger / n, 0.0, 1.0 - shift))
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = reject(inner, inner), reject(outer, outer)
    for _ in range(_SECTION_STEPS):
        left = at_inner < at_outer
        low, high = np.where(left, low, inner), np.where(left, outer, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = reject(new, new)
        inner, outer = np.where(left, new, outer), np.where(left, inner, new)
        at_inner, at_outer = np.where(left, at_new, at_outer), np.where(left, at_inner, at_new)
    return reject(low, high)


def sum_exponent(probability: FloatArray) -> FloatArray:
    """Return x with ``(1 + x) e^-x = probability``: above it is the sum of two exponents with that probability at most.

    Two independent variables each exceed every v with probability ``e^-v`` at most; so they are below exponential
    variables, whose sum exceeds x with probability ``(1 + x) e^-x``.

    Parameters
    ----------
    probability
        Above 0 and below 1.
    """
    level = -lambertw(-probability / math.e, -1).real - 1.0
    return np.asarray(np.maximum(level, 0.0) * (1.0 + 1e-12))
