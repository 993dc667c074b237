"""Counters with a handful of buffers: nearly the square root's accuracy in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.continual import checked_steps
from mechanisms.float_bounds import FloatBounds
from mechanisms.rounding import add_up, multiply_up
from mechanisms.toeplitz_counter import OUTWARDS, ToeplitzCounter

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
    """Five buffers in place of T: l_0 = 1, l_j = Σ_i ω_i θ_i^{j-1}, R = L⁻¹A. The largest variance is near √A's.

    Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, "Efficient and near-optimal noise generation for streaming
    differential privacy" (buffered linear Toeplitz matrices): (L z)_t = z_t + Σ_i ω_i s_i, s_i <- θ_i s_i + z_t.
    The θ, ω of a table for T = 10², ..., 10⁷ are used at the next horizon in it, and the last beyond; whatever they
    are, the noise is calibrated to the norm that they have at T.
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
        """R and L step by step; they keep six numbers each."""
        return BufferFactors(*self.buffers)


class BufferFactors:
    """L of buffers: z_t + Σ ω_i s_i, s_i <- θ_i s_i + z_t; and R = L⁻¹A: y_t = S_t - Σ ω_i s_i, s_i <- θ_i s_i + y_t.

    *Rounding of rows.* Let |x| <= M, u the unit round-off, m buffers, Σ ω_i <= 1, and R's first column r not negative
    nor increasing from r_0 = 1. What is rounded off acts like a change of S by some P_t, as y = L⁻¹ S; and the first
    column of L⁻¹ is 1, r_1 - r_0, r_2 - r_1, ..., of absolute sum at most 2: so it moves rows by at most 2 max |P_t|.

    - |S| <= TM, so its own T roundings come to u T² M.
    - s_i is a sum of x with coefficients that are not negative, so Σ ω_i |s_i| is at most what it is for x = M, where
      it is S - y <= TM. Making y of it takes m + 2 roundings: (m + 2) u T M.
    - s_i' is off by 2u (θ_i |s_i| + |y|), and θ_i <= 1 keeps that: with weights ω_i, 2u (TM + TM) a step, 4 u T² M.

    Together 2 (5 T + m + 2) u T M, and as much again of u² or less; then u₆₄ T M where the row is made a float.
    """

    def __init__(self, theta: FloatArray, omega: FloatArray) -> None:
        self._theta, self._omega = theta, omega

    @property
    def memory(self) -> int:
        """A sum and the buffers."""
        return 1 + self._theta.size

    def row(self, memory: FloatArray, increment: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next row; and the sum of increments and the buffers, in the longest floats that there are."""
        memory = memory.astype(np.longdouble, copy=False)
        total = memory[0] + increment
        row = total - np.tensordot(self._omega.astype(np.longdouble), memory[1:], axes=1)
        return row.astype(np.float64), self._remember(memory, total, row)

    def total(self, memory: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next running sum, and the next memory."""
        total: FloatArray = row + np.tensordot(self._omega, memory[1:], axes=1)
        return total, self._remember(memory, total, row)

    def _remember(self, memory: FloatArray, total: FloatArray, row: FloatArray) -> FloatArray:
        theta = self._theta.reshape(-1, *[1] * row.ndim)
        return np.concatenate([total[np.newaxis], theta * memory[1:] + row])

    def bounds(self, increments: FloatBounds, horizon: int) -> FloatBounds:
        """Return the bounds of rows, as above."""
        largest = multiply_up(increments.magnitude, float(horizon))
        unit = float(np.finfo(np.longdouble).eps)  # twice the round-off: for what is of second order
        rounded = 2.0 * unit * (5 * horizon + self.memory + 1) + float(np.finfo(np.float64).eps)
        error = add_up(multiply_up(increments.error, 2.0 * horizon), multiply_up(largest, rounded))
        return FloatBounds(largest, error)
