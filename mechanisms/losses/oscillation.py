"""An upper bound on products of transforms of losses with atoms, by one exponential sum.

The atoms of a loss turn around each other as t grows, and align again sooner or later: |M(s+it)| of one loss returns to
M(s). Many different losses do not align all at once, and that is seen without evaluating one of them.

Theorem. Let loss i have atoms of tilted masses w_ij (p e^{sl} over their sum C_i) at l_ij, and else a transform of
modulus at most C_i h_i for |t| >= τ. Let n_i be the counts, n their sum. Then for |t| >= τ

    Σ n_i ln |M_i(s+it)| <= Σ n_i ln C_i + (n/2) ln(1 - (A - c(t)) / 2n + 2 h_1 + h_2),
    c(t) = Σ n_i 4 w_ij w_ik cos((l_ij - l_ik) t) over pairs j < k,   A = c(0),
    h_1 = Σ n_i h_i / n,   h_2 = Σ n_i h_i² / n.

    *Proof.* |Σ_j w_j e^{itl_j}|² = v_i = 1 - 2 Σ_{j<k} w_j w_k (1 - cos(l_j - l_k)t), and
    |M_i| <= C_i (√v_i + h_i), whose square is at most C_i² (v_i + 2h_i + h_i²), as v_i <= 1. The logarithm is concave,
    and the mean of the v_i is 1 - (A - c)/2n. []

c at the points qD, by one FFT: every frequency ω is split linearly between two neighbouring bins of width g, which is
off by at most (gt)²/8 for each cosine (its second derivative by ω is at most t²); between two points c exceeds both
by at most (D²/8) Σ a ω². ωD is folded into [0, π] first: at whole q that changes no cosine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from mechanisms.arrays import FloatArray

_MOST_POINTS = 2**22
_LEAST_CURVATURE = 1e-290  # below it squares of frequencies may be no normal floats, and lose digits
_BETWEEN = 0.1  # excess of c over its points, in A
_PER_BIN = 16.0  # the FFT is this much longer than the points needed: (2π/16)²/8 = .02 A
_ROUNDING = 1e-9
"""Relative to A: the FFT's rounding is below 8u lg N √N, N = `_MOST_POINTS` (Higham 2002, Thm 24.2), which is 1e-11."""


@dataclass(frozen=True, eq=False)
class Oscillations:
    """Parameters of some losses at one tilt that the theorem needs.

    Attributes
    ----------
    count
        n.
    log_caps
        Σ n_i ln C_i, rounded up.
    frequencies, amplitudes
        ω >= 0 and n_i 4 w_ij w_ik.
    shares, share_counts
        For losses that have more than atoms: a bound on h_i for all t; h_i <= 1/2t is taken, too.
    """

    count: float
    log_caps: float
    frequencies: FloatArray
    amplitudes: FloatArray
    shares: FloatArray
    share_counts: FloatArray

    @classmethod
    def concatenate(cls, parts: Sequence[Oscillations]) -> Oscillations:
        """Return those of all losses."""
        return cls(
            sum(part.count for part in parts),
            math.fsum(part.log_caps for part in parts),
            np.concatenate([part.frequencies for part in parts]),
            np.concatenate([part.amplitudes for part in parts]),
            np.concatenate([part.shares for part in parts]),
            np.concatenate([part.share_counts for part in parts]),
        )

    def repeated(self, times: float) -> Oscillations:
        """Return the oscillations of `times` copies of every loss."""
        if times == 1.0:
            return self
        return Oscillations(
            self.count * times,
            self.log_caps * times,
            self.frequencies,
            self.amplitudes * times,
            self.shares,
            self.share_counts * times,
        )

    def multiply_by(self, log_factor: float) -> Oscillations:
        """Return those of the product times a number, given its logarithm."""
        return replace(self, log_caps=self.log_caps + log_factor)

    @cached_property
    def _total(self) -> float:
        return float(np.sum(self.amplitudes))

    @property
    def log_floor(self) -> float:
        """About the least that the theorem can give: c = 0 and no h."""
        return self.log_caps + 0.5 * self.count * math.log1p(-self._total / (2.0 * self.count) * 0.8)

    def up_to(self, end: float) -> BoundedOscillations | None:
        """Tabulate c up to a height; None if that takes too many points."""
        curvature = float(self.amplitudes @ self.frequencies**2) / 8.0
        if not (self._total > 0.0 and _LEAST_CURVATURE < curvature < math.inf):
            return None
        step = math.sqrt(_BETWEEN * self._total) / math.sqrt(curvature)
        points = math.ceil(end / step) + 1
        if not _PER_BIN * points <= _MOST_POINTS:
            return None
        length = scipy.fft.next_fast_len(math.ceil(_PER_BIN * points), real=True)
        length += length % 2
        half = length // 2
        turn = np.mod(self.frequencies * step, 2.0 * math.pi)
        bins = np.minimum(turn, 2.0 * math.pi - turn) * (length / (2.0 * math.pi))
        low = np.minimum(bins.astype(np.int64), half - 1)
        part = np.clip(bins - low, 0.0, 1.0) * self.amplitudes
        spectrum = np.zeros(half + 1)
        np.add.at(spectrum, low, self.amplitudes - part)
        np.add.at(spectrum, low + 1, part)
        spectrum[1:-1] *= 0.5
        values = scipy.fft.irfft(spectrum.astype(np.complex128), length)[: points + 1] * length
        t: FloatArray = step * np.arange(points + 1, dtype=np.float64)
        # Folding and the rounding of ωqD move a phase by at most 4u ωt.
        bin_width = 2.0 * math.pi / (length * step)
        values += self._total * (np.minimum(2.0, (bin_width * t) ** 2 / 8.0) + _ROUNDING)
        values += 2.0**-51 * t * float(self.amplitudes @ self.frequencies)
        values = np.maximum(values[:-1], values[1:]) + _BETWEEN * self._total * (1.0 + 1e-9)
        return BoundedOscillations(self, step, np.minimum(values, self._total))


@dataclass(frozen=True, eq=False)
class BoundedOscillations:
    """The theorem's bound up to a height.

    Attributes
    ----------
    oscillations
        The oscillations that are bounded.
    step
        D.
    values
        A bound on c in [qD, (q+1)D], for each q.
    """

    oscillations: Oscillations
    step: float
    values: FloatArray

    def log_envelope(self, heights: FloatArray, end: float) -> FloatArray:
        """Return ln of a bound on the product for τ <= |t| <= end, for each height τ (the end must be tabulated)."""
        own = self.oscillations
        cells = min(self.values.size, math.ceil(end / self.step) + 1)
        latest = np.maximum.accumulate(self.values[:cells][::-1])[::-1]
        first = np.minimum((heights / self.step).astype(np.int64), cells - 1)
        c = latest[first]
        h = np.minimum(own.shares, 0.5 / np.maximum(heights, 1e-300)[:, None])
        smooth = (2.0 * h + h * h) @ own.share_counts if own.shares.size else 0.0
        inside = 1.0 - (own._total - c) / (2.0 * own.count) + smooth / own.count
        return np.asarray(own.log_caps + 0.5 * own.count * np.log(np.maximum(inside, 1e-300)) + 1e-9)
