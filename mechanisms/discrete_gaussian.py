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
from mechanisms.bounds import NoPrivacy, PerfectPrivacy, ZeroConcentratedProfile
from mechanisms.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.discrete_laplace import log_probability_of_whole, whole_values
from mechanisms.mechanism import BuiltInMechanism, checked_whole_sensitivity, register
from mechanisms.noise import NoiseSource, noise_source
from mechanisms.parameters import ParameterError, open_unit, positive, whole
from mechanisms.privacy_loss import PrivacyLoss
from mechanisms.profile import PrivacyProfile
from mechanisms.rounding import up
from mechanisms.sensitivity import Sensitivity

_LARGEST_SIGMA = 100_000.0  # a sum over about 10 sigma terms for each epsilon


def _total_weight(sigma: float) -> float:
    """Return Σ_k exp(-k²/2σ²); from σ = 1 on by Poisson summation, whose third term is below 1e-34."""
    if sigma < 1.0:
        return 1.0 + 2.0 * math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(1, 40))
    correction = 2.0 * math.exp(-2.0 * (math.pi * sigma) ** 2)
    return sigma * math.sqrt(2.0 * math.pi) * (1.0 + correction)


@dataclass(frozen=True)
class DiscreteGaussianProfile(PrivacyProfile):
    """Profile of discrete Gaussian noise on a whole number that moves by ``shift``, by direct summation.

    The loss at noise k is s(s - 2k)/2σ², so δ(x) = Σ_{k<u} P(k) (1 - exp(-(s/σ²)(u - k))) with
    u = s/2 - σ²x/s: all terms are positive and fall faster than a Gaussian; those left out are below
    1e-18 of the sum. The relative error is about 1e-14.

    Parameters
    ----------
    shift : int
        At least 1.
    sigma : float
        Positive, at most 100,000 (a sum over about 10 sigma terms).
    """

    shift: int
    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", whole("shift", self.shift, least=1))
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if self.sigma > _LARGEST_SIGMA:
            raise ParameterError(f"sigma = {self.sigma!r}: must be at most {_LARGEST_SIGMA:g}")

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

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        flat = [self._delta_at(float(x)) for x in np.ravel(epsilon)]
        return np.array(flat).reshape(np.shape(epsilon))

    def _delta_at(self, x: float) -> float:
        s, variance = self.shift, self.sigma * self.sigma
        u = s / 2.0 - variance * x / s
        if u < -40.0 * self.sigma - 1.0:
            return 0.0  # below the smallest float
        # Keep k with (k² - top²)/2σ² <= 45, where top is the likeliest noise in the sum.
        # Just above a whole number u - k is small, and rounding u would spoil it: so u is exact.
        exact = Fraction(s, 2) - Fraction(self.sigma) ** 2 * Fraction(x) / s
        last = min(math.ceil(exact) - 1, math.ceil(10.0 * self.sigma))
        top = min(last, 0)
        first = math.floor(-math.sqrt(top * top + 90.0 * variance)) - 1
        k = np.arange(first, last + 1, dtype=np.float64)
        beyond = float(exact - last) + (last - k)  # u - k
        terms = np.exp(-0.5 * (k / self.sigma) ** 2) * -np.expm1(-(s / variance) * beyond)
        return float(np.sum(terms)) / self._total


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
        checked_whole_sensitivity(self.sensitivity)

    @property
    def nominal_delta(self) -> float:
        """The δ given, else 0."""
        return self.delta or 0.0

    @cached_property
    def _own_profile(self) -> PrivacyProfile:
        return self._profile_at(self.sensitivity)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        if moved.l1 < 1.0:
            return PerfectPrivacy()
        if math.isinf(moved.l2):
            return NoPrivacy()
        if moved.moves_one_coordinate and self.sigma <= _LARGEST_SIGMA:
            return DiscreteGaussianProfile(math.floor(moved.l1), self.sigma)
        return ZeroConcentratedProfile(up(Fraction(moved.l2) ** 2 / (2 * Fraction(self.sigma) ** 2)))

    @property
    def whole_numbers(self) -> bool:
        """True: noise and values are whole numbers."""
        return True

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the profile when one record moves the value by ``sensitivity`` (default: its own).

        Exact when one coordinate makes the whole movement (l1 = linf) and sigma is at most 100,000. Else
        the certified zCDP bound with ρ = l2²/2σ² (Canonne, Kamath, Steinke 2020, Thm 14).
        """
        return self._own_profile if sensitivity is None else self._profile_at(sensitivity)

    @cached_property
    def epsilon(self) -> float:
        """The smallest ε at (`sensitivity`, `nominal_delta`); inf without a delta."""
        return self.profile().epsilon(self.nominal_delta)

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
