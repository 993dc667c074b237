"""How much speaks against a mean, with the exact law of a sum of Laplace noises.

Take n values in [0, 1] of mean u each and m Laplace noises of scale b, whose sum is L. At most, with
``q_u(v) = exp(-n kl(v / n, u))`` for ``0 <= v < n u``, 1 above and 0 below (Chernoff & Hoeffding),

``P(values + L <= y) <= Q_u(y) = E q_u(y - L)``.

Chernoff's inequality for values and noises together (`chernoff_exponent`) is the least ``E e^(s (y - L)) phi(s)^n``
over s and never below Q, as the least over s for each L is q. Three things hold of ``-ln Q`` that proofs of regret
need. It exceeds x at the true mean with probability ``e^-x`` at most; it is nondecreasing in u and nonincreasing in
y; and ``Q_w(y) / Q_u(y)`` is nondecreasing in y for w > u: that of q is, since ``d/dv ln q_u`` is the logarithm of
the odds of u over those of v / n, and L has a log-concave density, so that it stays so (Karlin 1968, basic
composition).
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import gammaln, rel_entr

from algorithms.estimates.chernoff import NoiseTail, chernoff_exponent
from mechanisms.arrays import FloatArray

MOST = 48
"""Sums of more noises are taken for what Chernoff's inequality says of them."""
OFF = 0.05
"""How far what is computed may be below ``-ln Q`` up to `FAR`: twice what was seen in random cases, and not proved."""
FAR = 28.0
"""Beyond this, what is computed is a lower bound and no more."""
_CELLS = 128
_REACH = 30.0
_ROUNDING = 1e-9


@functools.cache
def _laws() -> tuple[FloatArray, FloatArray]:
    """Return the polynomials of the density and of the upper tail of m noises at b = 1, over ``e^-t``; row m.

    An upper tail is a race of two Poisson streams: i of the m positive exponentials are left when the negative ones
    are used up, with probability ``C(2 m - 1 - i, m - 1) / 2^(2 m - i)``, and their sum is a gamma variable.
    """
    density, tail = np.zeros((MOST + 1, MOST)), np.zeros((MOST + 1, MOST))
    for m in range(1, MOST + 1):
        i = np.arange(1, m + 1)
        left = gammaln(2 * m - i) - gammaln(m) - gammaln(m - i + 1) - (2 * m - i) * math.log(2)
        density[m, :m] = np.exp(left - gammaln(i))
        tail[m, :m] = np.cumsum(np.exp(left)[::-1])[::-1] / np.exp(gammaln(i))
    return density, tail


def _polynomial(coefficients: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return polynomials, one of each row, and their derivatives at t >= 0, shape (rows, points)."""
    value, slope = np.zeros_like(t), np.zeros_like(t)
    for coefficient in coefficients.T[::-1]:
        slope = slope * t + value
        value = value * t + coefficient[:, np.newaxis]
    return value, slope


def laplace_exponent(
    mean: FloatArray, n: FloatArray, m: FloatArray, total: FloatArray, *, noise: NoiseTail
) -> FloatArray:
    """Return at most ``-ln Q`` at the noisy total of some values, and 0 where it is not below n times the mean.

    ``ln`` of the integrand is concave, so in each cell it lies below its tangent in the middle; what lies beyond the
    cells is counted as a whole: the result is a lower bound, and up to `FAR` within `OFF`.

    Parameters
    ----------
    mean, n, m, total
        As for `chernoff_exponent`.
    noise
        The tail of a Laplace noise.
    """
    few = m <= MOST
    found = np.zeros_like(mean)
    if not few.all():
        found[~few] = chernoff_exponent(mean[~few], n[~few], m[~few], total[~few], noise=noise)
    rejects = few & (n * mean - total > _ROUNDING * n)  # else the mean may be these values' own, rounded
    if not rejects.any():
        return found
    u, values, y, noises = (
        mean[rejects],
        n[rejects],
        total[rejects] / noise.scale,
        m[rejects].astype(np.int64),
    )
    short = values * u / noise.scale - y  # in units of the scale, as y and L
    reach = _REACH + noises + 2.0 * np.sqrt(2.0 * noises)
    low, high = -np.minimum(short, reach), np.maximum(np.minimum(y, reach), -np.minimum(short, reach))
    width = (high - low) / _CELLS
    middle = low[:, np.newaxis] + width[:, np.newaxis] * (np.arange(_CELLS) + 0.5)
    density, tail = _laws()
    degree = int(noises.max())
    size = np.abs(middle)
    height, slope = _polynomial(density[noises, :degree], size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        chance = u[:, np.newaxis]
        at = np.clip((y[:, np.newaxis] - middle) * noise.scale / values[:, np.newaxis], 1e-300, 1.0)
        rate = values[:, np.newaxis] * (rel_entr(at, chance) + rel_entr(1.0 - at, 1.0 - chance))
        falls = np.sign(middle) * (slope / height - 1.0)
        falls += noise.scale * (np.log(at) - np.log1p(-at) - np.log(chance) + np.log1p(-chance))
        across = width[:, np.newaxis]
        half = np.where(across > 0, 0.5 * np.minimum(np.abs(falls * across), 1400.0), 0.0)
        tilted = np.where(half > 1e-6, np.sinh(half) / half, 1.0 + half * half)
        inside = (height * np.exp(-size - rate) * tilted).sum(axis=1) * width
        ends = [
            _polynomial(tail[noises, :degree], end[:, np.newaxis])[0][:, 0] * np.exp(-end)
            for end in (-low, reach)
        ]
        last = np.clip((y - high) * noise.scale / values, 0.0, 1.0)
        beyond = np.exp(-values * (rel_entr(last, u) + rel_entr(1.0 - last, 1.0 - u)))
    bound = inside + ends[0] + np.where(y > reach, ends[1] * beyond, 0.0)
    found[rejects] = np.maximum(-np.log(np.clip(bound * (1.0 + _ROUNDING), 1e-300, 1.0)), 0.0)
    return found
