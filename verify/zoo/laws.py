"""Noise laws and quadrature with which the zoo's exact probabilities are computed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)
TAIL = 40.0  # scales beyond which a Laplace tail (e^-40) counts for nothing


def laplace_cdf(x: npt.ArrayLike) -> FloatArray:
    """Distribution function of Lap(1), exact in the lower tail."""
    x = np.asarray(x, dtype=np.float64)
    below, above = 0.5 * np.exp(np.minimum(x, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(x, 0.0))
    return np.asarray(np.where(x < 0.0, below, above), dtype=np.float64)


def laplace_survival(x: npt.ArrayLike) -> FloatArray:
    """1 - distribution function of Lap(1), exact in the upper tail."""
    return laplace_cdf(-np.asarray(x, dtype=np.float64))


def laplace_cells(edges: npt.ArrayLike) -> FloatArray:
    """Probability of Lap(1) between neighbouring edges (last axis), without cancellation in either tail."""
    x = np.asarray(edges, dtype=np.float64)
    below, above = np.diff(laplace_cdf(x), axis=-1), -np.diff(laplace_survival(x), axis=-1)
    return np.where(x[..., :-1] < 0.0, below, above)


def laplace_density(x: npt.ArrayLike) -> FloatArray:
    """Density of Lap(1)."""
    return np.asarray(0.5 * np.exp(-np.abs(np.asarray(x, dtype=np.float64))))


def exponential_cdf(x: npt.ArrayLike) -> FloatArray:
    """Distribution function of the exponential law with mean 1."""
    return np.asarray(-np.expm1(-np.maximum(np.asarray(x, dtype=np.float64), 0.0)))


def quadrature(
    breaks: Iterable[float], lower: float, upper: float, width: float
) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of a Gauss-Legendre rule on [lower, upper], exact to rounding for these laws.

    The interval is cut at the `breaks` (where an integrand has a kink) and into pieces no longer than `width`.
    """
    cuts = sorted({lower, upper, *(b for b in breaks if lower < b < upper)})
    edges = [lower]
    for start, stop in pairwise(cuts):
        pieces = max(1, int(np.ceil((stop - start) / width)))
        edges += list(start + (stop - start) * np.arange(1, pieces + 1) / pieces)
    left, right = np.array(edges[:-1]), np.array(edges[1:])
    half = (right - left) / 2.0
    points = (left + half)[:, None] + half[:, None] * _POINTS
    weights = half[:, None] * _WEIGHTS
    return points.reshape(-1), weights.reshape(-1)
