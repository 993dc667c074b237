"""Poisson subsampling: each record takes part with probability q, independently of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError, real
from mechanisms.privacy_loss import PrivacyLoss
from mechanisms.profile import PrivacyProfile
from mechanisms.rounding import up


@dataclass(frozen=True)
class SubsampledDirection(PrivacyProfile):
    """One direction of a Poisson-subsampled mechanism, for every real ε.

    The pair is ((1-q) Q + q P, Q) if a record is removed and (Q, (1-q) Q + q P) if one is added, (P, Q) the
    base pair (Zhu, Dong, Wang 2022, "Optimal accounting of differential privacy via characteristic
    function", Thm 11; the neighbouring relation is adding or removing a record). With w = e^ε:

        removed: δ(ε) = q δ_base(ln((w - 1 + q) / q)) for w > 1 - q, else 1 - w,
        added:   δ(ε) = (1 - w(1-q)) δ_base(ln(qw / (1 - w(1-q)))) for w(1-q) < 1, else 0.
    """

    base: PrivacyProfile
    rate: float
    added: bool

    @property
    def bound(self) -> str:
        """The base's."""
        return self.base.bound

    @cached_property
    def _largest(self) -> Fraction | None:
        if self.added:
            low = math.inf if self.base.pure_epsilon is None else up(self.base.pure_epsilon)
            size = -math.log1p(self.rate * math.expm1(-low))
        elif self.base.pure_epsilon is None:
            return None
        else:
            high = up(self.base.pure_epsilon)
            near = math.log1p(self.rate * math.expm1(min(high, 30.0)))
            far = high + math.log(self.rate + (1.0 - self.rate) * math.exp(-high))
            size = near if high < 30.0 else far
        return Fraction(size * (1.0 + 1e-15))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """ln(1-q + q e^ε) if removed, -ln(1-q + q e^{-ε}) if added, rounded up to a float."""
        return self._largest

    @property
    def infinite_mass(self) -> float:
        """Of the base times q if removed, 0 if added."""
        return 0.0 if self.added else self.rate * self.base.infinite_mass

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss in this direction, if the base's is known."""
        own = self.base.loss()
        return None if own is None else own.subsampled(self.rate, self.added)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._everywhere(epsilon)

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        q = self.rate
        if self.added:
            keep = -np.expm1(np.minimum(epsilon + math.log1p(-q), 0.0))  # 1 - w(1-q)
            inside = keep > 0.0
            at = math.log(q) + np.where(inside, epsilon, 0.0) - np.log(np.where(inside, keep, 1.0))
            return np.where(inside, keep * self.base.delta(at), 0.0)
        inside = epsilon > math.log1p(-q)
        safe = np.where(inside, epsilon, 1.0)
        # ln((w - 1 + q)/q) = ln(1 + (w-1)/q), and ε - ln q + ln(1 - (1-q)/w) for large ε
        near = np.log1p(np.maximum(np.expm1(np.minimum(safe, 30.0)) / q, -1.0 + 1e-300))
        far = safe - math.log(q) + np.log1p(-(1.0 - q) * np.exp(-np.maximum(safe, 30.0)))
        at = np.where(safe > 30.0, far, near)
        return np.where(inside, q * self.base.delta(at), -np.expm1(np.minimum(epsilon, 0.0)))


@dataclass(frozen=True)
class SubsampledProfile(PrivacyProfile):
    """Profile of a mechanism run on a Poisson subsample, for adding or removing one record.

    The base profile must be the one for adding or removing a record, and the sample must be secret and
    fresh for this one release. δ is the larger of both directions; a composition composes each direction
    by itself (`directions`) and takes the larger at the end.

    Parameters
    ----------
    base : PrivacyProfile
        Profile on the sample, the same in both directions.
    rate : float
        Sampling rate q in (0, 1); at 1 use the base itself (see `subsampled`).
    """

    base: PrivacyProfile
    rate: float

    def __post_init__(self) -> None:
        if not 0.0 < real("sampling rate", self.rate) < 1.0:
            raise ParameterError(f"sampling rate = {self.rate!r}: must lie in (0, 1)")
        if len(self.base.directions()) != 1:
            raise ParameterError(
                "base: no theorem here for subsampling a mechanism that is already subsampled"
            )

    @property
    def bound(self) -> str:
        """The base's."""
        return self.base.bound

    @cached_property
    def _sides(self) -> tuple[SubsampledDirection, SubsampledDirection]:
        return (
            SubsampledDirection(self.base, self.rate, False),
            SubsampledDirection(self.base, self.rate, True),
        )

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return (removing a record, adding a record)."""
        return self._sides

    @property
    def pure_epsilon(self) -> Fraction | None:
        """ln(1-q + q e^ε) (the other direction's largest loss is smaller), rounded up."""
        return self._sides[0].pure_epsilon

    @property
    def infinite_mass(self) -> float:
        """Of the base times q."""
        return self._sides[0].infinite_mass

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._everywhere(epsilon)

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        return np.maximum(*(np.asarray(side._everywhere(epsilon)) for side in self._sides))


def subsampled(profile: PrivacyProfile, rate: float) -> PrivacyProfile:
    """Return the profile on a Poisson subsample of rate in (0, 1]; rate 1 is no subsampling.

    Raises
    ------
    ParameterError
        If the rate is outside (0, 1], or the profile is already subsampled.
    """
    return profile if real("sampling rate", rate) == 1.0 else SubsampledProfile(profile, rate)
