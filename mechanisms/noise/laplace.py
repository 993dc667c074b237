"""The Laplace mechanism and its exact privacy profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.mechanism import BuiltInMechanism, checked_sensitivity, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.rounding import up
from mechanisms.parameters import positive
from mechanisms.profiles.bounding_profiles import PerfectPrivacy, unlimited_movement
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile


def scale_for_epsilon(epsilon: float | Fraction, l1: float) -> float:
    """Return the smallest float scale with l1 / scale <= epsilon in exact arithmetic."""
    number = positive("epsilon", epsilon)
    exact = epsilon if isinstance(epsilon, Fraction) else Fraction(number)
    scale = up(Fraction(positive("sensitivity.l1", l1)) / exact)
    return positive("sensitivity.l1 / epsilon", scale)


@register
@dataclass(frozen=True, kw_only=True)
class Laplace(BuiltInMechanism):
    """Add independent Laplace noise of the given scale (standard deviation √2·scale) to every coordinate.

    Dwork, McSherry, Nissim, Smith 2006, "Calibrating noise to sensitivity in private data analysis".

    Parameters
    ----------
    scale : float
        Positive and finite.
    sensitivity : Sensitivity
        The largest movement the noise is calibrated for, a number for one value; ε = sensitivity.l1 / scale.

    Raises
    ------
    ParameterError
        If the scale is not positive and finite.

    Examples
    --------
    >>> Laplace(scale=4.0, sensitivity=Sensitivity.of_box([1.0] * 4)).epsilon
    1.0
    """

    scale: float
    sensitivity: Sensitivity = UNIT

    log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))

    @classmethod
    def for_epsilon(cls, epsilon: float | Fraction, *, sensitivity: Sensitivity | float) -> Laplace:
        """Return the mechanism with the least noise that is ε-DP: scale = l1 / ε, rounded up.

        Raises
        ------
        ParameterError
            If epsilon or sensitivity.l1 is not positive and finite.
        """
        moved = checked_sensitivity(sensitivity)
        return cls(scale=scale_for_epsilon(epsilon, moved.l1), sensitivity=moved)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the `LaplaceProfile` at the L1 movement."""
        if moved.l1 == 0.0:
            return PerfectPrivacy()
        if math.isinf(moved.l1):
            return unlimited_movement(moved)
        bound = "" if moved.moves_one_coordinate else "one coordinate moving by the whole of l1"
        return LaplaceProfile(moved.l1, self.scale, bound)

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return value + noise, same shape."""
        return noise_source(noise).laplace(np.asarray(value), self.scale)

    @cached_property
    def _log_height(self) -> float:
        return -math.log(2.0 * self.scale)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln density = -|output - value| / scale - ln(2 scale), element by element."""
        distance: npt.NDArray[Any] = np.abs(np.subtract(output, value))
        return np.asarray(self._log_height - distance / self.scale)
