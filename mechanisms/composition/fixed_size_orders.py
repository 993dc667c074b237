"""Rényi divergences of Gaussian noise on samples of fixed size, over all data: certified over cells.

Let R, U, V be Gaussians of variance σ² around r, u, v, pairwise within 1, the outputs on three samples any two of which
differ in one record; the pair is ((1-q)R + qU, (1-q)R + qV) (`mechanisms.losses.fixed_size_loss`). With a = |u-r|²/σ²,
b = |v-r|²/σ², c = (u-r)·(v-r)/σ², X = U/R and Y = V/R are lognormal under R, ln X and ln Y of covariance (a, c; c, b).

**Theorem.** For every convex ψ, F = E_P ψ(Q/P) does not fall in a or b, and does not rise in c.

*Proof.* F = E_R g(X, Y), g = p ψ(v), p = 1-q+qX, v = (1-q+qY)/p. Along a line of covariances dF is half the sum of
dG_ij E[X_i X_j g_ij] (heat equation; the drifts cancel), and g_XX = q²v²ψ''/p, g_YY = q²ψ''/p, g_XY = -q²vψ''/p. []

So e^{s D_{s+1}} = E_R[p^{s+1} (1-q+qY)^{-s}], ψ(v) = v^{-s}, is at most its value at the largest a and b and the least
c of a cell, where |u-v| <= 1 says c >= (a + b - 1/σ²)/2. D adds up for any choice of data, also adaptive (Mironov
2017, Prop. 1): unlike the two pairs that are worst at single thresholds, which three records at the corners of an
equilateral triangle outdo.

Quadrature: with X = e^{√a z - a/2}, Y = e^{(c/√a) z + √(b - c²/a) z' - b/2} the trapezoid rule of step h in z and in z'
errs by at most 2 e^{y²/2} cos(√b y/2)^{-s} / (e^{2πy/h} - 1) of the value in each, √a y and √b y < π: |p| is at most
its value at the real part, and |1-q+qY| at least that times cos(angle/2). Outside: p^{s+1} <= 1-q + q X^{s+1} (Jensen)
and (1-q+qY)^{-s} <= (1-q)^{-s}, so that beyond [-r, (s+1)√a + r] × [-r, r] there is at most
(1-q)^{-s} (1-q + q e^{as(s+1)/2}) 4Φ(-r), of a value that is at least 1.
"""

from __future__ import annotations

import heapq
import math
from functools import lru_cache

import numpy as np

_NEED = 32.0
"""The rules' errors are below e^{-32} of the value, about 1e-14."""
_ERROR = 4e-13
"""With the rounding of sums of some thousand positive terms."""
_CLOSE = 3e-3
"""Relative distance of ln F from the largest that is known to be attained, at which cells are no longer divided."""
_MOST_CELLS = 1500
_LARGEST_TILT = 60.0


def _is_far(most: float, s: float) -> bool:
    """Return True if powers in the quadrature are beyond floats, or a and b next to nothing."""
    return s > _LARGEST_TILT or most * s * (s + 1.0) > 300.0 or not 1e-12 < most < 100.0


@lru_cache(maxsize=256)
def fixed_size_divergence(rate: float, sigma: float, s: float) -> float:
    """Return an upper bound on the Rényi divergence of order s + 1 over all data; inf if out of reach.

    Parameters
    ----------
    rate
        q in (0, 1).
    sigma
        Noise over the movement of the query when one record of the sample is replaced, positive.
    s
        Positive.
    """
    most = 1.0 / sigma / sigma  # infinite where the square is beyond floats
    if _is_far(most, s):
        return math.inf
    known = max(_log_moment(rate, s, *corner) for corner in ((most, 0.0, 0.0), (most, most, 0.5 * most)))
    cells = [(-math.inf, 0.0, most, 0.0, most)]
    for _ in range(_MOST_CELLS):
        bound, a, a_end, b, b_end = heapq.heappop(cells)
        if -bound <= known * (1.0 + _CLOSE):
            heapq.heappush(cells, (bound, a, a_end, b, b_end))
            break
        a_middle, b_middle = 0.5 * (a + a_end), 0.5 * (b + b_end)
        for first, last in ((a, a_middle), (a_middle, a_end)):
            for low, high in ((b, b_middle), (b_middle, b_end)):
                root = math.sqrt(last * high)
                least = max(0.5 * (first + low - most), -root)
                if least <= root:
                    heapq.heappush(cells, (-_log_moment(rate, s, last, high, least), first, last, low, high))
    return -cells[0][0] / s * (1.0 + 1e-14)


def triangle_divergence(rate: float, sigma: float, s: float) -> float:
    """Return about the divergence for records at the corners of an equilateral triangle: for choosing an order."""
    most = 1.0 / sigma / sigma  # infinite where the square is beyond floats
    if _is_far(most, s):
        return math.inf
    return _log_moment(rate, s, most, most, 0.5 * most) / s


def _log_moment(q: float, s: float, a: float, b: float, c: float) -> float:
    """Return ln E_R[p^{s+1} (1-q+qY)^{-s}], rounded up."""
    root = math.sqrt(a)
    along = c / root if root else 0.0
    across = math.sqrt(max(0.0, b - along * along))
    spread = -s * math.log1p(-q) + math.log(1.0 + q * math.expm1(0.5 * a * s * (s + 1.0)))
    reach = math.sqrt(2.0 * (_NEED + spread + math.log(4.0)))
    y = min(math.sqrt(2.0 * _NEED), 0.6 * math.pi / math.sqrt(max(a, b)))
    growth = 0.5 * y * y - s * math.log(math.cos(0.5 * math.sqrt(b) * y)) + math.log(2.0)
    h = 2.0 * math.pi * y / (_NEED + growth + 1.0)
    z = h * np.arange(math.floor(-reach / h), math.ceil(((s + 1.0) * root + reach) / h) + 1.0)
    other = h * np.arange(math.floor(-reach / h), math.ceil(reach / h) + 1.0)
    if across == 0.0:
        other, weight = np.zeros(1), 1.0
    else:
        weight = h / math.sqrt(2.0 * math.pi)
    log_p = np.log1p(q * np.expm1(root * z - 0.5 * a))[:, None]
    log_v = np.log1p(q * np.expm1(along * z[:, None] + across * other - 0.5 * b))
    logs = (s + 1.0) * log_p - s * log_v - 0.5 * (z * z)[:, None] - 0.5 * other * other
    terms = np.exp(logs) * (h / math.sqrt(2.0 * math.pi) * weight)
    return math.log(float(np.sum(terms))) + _ERROR
