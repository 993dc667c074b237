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
"""How far what is computed is below ``-ln Q`` up to `FAR`, at most."""
FAR = 28.0
"""Beyond this, what is computed is a lower bound and no more."""
_CELLS = 64  # at first: few cases need more
_AT_ONCE = 1 << 16  # cells in one array: few enough for the cache
_REACH = 30.0
_ROUNDING = 1e-9
_ONE_VALUE = 2.0**-47  # what rounding adds to the exponent, for each value


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
    """Return at most ``-ln Q`` at the noisy total of some values, and 0 unless it is ``1e-9 n`` below n times the mean.

    The result is, but for that, below ``-ln Q`` by `OFF` at most where it is less than `FAR`. Cells are halved until
    what lies below tangents and what lies above chords say so (`_between`); with smaller cells the two come as near as
    one likes, but for what lies beyond the cells, which is less than 0.011 of ``e^-FAR``.

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
    asked = [each[rejects] for each in (mean, n, m, total)]
    exponent, left, cells = np.zeros(len(asked[0])), np.arange(len(asked[0])), _CELLS
    while left.size:
        left = left[np.argsort(asked[2][left], kind="stable")]  # polynomials of few noises are short
        wide = []
        for rows in np.array_split(left, -(-left.size * cells // _AT_ONCE)):
            lower, upper = _between(*(each[rows] for each in asked), scale=noise.scale, cells=cells)
            exponent[rows] = np.maximum(-np.log(np.clip(upper, 1e-300, 1.0)), 0.0)
            wide.append(rows[(exponent[rows] < FAR) & (upper > lower * math.exp(OFF))])
        left, cells = np.concatenate(wide), 2 * cells
    found[rejects] = exponent
    return found


def noise_exponent(m: FloatArray, total: FloatArray, *, noise: NoiseTail) -> FloatArray:
    """Return a lower bound on the evidence of a negative total against the noises alone; 0 from a total of 0 on.

    ``-ln P(|L| >= -y)`` for the sum L of m Laplace noises, and Chernoff's exponent if there are more noises or others.
    It is also a lower bound on the evidence against every mean u; the remainder, ``-ln Q_u(y)`` less this, is
    nonincreasing in y, too.

    Parameters
    ----------
    m, total, noise
        As for `chernoff_exponent`.
    """
    found = np.zeros_like(total)
    below = total < 0.0
    few = below & (m >= 1) & (m <= MOST) & (noise.scale > 0.0)
    if few.any():
        short, (_, tails) = -total[few] / noise.scale, _laws()
        value = _polynomial(tails[m[few].astype(np.int64)], short[:, np.newaxis])[0][:, 0]
        found[few] = np.maximum(short - np.log(2.0 * value) - _ROUNDING, 0.0)
    many = below & ~few
    if many.any():
        count = np.ones(np.count_nonzero(many))
        found[many] = chernoff_exponent(0.0 * count, count, m[many], total[many], noise=noise)
    return found


def _between(
    mean: FloatArray, n: FloatArray, m: FloatArray, total: FloatArray, *, scale: float, cells: int
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on Q.

    ``ln`` of the integrand is concave. So in each cell it lies below its tangent in the middle, and above the chords
    between middles and to the outer ends. What lies beyond the cells is counted as a whole, or not at all where it is
    not known exactly.
    """
    u, values, y, noises = mean, n, total / scale, m.astype(np.int64)
    short = values * u / scale - y  # in units of the scale, as y and L
    reach = _REACH + noises + 2.0 * np.sqrt(2.0 * noises)
    low, high = -np.minimum(short, reach), np.maximum(np.minimum(y, reach), -np.minimum(short, reach))
    width = (high - low) / cells
    steps = np.concatenate([[0.0], np.arange(cells) + 0.5, [float(cells)]])
    at = low[:, np.newaxis] + width[:, np.newaxis] * steps
    density, tail = _laws()
    degree = int(noises.max())
    size, across = np.abs(at), width[:, np.newaxis]
    height, slope = _polynomial(density[noises, :degree], size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        chance = u[:, np.newaxis]
        share = np.clip((y[:, np.newaxis] - at) * scale / values[:, np.newaxis], 1e-300, 1.0)
        ones, zeros = np.log(share) - np.log(chance), np.log1p(-share) - np.log1p(-chance)
        rate = values[:, np.newaxis] * (share * ones + (1.0 - share) * zeros)
        falls = np.sign(at) * (slope / height - 1.0) + scale * (ones - zeros)
        half = np.where(across > 0, 0.5 * np.minimum(np.abs(falls * across), 1400.0), 0.0)[:, 1:-1]
        tilted = np.where(half > 1e-6, np.sinh(half) / half, 1.0 + half * half)
        below = size + rate
        integrand = height * np.exp(-below)
        tangents = (integrand[:, 1:-1] * tilted).sum(axis=1) * width
        chord = np.abs(np.diff(np.log(height) - below))
        chords = np.where(
            chord > 1e-6,
            np.abs(np.diff(integrand)) / chord,
            np.minimum(integrand[:, 1:], integrand[:, :-1]),
        )
        above = np.where(np.isfinite(chords), chords, 0.0) @ np.diff(steps) * width
        ends = [
            _polynomial(tail[noises, :degree], end[:, np.newaxis])[0][:, 0] * np.exp(-end)
            for end in (-low, reach)
        ]
        last = np.clip((y - high) * scale / values, 0.0, 1.0)
        beyond = np.exp(-values * (rel_entr(last, u) + rel_entr(1.0 - last, 1.0 - u)))
    lower = above + np.where(short <= reach, ends[0], 0.0)
    upper = tangents + ends[0] + np.where(y > reach, ends[1] * beyond, 0.0)
    slack = _ROUNDING + values * _ONE_VALUE
    return lower * (1.0 - slack), upper * (1.0 + slack)
