"""Privacy profiles that are stated for a neighbouring relation other than their mechanism's usual one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mechanisms.delegation import delegated
from mechanisms.domains.neighbouring import Neighbouring, conversion_hint
from mechanisms.parameters import ParameterError
from mechanisms.profiles.privacy_profile import OneRelation, PrivacyProfile


@dataclass(frozen=True)
class SameCurve(OneRelation):
    """A profile with another one's curve, for another neighbouring relation."""

    profile: PrivacyProfile

    bound = delegated("profile.bound")
    relative_error = delegated("profile.relative_error")
    symmetric = delegated("profile.symmetric")
    covers_both_directions = delegated("profile.covers_both_directions")
    pure_epsilon = delegated("profile.pure_epsilon")
    infinite_mass = delegated("profile.infinite_mass")
    largest_finite = delegated("profile.largest_finite")
    rho = delegated("profile.rho")
    gaussian_mu = delegated("profile.gaussian_mu")
    _curve = delegated("profile._curve")
    _everywhere = delegated("profile._everywhere")
    _invert = delegated("profile._invert")
    bounds = delegated("profile.bounds")
    atoms = delegated("profile.atoms")

    loss = delegated("profile.loss")

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return the curve's, stated for the relation."""
        sides = self.profile.directions()
        return (self,) if len(sides) == 1 else tuple(dataclasses.replace(self, profile=one) for one in sides)

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the curve's, stated for the relation."""
        return tuple(dataclasses.replace(self, profile=one) for one in self.profile.attained())

    attained_in_the_long_run = delegated("profile.attained_in_the_long_run")
    outdoes_its_curve = delegated("profile.outdoes_its_curve")

    def parts(self) -> tuple[tuple[PrivacyProfile, int], ...]:
        """Return the curve's, stated for the relation."""
        return tuple((dataclasses.replace(self, profile=one), n) for one, n in self.profile.parts())

    renyi = delegated("profile.renyi")


@dataclass(frozen=True)
class RelatedProfile(SameCurve):
    """Profile of a mechanism with a sensitivity that was found under a stated relation.

    Noise depends on how far a value moves, not on the reason: the curve of Gaussian noise on a sum of vectors of norm
    at most c is ``RelatedProfile(GaussianProfile(c / sigma), Neighbouring.ADD_OR_REMOVE)``, and
    ``GaussianProfile(2 * c / sigma)`` if a vector is replaced. This states the relation behind the sensitivity and is
    no conversion: see `convert` for those.

    Parameters
    ----------
    profile : PrivacyProfile
        The curve.
    stated_for : Neighbouring
        The relation under which the sensitivity behind the curve was found; "replace one" needs no statement.

    Raises
    ------
    ParameterError
        If the curve holds for a certain relation already (a sampled mechanism's, one that is stated or converted).
    """

    stated_for: Neighbouring

    def __post_init__(self) -> None:
        if not isinstance(self.stated_for, Neighbouring):
            raise ParameterError(f"stated_for = {self.stated_for!r}: must be a Neighbouring")
        if self.stated_for is self.profile.neighbouring:
            raise ParameterError(f"stated_for = {self.stated_for.value!r}: the curve holds for it as it is")
        if self.stated_for not in self.profile.statable:
            raise ParameterError(
                f"stated_for = {self.stated_for.value!r}: this {type(self.profile).__name__} holds for "
                f"{self.profile.neighbouring.value!r}, which no statement changes; "
                f"{conversion_hint(self.profile.neighbouring, self.stated_for)}"
            )

    @property
    def neighbouring(self) -> Neighbouring:
        """The relation that is stated."""
        return self.stated_for


@dataclass(frozen=True)
class HeldProfile(SameCurve):
    """A curve that no statement makes one for another relation: it was converted, or comes of parts like that."""

    held_for: Neighbouring

    @property
    def neighbouring(self) -> Neighbouring:
        """The relation it holds for."""
        return self.held_for


def bare(profile: PrivacyProfile) -> PrivacyProfile:
    """Return the curve without the statement of its relation."""
    return profile.profile if isinstance(profile, RelatedProfile) else profile


def restate(profile: PrivacyProfile, neighbouring: Neighbouring) -> PrivacyProfile:
    """Return the curve stated for a relation; the curve itself if it holds for that one anyway.

    Raises
    ------
    ParameterError
        If it holds for another one for certain.
    """
    return profile if profile.neighbouring is neighbouring else RelatedProfile(profile, neighbouring)
