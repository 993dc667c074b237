"""Counters whose noise forgets: the square root of the counting matrix, cut off below a band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.continual import Stream, checked_steps
from mechanisms.noise import NoiseSource
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.toeplitz_counter import OUTWARDS, ToeplitzCounter, square_root_coefficients


@dataclass(frozen=True, kw_only=True)
class BandedCounter(ToeplitzCounter):
    """R has the first w coefficients c_0 .. c_{w-1} of √A and zeros below, L = A R⁻¹ (Kalinin & Lampert 2024).

    For records in several increments: at least w steps apart, their columns of R do not overlap, and k of them cost √k
    times one (Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta & Xu 2023). A stream keeps w - 1 numbers.

    Parameters
    ----------
    bandwidth
        w, at most T. About the separation of a record's increments is best where they are many.

    Raises
    ------
    ParameterError
        As `ToeplitzCounter`; if bandwidth is no whole number from 1 to the horizon.
    """

    bandwidth: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bandwidth", whole_number("bandwidth", self.bandwidth, least=1))
        if self.bandwidth > self.horizon:
            raise ParameterError(f"bandwidth = {self.bandwidth}: must be at most the horizon, {self.horizon}")

    def left_column(self, steps: int) -> FloatArray:
        """Return the first column of A R⁻¹: R l = (1, 1, ...), solved step by step."""
        from scipy.signal import lfilter  # 0.2 s of loading, for this alone

        return np.asarray(lfilter([1.0], self.right_column(self.bandwidth), np.ones(steps)), dtype=np.float64)

    def right_column(self, steps: int) -> FloatArray:
        """Return c_0 .. c_{w-1} and zeros."""
        column = square_root_coefficients(steps)
        column[self.bandwidth :] = 0.0
        return column

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<w} c_j², rounded up."""
        c = square_root_coefficients(self.bandwidth)
        return math.sqrt(math.fsum((c * c).tolist())) * OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} l_j²."""
        steps = checked_steps(t, self.horizon)
        sums = np.cumsum(self.left_column(int(steps.max(initial=1))) ** 2)
        return np.asarray(self.mechanism.sigma**2 * sums[steps - 1])

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> BandedStream:
        """Start a stream of increments of this shape (lanes first)."""
        return BandedStream(self, shape, noise)


class BandedStream(Stream):
    """A stream that keeps w - 1 numbers per coordinate: the increments' own noise R⁻¹ z of the last steps."""

    def __init__(
        self, counter: BandedCounter, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, counter.horizon, counter.mechanism, noise)
        self._coefficients = counter.right_column(counter.bandwidth)[1:]
        self._last: list[FloatArray] = []  # the latest first
        self._total = self._zeros()
        self._noises = self._zeros()

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        self._total += self._next(increment)
        own = self._draw()
        for coefficient, earlier in zip(self._coefficients.tolist(), self._last, strict=False):
            own -= coefficient * earlier
        self._last = [own, *self._last][: self._coefficients.size]
        self._noises += own
        return np.asarray(self._total + self._noises)
