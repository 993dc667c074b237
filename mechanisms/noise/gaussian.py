"""The Gaussian mechanism, its exact privacy profile and its exact calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.mechanism import BuiltInMechanism, checked_sensitivity, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.rounding import divide_up, square_root_up
from mechanisms.parameters import LEAST_DELTA, ParameterError, open_unit, positive
from mechanisms.profiles.bounding_profiles import PerfectPrivacy, unlimited_movement
from mechanisms.profiles.gaussian_profile import GaussianProfile, largest_mu
from mechanisms.profiles.privacy_profile import PrivacyProfile

_ROOM = 2.0**-50  # of a calibrated μ
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@register
@dataclass(frozen=True, kw_only=True)
class Gaussian(BuiltInMechanism):
    """Add independent N(0, sigma²) noise to every coordinate.

    Parameters
    ----------
    sigma : float
        Standard deviation, positive and finite (not the variance).
    sensitivity : Sensitivity
        The largest movement the noise is calibrated for, a number for one value; only its l2 matters.
    delta : float, optional
        The nominal δ in (0, 1) at which ``epsilon`` and basic composition read the profile. Without it
        there is no finite ``epsilon``.

    Raises
    ------
    ParameterError
        If sigma is not positive and finite, or delta outside (0, 1).
    """

    sigma: float
    sensitivity: Sensitivity
    delta: float | None = None

    log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))

    @classmethod
    def for_epsilon_delta(cls, epsilon: float, delta: float, *, sensitivity: Sensitivity | float) -> Gaussian:
        """Return the mechanism with the least noise that is (ε, δ)-DP (analytic, Balle & Wang 2018, Alg. 1).

        Sigma is a little above the least one by `largest_mu`: ``.epsilon <= epsilon``, and n releases with noise of
        sigma √n fit into a budget that one fits into, though √n is rounded.

        Raises
        ------
        ParameterError
            If epsilon or sensitivity.l2 is not positive and finite, or delta outside [1e-300, 1).
        """
        loss, target = positive("epsilon", epsilon), open_unit("delta", delta)
        moved = checked_sensitivity(sensitivity)
        l2 = positive("sensitivity.l2", moved.l2)
        if target < LEAST_DELTA:
            raise ParameterError(f"delta = {delta!r}: must be at least {LEAST_DELTA:g}")
        return cls(
            sigma=divide_up(l2, largest_mu(loss, target) * (1.0 - _ROOM)),
            sensitivity=moved,
            delta=target,
        )

    @classmethod
    def classical(cls, epsilon: float, delta: float, *, sensitivity: Sensitivity | float) -> Gaussian:
        """Return the textbook calibration sigma = l2 √(2 ln(1.25/δ)) / ε (Dwork & Roth 2014, Thm A.1).

        The theorem is proved for ε < 1 and fails for large ε; ``epsilon`` and ``profile`` of the result
        are its true guarantee.

        Raises
        ------
        ParameterError
            If epsilon or sensitivity.l2 is not positive and finite, or delta outside (0, 1).
        """
        loss, target = positive("epsilon", epsilon), open_unit("delta", delta)
        moved = checked_sensitivity(sensitivity)
        l2 = positive("sensitivity.l2", moved.l2)
        return cls(
            sigma=l2 * math.sqrt(2.0 * math.log(1.25 / target)) / loss, sensitivity=moved, delta=target
        )

    @classmethod
    def for_rho(cls, rho: float, *, sensitivity: Sensitivity | float, delta: float | None = None) -> Gaussian:
        """Return the ρ-zCDP mechanism: sigma = l2 / √(2ρ), rounded up (Bun & Steinke 2016, Prop. 1.6).

        So far up that the ρ of its profile, which rounds μ and its square up, is at most ρ, too: that is charged.

        Raises
        ------
        ParameterError
            If rho or sensitivity.l2 is not positive and finite, or sigma would not be, or delta outside (0, 1).
        """
        most = positive("rho", rho)
        moved = checked_sensitivity(sensitivity)
        l2 = positive("sensitivity.l2", moved.l2)
        sigma = square_root_up(Fraction(l2) ** 2 / (2 * Fraction(most)))
        while math.isfinite(sigma) and GaussianProfile(divide_up(l2, sigma)).rho > most:
            sigma = math.nextafter(sigma, math.inf)
        if math.isinf(sigma):
            raise ParameterError(
                f"rho = {rho!r}: must be larger, as sigma would be beyond floats at sensitivity.l2 = {l2!r}"
            )
        return cls(sigma=sigma, sensitivity=moved, delta=delta)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the `GaussianProfile` at the L2 movement."""
        if moved.l2 == 0.0:
            return PerfectPrivacy()
        mu = divide_up(moved.l2, self.sigma)
        return unlimited_movement(moved) if math.isinf(mu) else GaussianProfile(mu)

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return value + noise, same shape."""
        return noise_source(noise).gaussian(np.asarray(value), self.sigma)

    @cached_property
    def _log_height(self) -> float:
        return -math.log(self.sigma) - _LOG_ROOT_2PI

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln density = -(output - value)² / 2σ² - ln(σ √2π), element by element."""
        standard: npt.NDArray[Any] = np.subtract(output, value) / self.sigma
        return np.asarray(self._log_height - 0.5 * standard * standard)
