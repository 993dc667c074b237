"""Counters from square roots of the counting matrix: the best known under zero-concentrated privacy.

A = LR with L = R = √A, Toeplitz: c_j = binom(2j, j) / 4^j (Fichtenberger, Henzinger & Upadhyay 2023, "Constant
matters"; Henzinger, Upadhyay & Upadhyay 2023). Gaussian noise only: cost is the L2 norm of a column of R.

*A record in several increments*, as in training over epochs: at most k of them, any two at least b steps apart. It
moves R x by Σ_i R e_{p_i} v_i at positions p_1 < ... < p_k, |v_i| <= l2, at most as far as at the positions 0, b, 2b,
... with all v_i alike, if R's first column r is nonnegative and does not increase (Choquette-Choo, McMahan, Rush &
Thakurta 2023; Kalinin & Lampert 2024, Thm 2); of another r, as far as of the least column above |r| that is so.

    *Proof.* The square is Σ_ij <R e_{p_i}, R e_{p_j}> <v_i, v_j>, and for i <= j <R e_{p_i}, R e_{p_j}> =
    Σ_{t < T - p_j} r_t r_{t + p_j - p_i}, which falls as p_j grows and as p_j - p_i does; p_j >= (j-1) b and
    p_j - p_i >= (j-i) b. Fewer than k positions leave terms out that are not negative. []

Positions and values may depend on earlier outputs: then each step's movement does, the squares of all steps'
add up to at most this on every path, and Gaussian noise composes so (Smith & Thakurta 2022).
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.counters.continual import (
    Factorization,
    Stream,
    check_node_noise,
    checked_horizon,
    checked_steps,
)
from mechanisms.domains.float_bounds import FloatBounds
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.mechanism import checked_sensitivity
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.numerics.rounding import multiply_up
from mechanisms.parameters import whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile

_ANY_NOISE = Gaussian(sigma=1.0, sensitivity=UNIT)
"""For a counter that is built for its norms alone."""
OUTWARDS = 1.0 + 1e-9  # on column norms, with rounding errors below 1e-10


def square_root_coefficients(steps: int) -> FloatArray:
    """Return c_0 .. c_{steps-1}: c_0 = 1, c_j = c_{j-1} (1 - 1/2j); raise `ParameterError` for 2^27 and more."""
    ratios = np.ones(whole_number("steps", steps, least=0, bits=27))
    ratios[1:] -= 0.5 / np.arange(1, steps)
    return np.asarray(np.cumprod(ratios), dtype=np.float64)


class Factors(Protocol):
    """The matrices R and L of a counter, step by step. Each has a memory of numbers, zeros at first."""

    @property
    def memory(self) -> int:
        """The numbers a coordinate that R remembers, and L."""

    def row(self, memory: FloatArray, increment: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next row of R x, and the next memory of R, shape (memory, *shape)."""

    def total(self, memory: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next running sum, L y, and the next memory of L, shape (memory, *shape)."""

    def bounds(self, increments: FloatBounds, horizon: int) -> FloatBounds:
        """Return bounds of every row, of increments with these bounds."""


class DelayFactors:
    """R by its first column 1, c_1, ...: y_t = x_t + Σ c_j x_{t-j}; and L = A R⁻¹: sums of u_t = y_t - Σ c_j u_{t-j}.

    Parameters
    ----------
    column
        c_0, c_1, ... as far as they are not 0. R keeps as many increments, L the running sum and the last u.
    """

    def __init__(self, column: FloatArray) -> None:
        self._column = column
        self._delayed = column[1:]

    @property
    def memory(self) -> int:
        """The number of coefficients."""
        return self._column.size

    def row(self, memory: FloatArray, increment: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next row, and the last increments, the latest first."""
        shape = np.broadcast_shapes(increment.shape, memory.shape[1:])
        last = np.broadcast_to(memory[:-1], (self.memory - 1, *shape))
        row = increment + np.tensordot(self._delayed, last, axes=1)
        return row, np.concatenate([np.broadcast_to(increment, (1, *shape)), last])

    def total(self, memory: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next running sum; and it, and the last u, the latest first."""
        own = row - np.tensordot(self._delayed, memory[1:], axes=1)
        total: FloatArray = memory[0] + own
        return total, np.concatenate([total[np.newaxis], own[np.newaxis], memory[1:]])[: self.memory]

    def bounds(self, increments: FloatBounds, horizon: int) -> FloatBounds:
        """Return the bounds of rows: their sums are exact if increments and coefficients are on coarse enough grids."""
        return increments.combine(self._column)


@dataclass(frozen=True, kw_only=True)
class ToeplitzCounter(abc.ABC):
    """Base class of counters with Toeplitz factors L and R = L⁻¹A.

    Parameters
    ----------
    horizon
        T >= 1, the largest number of steps.
    mechanism
        Adds the noise z, calibrated for the sensitivity of R x.
    sensitivity
        The largest change of an increment by one record that it holds; only its l2 matters.
    participations, separation
        k and b: a record is in at most k increments, of which any two are at least b steps apart.

    Raises
    ------
    ParameterError
        If horizon, participations or separation is not an integer of at least 1.
    """

    horizon: int
    mechanism: Gaussian
    sensitivity: Sensitivity = UNIT
    participations: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", checked_horizon(self.horizon))
        check_node_noise(self.mechanism, Gaussian)
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        for name in ("participations", "separation"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=1))

    @classmethod
    def for_rho(
        cls,
        rho: float,
        *,
        sensitivity: Sensitivity | float = UNIT,
        delta: float | None = None,
        **numbers: int,
    ) -> Self:
        """Return the ρ-zCDP counter; ``delta`` names the δ at which its profile is read.

        ``numbers`` are the horizon, participations, separation and the parameters of this kind of counter.
        """
        shape = cls(mechanism=_ANY_NOISE, sensitivity=checked_sensitivity(sensitivity), **numbers)
        moved = shape.image_sensitivity(shape.sensitivity)
        return replace(shape, mechanism=Gaussian.for_rho(rho, sensitivity=moved, delta=delta))

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, *, sensitivity: Sensitivity | float = UNIT, **numbers: int
    ) -> Self:
        """Return the counter with the least noise of this kind that is (ε, δ)-DP; ``numbers`` as for `for_rho`."""
        shape = cls(mechanism=_ANY_NOISE, sensitivity=checked_sensitivity(sensitivity), **numbers)
        moved = shape.image_sensitivity(shape.sensitivity)
        return replace(shape, mechanism=Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=moved))

    @abc.abstractmethod
    def left_column(self, steps: int) -> FloatArray:
        """Return the first column of L."""

    @abc.abstractmethod
    def right_column(self, steps: int) -> FloatArray:
        """Return the first column of R."""

    @property
    @abc.abstractmethod
    def column_norm(self) -> float:
        """The L2 norm of R's first column, its longest, rounded up."""

    @cached_property
    def record_norm(self) -> float:
        """The L2 norm of the sum of R's columns 0, b, 2b, ... (k of them, or as many as there are), rounded up.

        Of the least nonnegative column above R's that does not increase.
        """
        k, b, steps = self.participations, self.separation, self.horizon
        if k == 1 or b >= steps:
            return self.column_norm
        column = np.maximum.accumulate(np.abs(self.right_column(steps))[::-1])[::-1]
        entering = column.copy()
        if k * b < steps:
            entering[k * b :] -= column[
                : steps - k * b
            ]  # the first of k columns ends where another would begin
        rows = np.zeros(-(-steps // b) * b)
        rows[:steps] = entering
        total = np.cumsum(rows.reshape(-1, b), axis=0).ravel()[:steps]
        return math.sqrt(math.fsum((total * total).tolist())) * OUTWARDS

    def image_sensitivity(self, sensitivity: Sensitivity) -> Sensitivity:
        """Return the movement of R x by a record: l2 times `record_norm`; l1 is bounded by √T times that."""
        l2 = multiply_up(sensitivity.l2, self.record_norm)
        l1 = multiply_up(sensitivity.l1, self.record_norm * math.sqrt(self.horizon) * OUTWARDS)
        return Sensitivity(max(l1, l2), l2, min(l2, multiply_up(sensitivity.linf, self.record_norm)))

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the Gaussian profile at μ = l2 `record_norm` / σ.

        Exact for the record of the first step, or of steps 1, 1 + b, ..., where R's first column does not increase.
        """
        return self.mechanism.profile(
            self.image_sensitivity(self.sensitivity if sensitivity is None else sensitivity)
        )

    @property
    @abc.abstractmethod
    def factors(self) -> Factors:
        """R and L step by step."""

    @property
    def columns_overlap(self) -> bool:
        """True if two of a record's columns of R may have a row in common."""
        return self.participations > 1 and self.separation < self.horizon

    def entry_norm(self, entry: int) -> float:
        """Return the L2 norm at which a record pays for its increment number `entry` = 1, 2, ..., by itself.

        √(N_j² - N_{j-1}²), N_j the `record_norm` of j increments: after each, the squares add up to at least the square
        of the movement by the record's columns so far, and after `participations` of them to no more than the noise is
        calibrated for. (N_j is 1e-9 above the exact norm; rounding here takes less than that away.)
        """
        norms = [replace(self, participations=j).record_norm for j in (entry, max(entry - 1, 1))]
        return norms[0] if entry == 1 else math.sqrt(max(norms[0] ** 2 - norms[1] ** 2, 0.0)) * (1.0 - 1e-10)

    @abc.abstractmethod
    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return the variance of one coordinate of the running sum after t >= 1 steps; it does not fall with t."""

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> ToeplitzStream:
        """Start a stream of increments of this shape (lanes first)."""
        return ToeplitzStream(self, shape, noise)

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps; see `Factorization`."""
        checked_steps(steps, self.horizon)
        delay = np.subtract.outer(np.arange(steps), np.arange(steps))
        below = delay >= 0
        left, right = (
            np.where(below, column[np.maximum(delay, 0)], 0.0)
            for column in (self.left_column(steps), self.right_column(steps))
        )
        return Factorization(left, right, np.full(steps, self.mechanism.sigma))


class ToeplitzStream(Stream):
    """Running sums of raw numbers: rows of R x are released one by one, and L makes sums of them."""

    def __init__(
        self, counter: ToeplitzCounter, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, counter.horizon, counter.mechanism, noise)
        self._factors = counter.factors
        self._inside = self._public = self._zeros(self._factors.memory)

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        row, self._inside = self._factors.row(self._inside, self._next(increment))
        assert self._mechanism is not None
        released: FloatArray = np.asarray(self._mechanism.release(row, self._noise), dtype=np.float64)
        total, self._public = self._factors.total(self._public, released)
        return total


@dataclass(frozen=True, kw_only=True)
class SquareRootCounter(ToeplitzCounter):
    """Counter L = R = √A: variance σ² Σ_{j<t} c_j², σ² = Σ_{j<T} c_j² / 2ρ, about (ln T / π + 1.07)² / 2ρ at t = T.

    A stream keeps all its increments.
    """

    def left_column(self, steps: int) -> FloatArray:
        """Return c_0 .. c_{steps-1}."""
        return square_root_coefficients(steps)

    def right_column(self, steps: int) -> FloatArray:
        """Return the same: R = L."""
        return square_root_coefficients(steps)

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<T} c_j², rounded up."""
        c = square_root_coefficients(self.horizon)
        return math.sqrt(math.fsum((c * c).tolist())) * OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} c_j²."""
        steps = checked_steps(t, self.horizon)
        sums = np.cumsum(square_root_coefficients(int(steps.max(initial=1))) ** 2)
        return np.asarray(self.mechanism.sigma**2 * sums[steps - 1])

    @property
    def factors(self) -> DelayFactors:
        """R and L step by step; they keep all increments."""
        return DelayFactors(square_root_coefficients(self.horizon))
