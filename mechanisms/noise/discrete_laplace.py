"""The discrete Laplace (two-sided geometric) mechanism and its privacy profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.laplace import scale_for_epsilon
from mechanisms.noise.mechanism import BuiltInMechanism, checked_whole_sensitivity, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.rounding import Ceiling, product_gap, up
from mechanisms.parameters import DomainError, check_largest_loss, positive, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.bounding_profiles import PerfectPrivacy, PureProfile, unlimited_movement
from mechanisms.profiles.privacy_profile import PrivacyProfile

_MOST_ATOMS = 10_000


@dataclass(frozen=True)
class DiscreteLaplaceProfile(PrivacyProfile):
    """Exact profile of discrete Laplace(scale) noise on a whole number that moves by ``shift``.

    With a = e^{-1/scale}: under P the noise k is <= 0 with probability 1/(1+a), equals k in 1 .. s-1 with
    probability a^k (1-a)/(1+a), and is >= s with probability a^s/(1+a); the loss there is s/scale,
    (s - 2k)/scale and -s/scale. The output clipped to 0 .. s is a sufficient statistic.

    Parameters
    ----------
    shift : int
        Nonnegative.
    scale : float
        Positive and finite.
    """

    shift: int
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", whole_number("shift", self.shift, least=0, bits=1023))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        check_largest_loss("shift / scale", self.pure_epsilon)

    @property
    def pure_epsilon(self) -> Fraction:
        """Shift / scale, exactly."""
        return Fraction(self.shift) / Fraction(self.scale)

    def atoms(self) -> AtomicProfile | None:
        """Return the loss distribution (shift + 1 atoms), or None for shifts above 10,000."""
        s = self.shift
        if s > _MOST_ATOMS:
            return None
        if s == 0:
            return AtomicProfile((Fraction(0),), (1.0,), mirrored=True)
        exact = Fraction(self.scale)
        a = math.exp(-1.0 / self.scale)
        inner = -math.expm1(-1.0 / self.scale) / (1.0 + a)
        probabilities = [inner * math.exp(-k / self.scale) for k in range(s + 1)]
        probabilities[0] = 1.0 / (1.0 + a)
        probabilities[s] = math.exp(-s / self.scale) / (1.0 + a)
        losses = tuple((s - 2 * k) / exact for k in range(s + 1))
        return AtomicProfile(
            losses,
            tuple(probabilities),
            relative_rounding=2.0**-53 * (20.0 + 3.0 * s / self.scale),
            mirrored=True,
        )

    @property
    def relative_error(self) -> float:
        """6e-15; see `_curve`."""
        return 6e-15

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        # With u = (s - scale x)/2 the loss exceeds x exactly at noise k <= m = ⌈u⌉ - 1, and
        # (1 + a) δ(x) = (1 - a^{2u-m}) + a (1 - a^m), both terms nonnegative: relative error 30u, if u has 4u.
        # Between one m and the next the formula is continuous, so it does not matter where u is rounded to.
        b = self.scale
        below = np.minimum(epsilon, up(self.pure_epsilon))
        u = 0.5 * np.maximum(product_gap(Ceiling.from_fraction(Fraction(self.shift)), b, below), 0.0)
        m = np.maximum(np.ceil(u) - 1.0, 0.0)
        a = math.exp(-1.0 / b)
        with np.errstate(over="ignore"):  # e^{-inf} is 0
            return np.asarray((-np.expm1(-(2.0 * u - m) / b) - a * np.expm1(-m / b)) / (1.0 + a))


def log_probability_of_whole(log_probability: FloatArray, step: npt.NDArray[Any]) -> FloatArray:
    """Return the log probability where ``step`` is a whole number, -inf elsewhere."""
    if step.dtype.kind in "iu":
        return log_probability
    return np.where(step == np.rint(step), log_probability, -np.inf)


@register
@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(BuiltInMechanism):
    """Add independent discrete Laplace noise, P(k) ∝ exp(-|k|/scale), to whole numbers.

    Ghosh, Roughgarden, Sundararajan 2012, "Universally utility-maximizing privacy mechanisms".

    Parameters
    ----------
    scale : float
        Positive and finite; ε = ⌊sensitivity.l1⌋ / scale.
    sensitivity : Sensitivity
        The largest movement the noise is calibrated for (whole numbers move by whole numbers).

    Raises
    ------
    ParameterError
        If the scale is not positive and finite, or a norm of the sensitivity lies strictly between 0 and 1.
    """

    scale: float
    sensitivity: Sensitivity = UNIT

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "sensitivity", checked_whole_sensitivity(self.sensitivity))

    @classmethod
    def for_epsilon(cls, epsilon: float | Fraction, *, sensitivity: Sensitivity | float) -> DiscreteLaplace:
        """Return the mechanism with the least noise that is ε-DP: scale = l1 / ε, rounded up.

        Raises
        ------
        ParameterError
            If epsilon or sensitivity.l1 is not positive and finite.
        """
        moved = checked_whole_sensitivity(sensitivity)
        return cls(scale=scale_for_epsilon(epsilon, moved.l1), sensitivity=moved)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the profile at the L1 movement.

        Exact when one coordinate makes the whole movement (l1 = linf). Else the certified `PureProfile`:
        on the lattice no convexity argument shows which movement is worst.
        """
        if moved.l1 < 1.0:
            return PerfectPrivacy()
        if math.isinf(moved.l1):
            return unlimited_movement(moved)
        shift = math.floor(moved.l1)
        if moved.moves_one_coordinate:
            return DiscreteLaplaceProfile(shift, self.scale)
        return PureProfile(Fraction(shift) / Fraction(self.scale))

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
        return noise_source(noise).discrete_laplace(whole_values(value), self.scale)

    @cached_property
    def _log_height(self) -> float:
        # ln tanh(1 / 2 scale) = ln (1 - a) / (1 + a)
        return math.log(-math.expm1(-1.0 / self.scale)) - math.log1p(math.exp(-1.0 / self.scale))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln probability = -|output - value| / scale + ln((1-a)/(1+a)); -inf off the whole numbers."""
        step: npt.NDArray[Any] = np.asarray(np.subtract(output, value))
        return log_probability_of_whole(np.asarray(self._log_height - np.abs(step) / self.scale), step)


def whole_values(value: npt.ArrayLike) -> IntArray:
    """Return an array of integer type; raise `DomainError` for any other."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise DomainError(f"value has dtype {array.dtype}: must be of an integer type")
    return array
