"""Laws of Laplace and Gaussian noise, quadrature, and the masses of half-lines and of sums of losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from oracle import Masses, half_lines
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

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


def shifted_laplace(scale: float, move: float = 1.0) -> Masses:
    """Masses of "at most t" for Lap(scale) around 0 and around `move`."""
    grid = np.linspace(-12.0 * scale, 12.0 * scale + move, 4001)
    return half_lines(lambda t: laplace_cdf(t / scale), lambda t: laplace_cdf((t - move) / scale), grid)


def laplace_sum(scale: float, copies: int, cells: int = 64) -> Masses:
    """Masses of the best events on `copies` independent Lap(scale), all moved by 1.

    Each copy's loss ln p/q lies in [-1/scale, 1/scale]: 1/scale below both centres (mass ½), -1/scale above both,
    linear between them. Its law is put on a lattice of `cells` steps and convolved with itself.
    """
    edges = np.linspace(0.0, 1.0, cells + 1)
    inner = laplace_cells(edges / scale)
    other_inner = laplace_cells((edges - 1.0) / scale)
    p = np.concatenate([[0.5], inner, [1.0 - 0.5 - inner.sum()]])
    q = np.concatenate([[0.5 * math.exp(-1.0 / scale)], other_inner, [0.5]])
    # Position 2j is the loss of atom j in half cells: the ends are half a cell beyond the first and last midpoint.
    place = np.concatenate([[0], 1 + 2 * np.arange(cells), [2 * cells]])
    one_p, one_q = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    np.add.at(one_p, place, p)
    np.add.at(one_q, place, q)
    total_p, total_q = np.ones(1), np.ones(1)
    for _ in range(copies):
        total_p, total_q = np.convolve(total_p, one_p), np.convolve(total_q, one_q)
    return np.cumsum(total_p), np.cumsum(total_q)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), μ = sensitivity / σ (Balle and Wang 2018, Thm 8)."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε at which δ(ε) is `delta`."""
    return float(
        brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, mu * (mu + 40.0), xtol=1e-13)
    )


def analytic_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ)-private."""
    return float(
        brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-3, 2.0 * epsilon + 10.0, xtol=1e-14)
    )


def gaussian_masses(mu: float) -> Masses:
    """Masses of "at most t" under N(0, 1) and N(μ, 1)."""
    grid = np.linspace(-9.0, 9.0 + mu, 20001)
    return ndtr(grid), ndtr(grid - mu)
