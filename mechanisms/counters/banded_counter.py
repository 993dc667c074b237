"""Banded counters: the square root of the counting matrix, cut to a band, so that noise is independent beyond it.

Its coefficients are rounded down to multiples of 2^-20: so the rows of increments on a grid, too, are exact sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.amplification.sampling import Sampling, sampled
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.counters.continual import checked_steps
from mechanisms.counters.toeplitz_counter import (
    OUTWARDS,
    DelayFactors,
    ToeplitzCounter,
    square_root_coefficients,
)
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.numerics.rounding import multiply_up, up
from mechanisms.parameters import ParameterError, real, whole_number
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import restate

_FINENESS = 2.0**20


@dataclass(frozen=True, kw_only=True)
class BandedCounter(ToeplitzCounter):
    """Counter with the coefficients c_0 .. c_{w-1} of √A, then 0, as R, and L = A R⁻¹ (Kalinin & Lampert 2024).

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

        ones = np.ones(whole_number("steps", steps, least=0, bits=27))
        return np.asarray(lfilter([1.0], self.right_column(self.bandwidth), ones), dtype=np.float64)

    def right_column(self, steps: int) -> FloatArray:
        """Return c_0 .. c_{w-1}, rounded down, and zeros."""
        column = np.zeros(whole_number("steps", steps, least=0, bits=27))
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

    def cyclic_profile(self, parts: int, rate: float, neighbouring: Neighbouring) -> PrivacyProfile:
        """Return the profile for records in b parts that take turns, sampled in each turn of theirs.

        **Theorem** (Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta & Xu 2023, Thm 4). Let each record be in
        one of b >= w parts, which the presence and values of records do not change; let step i draw each record of part
        i mod b by itself with probability p, and sum the drawn contributions, of norm at most l2. All T steps are
        dominated by ⌈T/b⌉ Gaussian releases on Poisson samples of rate p, that move by l2 times the norm of the rows of
        a column which are left.

        *Proof.* R has w <= b rows in a column: a record's contribution at its kth turn is seen in rows of the kth
        block of b steps from its first turn on, and in no other. It was chosen before the block, given the
        releases so far; in the block the record moves, if drawn, row j by r_j v and all else by nothing, given the
        releases before that row. So given the past the block has the law of Gaussian noise on a sample, movement
        |r| |v|, whose pair dominates. They compose (Zhu, Dong, Wang 2022, Thm 10). []

        Attained by part 0, of which all blocks are the longest. `participations` and `separation` do not matter.

        Parameters
        ----------
        parts
            b, from w to T.
        rate
            p in (0, 1): of a step that takes q of all records, b q.
        neighbouring
            The relation; for replacing a record, which stays in the part of the other, see `PoissonReplacedProfile`.

        Raises
        ------
        ParameterError
            If parts is no whole number from w to T, or the rate not in (0, 1).
        """
        if not self.bandwidth <= whole_number("parts", parts, least=1) <= self.horizon:
            raise ParameterError(
                f"parts = {parts}: must be from the bandwidth, {self.bandwidth}, to the horizon, {self.horizon}"
            )
        if not 0.0 < real("sampling_probability", rate) < 1.0:
            raise ParameterError(f"sampling_probability = {rate!r}: must lie in (0, 1)")
        blocks, left = divmod(self.horizon, parts)
        rows = {self.bandwidth: blocks}
        if left:
            rows[min(left, self.bandwidth)] = rows.get(min(left, self.bandwidth), 0) + 1
        column = self.right_column(self.bandwidth)
        relation = Sampling.POISSON.movement(neighbouring)
        turns = []
        for count, times in rows.items():
            norm = math.sqrt(math.fsum((column[:count] ** 2).tolist())) * OUTWARDS
            mu = multiply_up(multiply_up(self.sensitivity.l2, norm), up(1 / Fraction(self.mechanism.sigma)))
            turns.append((sampled(restate(GaussianProfile(mu), relation), rate, neighbouring), times))
        return composed_profile(turns)

    @property
    def columns_overlap(self) -> bool:
        """True unless a record's increments are at least w steps apart."""
        return self.participations > 1 and self.separation < self.bandwidth

    @property
    def factors(self) -> DelayFactors:
        """R and L step by step; they keep w numbers each."""
        return DelayFactors(self.right_column(self.bandwidth))
