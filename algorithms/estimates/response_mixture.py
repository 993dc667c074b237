"""Upper bounds on an item's attraction from randomized responses to lists, valid at all displays at once.

A user is shown a list of K items and sends one of K + 1 symbols R, the clicked position or none: the true one with
probability ``q + g``, each other with q. For an item of attraction w, displayed at positions k that were chosen by
what was sent before, let ``Y(u) = 1{R = k} + u 1{R < k}``. For s >= 0,

``E[exp(-s Y(w)) | past] <= Phi_k(s, w)``, ``Phi_k(s, u) = 1 - (q + g u)(1 - e^-s) - (k - 1) q (1 - e^(-s u))``.

*Proof.* Let e be the probability that the item is examined, given the past: ``P(R = k) = q + g w e``, as it attracts
independently of the items above, and ``P(R < k) = (k - 1) q + g (1 - e)``. So the expectation is affine in e, with
slope ``g ((1 - e^(-s w)) - w (1 - e^-s)) >= 0``, as ``1 - e^(-s w)`` is concave in w and the difference 0 at w = 0
and 1: it is largest at e = 1. QED.

So ``M_n(s, w) = exp(-s sum Y(w)) / prod Phi_k(s, w)`` is a supermartingale, and so is its mean over a grid of s: that
it ever reaches ``e^x`` has probability ``e^-x`` at most (Ville), whatever lists are shown. U is a number above which
it exceeds ``e^x`` at every u. That it does so at all of them is seen cell by cell: on [v, u] the mean is at least
that with Y(u) and ``Phi_k(s, v)``, as Y grows and Phi falls with u; and at least the share of some s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray, IntArray

_LARGEST = 4.0  # s of the grid: a larger one would be of use where less than one message in n is a click
_STEPS = 10  # after which U is above the root by a few hundredths, mostly
_NEAR = 7  # values of s: the second is best at the start, and lower ones follow; the others have little of the mean
_ROUNDING = 4e-15  # of a logarithm, for each display


def mixture_grid(horizon: int) -> FloatArray:
    """Return the values of s: from 4 down by factors of sqrt(2), to what is best for so many displays."""
    grid: FloatArray = _LARGEST * 2.0 ** (-np.arange(math.ceil(math.log2(horizon)) + 4) / 2.0)
    return grid


@dataclass(frozen=True)
class ResponseMixture:
    """The bound for lists of one length at one level.

    Attributes
    ----------
    positions
        K.
    false_rate
        q, the probability of each false symbol.
    gain
        g, by how much the true symbol is likelier.
    exponent
        x.
    horizon
        The displays that the grid of s is made for; the bound is valid beyond.
    """

    positions: int
    false_rate: float
    gain: float
    exponent: float
    horizon: int

    def upper(
        self, start: FloatArray, clicked: FloatArray, above: FloatArray, displays: FloatArray
    ) -> FloatArray:
        """Return U or `start`, whichever is less.

        Parameters
        ----------
        start
            Upper bounds in [0, 1] already; shape (m,).
        clicked, above
            How often R was the item's position, and one above it.
        displays
            At each position, shape (m, K).
        """
        grid = mixture_grid(self.horizon)
        level = self.exponent + math.log(grid.size) + _ROUNDING * displays.sum(axis=1)
        everywhere = np.broadcast_to(grid, (start.size, grid.size))
        logs = self._logs(everywhere, start, start, clicked, above, displays)
        some = _log_sum(logs) > level  # elsewhere not even `start` is rejected
        upper = start.copy()
        if not some.any():
            return upper
        best: IntArray = logs[some].argmax(axis=1)
        first = np.clip(best - 1, 0, max(grid.size - _NEAR, 0))
        near = grid[first[:, np.newaxis] + np.arange(min(_NEAR, grid.size))]
        high, width = start[some], 0.5 * start[some]
        counts = clicked[some], above[some], displays[some]
        for _ in range(_STEPS):
            low = high - width
            rejected = _log_sum(self._logs(near, low, high, *counts)) > level[some]
            high = np.where(rejected, low, high)
            width = np.where(rejected, np.minimum(width, high), 0.5 * width)
        upper[some] = high
        return upper

    def _logs(
        self,
        s: FloatArray,
        low: FloatArray,
        high: FloatArray,
        clicked: FloatArray,
        above: FloatArray,
        displays: FloatArray,
    ) -> FloatArray:
        """Return numbers below ``ln M_n(s, u)`` for every u in [low, high]; s of shape (m, some)."""
        falls = (self.false_rate + self.gain * low)[:, np.newaxis] * -np.expm1(-s)  # 1 - Phi_k, from k = 1 on
        further = self.false_rate * -np.expm1(-low[:, np.newaxis] * s)
        logs: FloatArray = -(clicked + high * above)[:, np.newaxis] * s
        for k in range(self.positions):
            logs -= displays[:, k, np.newaxis] * np.log1p(-falls)
            falls += further
        return logs


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum of exponentials in each row."""
    largest = logs.max(axis=1)
    total: FloatArray = largest + np.log(np.exp(logs - largest[:, np.newaxis]).sum(axis=1))
    return total
