"""Worst case over adaptive choices of bounded-range releases: a recursion over the laws of the next release.

Theorem. Let S be the set of pairs that every release can have. V_0(w) = (1 - w)^+, V_k(w) = sup over (P, Q) in S of
E_P V_{k-1}(w Q/P). Then V_n(e^ε) is the supremum of δ(ε) over all adaptive choices of n pairs from S.

*Proof.* Fix a strategy. After a history of likelihood ratio r = Q/P the expectation of (1 - w r Q_rest/P_rest)^+ is a
function W_k(wr), W_0 = V_0 and W_k(x) = E_P W_{k-1}(x Q/P) for the pair that is chosen: by induction W_k <= V_k, and a
choice within η/n of the supremum in every step attains it to η. []

V_k is convex and falls in w. Of a loss in [t - e, t] (`mechanisms.profiles.bounded_range`) e^{-L} is smaller in convex
order than that of the law with the two ends alone, so that these make up S: with Y = e^t in [1, E], E = e^e,

    V_k(w) = sup over Y of ((E - Y) V_{k-1}(w/Y) + (Y - 1) V_{k-1}(wE/Y)) / (E - 1).

On a grid ln w = ih, h = e/m, for all Y: in a cell Y_i <= Y <= Y_{i+1} both values are below their chords in 1/Y, which
leaves c_0 + c_1 Y + c_2/Y, largest at an end, or at √(c_2/c_1) where both are negative. S is closed under exchange of P
and Q, so that V(1/w) = 1 - 1/w + V(w)/w to the left of w = 1, and V falls to the right of the grid. Between grid points
V is below its chord in w.

Rounding. The parts of a step are at most E (V(w/Y) + V(wE/Y)) / h(E - 1), with a few roundings each: 64u of that is
added in every step, and the recursion is monotone with T(V + c) <= TV + c.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.deadline import check_time

_MOST_WORK = 3e7
"""The largest product of grid points, cells and releases: half a second."""
_MOST_CELLS = 80
_LEAST_CELLS = 6
_LEAST_SIZE = 1e-6
"""The least interval of losses: in a smaller one the rounding is as large as the curve."""


def bounded_range_curve(size: float, count: int, right: float) -> tuple[FloatArray, FloatArray] | None:
    """Return ln w from 0 to ``right`` and upper bounds on V_n there; None if that is too much work for its precision.

    Parameters
    ----------
    size
        e, positive, rounded up.
    count
        n.
    right
        The right end of the grid.
    """
    cells = int(min(_MOST_CELLS, math.sqrt(_MOST_WORK * size / (count * max(right, size)))))
    too_much = cells < _LEAST_CELLS or size < _LEAST_SIZE
    return None if too_much else _curve(size, count, cells, math.ceil(right / size * cells))


@lru_cache(maxsize=64)
def _curve(size: float, count: int, m: int, points: int) -> tuple[FloatArray, FloatArray]:
    h, big = size / m, math.exp(size)
    logs = h * np.arange(points + 1.0)
    y = np.exp(h * np.arange(m + 1.0))
    x = 1.0 / y
    before = h * np.arange(-m - 1.0, 0.0)
    certain, shrink = -np.expm1(before), np.exp(before)
    mirrored = np.minimum(np.arange(m + 1, 0, -1), points)
    slack = 64.0 * ROUNDING * big / (h * math.expm1(size))
    values = np.zeros(points + 1)  # of (1 - w)^+
    for _ in range(count):
        check_time()
        extended = np.concatenate([certain + shrink * values[mirrored], values, np.full(m + 1, values[-1])])
        best = np.zeros(points + 1)
        for k in range(m):  # V(w/Y) is k places to the left, V(wE/Y) is m - k places to the right
            a, a_next, b, b_next = (
                extended[first : first + points + 1] for first in (m + 1 - k, m - k, 2 * m + 1 - k, 2 * m - k)
            )
            slope_a, slope_b = (a - a_next) / (x[k] - x[k + 1]), (b - b_next) / (x[k] - x[k + 1])
            level_a, level_b = a - slope_a * x[k], b - slope_b * x[k]
            c_1, c_2 = level_b - level_a, big * slope_a - slope_b
            inner = np.sqrt(np.maximum(c_2 / np.where(c_1 < 0.0, c_1, -1.0), 0.0))
            at = np.where((c_1 < 0.0) & (c_2 < 0.0), np.clip(inner, y[k], y[k + 1]), y[k])
            largest = np.maximum(c_1 * at + c_2 / at, c_1 * y[k + 1] + c_2 * x[k + 1])
            largest = (big * level_a - level_b - slope_a + slope_b + largest) / math.expm1(size)
            np.maximum(best, largest + slack * (a_next + b_next), out=best)
        values = np.minimum(1.0, best)
    for own in (logs, values):
        own.setflags(write=False)
    return logs, values


def epsilon_of_curve(logs: FloatArray, values: FloatArray, delta: float) -> float:
    """Return an ε with V(e^ε) <= delta by the chords in w; inf if the grid ends before it."""
    above = np.flatnonzero(values > delta)
    if not above.size:
        return 0.0
    i = int(above[-1])
    if i + 1 == values.size:
        return math.inf
    share = (values[i] - delta) / (values[i] - values[i + 1])
    found = float(logs[i] + np.log1p(share * np.expm1(logs[i + 1] - logs[i])))
    return found * (1.0 + 1e-13)


def delta_of_curve(logs: FloatArray, values: FloatArray, epsilon: float) -> float:
    """Return an upper bound on V(e^ε) by the chords in w."""
    i = min(int(np.searchsorted(logs, epsilon, side="right")) - 1, values.size - 1)
    if i + 1 == values.size:
        return float(values[-1])
    share = math.expm1(max(epsilon - float(logs[i]), 0.0)) / math.expm1(float(logs[i + 1] - logs[i]))
    return float(values[i] + (values[i + 1] - values[i]) * min(share * (1.0 - 1e-13), 1.0)) * (1.0 + 1e-14)
