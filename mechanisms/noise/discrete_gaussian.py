"""The discrete Gaussian mechanism and its privacy profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.composition.contour import TiltedLoss
from mechanisms.composition.lattice import lattice_contour
from mechanisms.composition.saddle import saddle_for_epsilon
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.losses.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.noise.discrete_laplace import log_probability_of_whole, whole_values
from mechanisms.noise.mechanism import BuiltInMechanism, checked_whole_sensitivity, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.deadline import GRACE, time_is_over
from mechanisms.numerics.rounding import Ceiling, exact_product, up
from mechanisms.parameters import ParameterError, open_unit, positive, whole_number
from mechanisms.profiles.bounding_profiles import PerfectPrivacy, ZeroConcentratedProfile, unlimited_movement
from mechanisms.profiles.privacy_profile import PrivacyProfile

_SMALLEST_SIGMA = 1e-140
_LARGEST_SUMMED = 100_000.0  # a sum over about 10 sigma terms for each epsilon
_LARGEST_SIGMA = 1e9  # tilts are about 5 sigma
_TIGHT = 1e-12
_FARTHEST = 1e150  # sigma that a value may move by: the square is a float
_AT_ONCE = 1 << 18  # terms in one array


def _total_weight(sigma: float) -> float:
    """Return Σ_k exp(-k²/2σ²); from σ = 1 on by Poisson summation up to its third term, below 1e-34."""
    if sigma < 1.0:
        return 1.0 + 2.0 * math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(1, 40))
    correction = 2.0 * math.exp(-2.0 * (math.pi * sigma) ** 2)
    return sigma * math.sqrt(2.0 * math.pi) * (1.0 + correction)


@dataclass(frozen=True)
class DiscreteGaussianProfile(PrivacyProfile):
    """Profile of discrete Gaussian noise on a whole number that moves by ``shift``, by direct summation.

    Beyond sigma = 100,000 by the contour of its loss (`mechanisms.composition.lattice`).

    The loss at noise k is s(s - 2k)/2σ², so δ(x) = Σ_{k<u} P(k) (1 - exp(-(s/σ²)(u - k))) with
    u = s/2 - σ²x/s: all terms are positive and fall faster than a Gaussian; those left out are below
    1e-18 of the sum. The relative error is about 1e-14, and below 3e-13 where δ is least.

    Parameters
    ----------
    shift : int
        At least 1, at most 1e150 sigma.
    sigma : float
        At least 1e-140 (squares are floats), at most 1e9.
    """

    shift: int
    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", whole_number("shift", self.shift, least=1, bits=1023))
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if not _SMALLEST_SIGMA <= self.sigma <= _LARGEST_SIGMA:
            raise ParameterError(
                f"sigma = {self.sigma!r}: must be at least {_SMALLEST_SIGMA:g} and at most {_LARGEST_SIGMA:g}"
            )
        if not self.shift <= _FARTHEST * self.sigma:
            raise ParameterError(f"shift = {self.shift!r}: must be at most {_FARTHEST:g} sigma")

    @property
    def pure_epsilon(self) -> None:
        """None: the loss is unbounded."""
        return None

    @property
    def rho(self) -> float:
        """shift² / 2σ² (Canonne, Kamath, Steinke 2020, Thm 4), rounded up."""
        return up(Fraction(self.shift) ** 2 / (2 * Fraction(self.sigma) ** 2))

    def loss(self) -> PrivacyLoss:
        """Return the law of s(s - 2k)/2σ²."""
        return DiscreteGaussianLoss(self.shift, self.sigma)

    @cached_property
    def _total(self) -> float:
        return _total_weight(self.sigma)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curve by its relative error, or by the contour."""
        if self.sigma <= _LARGEST_SUMMED:
            return super()._bounds(epsilon)
        x = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(x)
        ends = np.array([self._by_contour(own) for own in size.ravel().tolist()]).T.reshape(2, *x.shape)
        sides = -np.expm1(-size) + np.exp(-size) * ends, np.array([1.0 - _TIGHT, 1.0 + _TIGHT])
        low, high = np.where(x >= 0.0, ends, sides[0] * sides[1].reshape(2, *[1] * x.ndim))
        return low, np.minimum(high, 1.0)

    def _by_contour(self, epsilon: float) -> tuple[float, float]:
        loss = self.loss()
        saddle = saddle_for_epsilon(loss, epsilon)
        line = TiltedLoss(loss, saddle.s)
        engine = None if time_is_over(GRACE) else lattice_contour(line, saddle, _TIGHT)
        low, high = (0.0, 1.0) if engine is None else engine.bounds(epsilon)
        mu = (
            self.shift / self.sigma
        )  # M is at most the Gaussian's: by its Chernoff bound, where tilts are beyond reach
        far = max(0.0, epsilon / mu - 0.5 * mu) * (1.0 - _TIGHT)
        return low, min(high, math.exp(-0.5 * far * far))

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if self.sigma > _LARGEST_SUMMED:
            return self.bounds(epsilon)[1]
        x = np.ravel(epsilon)
        found = np.zeros(x.shape)
        longest = 20.0 * self.sigma + 3.0
        some = np.flatnonzero(x < self._far)  # below the smallest float beyond
        at_once = max(1, int(_AT_ONCE / longest))
        for start in range(0, some.size, at_once):
            own = some[start : start + at_once]
            found[own] = self._sums(x[own])
        return found.reshape(np.shape(epsilon))

    @cached_property
    def _far(self) -> float:
        """The x at which u is 40σ + 1 below 0."""
        return (self.shift / 2.0 + 40.0 * self.sigma + 1.0) * self.shift / (self.sigma * self.sigma)

    def _sums(self, x: FloatArray) -> FloatArray:
        s, sigma = self.shift, self.sigma
        last, gap = self._end(x)
        # Keep k with (k² - top²)/2σ² <= 45, where top is the likeliest noise in the sum.
        top = np.minimum(last, 0.0)
        first = np.floor(-np.sqrt(top * top + 90.0 * sigma * sigma)) - 1.0
        steps = np.arange(float(np.max(last - first)) + 1.0)
        standard = (last[:, np.newaxis] - steps) / sigma
        falls = -np.expm1(-(s / (sigma * sigma)) * (gap[:, np.newaxis] + steps))
        terms = np.exp(-0.5 * standard * standard) * falls
        total: FloatArray = terms.sum(axis=1) / self._total
        return total

    def _end(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the largest whole number k below u, at most about 10σ, and u - k, to a relative error of 1e-15."""
        unit = Fraction(self.sigma) ** 2 / self.shift
        near = Ceiling.from_fraction(unit)
        product, error = exact_product(near.near, x)
        error = error + near.rest * x

        def gap_from(k: FloatArray | float) -> FloatArray:
            return np.asarray(((self.shift / 2.0 - k) - product) - error)  # u - k

        u = gap_from(0.0)
        last = np.ceil(u) - 1.0
        gap = gap_from(last)
        close = np.abs(gap_from(np.rint(u))) <= 1e-15 * (1.0 + np.abs(product))
        for i in np.flatnonzero(close):  # two floats are not enough
            exact = Fraction(self.shift, 2) - unit * Fraction(x[i])
            last[i] = math.ceil(exact) - 1
            gap[i] = float(exact - int(last[i]))
        most = float(math.ceil(10.0 * self.sigma))
        return np.minimum(last, most), np.where(last > most, gap_from(most), gap)


@register
@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(BuiltInMechanism):
    """Add independent discrete Gaussian noise, P(k) ∝ exp(-k²/2σ²), to whole numbers.

    Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential privacy".

    Parameters
    ----------
    sigma : float
        Positive and finite (not the variance).
    sensitivity : Sensitivity
        The largest movement the noise is calibrated for.
    delta : float, optional
        The nominal δ in (0, 1) at which ``epsilon`` and basic composition read the profile.

    Raises
    ------
    ParameterError
        If sigma is not positive and finite, delta outside (0, 1), or a norm of the sensitivity strictly between 0
        and 1.
    """

    sigma: float
    sensitivity: Sensitivity
    delta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))
        object.__setattr__(self, "sensitivity", checked_whole_sensitivity(self.sensitivity))

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the profile when one record moves the value by ``moved``.

        Exact when one coordinate makes the whole movement (l1 = linf) and sigma is at most 1e9. Else
        the certified zCDP bound with ρ = l2²/2σ² (Canonne, Kamath, Steinke 2020, Thm 14).
        """
        if moved.l1 < 1.0:
            return PerfectPrivacy()
        if math.isinf(moved.l2):
            return unlimited_movement(moved)
        if not moved.l2 <= _FARTHEST * self.sigma:
            raise ParameterError(
                f"sigma = {self.sigma!r}: must be at least {1.0 / _FARTHEST:g} times as large as a value moves, "
                f"{moved.l2!r}"
            )
        if moved.moves_one_coordinate and self.sigma <= _LARGEST_SIGMA:
            return DiscreteGaussianProfile(math.floor(moved.l1), self.sigma)
        return ZeroConcentratedProfile(up(Fraction(moved.l2) ** 2 / (2 * Fraction(self.sigma) ** 2)))

    @property
    def whole_numbers(self) -> bool:
        """True: noise and values are whole numbers."""
        return True

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> IntArray:
        """Return value + noise, same shape, whole numbers.

        Raises
        ------
        DomainError
            If the value is not of an integer type.
        """
        return noise_source(noise).discrete_gaussian(whole_values(value), self.sigma)

    @cached_property
    def _log_height(self) -> float:
        return -math.log(_total_weight(self.sigma))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln probability = -(output - value)²/2σ² - ln Σ_k e^{-k²/2σ²}; -inf off the whole numbers."""
        step: npt.NDArray[Any] = np.asarray(np.subtract(output, value))
        standard = step / self.sigma
        return log_probability_of_whole(np.asarray(self._log_height - 0.5 * standard * standard), step)
