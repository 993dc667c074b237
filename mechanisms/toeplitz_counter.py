"""Counters from square roots of the counting matrix: the best known under zero-concentrated privacy.

A = LR with L = R = √A, Toeplitz: c_j = binom(2j, j) / 4^j (Fichtenberger, Henzinger & Upadhyay 2023, "Constant
matters"; Henzinger, Upadhyay & Upadhyay 2023). Gaussian noise only: cost is the L2 norm of a column of R.
"""

from __future__ import annotations

import abc
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

OUTWARDS = 1.0 + 1e-9  # on column norms, whose rounding errors are below 1e-10


def _square_root_coefficients(steps: int) -> FloatArray:
    """Return c_0 .. c_{steps-1}: c_0 = 1, c_j = c_{j-1} (1 - 1/2j)."""
    ratios = np.ones(steps)
    ratios[1:] -= 0.5 / np.arange(1, steps)
    return np.asarray(np.cumprod(ratios), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class ToeplitzCounter(abc.ABC):
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

    @abc.abstractmethod
    def left(self, steps: int) -> FloatArray:
        """Return the first column of L."""

    @abc.abstractmethod
    def right(self, steps: int) -> FloatArray:
        """Return the first column of R."""

    @property
    @abc.abstractmethod
    def column_norm(self) -> float:
        """The L2 norm of R's first column, its longest, rounded up."""

    def moved(self, sensitivity: Sensitivity) -> Sensitivity:
        """Return how far a record moves R x: l2 times `column_norm`; l1 is bounded by √T times that."""
        l2 = multiply_up(sensitivity.l2, self.column_norm)
        l1 = multiply_up(sensitivity.l1, self.column_norm * math.sqrt(self.horizon) * OUTWARDS)
        return Sensitivity(max(l1, l2), l2, min(l2, multiply_up(sensitivity.linf, self.column_norm)))

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the Gaussian profile at μ = l2 ‖R e₁‖ / σ: exact for the record of the first step."""
        return self.mechanism.profile(self.moved(self.sensitivity if sensitivity is None else sensitivity))

    @abc.abstractmethod
    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> Stream:
        """Start a stream of increments of this shape (lanes first)."""

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
        shape = cls(horizon=horizon, mechanism=ANY_NOISE, sensitivity=sensitivity)
        noise = Gaussian.for_rho(rho, sensitivity=shape.moved(sensitivity), delta=delta)
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, *, horizon: int, sensitivity: Sensitivity = UNIT
    ) -> SquareRootCounter:
        """Return the counter with the least noise of this kind that is (ε, δ)-DP."""
        shape = cls(horizon=horizon, mechanism=ANY_NOISE, sensitivity=sensitivity)
        noise = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=shape.moved(sensitivity))
        return cls(horizon=horizon, mechanism=noise, sensitivity=sensitivity)

    def left(self, steps: int) -> FloatArray:
        """Return c_0 .. c_{steps-1}."""
        return _square_root_coefficients(steps)

    def right(self, steps: int) -> FloatArray:
        """Return the same: R = L."""
        return _square_root_coefficients(steps)

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<T} c_j², rounded up."""
        c = _square_root_coefficients(self.horizon)
        return math.sqrt(math.fsum((c * c).tolist())) * OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} c_j²."""
        steps = checked_steps(t, self.horizon)
        sums = np.cumsum(_square_root_coefficients(int(steps.max(initial=1))) ** 2)
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


ANY_NOISE = Gaussian(sigma=1.0, sensitivity=UNIT)
"""To build a counter that only tells its column norm."""
