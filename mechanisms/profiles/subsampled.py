"""Poisson subsampling: each record takes part independently with probability q; one is added, removed or zeroed out."""

from __future__ import annotations

import abc
import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import ROUNDING, PrivacyLoss, SampledPair
from mechanisms.numerics.log_sum import log_mixture
from mechanisms.numerics.rounding import multiply_up, up
from mechanisms.parameters import ParameterError, real
from mechanisms.profiles.privacy_profile import SMALLEST, BoundedCurve, OneRelation, PrivacyProfile
from mechanisms.profiles.related_profile import bare


class SampledProfile(OneRelation):
    """Base class of profiles on a sample: a bound where the base's is one, for one neighbouring relation alone."""

    base: PrivacyProfile
    bound = delegated("base.bound")


class BothDirections(BoundedCurve, OneRelation):
    """Base class of profiles with two directions, each composed by itself: δ is the larger of both."""

    @property
    @abc.abstractmethod
    def _sides(self) -> tuple[PrivacyProfile, PrivacyProfile]:
        """Return (removing a record or a group, adding it)."""

    @property
    def _removed(self) -> PrivacyProfile:
        return self._sides[0]

    @property
    def neighbouring(self) -> Neighbouring:
        """That of both."""
        return self._sides[0].neighbouring

    @property
    def bound(self) -> str:
        """Of the first that has one."""
        return self._sides[0].bound or self._sides[1].bound

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The larger of both."""
        one, two = (side.pure_epsilon for side in self._sides)
        return None if one is None or two is None else max(one, two)

    @property
    def infinite_mass(self) -> float:
        """The larger of both."""
        return max(side.infinite_mass for side in self._sides)

    @property
    def outdoes_its_curve(self) -> bool:
        """True if a direction does."""
        return any(side.outdoes_its_curve for side in self._sides)

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return (removing a record or a group, adding it)."""
        return self._sides

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the larger of both directions."""
        (low, high), (low_added, high_added) = (side.bounds(epsilon) for side in self._sides)
        return np.maximum(low, low_added), np.maximum(high, high_added)

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        return np.maximum(*(np.asarray(side._everywhere(epsilon)) for side in self._sides))


class OneDirection(OneRelation):
    """Base class of profiles of one direction: a record, or a group, is removed, or it is added."""

    added: bool

    @property
    def pair(self) -> SampledPair:
        """Pair of a Poisson sample."""
        return SampledPair.ADDED if self.added else SampledPair.REMOVED

    @property
    def symmetric(self) -> bool:
        """False: adding is another pair than removing."""
        return False

    def reversed(self) -> Self:
        """Return the other direction."""
        return dataclasses.replace(self, added=not self.added)  # type: ignore[type-var]


_FOR_REPLACING = (
    "base: is for 'replace one'; a Poisson sample needs the movement of a record that joins or leaves it, stated as "
    "RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)"
)


@dataclass(frozen=True)
class SubsampledDirection(OneDirection, SampledProfile):
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

    def __post_init__(self) -> None:
        if self.base.neighbouring is Neighbouring.REPLACE_ONE:
            raise ParameterError(_FOR_REPLACING)

    neighbouring = delegated("base.neighbouring")

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """ln(1-q + q e^ε) if removed, -ln(1-q + q e^{-ε}) if added, rounded up to a float."""
        largest = math.inf if self.base.pure_epsilon is None else up(self.base.pure_epsilon)
        if math.isinf(largest) and not self.added:
            return None
        side = -1.0 if self.added else 1.0
        size = side * float(log_mixture(self.rate, np.array(side * largest)))
        rounding = 4.0 * ROUNDING * max(2.0, abs(math.log(self.rate)))
        relative = size * (1.0 + 16.0 * ROUNDING)
        # Absolute where it cancels or e^largest is no float; a float further, for denormal numbers.
        cancels = self.rate > 0.5 and largest > 0.5
        absolute = rounding if cancels or (largest > 700.0 and not self.added) else 0.0
        return Fraction(math.nextafter(relative + absolute, math.inf))

    @property
    def infinite_mass(self) -> float:
        """Of the base times q if removed, rounded up; 0 if added."""
        return 0.0 if self.added else multiply_up(self.rate, self.base.infinite_mass)

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return those of the base, on the sample."""
        return tuple(SubsampledDirection(own, self.rate, self.added) for own in self.base.attained())

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss in this direction, if the base's is known."""
        own = self.base.loss()
        return None if own is None else own.on_sample(self.rate, self.pair)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the base's δ at both ends of the interval of its rounded argument, widest near a largest loss.

        Removed: x = (w-1)/q has a relative error of 4u, so ln(1+x) is off by 4u |x|/(1+x) and its own rounding. Added:
        the relative error of 1 - w(1-q) is 4u |ln(1-q)| / (-ε - ln(1-q)); δ increases with it.
        """
        q, unit = self.rate, 4.0 * ROUNDING
        at_most_one = np.minimum(1.0, -np.expm1(np.minimum(epsilon, 0.0)))
        if self.added:
            gap = -(epsilon + math.log1p(-q))
            inside = gap > 0.0
            keep = -np.expm1(-np.where(inside, gap, 1.0))
            off = unit * (2.0 + abs(math.log1p(-q)) / np.where(inside, gap, 1.0))
            at = math.log(q) + np.where(inside, epsilon, 0.0) - np.log(keep)
            rounding = unit * (1.0 + abs(math.log(q)) + np.abs(epsilon) + np.abs(at))
            low = _product(
                keep * np.maximum(0.0, 1.0 - off), self.base.bounds(at + 2.0 * off + rounding)[0], -1
            )
            high = _product(keep * (1.0 + off), self.base.bounds(at - 2.0 * off - rounding)[1], 1)
            low = np.where(inside & (off < 0.25), low, 0.0)
            # Where the distance is mostly rounding: δ at a distance that is larger for certain.
            far = -np.expm1(-np.maximum(gap + unit * (1.0 + abs(math.log1p(-q)) + np.abs(epsilon)), 0.0))
            high = np.where(inside & (off < 0.25), high, far)
        else:
            far = self._is_far(epsilon)
            x = np.maximum(np.expm1(np.where(far, 0.0, epsilon)) / q, -1.0)
            inside = x > -1.0
            at, base = self._argument(epsilon), np.where(inside, 1.0 + x, 1.0)
            off = np.where(far, unit * (np.abs(epsilon) + abs(math.log(q)) + 2.0), unit * np.abs(x) / base)
            off = off + unit * (np.abs(at) + 1.0)
            low = np.where(inside, _product(q, self.base.bounds(at + off)[0], -1), 0.0)
            high = np.where(inside, _product(q, self.base.bounds(at - off)[1], 1), at_most_one)
        low = np.maximum(low * (1.0 - unit), at_most_one * (1.0 - unit))
        return low, np.minimum(1.0, np.maximum(high, at_most_one) * (1.0 + unit))

    def _is_far(self, epsilon: FloatArray) -> npt.NDArray[np.bool_]:
        """Return True where (w - 1)/q may be beyond floats."""
        return np.asarray(epsilon > min(30.0, 1e290 * self.rate))

    def _argument(self, epsilon: FloatArray) -> FloatArray:
        """Return ln((w - 1 + q)/q) for a removed record, where it is defined."""
        q = self.rate
        # ln(1 + (w-1)/q), and ε - ln q + ln(1 - (1-q)/w) for large ε
        safe = np.where(epsilon > math.log1p(-q), epsilon, 1.0)
        apart = self._is_far(safe)
        near = np.log1p(np.maximum(np.expm1(np.where(apart, 0.0, safe)) / q, -1.0 + 1e-16))
        w = np.exp(-np.where(apart, safe, 1.0))
        far = safe - math.log(q) + np.log(-np.expm1(-np.where(apart, safe, 1.0)) + q * w)
        return np.where(apart, far, near)

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
        return np.where(
            inside, q * self.base.delta(self._argument(epsilon)), -np.expm1(np.minimum(epsilon, 0.0))
        )


@dataclass(frozen=True)
class SubsampledProfile(BothDirections, SampledProfile):
    """Profile of a mechanism run on a Poisson subsample, for adding, removing or zeroing out one record.

    The sample must be secret and fresh for this one release. δ is the larger of both directions; a composition composes
    each direction by itself (`directions`) and takes the larger at the end.

    *Proved* for adding or removing, for every base (Zhu, Dong, Wang 2022, Thm 11). *Zeroing out*: on a sample without
    the record both data sets give the same, Q; on one with it they give P and, as a null record contributes nothing and
    the size of the sample is not used, Q again. So the pairs are the same. *Attained* if the base pair is, by one
    direction; the larger of both composed directions is the worst case of fixed data sets (for adding or removing
    adaptively, each direction is by itself the product of its pairs).

    Parameters
    ----------
    base : PrivacyProfile
        Profile on the sample, stated for adding or removing, or for zeroing out, a record of it; the same in both
        directions. Of replacing a record: see `PoissonReplacedProfile`.
    rate : float
        Sampling rate q in (0, 1); at 1 use the base itself (see `sampled`).

    Raises
    ------
    ParameterError
        If the base is stated for replacing a record, is sampled already, or the rate is not in (0, 1).
    """

    base: PrivacyProfile
    rate: float

    def __post_init__(self) -> None:
        check_sampled(self.base, self.rate)
        if self.base.neighbouring is Neighbouring.REPLACE_ONE:
            raise ParameterError(_FOR_REPLACING)

    @cached_property
    def _sides(self) -> tuple[SubsampledDirection, SubsampledDirection]:
        removed = SubsampledDirection(self.base, self.rate, False)
        return removed, removed.reversed()


def _product(factor: float | FloatArray, deltas: FloatArray, side: int) -> FloatArray:
    """Return products, moved to a side by the rounding error of a number below the smallest normal float."""
    return np.where(deltas > 0.0, np.maximum(0.0, factor * deltas + side * SMALLEST), 0.0)


def check_sampled(base: PrivacyProfile, rate: float) -> None:
    """Refuse a rate outside (0, 1) or next to no loss, and a base that is sampled already or not symmetric.

    Raises
    ------
    ParameterError
        The same.
    """
    if not 0.0 < real("sampling rate", rate) < 1.0:
        raise ParameterError(f"sampling rate = {rate!r}: must lie in (0, 1)")
    if len(bare(base).statable) < len(Neighbouring):
        raise ParameterError(
            "base: must be a curve of a known movement, not one that is already subsampled or converted"
        )
    largest = base.pure_epsilon
    if largest is not None and largest > 0 and float(largest) * rate < 1e-290:
        raise ParameterError(
            f"sampling rate = {rate!r}: times the base's largest loss, {float(largest)!r}, must be at least 1e-290"
        )
    if not base.symmetric:
        raise ParameterError("base: must have the same loss in both directions; see AtomicProfile.symmetric")
