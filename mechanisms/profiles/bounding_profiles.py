"""Profiles that follow from a privacy parameter alone: certified for every mechanism that satisfies it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.losses.atomic_loss import NO_LOSS
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.rounding import Ceiling
from mechanisms.parameters import check_largest_loss, finite_nonnegative, half_open_unit
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile

BASIC = "basic composition"


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
    """Profile without a guarantee: δ(ε) = 1 for every ε, also at infinity, as outputs may identify the data set.

    Parameters
    ----------
    bound
        Why no guarantee is known, where that is all that is known: then nothing is known of a lower end. Empty where
        outputs identify the data set.
    """

    bound: str = ""

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


def unlimited_movement(moved: Sensitivity) -> NoPrivacy:
    """Return the profile where a norm of the movement is infinite: exact if one coordinate moves without limit.

    Else the norm says only that the number of coordinates that move is unknown, or that a quotient is beyond floats.
    """
    return NoPrivacy("" if math.isinf(moved.linf) else "no limit of the movement is known")


def total_variation_at_most(divergence: float | FloatArray) -> FloatArray:
    """Return a bound on δ(0) from the Kullback-Leibler divergence D, or one above it: √(D/2), and √(1 - e^{-D}).

    Pinsker's inequality, and Bretagnolle & Huber 1979. No δ(ε) with ε >= 0 is above δ(0).
    """
    root = np.sqrt(divergence)  # of D, as half of the smallest float is none
    return np.asarray(np.minimum(math.sqrt(0.5) * root, np.sqrt(-np.expm1(-root * root))) * (1.0 + 2e-15))


def _response_curve(epsilon: Fraction, x: FloatArray) -> FloatArray:
    """δ(x) = (1 - e^{x-ε}) / (1 + e^{-ε}) for 0 <= x <= ε, and 0 above."""
    gap = np.maximum(Ceiling.from_fraction(epsilon).gap(x), 0.0)
    return -np.expm1(-gap) / (1.0 + math.exp(-float(epsilon)))


@dataclass(frozen=True)
class EpsilonBound(PrivacyProfile):
    """Base class of bounds that follow from the largest of some losses.

    Parameters
    ----------
    epsilon_bound : Fraction (or a float or int, taken exactly)
        Nonnegative and finite.
    """

    epsilon_bound: Fraction

    def __post_init__(self) -> None:
        finite_nonnegative("epsilon", self.epsilon_bound)
        object.__setattr__(self, "epsilon_bound", Fraction(self.epsilon_bound))
        check_largest_loss("epsilon", self.epsilon_bound)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The ε it was built from."""
        return self.epsilon_bound


@dataclass(frozen=True)
class PureProfile(EpsilonBound):
    """Bound for any ε-DP mechanism: it is dominated by binary randomized response.

    Kairouz, Oh, Viswanath 2015, "The composition theorem for differential privacy", Thm 3.3 / Sec. 6.1.

    Parameters
    ----------
    epsilon_bound : Fraction (or a float or int, taken exactly)
        Nonnegative and finite.
    """

    bound: str = "pure differential privacy"

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
    return AtomicProfile((epsilon, -epsilon), (keep, keep * small), delta, bound, rounding, mirrored=True)


@dataclass(frozen=True)
class ApproximateProfile(EpsilonBound):
    """Bound for any (ε, δ)-DP mechanism: δ(x) = δ + (1 - δ) · (that of ε-randomized response at x)."""

    delta_bound: float
    bound: str = "approximate differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delta_bound", half_open_unit("delta", self.delta_bound))

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


@dataclass(frozen=True)
class ZeroConcentratedProfile(PrivacyProfile):
    """Bound for any ρ-zCDP mechanism (Canonne, Kamath, Steinke 2020, Cor. 13).

    δ(ε) = inf_{α>1} exp((α-1)(αρ - ε)) / (α-1) · (1 - 1/α)^α. Any α gives a valid bound; the best is
    the root of (2α-1)ρ - ε + ln(1 - 1/α), which increases in α. Near ε = 0 the total variation says more, and as the
    true curve is convex in e^ε it lies below every chord from there (`total_variation_at_most`; D_1 <= ρ).
    """

    rho_bound: float
    bound: str = "zero-concentrated differential privacy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho_bound", finite_nonnegative("rho", self.rho_bound))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None, except 0 for rho = 0."""
        return None if self.rho_bound else Fraction(0)

    @property
    def rho(self) -> float:
        """The ρ it was built from."""
        return self.rho_bound

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if self.rho_bound == 0.0:
            return np.zeros_like(epsilon)
        last, slope = self._chord
        top = float(total_variation_at_most(self.rho_bound))
        near = epsilon < last
        chord = top + slope * np.expm1(np.where(near, epsilon, 0.0))
        return np.where(near, np.minimum(chord, top), np.minimum(self._by_orders(epsilon), top))

    @cached_property
    def _chord(self) -> tuple[float, float]:
        """Return ε where the chord from the total variation ends that falls most, and its slope in e^ε."""
        top = float(total_variation_at_most(self.rho_bound))
        size = math.sqrt(2.0 * self.rho_bound)
        ends = np.minimum(np.geomspace(0.05, 6.0, 64) * size + min(self.rho_bound, 1.0), 50.0)
        slopes = (self._by_orders(ends) * (1.0 + 1e-12) - top) / np.expm1(ends)
        best = int(np.argmin(slopes))
        return (float(ends[best]), float(slopes[best]) * (1.0 - 1e-14)) if slopes[best] < 0.0 else (0.0, 0.0)

    def _by_orders(self, epsilon: FloatArray) -> FloatArray:
        rho = self.rho_bound
        epsilon = np.minimum(epsilon, 1e100)  # keeps the arithmetic finite; δ falls with ε
        # Newton's steps, or bisection, on t = ln(α - 1); ln(1 - 1/α) = -ln(1 + e^{-t}). At t = high =
        # ln((ε + 1) / 2ρ + 2) the slope is positive; larger α than floats hold are of no use.
        low = np.full(epsilon.shape, -750.0)
        highest = np.logaddexp(np.log(epsilon + 1.0) - math.log(2.0) - math.log(rho), math.log(2.0))
        high = np.minimum(highest, 700.0)
        # About where 2aρ - ε = 1/a.
        start = 0.25 * (epsilon + np.hypot(epsilon, math.sqrt(8.0) * math.sqrt(rho)))
        t = np.clip(np.log(start) - math.log(rho), low, high)
        for _ in range(70):
            a = np.exp(t)
            slope = (2.0 * a + 1.0) * rho - epsilon - np.logaddexp(0.0, -t)
            low, high = np.where(slope > 0.0, low, t), np.where(slope > 0.0, t, high)
            new = t - slope / (2.0 * a * rho + 1.0 / (1.0 + a))
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))  # `t` is one of both
            near = np.abs(new - t) <= 1e-10  # δ is least there, and changes with the square
            t = new
            if near.all():
                break
        a = np.exp(t)
        # ln of the bound at this α = 1 + a, in parts that are no differences of large numbers: their errors are
        # relative to ε²/ρ, 1 and ln α, however small ρ is.
        with np.errstate(over="ignore"):
            exponent = a * ((a + 1.0) * rho - epsilon) - a * np.logaddexp(0.0, -t) - np.log1p(a)
        return np.asarray(np.exp(np.minimum(exponent, 0.0)))
