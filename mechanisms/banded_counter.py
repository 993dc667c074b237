"""Counters whose noise forgets: the square root of the counting matrix, cut off below a band.

Its coefficients are rounded down to multiples of 2^-20: so the rows of increments on a grid, too, are exact sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.continual import checked_steps
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.toeplitz_counter import OUTWARDS, DelayFactors, ToeplitzCounter, square_root_coefficients

_FINENESS = 2.0**20


@dataclass(frozen=True, kw_only=True)
class BandedCounter(ToeplitzCounter):
    """R has the first w coefficients c_0 .. c_{w-1} of √A and zeros below, L = A R⁻¹ (Kalinin & Lampert 2024).

    For records in several increments: at least w steps apart, their columns of R do not overlap, and k of them cost √k
    times one (Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta & Xu 2023). A stream keeps w numbers.

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
        """Return c_0 .. c_{w-1}, rounded down, and zeros."""
        column = np.zeros(steps)
        band = square_root_coefficients(min(steps, self.bandwidth))
        column[: band.size] = np.floor(band * _FINENESS) / _FINENESS
        return column

    @cached_property
    def column_norm(self) -> float:
        """√Σ_{j<w} c_j², rounded up."""
        c = self.right_column(self.bandwidth)
        return math.sqrt(math.fsum((c * c).tolist())) * OUTWARDS

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return σ² Σ_{j<t} l_j²."""
        steps = checked_steps(t, self.horizon)
        sums = np.cumsum(self.left_column(int(steps.max(initial=1))) ** 2)
        return np.asarray(self.mechanism.sigma**2 * sums[steps - 1])

    @property
    def columns_overlap(self) -> bool:
        """True unless a record's increments are at least w steps apart."""
        return self.participations > 1 and self.separation < self.bandwidth

    @property
    def factors(self) -> DelayFactors:
        """R and L step by step; they keep w numbers each."""
        return DelayFactors(self.right_column(self.bandwidth))
