"""Chernoff's exponents of noisy sums by plain searches, to hold a learner's against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mechanisms.arrays import FloatArray

_LARGEST_TILT = 600.0
"""The largest exponent s of the inequalities ``E e^(sX)`` that indices are found by: e^-600 is still a float."""

_STEPS = 60
_SHRINK = (np.sqrt(5.0) - 1) / 2
_POINTS = 33


def noise_moment(s: FloatArray, scale: float, *, laplace: bool) -> FloatArray:
    """Return ``ln E e^(sN)`` of Laplace or Gaussian noise of a scale."""
    return np.asarray(-np.log1p(-((scale * s) ** 2)) if laplace else (scale * s) ** 2 / 2)


def largest_value(
    value: Callable[[FloatArray], FloatArray], like: FloatArray, scale: float, *, laplace: bool
) -> FloatArray:
    """Return ``sup_s value(s)`` of concave functions, in the shape of `like`, by golden section.

    s goes up to 600, and with Laplace noise to 1 / scale, where its moments end.
    """
    most = min((1 - 1e-9) / scale, _LARGEST_TILT) if laplace else _LARGEST_TILT
    low, high = np.zeros_like(like), np.full_like(like, most)
    for _ in range(_STEPS):
        width = _SHRINK * (high - low)
        better = value(low + width) > value(high - width)
        low, high = np.where(better, high - width, low), np.where(better, high, low + width)
    return value(0.5 * (low + high))


def search_exponent(
    n: FloatArray, m: FloatArray, mean: FloatArray, u: FloatArray, *, scale: float, laplace: bool
) -> FloatArray:
    """Return ``sup_s -s y - n ln(1 - u + u e^-s) - m k(s)`` at a mean of u.

    Parameters
    ----------
    n, m, mean
        How many values and noises are in totals y, and ``y / n``; of one shape, as u.
    scale, laplace
        Of a noise, and whether it is Laplace, or else Gaussian.
    """
    y = n * mean

    def value(s: FloatArray) -> FloatArray:
        moment = noise_moment(s, scale, laplace=laplace)
        return np.asarray(-s * y - n * np.logaddexp(rest, logarithm - s) - m * moment)

    with np.errstate(divide="ignore"):
        logarithm, rest = np.log(u), np.log1p(-u)
    return largest_value(value, u, scale, laplace=laplace)


def search_separation(
    n: FloatArray, m: FloatArray, lower: FloatArray, larger: FloatArray, *, scale: float
) -> FloatArray:
    """Return ``inf_u I(u) + J(u)`` of pairs of totals with Laplace noise: convex in u, so by two grids, shape (pairs,).

    I is the exponent with which the lower mean rejects u or more, J that with which the larger one rejects u or less.

    Parameters
    ----------
    n, m
        How many values and noises are in each of the two totals.
    lower, larger
        Their means.
    scale
        Of a noise.
    """
    least, most = np.clip(lower, 0.0, 1.0), np.clip(larger, 0.0, 1.0)
    share = np.linspace(0.0, 1.0, _POINTS)[:, np.newaxis]
    found = np.full(n.shape, np.inf)
    for _ in range(2):
        u = least + share * (most - least)
        counts, noises, low, high = (np.broadcast_to(each, u.shape) for each in (n, m, lower, larger))
        both = np.maximum(0.0, search_exponent(counts, noises, low, u, scale=scale, laplace=True))
        both += np.maximum(0.0, search_exponent(counts, noises, 1 - high, 1 - u, scale=scale, laplace=True))
        at = both.argmin(axis=0)
        found = np.minimum(found, both.min(axis=0))
        least, most = (
            np.take_along_axis(u, np.clip(at + step, 0, _POINTS - 1)[np.newaxis], axis=0)[0]
            for step in (-1, 1)
        )
    return found
