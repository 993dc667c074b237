"""Time-uniform upper bounds on an item's attraction probability, from randomized responses to lists.

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
least a line in u, that of the values of ``-ln Phi_k`` at both ends less ``(v' - v)^2 / 8`` times

``((g (1 - e^-s) + (k - 1) q s e^(-s v)) / Phi_k(s, v'))^2``,

as the second derivative of ``-ln Phi_k`` is at most the square of the first, for Phi is convex. The logarithm of a sum
of exponentials of lines is convex: it is above its tangent, so above the level from where the tangent at the upper end
reaches it. If that is below v the next cell's turn comes. Lines are tabulated, by k, s and cell: sums are left to do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray, IntArray

_LARGEST = 4.0  # s of the grid: a larger one would be of use where less than one message in n is a click
_CELLS = 4  # for each factor of two
_HALVINGS = 12  # down to 2^-12 cells are by factors; the last one begins at 0
_ROUNDING = 1e-14  # for each display, of one of the K + 8 terms of a logarithm: Phi_k >= e^-4
_ABOVE_ONE = 1.0 + 1e-12
# More than products of matrices round off, which need not be the same for a row among other rows.
_CLOSE = 1e-9


def _mixture_grid(horizon: int) -> FloatArray:
    """Return the values of s: from 4 down by factors of sqrt(2), to the best one for this number of displays."""
    return np.asarray(_LARGEST * 2.0 ** (-np.arange(math.ceil(math.log2(horizon)) + 4) / 2.0))


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
            The numbers of responses R with the item's position, and with one above it.
        displays
            The number of displays at each position, shape (m, K).
        """
        upper, size = start.copy(), self.grid.size
        level = self.exponent + math.log(size)
        left = self._in_question(start, clicked, above, displays)
        cell = np.searchsorted(self.knots, start[left]) - 1  # whose upper end is the least that is not below
        s = self.grid[:, np.newaxis]
        while left.size:
            low, high, higher = self.knots[cell], upper[left], above[left]
            # Summed item by item, then turned: what follows is faster by columns.
            lines = np.einsum(
                "mk,mks->ms", displays.take(left, axis=0), self.lines.take(cell, axis=0)
            ).T.copy()
            logs, slopes = lines[:size], lines[size:]
            slopes -= s * higher
            logs -= s * (clicked[left] + low * higher)
            width = high - low
            logs += width * slopes
            excess, slope = _log_sum(lines)
            excess -= level
            steep = np.maximum(slope, 1e-100)  # of a falling tangent the whole cell is above the level
            further = excess >= width * steep
            upper[left] = np.where(further, low, high - np.maximum(excess, 0.0) / (_ABOVE_ONE * steep))
            further &= cell > 0
            left, cell = left[further], cell[further] - 1
        return upper

    def _in_question(
        self, start: FloatArray, clicked: FloatArray, above: FloatArray, displays: FloatArray
    ) -> IntArray:
        """Return which bounds may be lowered: of those that are 1, where one s exceeds the level as the mean must."""
        possible = start > 0
        at_one = np.flatnonzero(start == 1.0)
        if at_one.size:
            logs = self._top @ displays.take(at_one, axis=0).T
            logs -= self.grid[:, np.newaxis] * (clicked.take(at_one) + above.take(at_one))
            possible[at_one] = logs.max(axis=0) > self.exponent - _CLOSE
        return np.flatnonzero(possible)

    @cached_property
    def grid(self) -> FloatArray:
        """The values of s."""
        return _mixture_grid(self.horizon)

    @cached_property
    def knots(self) -> FloatArray:
        """The ends of cells, from 0 to 1."""
        powers = 2.0 ** (-np.arange(_CELLS * _HALVINGS, -1, -1) / _CELLS)
        return np.concatenate([[0.0], powers])

    @cached_property
    def lines(self) -> FloatArray:
        """Return for each cell and k a line below ``-ln Phi_k``: at the lower end for all s, then all slopes."""
        s, ends = self.grid, self.knots[:, np.newaxis]
        width = np.diff(ends, axis=0)
        likely, steep = -np.expm1(-s), s * np.exp(-s * ends[:-1])
        lines = np.empty((width.size, self.positions, 2 * s.size))
        for k in range(self.positions):
            falls = (self.false_rate + self.gain * ends) * likely - k * self.false_rate * np.expm1(-s * ends)
            values = -np.log1p(-falls) - _ROUNDING * (self.positions + 8)
            bend = (self.gain * likely + k * self.false_rate * steep) / (1.0 - falls[1:])
            lines[:, k, : s.size] = values[:-1] - (_ABOVE_ONE / 8.0) * (width * bend) ** 2
            lines[:, k, s.size :] = np.diff(values, axis=0) / width
        return lines

    @cached_property
    def _top(self) -> FloatArray:
        """Return the values at 1 of the lines of the topmost cell, shape (s, K)."""
        lines, size = self.lines[-1], self.grid.size
        return np.asarray((lines[:, :size] + (1.0 - self.knots[-2]) * lines[:, size:]).T.copy())


def _log_sum(lines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logarithm of the sum of exponentials in each column, and its slope.

    Parameters
    ----------
    lines
        All logarithms, then all their slopes, shape (2 s, m); written over.
    """
    size = len(lines) // 2
    logs = lines[:size]
    largest = logs.max(axis=0)
    logs -= largest
    np.exp(logs, out=logs)
    rows = lines.T.copy()  # sums along rows do not depend on how many rows there are
    weights = rows[:, :size]
    total = weights.sum(axis=1)
    slope: FloatArray = np.einsum("ms,ms->m", weights, rows[:, size:]) / total
    return largest + np.log(total), slope
