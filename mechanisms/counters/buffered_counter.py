"""Counters with five buffers: nearly the variance of the square-root counter in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.counters.continual import checked_steps
from mechanisms.counters.toeplitz_counter import OUTWARDS, ToeplitzCounter
from mechanisms.domains.float_bounds import FloatBounds
from mechanisms.numerics.rounding import add_up, multiply_up

_BUFFERS: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {
    100: (
        (0.004220293, 0.04184148, 0.1438604, 0.376176, 0.7612695),
        (0.0834717, 0.09475729, 0.1192055, 0.1316567, 0.07090694),
    ),
    1_000: (
        (0.0006241258, 0.007353893, 0.03695419, 0.1639228, 0.57644),
        (0.03276715, 0.04794922, 0.09241461, 0.1674706, 0.1590112),
    ),
    10_000: (
        (8.144832e-05, 0.001221686, 0.009448466, 0.06875326, 0.4154816),
        (0.01212941, 0.02372999, 0.06182798, 0.1565119, 0.2414919),
    ),
    100_000: (
        (9.962284e-06, 0.0001946438, 0.002354197, 0.02772819, 0.2854969),
        (0.004349289, 0.01124786, 0.03814713, 0.1275615, 0.3008078),
    ),
    1_000_000: (
        (1.228582e-06, 3.219294e-05, 0.0006069059, 0.01131738, 0.1923078),
        (0.001573279, 0.005305515, 0.022858, 0.0976613, 0.3288888),
    ),
    10_000_000: (
        (1.560428e-07, 5.704671e-06, 0.0001653883, 0.004771947, 0.1292331),
        (0.000583018, 0.002531495, 0.0136136, 0.07280001, 0.3314742),
    ),
}
"""Horizon -> (1 - θ_i, ω_i), which minimise ‖L e₁‖ ‖R e₁‖; found by descent on the closed forms below."""


@dataclass(frozen=True, kw_only=True)
class BufferedCounter(ToeplitzCounter):
    """Counter of five buffers, not T: l_0 = 1, l_j = Σ_i ω_i θ_i^{j-1}, R = L⁻¹A. The largest variance is near √A's.

    Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, "Efficient and near-optimal noise generation for streaming
    differential privacy" (buffered linear Toeplitz matrices): (L z)_t = z_t + Σ_i ω_i s_i, s_i <- θ_i s_i + z_t.
    The θ, ω of a table for T = 10², ..., 10⁷ are used at the next horizon in it, and the last beyond; for any θ, ω
    the noise is calibrated to the norm that they have at T.
    """

    @cached_property
    def buffers(self) -> tuple[FloatArray, FloatArray]:
        """Return θ and ω."""
        fitting = [horizon for horizon in _BUFFERS if horizon >= self.horizon]
        gaps, weights = _BUFFERS[min(fitting, default=max(_BUFFERS))]
        return 1.0 - np.array(gaps), np.array(weights)

    def left_column(self, steps: int) -> FloatArray:
        """Return l_0 .. l_{steps-1}."""
        theta, omega = self.buffers
        column = np.ones(steps)
        column[1:] = np.exp(np.outer(np.arange(steps - 1), np.log(theta))) @ omega
        return column

    def right_column(self, steps: int) -> FloatArray:
        """Return the first column of L⁻¹A, by solving L r = 1 step by step."""
        theta, omega = self.buffers
        buffers = np.zeros_like(theta)
        column = np.empty(steps)
        for j in range(steps):
            column[j] = 1.0 - omega @ buffers
            buffers = theta * buffers + column[j]
        return column

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<T} r_j², rounded up.

        r_j = h F^j e for the linear recursion that `right_column` runs; the sum of squares of the first T terms is
        built by doubling: S_{2n} = S_n + (F^n)ᵀ S_n F^n.
        """
        theta, omega = self.buffers
        d = theta.size
        step = np.eye(d + 1)
        step[:d, :d] = np.diag(theta) - np.outer(np.ones(d), omega)
        step[:d, d] = 1.0
        output = np.append(-omega, 1.0)
        doubled, total, power = np.outer(output, output), np.zeros((d + 1, d + 1)), np.eye(d + 1)
        count = self.horizon
        while count:
            if count & 1:
                total = total + power.T @ doubled @ power
                power = step @ power
            doubled = doubled + step.T @ doubled @ step
            step = step @ step
            count >>= 1
        return math.sqrt(float(total[d, d])) * OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} l_j² = σ² (1 + Σ_{ik} ω_i ω_k (1 - (θ_i θ_k)^{t-1}) / (1 - θ_i θ_k))."""
        steps = checked_steps(t, self.horizon)
        theta, omega = self.buffers
        pairs = np.log(np.outer(theta, theta)).ravel()
        weights = np.outer(omega, omega).ravel() / -np.expm1(pairs)
        rest = (steps - 1.0)[..., np.newaxis] * pairs
        return np.asarray(self.mechanism.sigma**2 * (1.0 - np.expm1(rest) @ weights))

    @property
    def factors(self) -> BufferFactors:
        """R and L step by step; they keep eleven numbers each."""
        return BufferFactors(*self.buffers, self.column_norm)


class BufferFactors:
    """L of buffers: z_t + Σ ω_i s_i, s_i <- θ_i s_i + z_t; and R = L⁻¹A: y_t = S_t - Σ ω_i s_i, s_i <- θ_i s_i + y_t.

    Rows take numbers of the size of S from one another, so R's buffers are pairs of floats (Dekker 1971, "A
    floating-point technique for extending the available precision").

    *Rounding of rows.* Let |x| <= M, u the unit round-off, m buffers, Σ ω_i <= 1, and R's first column r not negative
    nor increasing from r_0 = 1. What is rounded off acts like a change of S by some P_t, as y = L⁻¹ S; and the first
    column of L⁻¹ is 1, r_1 - r_0, r_2 - r_1, ..., of absolute sum at most 2: so it moves rows by at most 2 max |P_t|.

    - S is a sum of x: its own error is that of `FloatBounds.sum_coordinates`, 0 on a grid.
    - |y| <= M Σ r_t <= M √T |r|, so that y is rounded to a float, with which the buffers go on, by u M √T |r|.
    - s_i is a sum of x with coefficients that are not negative, so Σ ω_i |s_i| is at most what it is for x = M, where
      it is S - y <= TM. In pairs, the sum that makes y of it is off by 8 (m + 2) u² T M at most, and s_i' by 8 u² (θ_i
      |s_i| + |y|), which θ_i <= 1 keeps: in all steps, with weights ω_i, 16 u² T² M.
    """

    def __init__(self, theta: FloatArray, omega: FloatArray, norm: float) -> None:
        self._theta, self._omega, self._norm = theta, omega, norm

    @property
    def memory(self) -> int:
        """A sum, and the buffers as pairs."""
        return 1 + 2 * self._theta.size

    def row(self, memory: FloatArray, increment: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next row; and the sum of increments, the buffers, and their second floats."""
        m = self._theta.size
        shape = np.broadcast_shapes(memory.shape[1:], increment.shape)
        total, high, low = memory[0] + increment, memory[1 : m + 1], memory[m + 1 :]
        omega, theta = (each.reshape(-1, *[1] * len(shape)) for each in (self._omega, self._theta))
        part, lacking = _product(omega, high)
        row, rest = total, -(lacking + omega * low).sum(axis=0)
        for one in part:
            row, lost = _sum(row, -one)
            rest = rest + lost
        row = row + rest
        grown, lacking = _product(theta, high)
        grown, lost = _sum(grown, row)
        high, low = _sum(grown, lost + lacking + theta * low)
        return row, np.concatenate([np.broadcast_to(total, shape)[np.newaxis], high, low])

    def total(self, memory: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next running sum, and the next memory; of public numbers, in floats."""
        m = self._theta.size
        buffers = memory[1 : m + 1]
        total: FloatArray = row + np.tensordot(self._omega, buffers, axes=1)
        theta = self._theta.reshape(-1, *[1] * row.ndim)
        return total, np.concatenate([total[np.newaxis], theta * buffers + row, memory[m + 1 :]])

    def bounds(self, increments: FloatBounds, horizon: int) -> FloatBounds:
        """Return the bounds of rows, as above."""
        sums = increments.sum_coordinates(horizon)
        unit = 2.0**-52  # twice the round-off
        of_rows = unit * math.sqrt(horizon) * self._norm
        of_buffers = unit**2 * (8.0 * (self._theta.size + 2) * horizon + 16.0 * horizon**2)
        rounded = multiply_up(increments.magnitude, of_rows + of_buffers)
        return FloatBounds(sums.magnitude, multiply_up(2.0, add_up(sums.error, rounded)))


def _sum(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a rounded sum, and its exact difference from the true one (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _product(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a rounded product, and its difference from the true one, exact but for underflow (Dekker, Veltkamp)."""
    product = one * other
    (a, b), (c, d) = _halves(one), _halves(other)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(number: FloatArray) -> tuple[FloatArray, FloatArray]:
    shifted = number * (2.0**27 + 1.0)
    high = shifted - (shifted - number)
    return high, number - high
