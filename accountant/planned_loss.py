"""The one place where plans meet the numerics of composed losses."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

from mechanisms import PrivacyProfile

from .certified_interval import CertifiedInterval


class ComposedLoss(Protocol):
    """The privacy of a fixed collection of releases, both ways around."""

    def epsilon(self, delta: float) -> CertifiedInterval:
        """Return epsilon at delta."""

    def delta(self, epsilon: float) -> CertifiedInterval:
        """Return delta at epsilon."""


@dataclass(frozen=True)
class _ClosedForm:
    """The closed forms of `PrivacyProfile.compose` and `repeat`; bounds where there is none."""

    profile: PrivacyProfile

    def epsilon(self, delta: float) -> CertifiedInterval:
        value = self.profile.epsilon(delta)
        name = self.profile.bound or "closed form"
        return CertifiedInterval(value if self.profile.exact else 0.0, value, name, name)

    def delta(self, epsilon: float) -> CertifiedInterval:
        value = self.profile.delta(epsilon)
        name = self.profile.bound or "closed form"
        return CertifiedInterval(value if self.profile.exact else 0.0, value, name, name)


@functools.lru_cache(maxsize=256)
def composed(counted: tuple[tuple[PrivacyProfile, int], ...]) -> ComposedLoss:
    """Return the composition of profiles, each so many times."""
    parts = [profile.repeat(count) for profile, count in counted]
    return _ClosedForm(functools.reduce(PrivacyProfile.compose, parts))
