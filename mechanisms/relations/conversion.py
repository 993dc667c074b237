"""Conversions between neighbouring relations, each with its proof; a caller asks for each explicitly.

====================  ==================  ==============================================================
from                  to                  conditions
====================  ==================  ==============================================================
add or remove one     replace one         nothing: a group of two, `GroupOfTwoProfile`
replace one           zero out            the null record lies in the domain
zero out              add or remove one   the query ignores null records, and uses no number of records
====================  ==================  ==============================================================

Others are refused. In particular a curve for replacing a record is no bound for adding one (the number of records may
be released as it is), and one for adding or removing is none for a null record that the query does not ignore.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.amplification.sampled_group import PoissonReplacedProfile, SampledGroupProfile, has_pair
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_profile import ComposedProfile
from mechanisms.domains.neighbouring import Neighbouring, conversion_hint
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.rounding import multiply_up
from mechanisms.parameters import ParameterError
from mechanisms.profiles.bounding_profiles import PerfectPrivacy, PureProfile, ZeroConcentratedProfile
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import OneRelation, PrivacyProfile
from mechanisms.profiles.related_profile import HeldProfile, RelatedProfile, bare
from mechanisms.profiles.subsampled import SubsampledDirection, SubsampledProfile

_GROUP_OF_TWO = "group of two"
_SPLITS = 17
_ZOOMS = 8
_MOST_SPLITS = 2048
_FAR = 300.0

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT


@dataclass(frozen=True)
class GroupOfTwoProfile(OneRelation):
    """For replacing a record: one is removed, another added.

    *Proof.* Let P, Q, S be the outputs on data with u, without it, and with v in its place. For all events and ε₁ +
    ε₂ = ε,

        P <= δ_removed(ε₁) + e^{ε₁} Q <= δ_removed(ε₁) + e^{ε₁} δ_added(ε₂) + e^ε S,

    so δ(ε) is at most the least of δ_removed(ε₁) + e^{ε₁} δ_added(ε₂) over real ε₁; and likewise of
    δ_added(ε₁) + e^{ε₁} δ_removed(ε₂), through the data with both. []

    Gaussian noise on a value that moves by at most D in L2 sees it move by at most 2D (triangle inequality), so μ
    becomes 2μ; and Laplace noise in L1, so its loss e becomes 2e. On the lattice the worst movement of a vector is
    not known: discrete noise takes the best split. Pure ε becomes 2ε (the bound at ε₁ = ε₂ = ε), ρ-zCDP becomes 4ρ
    (Bun & Steinke 2016, Prop. 1.9). A bound: records that move the value in opposite directions attain it, others
    need not.

    Parameters
    ----------
    base : PrivacyProfile
        For adding or removing a record.
    """

    base: PrivacyProfile
    bound = _GROUP_OF_TWO

    def __post_init__(self) -> None:
        if self.base.neighbouring is not A:
            raise ParameterError(f"base: is for {self.base.neighbouring.value!r}; must be for {A.value!r}")

    @cached_property
    def _closed_form(self) -> PrivacyProfile | None:
        """The curve at twice the movement; None where it is not known."""
        if self.base.pure_epsilon == 0:
            return PerfectPrivacy()
        match bare(self.base):
            case SubsampledProfile(base, rate) if has_pair(base):
                return PoissonReplacedProfile(base, rate)
            case SampledGroupProfile(base, rate, size):
                return PoissonReplacedProfile(base, rate, size)
            case own:
                return moved_further(own, 2, _GROUP_OF_TWO)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Twice the base's."""
        own = self.base.pure_epsilon
        return None if own is None else 2 * own

    @property
    def rho(self) -> float | None:
        """Of the curve at twice the movement, or four times the base's."""
        if self._closed_form is not None:
            return self._closed_form.rho
        own = self.base.rho
        return None if own is None else multiply_up(own, 4.0)

    @property
    def gaussian_mu(self) -> float | None:
        """Of the curve at twice the movement, or twice the base's (Dong, Roth & Su 2022, Thm 2.14)."""
        if self._closed_form is not None:
            return self._closed_form.gaussian_mu
        own = self.base.gaussian_mu
        return None if own is None else multiply_up(own, 2.0)

    @property
    def infinite_mass(self) -> float:
        """The bound where nothing finite is left."""
        return self._split(np.array([_FAR])).item() if self.base.infinite_mass else 0.0

    @property
    def relative_error(self) -> float:
        """Relative error of the splits that are tried; their bounds are rounded up."""
        return 1e-9

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss at twice the movement, where it is known."""
        return None if self._closed_form is None else self._closed_form.loss()

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curve at twice the movement, or the best split."""
        return super()._bounds(epsilon) if self._closed_form is None else self._closed_form.bounds(epsilon)

    @cached_property
    def _reach(self) -> float:
        """Distance beyond [0, ε] up to which splits are tried: a typical loss."""
        largest = self.base.pure_epsilon
        found = (
            self.base.epsilon(max(0.05, 2.0 * self.base.infinite_mass))
            if self.base.infinite_mass < 0.4
            else 1.0
        )
        return min(found + 1.0, math.inf if largest is None else float(largest), 50.0)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if self._closed_form is not None:
            return self._closed_form._curve(epsilon)
        x = np.asarray(epsilon, dtype=np.float64)
        return self._split(x) if x.size <= _MOST_SPLITS else self._chords(x)

    def _chords(self, epsilon: FloatArray) -> FloatArray:
        """Return chords between fewer points: in w = e^ε the true curve is convex, falls, and lies below them."""
        least = 0.0 if self.base.infinite_mass == 0.0 else min(1.0, 1.01 * self.base.infinite_mass)
        largest = 2.0 * self.base.epsilon(max(least, 1e-18)) + 1.0
        nodes = np.linspace(0.0, min(float(np.max(epsilon)), largest, 300.0), _MOST_SPLITS)
        values = np.minimum.accumulate(self._split(nodes))
        return np.interp(np.exp(np.minimum(epsilon, 301.0)), np.exp(nodes), values)

    def _split(self, epsilon: FloatArray) -> FloatArray:
        sides = self.base.directions()
        orders = {(sides[0], sides[-1]), (sides[-1], sides[0])}
        best = np.ones(epsilon.shape)
        for first, second in orders:
            best = np.minimum(best, self._best_split(first, second, epsilon))
        if self.base.infinite_mass and np.any(epsilon > _FAR):  # δ falls, and grids of so far are coarse
            best = np.where(epsilon > _FAR, np.minimum(best, self.infinite_mass), best)
        return best

    def _best_split(self, first: PrivacyProfile, second: PrivacyProfile, epsilon: FloatArray) -> FloatArray:
        """Return the least of δ₁(ε₁) + e^{ε₁} δ₂(ε - ε₁) on grids around the best so far; every ε₁ gives a bound."""
        low, high = np.full(epsilon.shape, -self._reach), epsilon + self._reach
        shares = np.linspace(0.0, 1.0, _SPLITS).reshape(-1, *([1] * epsilon.ndim))
        best = np.ones(epsilon.shape)
        for _ in range(_ZOOMS):
            one = low + (high - low) * shares
            other = np.nextafter(epsilon - one, -np.inf)
            rest = second.bounds(other)[1]
            with np.errstate(over="ignore", invalid="ignore"):
                grown = np.where(rest > 0.0, np.exp(one) * rest * (1.0 + 1e-15), 0.0)  # 0 times infinity is 0
            sums = first.bounds(one)[1] + grown
            place = np.argmin(sums, axis=0)[None]
            best = np.minimum(best, np.take_along_axis(sums, place, 0)[0] * (1.0 + 1e-15))
            step = (high - low) / (_SPLITS - 1)
            centre = np.take_along_axis(one, place, 0)[0]
            low, high = centre - step, centre + step
        return best


def moved_further(profile: PrivacyProfile, times: int, bound: str) -> PrivacyProfile | None:
    """Return a curve of the same family for `times` records that move the value together; None if there is none.

    Parameters
    ----------
    profile
        The profile of one record.
    times
        The number of records.
    bound
        The theorem's name, of a family whose curve is only a bound then.
    """
    match profile:
        case GaussianProfile(mu):
            return GaussianProfile(multiply_up(mu, float(times)))
        case LaplaceProfile() as own:
            return dataclasses.replace(own, shift=multiply_up(own.shift, float(times)))
        case PureProfile() as own:
            return dataclasses.replace(own, epsilon_bound=times * own.epsilon_bound, bound=bound)
        case ZeroConcentratedProfile() as own:
            rho = multiply_up(own.rho_bound, float(times) * float(times))
            return dataclasses.replace(own, rho_bound=rho, bound=bound)
    return None


def convert(profile: PrivacyProfile, to: Neighbouring) -> PrivacyProfile:
    """Convert a curve to another neighbouring relation; the caller asserts the conditions of the table above.

    *Add or remove one to replace one*: a group of two, see `GroupOfTwoProfile`; of Gaussian or Laplace noise on a
    Poisson sample the tighter pair of its own.

    *Replace one to zero out*, the same curve: data with the null record in some record's place are among those with
    another record there. The null record must lie in the domain for which the sensitivity was found.

    *Zero out to add or remove one*, the same curve: if the query ignores null records and depends on the number of
    records in no way (no mean, no rate m/n, no public n), its output on data without a record has the law of that on
    data with a null record in its place.

    Parameters
    ----------
    profile
        The curve.
    to
        The relation for which it shall hold.

    Raises
    ------
    ParameterError
        If no conversion leads there directly.
    """
    source = profile.neighbouring
    if source is to:
        return profile
    if (source, to) == (A, R):
        return GroupOfTwoProfile(profile)
    if (source, to) in ((R, Z), (Z, A)):
        return _same_curve(profile, to)
    raise ParameterError(
        f"to = {to.value!r}: nothing leads there from {source.value!r} directly; {conversion_hint(source, to)}"
    )


def _same_curve(profile: PrivacyProfile, to: Neighbouring) -> PrivacyProfile:
    match profile:
        case RelatedProfile(own):
            return RelatedProfile(own, to)
        case SubsampledProfile(base, rate):
            return SubsampledProfile(_same_curve(base, to), rate)
        case SubsampledDirection(base, rate, added):
            return SubsampledDirection(_same_curve(base, to), rate, added)
        case FixedSizeProfile(base, rate, True):  # the null record need not be one of the three
            return HeldProfile(FixedSizeProfile(base, rate), to)
        case ComposedProfile(releases):
            return ComposedProfile(tuple((_same_curve(part, to), n) for part, n in releases))
    return RelatedProfile(profile, to) if to in profile.statable else HeldProfile(profile, to)
