"""Counters from square roots of the counting matrix: the best known under zero-concentrated privacy.

A = LR with L = R = √A, Toeplitz: c_j = binom(2j, j) / 4^j (Fichtenberger, Henzinger & Upadhyay 2023, "Constant
matters"; Henzinger, Upadhyay & Upadhyay 2023). Gaussian noise only: cost is the L2 norm of a column of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import fft

from mechanisms.arrays import FloatArray
from mechanisms.continual import Factorization, Stream, checked_horizon, checked_steps
from mechanisms.gaussian import Gaussian
from mechanisms.noise import NoiseSource, noise_source
from mechanisms.profile import PrivacyProfile
from mechanisms.rounding import multiply_up
from mechanisms.sensitivity import UNIT, Sensitivity

_OUTWARDS = 1.0 + 1e-9  # on column norms, whose rounding errors are below 1e-10


def square_root_coefficients(steps: int) -> FloatArray:
    """Return c_0 .. c_{steps-1}: c_0 = 1, c_j = c_{j-1} (1 - 1/2j)."""
    ratios = np.ones(steps)
    ratios[1:] -= 0.5 / np.arange(1, steps)
    return np.asarray(np.cumprod(ratios), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class ToeplitzCounter:
    """What counters with Toeplitz factors L and R = L⁻¹A share.

    Parameters
    ----------
    horizon
        T >= 1, the largest number of steps.
    mechanism
        Adds the noise z, calibrated for the movement of R x.
    sensitivity
        How far one record moves the one increment that holds it; only its l2 matters.

    Raises
    ------
    ParameterError
        If horizon is not a whole number of at least 1.
    """

    horizon: int
    mechanism: Gaussian
    sensitivity: Sensitivity = UNIT

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", checked_horizon(self.horizon))

    def left(self, steps: int) -> FloatArray:
        """Return the first column of L."""
        raise NotImplementedError

    def right(self, steps: int) -> FloatArray:
        """Return the first column of R."""
        raise NotImplementedError

    @property
    def column_norm(self) -> float:
        """The L2 norm of R's first column, its longest, rounded up."""
        raise NotImplementedError

    def moved(self, sensitivity: Sensitivity) -> Sensitivity:
        """Return how far a record moves R x: l2 times `column_norm`; l1 is bounded by √T times that."""
        l2 = multiply_up(sensitivity.l2, self.column_norm)
        l1 = multiply_up(sensitivity.l1, self.column_norm * math.sqrt(self.horizon) * _OUTWARDS)
        return Sensitivity(max(l1, l2), l2, min(l2, multiply_up(sensitivity.linf, self.column_norm)))

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the Gaussian profile at μ = l2 ‖R e₁‖ / σ: exact for the record of the first step."""
        return self.mechanism.profile(self.moved(self.sensitivity if sensitivity is None else sensitivity))

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> Stream:
        """Start a stream of increments of this shape (lanes first)."""
        raise NotImplementedError

    def noise_path(
        self, steps: int, noise: NoiseSource | np.random.Generator, lanes: tuple[int, ...] = ()
    ) -> FloatArray:
        """Return the noise L z of the first running sums at once, (*lanes, steps), by FFT."""
        checked_steps(steps, self.horizon)
        drawn = self.mechanism.release(np.zeros((*lanes, steps)), noise_source(noise))
        size = int(fft.next_fast_len(2 * steps - 1, real=True))
        spectrum = fft.rfft(self.left(steps), size) * fft.rfft(drawn, size, axis=-1)
        path: FloatArray = fft.irfft(spectrum, size, axis=-1)[..., :steps]
        return path

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps; see `Factorization`."""
        checked_steps(steps, self.horizon)
        delay = np.subtract.outer(np.arange(steps), np.arange(steps))
        below = delay >= 0
        left, right = (
            np.where(below, column[np.maximum(delay, 0)], 0.0)
            for column in (self.left(steps), self.right(steps))
        )
        return Factorization(left, right, np.full(steps, self.mechanism.sigma))


@dataclass(frozen=True, kw_only=True)
class SquareRootCounter(ToeplitzCounter):
    """L = R = √A: variance σ² Σ_{j<t} c_j², with σ² = Σ_{j<T} c_j² / 2ρ, about (ln T / π + 1.07)² / 2ρ at t = T.

    A stream keeps its noise for all T steps, drawn at the start.
    """

    @classmethod
    def for_rho(
        cls, rho: float, *, horizon: int, sensitivity: Sensitivity = UNIT, delta: float | None = None
    ) -> SquareRootCounter:
        """Return the ρ-zCDP counter; ``delta`` names the δ at which its profile is read."""
        shape = cls(horizon=horizon, mechanism=_ANY, sensitivity=sensitivity)
        noise = Gaussian.for_rho(rho, sensitivity=shape.moved(sensitivity), delta=delta)
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, *, horizon: int, sensitivity: Sensitivity = UNIT
    ) -> SquareRootCounter:
        """Return the counter with the least noise of this kind that is (ε, δ)-DP."""
        shape = cls(horizon=horizon, mechanism=_ANY, sensitivity=sensitivity)
        noise = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=shape.moved(sensitivity))
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    def left(self, steps: int) -> FloatArray:
        """Return c_0 .. c_{steps-1}."""
        return square_root_coefficients(steps)

    def right(self, steps: int) -> FloatArray:
        """Return the same: R = L."""
        return square_root_coefficients(steps)

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<T} c_j², rounded up."""
        c = square_root_coefficients(self.horizon)
        return math.sqrt(math.fsum((c * c).tolist())) * _OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} c_j²."""
        steps = checked_steps(t, self.horizon)
        sums = np.cumsum(square_root_coefficients(int(steps.max(initial=1))) ** 2)
        return np.asarray(self.mechanism.sigma**2 * sums[steps - 1])

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> PathStream:
        """Start a stream of increments of this shape (lanes first)."""
        return PathStream(self, shape, noise)


class PathStream(Stream):
    """A stream whose noise is drawn at the start, for all steps."""

    def __init__(
        self, counter: SquareRootCounter, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, counter.horizon, counter.mechanism, noise)
        self._total = self._zeros()
        self._path = counter.noise_path(counter.horizon, self._noise, self.shape)

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        self._total += self._next(increment)
        return np.asarray(self._total + self._path[..., self.steps - 1])


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

    @classmethod
    def for_rho(
        cls, rho: float, *, horizon: int, sensitivity: Sensitivity = UNIT, delta: float | None = None
    ) -> BufferedCounter:
        """Return the ρ-zCDP counter; ``delta`` names the δ at which its profile is read."""
        shape = cls(horizon=horizon, mechanism=_ANY, sensitivity=sensitivity)
        noise = Gaussian.for_rho(rho, sensitivity=shape.moved(sensitivity), delta=delta)
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, *, horizon: int, sensitivity: Sensitivity = UNIT
    ) -> BufferedCounter:
        """Return the counter with the least noise of this kind that is (ε, δ)-DP."""
        shape = cls(horizon=horizon, mechanism=_ANY, sensitivity=sensitivity)
        noise = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=shape.moved(sensitivity))
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    @cached_property
    def buffers(self) -> tuple[FloatArray, FloatArray]:
        """Return θ and ω."""
        fitting = [horizon for horizon in _BUFFERS if horizon >= self.horizon]
        gaps, weights = _BUFFERS[min(fitting, default=max(_BUFFERS))]
        return 1.0 - np.array(gaps), np.array(weights)

    def left(self, steps: int) -> FloatArray:
        """Return l_0 .. l_{steps-1}."""
        theta, omega = self.buffers
        column = np.ones(steps)
        column[1:] = np.exp(np.outer(np.arange(steps - 1), np.log(theta))) @ omega
        return column

    def right(self, steps: int) -> FloatArray:
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

        r_j = h F^j e for the linear recursion that `right` runs; the sum of squares of the first T terms is
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
        return math.sqrt(float(total[d, d])) * _OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} l_j² = σ² (1 + Σ_{ik} ω_i ω_k (1 - (θ_i θ_k)^{t-1}) / (1 - θ_i θ_k))."""
        steps = checked_steps(t, self.horizon)
        theta, omega = self.buffers
        pairs = np.log(np.outer(theta, theta)).ravel()
        weights = np.outer(omega, omega).ravel() / -np.expm1(pairs)
        rest = (steps - 1.0)[..., np.newaxis] * pairs
        return np.asarray(self.mechanism.sigma**2 * (1.0 - np.expm1(rest) @ weights))

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> BufferedStream:
        """Start a stream of increments of this shape (lanes first)."""
        return BufferedStream(self, shape, noise)


class BufferedStream(Stream):
    """A stream that keeps five numbers per coordinate."""

    def __init__(
        self, counter: BufferedCounter, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, counter.horizon, counter.mechanism, noise)
        theta, self._omega = counter.buffers
        self._theta = theta.reshape(-1, *[1] * len(self.shape))
        self._buffers = self._zeros(theta.size)
        self._total = self._zeros()

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        self._total += self._next(increment)
        drawn = self._draw()
        correlated = drawn + np.tensordot(self._omega, self._buffers, axes=1)
        self._buffers *= self._theta
        self._buffers += drawn
        return np.asarray(self._total + correlated)


_ANY = Gaussian(sigma=1.0, sensitivity=UNIT)  # to build a counter that only tells its column norm
