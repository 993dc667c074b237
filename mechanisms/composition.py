"""The profile of two mechanisms run on the same data.

Exact where the loss distributions can be added: Gaussian with Gaussian, finite with finite, finite with
anything exact. Everything else gets a certified upper bound, named in the result's ``bound``.
"""

from __future__ import annotations

from mechanisms.atomic import AtomicProfile, MixtureProfile
from mechanisms.bounds import (
    BASIC,
    BasicCompositionProfile,
    NoPrivacy,
    PerfectPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
    response_atoms,
)
from mechanisms.neighbouring import Neighbouring, common_neighbouring
from mechanisms.profile import PrivacyProfile
from mechanisms.related_profile import HeldProfile, bare, stated
from mechanisms.rounding import add_up, either_up

PURE = "pure differential privacy"


def compose(first: PrivacyProfile, second: PrivacyProfile) -> PrivacyProfile:
    """Return the profile of both mechanisms together, the second chosen before the first is run.

    Rules, in order: nothing released or everything released; a closed form (Gaussian: μ in quadrature;
    ρ-zCDP: ρ adds; (ε, δ): both add); finite with finite: convolution, exact up to 100,000 atoms; two
    pure ones: ε adds; finite with another: a mixture, exact if both are; a pure one with another: a
    mixture over its dominating randomized response; two ρ-zCDP ones: ρ adds; else basic composition.

    Raises
    ------
    MixedNeighbours
        If they hold for different neighbouring relations.
    """
    relation = common_neighbouring((first, second))
    composed = stated(_composed(bare(first), bare(second), relation), relation)
    known = composed.statable <= first.statable & second.statable
    return composed if known else HeldProfile(composed, relation)


def _composed(first: PrivacyProfile, second: PrivacyProfile, relation: Neighbouring) -> PrivacyProfile:
    """Compose two curves that hold for one relation."""
    if isinstance(first, NoPrivacy) or isinstance(second, NoPrivacy):
        return NoPrivacy()
    if isinstance(first, PerfectPrivacy):
        return second
    if isinstance(second, PerfectPrivacy):
        return first
    closed = first._composed_closed(second) or second._composed_closed(first)
    if closed is not None:
        return closed
    finite_1, rest_1 = _split(first)
    finite_2, rest_2 = _split(second)
    rest = _compose_rest(rest_1, rest_2, relation) if rest_1 and rest_2 else rest_1 or rest_2
    finite_3, rest = _split(rest) if rest else (None, None)
    finite = _convolve(_convolve(finite_1, finite_2), finite_3)
    if rest is None:
        assert finite is not None
        return finite
    return rest if finite is None else MixtureProfile(finite, stated(rest, relation))


def _split(profile: PrivacyProfile) -> tuple[AtomicProfile | None, PrivacyProfile | None]:
    """Return the finite part of the privacy loss and the profile of the rest."""
    if isinstance(profile, MixtureProfile):
        return profile.finite, bare(profile.rest)
    finite = profile.atoms()
    return (None, profile) if finite is None else (finite, None)


def _convolve(first: AtomicProfile | None, second: AtomicProfile | None) -> AtomicProfile | None:
    if first is None or second is None:
        return first or second
    exact = first.convolved(second)
    if exact is not None:
        return exact
    # Too many atoms: the largest losses and the infinite masses add, dominated by randomized response.
    mass = either_up(first.infinite_mass, second.infinite_mass)
    return response_atoms(first._largest + second._largest, mass, BASIC)


def _compose_rest(first: PrivacyProfile, second: PrivacyProfile, relation: Neighbouring) -> PrivacyProfile:
    """Compose two profiles without a finite part."""
    closed = first._composed_closed(second) or second._composed_closed(first)
    if closed is not None:
        return closed
    one, two = first.pure_epsilon, second.pure_epsilon
    if one is not None and two is not None:
        return PureProfile(one + two, BASIC)
    if one is not None:
        return MixtureProfile(response_atoms(one, 0.0, PURE), stated(second, relation))
    if two is not None:
        return MixtureProfile(response_atoms(two, 0.0, PURE), stated(first, relation))
    if first.rho is not None and second.rho is not None:
        return ZeroConcentratedProfile(add_up(first.rho, second.rho))
    return BasicCompositionProfile(stated(first, relation), stated(second, relation))
