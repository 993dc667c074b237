"""Gaussian noise on a Poisson sample of which a uniform subset is kept where it is too large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.gaussian_mixture_curve import GaussianMixtureCurve
from mechanisms.gaussian_mixture_loss import AT_ZERO, GaussianMixtureLoss, Mixture
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, open_unit, positive, whole_number
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, log1p_complex
from mechanisms.subsampled import BothDirections, BoundedCurve, OneDirection

BOUND = "truncated batches"
_TAIL = 1e-9
"""Relative error of a binomial tail, at most."""
_NEXT_TO_NOTHING = 1e-290
_LEAST_SIGMA = 0.05
"""Quadratures of movements by 2 take too many nodes below."""
MOST_RECORDS = 10**8


def binomial_tail(size: int, rate: float, least: int) -> tuple[float, float]:
    """Return P(Bin(size, rate) < least) and P(Bin(size, rate) >= least) to `_TAIL` of themselves, for size <= 1e8.

    One that is below 1e-290 is rounded up to that. Sums of terms over that of the mode, each the product of quotients
    of neighbours. A quotient is off by 2.5 units of 2^-52, its product by another half. At most w = 38 sd + 502 <
    190,600 are multiplied, so quotients of sums are off by 6w 2^-52 < 3e-10. What is further than 38 sd + 500 from the
    mean has probability < 2e-300 (Bernstein: d² >= 1382 (sd² + d/3)).
    """
    reach = math.ceil(38.0 * math.sqrt(size * rate * (1.0 - rate))) + 501
    mode = min(size, math.floor((size + 1) * rate))
    first, last = max(0, mode - reach), min(size, mode + reach)
    up, down = np.arange(mode, last, dtype=np.float64), np.arange(mode, first, -1, dtype=np.float64)
    odds = rate / (1.0 - rate)
    above, below = np.cumprod((size - up) / (up + 1.0) * odds), np.cumprod(down / (size - down + 1.0) / odds)
    terms = np.concatenate((below[::-1], [1.0], above))
    cut = min(max(least - first, 0), terms.size)
    sums = float(np.sum(terms[:cut])), float(np.sum(terms[cut:]))
    less, more = (max(part / (sums[0] + sums[1]), _NEXT_TO_NOTHING) for part in sums)
    return less, more


@dataclass(frozen=True)
class AnnouncedLoss(PrivacyLoss):
    """Loss of one of two pairs, the second with probability τ, when it is announced which: M = (1-τ) M_1 + τ M_2.

    The probability and the other one, ``rest``, are known to ``off`` of themselves.
    """

    first: PrivacyLoss
    second: PrivacyLoss
    rest: float
    probability: float
    off: float = 0.0

    @property
    def neighbouring(self) -> Neighbouring:
        """That of the first pair."""
        return self.first.neighbouring

    @property
    def supremum(self) -> float:
        """The larger one."""
        return max(self.first.supremum, self.second.supremum)

    @property
    def infimum(self) -> float:
        """The smaller one."""
        return min(self.first.infimum, self.second.infimum)

    def cost(self, s: float, height: float) -> float:
        """The sum of both."""
        return self.first.cost(s, height) + self.second.cost(s, height)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln of the sum, by M - 1 where that is small."""
        one, one_off = self.first.log_mgf_line(s, t)
        two, two_off = self.second.log_mgf_line(s, t)
        rest, tau = self.rest, self.probability
        top = max(float(one[0].real), float(two[0].real))
        with np.errstate(over="ignore", invalid="ignore"):
            if top < 0.3:
                parts: tuple[ComplexArray, ComplexArray] = (
                    np.asarray(rest * np.expm1(one)),
                    np.asarray(tau * np.expm1(two)),
                )
                value, sizes = log1p_complex(parts[0] + parts[1]), np.abs(parts[0]) + np.abs(parts[1])
            else:
                parts = np.asarray(rest * np.exp(one - top)), np.asarray(tau * np.exp(two - top))
                value = np.asarray(top + np.log(parts[0] + parts[1] + 1e-300))
                sizes = (np.abs(parts[0]) + np.abs(parts[1])) * (2.0 + np.abs(one) + np.abs(two) + 2.0 * top)
                sizes = sizes * np.exp(np.minimum(top, 700.0))
            scales = rest * np.exp(one.real - value.real), tau * np.exp(two.real - value.real)
            error = scales[0] * np.expm1(one_off) + scales[1] * np.expm1(two_off)
            error += self.off * (scales[0] + scales[1])
            error += 16.0 * ROUNDING * sizes * np.exp(-value.real)
        return value, np.log1p(np.where(np.isfinite(error), error, 1e300)) + 8.0 * ROUNDING * np.abs(value)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln of the sum."""
        one, two = self.first.log_mgf_real(s), self.second.log_mgf_real(s)
        return np.logaddexp(math.log(self.rest) + one, math.log(self.probability) + two)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of the sum of both bounds."""
        one, two = (loss.log_envelope(s, heights) for loss in (self.first, self.second))
        logs = math.log(self.rest), math.log(self.probability)
        return np.logaddexp(logs[0] + one, logs[1] + two) + 2.0 * self.off + 8.0 * ROUNDING


@dataclass(frozen=True)
class TruncatedBatchDirection(BoundedCurve, OneDirection):
    """One direction of `TruncatedBatchProfile`: a record is removed, or added."""

    sigma: float
    rate: float
    records: int
    most: int
    added: bool

    @property
    def bound(self) -> str:
        """The theorem: a dominating pair."""
        return BOUND

    @property
    def neighbouring(self) -> Neighbouring:
        """Adding or removing a record."""
        return Neighbouring.ADD_OR_REMOVE

    @property
    def pure_epsilon(self) -> None:
        """None: no largest loss is known."""
        return None

    @cached_property
    def _chances(self) -> tuple[float, float, float]:
        """Return 1 - τ, τ, and ρ rounded up."""
        if self.most >= self.records:
            return 1.0, 0.0, self.rate
        rest, tau = binomial_tail(self.records - 1, self.rate, self.most)
        if tau <= _NEXT_TO_NOTHING:
            return 1.0, tau, 1.0 - 2.0**-53
        _, more = binomial_tail(self.records, self.rate, self.most + 1)
        kept = self.most / self.records * more / tau * (1.0 + 4.0 * _TAIL)
        return rest, tau, min(kept, 1.0 - 2.0**-53)

    def _pairs(self, scale: float) -> list[tuple[Mixture, Mixture]]:
        """Return the pair of a batch that is not full, and of one that is."""
        *_, kept = self._chances
        found: list[tuple[Mixture, Mixture]] = []
        for moved, chance in ((1.0, self.rate), (2.0, kept)):
            taken = ((0.0, math.log1p(-chance)), (moved * scale, math.log(chance)))
            found.append((AT_ZERO, taken) if self.added else (taken, AT_ZERO))
        return found

    def loss(self) -> PrivacyLoss:
        """Return the law of the loss of the dominating pair."""
        free, full = (
            GaussianMixtureLoss(*pair, self.sigma, Neighbouring.ADD_OR_REMOVE) for pair in self._pairs(1.0)
        )
        rest, tau, _ = self._chances
        return AnnouncedLoss(free, full, rest, tau, _TAIL) if tau else free

    @cached_property
    def _curves(self) -> list[GaussianMixtureCurve]:
        return [GaussianMixtureCurve(*pair) for pair in self._pairs(1.0 / self.sigma)]

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the mean of both curves."""
        (rest, tau, _), (free, full) = self._chances, (curve.bounds(epsilon) for curve in self._curves)
        low, high = (rest * one + tau * two for one, two in zip(free, full, strict=True))
        return low * (1.0 - 2.0 * _TAIL), np.minimum(1.0, high * (1.0 + 2.0 * _TAIL))


@dataclass(frozen=True)
class TruncatedBatchProfile(BothDirections):
    """Upper curve of Gaussian noise on a Poisson sample of n records of which at most B are kept, uniformly.

    **Theorem.** Let τ = P(Bin(n-1, q) >= B) and ρ = B P(Bin(n, q) >= B+1) / nτ, records contributing vectors of norm at
    most 1. If one of n records is removed the output is dominated by the pair ((1-ρ) N_0 + ρ N_2, N_0) with probability
    τ, which is announced, else by ((1-q) N_0 + q N_1, N_0); if it is added by the reverse of these.

    *Proof.* Let K of the n-1 others be drawn, and announce whether K >= B. K < B: nothing is cut. K >= B: without the
    record a uniform B-subset of a uniform K-subset is a uniform B-subset of the others, whatever K is. With it, it is
    drawn and kept with probability qB/(K+1), and takes the place of a uniform member: the sum moves by at most 2. So
    all K >= B have one law without it, and only the mean ρ = E[qB/(K+1) | K >= B] counts; joint convexity over subsets
    (`SampledGroupProfile` for vectors that move in one direction). []

    Parameters
    ----------
    sigma : float
        Noise over the norm to which a record's contribution is clipped, at least 0.05.
    sampling_probability : float
        q in (0, 1).
    dataset_size : int
        n, the size of the larger of both data sets, public up to one record; at most 1e8.
    truncated_batch_size : int
        B, at least 1.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """

    sigma: float
    sampling_probability: float
    dataset_size: int
    truncated_batch_size: int

    def __post_init__(self) -> None:
        if positive("sigma", self.sigma) < _LEAST_SIGMA:
            raise ParameterError(f"sigma = {self.sigma!r}: must be at least {_LEAST_SIGMA:g}")
        open_unit("sampling_probability", self.sampling_probability)
        for name in ("dataset_size", "truncated_batch_size"):
            if whole_number(name, getattr(self, name), least=1) > MOST_RECORDS:
                raise ParameterError(f"{name} = {getattr(self, name)}: must be at most {MOST_RECORDS:,}")

    @property
    def bound(self) -> str:
        """The theorem: no data are known to attain it."""
        return BOUND

    @property
    def neighbouring(self) -> Neighbouring:
        """Adding or removing a record."""
        return Neighbouring.ADD_OR_REMOVE

    @property
    def statable(self) -> frozenset[Neighbouring]:
        """Adding or removing a record, alone."""
        return frozenset({Neighbouring.ADD_OR_REMOVE})

    @property
    def pure_epsilon(self) -> None:
        """None: no largest loss is known."""
        return None

    @cached_property
    def _sides(self) -> tuple[TruncatedBatchDirection, TruncatedBatchDirection]:
        numbers = self.sigma, self.sampling_probability, self.dataset_size, self.truncated_batch_size
        return TruncatedBatchDirection(*numbers, False), TruncatedBatchDirection(*numbers, True)
