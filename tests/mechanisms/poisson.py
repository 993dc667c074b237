"""Profiles for adding or removing a record, as many tests compose them."""

from mechanisms import PrivacyProfile
from mechanisms.amplification.sampling import sampled
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.related_profile import restate


def joining(profile: PrivacyProfile) -> PrivacyProfile:
    """State a curve for adding or removing a record."""
    return restate(profile, Neighbouring.ADD_OR_REMOVE)


def subsampled(profile: PrivacyProfile, rate: float) -> PrivacyProfile:
    """Return the profile on a Poisson subsample for adding or removing a record, as `profile` then is."""
    return sampled(joining(profile), rate, Neighbouring.ADD_OR_REMOVE)
