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
it exceeds ``e^x`` at every u, as is seen cell by cell, from the top down. On a cell [v, v'] each ``ln M_n(s, u)`` is at
least a line in u: ``-ln Phi_k`` is its value at v and at least ``u - v`` times

``(g (1 - e^-s) + (k - 1) q s e^(-s v')) / Phi_k(s, v)``,

as its slope, of which the numerator falls and the denominator too. The logarithm of a sum of exponentials of lines is
convex: it is above its tangent, so above U, where the tangent at the upper end reaches the level. If that is below v, so
is the root, and the next cell's turn comes. Lines are tabulated, by k, s and cell, so only sums are left to compute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray, IntArray

_LARGEST = 4.0  # s of the grid: a larger one would be of use where less than one message in n is a click
_CELLS = 8  # for each factor of two
_HALVINGS = 12  # down to 2^-12 cells are by factors; the last one begins at 0
_ROUNDING = 1e-14  # of one of the K + 8 terms of a logarithm, for each display: Phi_k >= e^-4
_SLOPE = 1.0 - 1e-12


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
        upper = start.copy()
        level = self.exponent + math.log(self._grid.size)
        level = level + _ROUNDING * (self.positions + 8) * displays.sum(axis=1)
        left = self._in_question(start, clicked, above, displays, level)
        cell = np.searchsorted(self._knots, start[left]) - 1  # whose upper end is the least that is not below
        while left.size:
            low, high, rows = self._knots[cell], upper[left], displays[left]
            lines = np.einsum("mk,mks->ms", rows, self._lines.take(cell, axis=0))
            ends, slopes = np.split(lines, 2, axis=1)
            slopes -= np.multiply.outer(above[left], self._grid)
            ends -= np.multiply.outer(clicked[left] + low * above[left], self._grid)
            ends += (high - low)[:, np.newaxis] * slopes
            excess, slope = _log_sum(ends, slopes)
            excess -= level[left]
            rejected = excess > 0
            steep = np.maximum(slope, 1e-300)  # of a falling tangent the whole cell is above the level
            further = excess >= (high - low) * steep
            upper[left] = np.where(rejected, np.where(further, low, high - _SLOPE * excess / steep), high)
            further &= rejected & (cell > 0)
            left, cell = left[further], cell[further] - 1
        return upper

    def _in_question(
        self,
        start: FloatArray,
        clicked: FloatArray,
        above: FloatArray,
        displays: FloatArray,
        level: FloatArray,
    ) -> IntArray:
        """Return which bounds may be lowered: of those that are 1, where some s exceeds the level as a mean would."""
        at_one = np.flatnonzero(start == 1.0)
        if at_one.size == 0:
            return np.flatnonzero(start > 0)
        logs = displays[at_one] @ self._top
        logs -= np.multiply.outer(clicked[at_one] + above[at_one], self._grid)
        possible = start > 0
        possible[at_one] = logs.max(axis=1) > level[at_one] - math.log(self._grid.size)
        return np.flatnonzero(possible)

    @cached_property
    def _grid(self) -> FloatArray:
        return mixture_grid(self.horizon)

    @cached_property
    def _knots(self) -> FloatArray:
        """The ends of cells, from 0 to 1."""
        powers = 2.0 ** (-np.arange(_CELLS * _HALVINGS, -1, -1) / _CELLS)
        return np.concatenate([[0.0], powers])

    @cached_property
    def _lines(self) -> FloatArray:
        """Return for each cell and k the values of ``-ln Phi_k`` at the lower end for all s, then its least slopes."""
        s, low, high = self._grid, self._knots[:-1, np.newaxis], self._knots[1:, np.newaxis]
        falls = (self.false_rate + self.gain * low) * -np.expm1(-s)  # 1 - Phi_k, from k = 1 on
        rises = np.broadcast_to(self.gain * -np.expm1(-s), falls.shape)
        lines = np.empty((low.size, self.positions, 2 * s.size))
        for k in range(self.positions):
            lines[:, k, : s.size] = -np.log1p(-falls)
            lines[:, k, s.size :] = _SLOPE * rises / (1.0 - falls)
            falls = falls + self.false_rate * -np.expm1(-s * low)
            rises = rises + self.false_rate * s * np.exp(-s * high)
        return lines

    @cached_property
    def _top(self) -> FloatArray:
        """Return the values at 1 of the lines of the topmost cell, shape (K, s)."""
        value, slope = np.split(self._lines[-1], 2, axis=1)
        top: FloatArray = value + (1.0 - self._knots[-2]) * slope
        return top


def _log_sum(logs: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logarithm of the sum of exponentials in each row, and its slope if theirs are these."""
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    total = weights.sum(axis=1)
    slope: FloatArray = np.einsum("ms,ms->m", weights, slopes) / total
    return largest[:, 0] + np.log(total), slope
