"""Profiles that follow from a privacy parameter alone: certified for every mechanism that satisfies it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.atomic import AtomicProfile
from mechanisms.atomic_loss import NO_LOSS
from mechanisms.neighbouring import Neighbouring, common_neighbouring
from mechanisms.parameters import ParameterError, check_largest_loss, delta_of_approximate, nonnegative
from mechanisms.privacy_loss import PrivacyLoss
from mechanisms.profile import PrivacyProfile
from mechanisms.rounding import Ceiling, add_up

BASIC = "basic composition"
_SPLITS = 65


@dataclass(frozen=True)
class PerfectPrivacy(PrivacyProfile):
    """The output does not depend on the data: δ(ε) = max(0, 1 - e^ε)."""

    @property
    def pure_epsilon(self) -> Fraction:
        """0."""
        return Fraction(0)

    def loss(self) -> PrivacyLoss:
        """Return 0."""
        return NO_LOSS

    @property
    def rho(self) -> float:
        """0."""
        return 0.0

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return np.zeros_like(epsilon)


@dataclass(frozen=True)
class NoPrivacy(PrivacyProfile):
    """The output may tell the data sets apart with certainty: δ(ε) = 1 for every ε, also at infinity."""

    @property
    def pure_epsilon(self) -> None:
        """None: the loss is infinite."""
        return None

    @property
    def infinite_mass(self) -> float:
        """1."""
        return 1.0

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return np.ones_like(epsilon)


def _response_curve(epsilon: Fraction, x: FloatArray) -> FloatArray:
    """δ(x) = (1 - e^{x-ε}) / (1 + e^{-ε}) for 0 <= x <= ε, and 0 above."""
    gap = np.maximum(Ceiling.of(epsilon).gap(x), 0.0)
    return -np.expm1(-gap) / (1.0 + math.exp(-float(epsilon)))


@dataclass(frozen=True)
class PureProfile(PrivacyProfile):
    """Bound for any ε-DP mechanism: it is dominated by binary randomized response.

    Kairouz, Oh, Viswanath 2015, "The composition theorem for differential privacy", Thm 3.3 / Sec. 6.1.

    Parameters
    ----------
    epsilon_bound : Fraction (or a float or int, taken exactly)
        Nonnegative and finite.
    """

    epsilon_bound: Fraction
    bound: str = "pure differential privacy"

    def __post_init__(self) -> None:
        size = nonnegative("epsilon", self.epsilon_bound)
        if math.isinf(size):
            raise ParameterError("epsilon = inf: must be finite")
        object.__setattr__(self, "epsilon_bound", Fraction(self.epsilon_bound))
        check_largest_loss("epsilon", self.epsilon_bound)

    @property
    def pure_epsilon(self) -> Fraction:
        """The ε it was built from."""
        return self.epsilon_bound

    def loss(self) -> PrivacyLoss | None:
        """Return the loss of binary randomized response."""
        return response_atoms(self.epsilon_bound, 0.0, self.bound).loss() if self.epsilon_bound else NO_LOSS

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return _response_curve(self.epsilon_bound, epsilon)

    @property
    def relative_error(self) -> float:
        """4e-15: a distance, an exponential, a quotient."""
        return 4e-15


def response_atoms(epsilon: Fraction, delta: float, bound: str) -> AtomicProfile:
    """Return the loss distribution that dominates every (ε, δ)-DP mechanism.

    Loss ∞ with probability δ, ±ε with (1 - δ) e^{±ε/2} / (e^{ε/2} + e^{-ε/2}): Kairouz, Oh, Viswanath
    2015, Sec. 6.1.
    """
    small = math.exp(-float(epsilon))
    keep = (1.0 - delta) / (1.0 + small)
    rounding = 2.0**-53 * (12.0 + 2.0 * min(float(epsilon), 746.0))  # beyond e^{-ε} is 0, or as good as that
    return AtomicProfile((epsilon, -epsilon), (keep, keep * small), delta, bound, rounding)


@dataclass(frozen=True)
class ApproximateProfile(PrivacyProfile):
    """Bound for any (ε, δ)-DP mechanism: δ(x) = δ + (1 - δ) · (that of ε-randomized response at x)."""

    epsilon_bound: Fraction
    delta_bound: float
    bound: str = "approximate differential privacy"

    def __post_init__(self) -> None:
        size = nonnegative("epsilon", self.epsilon_bound)
        if math.isinf(size):
            raise ParameterError("epsilon = inf: must be finite")
        object.__setattr__(self, "epsilon_bound", Fraction(self.epsilon_bound))
        check_largest_loss("epsilon", self.epsilon_bound)
        object.__setattr__(self, "delta_bound", delta_of_approximate("delta", self.delta_bound))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Epsilon if delta is 0, else None."""
        return None if self.delta_bound else self.epsilon_bound

    @property
    def infinite_mass(self) -> float:
        """Delta."""
        return self.delta_bound

    @property
    def largest_finite(self) -> Fraction:
        """Epsilon."""
        return self.epsilon_bound

    def atoms(self) -> AtomicProfile:
        """Return the loss distribution that dominates every (ε, δ)-DP mechanism."""
        return response_atoms(self.epsilon_bound, self.delta_bound, self.bound)

    @property
    def relative_error(self) -> float:
        """4e-15: a distance, an exponential, a quotient, a sum."""
        return 4e-15

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self.delta_bound + (1.0 - self.delta_bound) * _response_curve(self.epsilon_bound, epsilon)

    def _composed_closed(self, other: PrivacyProfile) -> PrivacyProfile | None:
        if not isinstance(other, ApproximateProfile):
            return None
        delta = add_up(self.delta_bound, other.delta_bound)
        if delta >= 1.0:
            return NoPrivacy()
        return ApproximateProfile(self.epsilon_bound + other.epsilon_bound, delta, BASIC)


@dataclass(frozen=True)
class ZeroConcentratedProfile(PrivacyProfile):
    """Bound for any ρ-zCDP mechanism (Canonne, Kamath, Steinke 2020, Cor. 13).

    δ(ε) = inf_{α>1} exp((α-1)(αρ - ε)) / (α-1) · (1 - 1/α)^α. Any α gives a valid bound; the best is
    the root of (2α-1)ρ - ε + ln(1 - 1/α), which increases in α.
    """

    rho_bound: float
    bound: str = "zero-concentrated differential privacy"

    def __post_init__(self) -> None:
        size = nonnegative("rho", self.rho_bound)
        if math.isinf(size):
            raise ParameterError("rho = inf: must be finite")
        object.__setattr__(self, "rho_bound", size)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None, except 0 for rho = 0."""
        return None if self.rho_bound else Fraction(0)

    @property
    def rho(self) -> float:
        """The ρ it was built from."""
        return self.rho_bound

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        rho = self.rho_bound
        if rho == 0.0:
            return np.zeros_like(epsilon)
        epsilon = np.minimum(epsilon, 1e100)  # keeps the arithmetic finite; δ falls with ε
        # Bisection on t = ln(α - 1); ln(1 - 1/α) = -ln(1 + e^{-t}). At t = high = ln((ε + 1) / 2ρ + 2) the slope is
        # positive; larger α than floats hold serve nobody.
        low = np.full(epsilon.shape, -750.0)
        highest = np.logaddexp(np.log(epsilon + 1.0) - math.log(2.0) - math.log(rho), math.log(2.0))
        high = np.minimum(highest, 700.0)
        for _ in range(70):
            t = 0.5 * (low + high)
            rising = (2.0 * np.exp(t) + 1.0) * rho - epsilon - np.logaddexp(0.0, -t) > 0.0
            low, high = np.where(rising, low, t), np.where(rising, t, high)
        t = 0.5 * (low + high)
        a = np.exp(t)
        # ln of the bound at this α = 1 + a, in parts that are no differences of large numbers: their errors are
        # relative to ε²/ρ, 1 and ln α, however small ρ is.
        with np.errstate(over="ignore"):
            exponent = a * ((a + 1.0) * rho - epsilon) - a * np.logaddexp(0.0, -t) - np.log1p(a)
        return np.asarray(np.exp(np.minimum(exponent, 0.0)))

    def _composed_closed(self, other: PrivacyProfile) -> PrivacyProfile | None:
        if not isinstance(other, ZeroConcentratedProfile):
            return None
        return ZeroConcentratedProfile(add_up(self.rho_bound, other.rho_bound))


@dataclass(frozen=True)
class BasicCompositionProfile(PrivacyProfile):
    """Bound for two mechanisms of which only the curves are known.

    δ(ε) <= δ₁(ε₁) + δ₂(ε - ε₁) for every split (Dwork & Lei 2009; holds for adaptive use), the least over
    65 splits of [0, ε]. Where parts are such compositions, each is split for every split of the whole: beyond two
    levels fewer are tried, the even one among them, so that no more than about 65² meet at a part.
    """

    first: PrivacyProfile
    second: PrivacyProfile
    bound: str = field(default=BASIC)

    def __post_init__(self) -> None:
        common_neighbouring((self.first, self.second))

    @property
    def neighbouring(self) -> Neighbouring:
        """Of both."""
        return self.first.neighbouring

    @cached_property  # of repetitions both parts are one: asked twice on every level, they would answer 2^levels times
    def statable(self) -> frozenset[Neighbouring]:
        """Those of both."""
        return self.first.statable & self.second.statable

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of both; None if one is unbounded."""
        one, two = self.first.pure_epsilon, self.second.pure_epsilon
        return None if one is None or two is None else one + two

    @cached_property
    def _mass(self) -> float:
        return min(1.0, add_up(self.first.infinite_mass, self.second.infinite_mass))

    @property
    def infinite_mass(self) -> float:
        """The sum of both, at most 1."""
        return self._mass

    @cached_property
    def _levels(self) -> int:
        """How deep such compositions are nested."""
        parts = (self.first, self.second)
        return 1 + max(part._levels if isinstance(part, BasicCompositionProfile) else 0 for part in parts)

    @cached_property
    def _size(self) -> int:
        """How many profiles are composed."""
        return _parts_of(self.first) + _parts_of(self.second)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._least(epsilon, _SPLITS if self._levels <= 2 else int(_SPLITS ** (2.0 / self._levels)))

    def _least(self, epsilon: FloatArray, splits: int) -> FloatArray:
        """Return the least sum over so many splits on every level; of fewer than 3, over the even one alone."""
        even = _parts_of(self.first) / self._size
        if splits < 3 and self.first is self.second:  # as repetitions are, level by level
            return 2.0 * _delta_of(self.first, epsilon * even, splits)
        tried = np.linspace(0.0, 1.0, splits) if splits == _SPLITS else np.array([even])
        if 3 <= splits < _SPLITS:
            tried = np.union1d(tried, np.linspace(0.0, 1.0, splits - 1))
        first = epsilon * tried.reshape(-1, *([1] * epsilon.ndim))
        sums = _delta_of(self.first, first, splits) + _delta_of(self.second, epsilon - first, splits)
        return np.asarray(np.min(sums, axis=0))


def _parts_of(profile: PrivacyProfile) -> int:
    return profile._size if isinstance(profile, BasicCompositionProfile) else 1


def _delta_of(profile: PrivacyProfile, epsilon: FloatArray, splits: int) -> FloatArray:
    if isinstance(profile, BasicCompositionProfile):
        return profile._least(epsilon, splits)
    return profile.delta(epsilon)
