"""The profile of several mechanisms run on the same data: its curve is that of the composed loss."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import LEAST_DELTA, ComposedLoss, compose, reverse_of
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.theorems import concentrated, gaussian_dp, sum_of_divergences
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.deadline import time_is_over
from mechanisms.numerics.rounding import exact_sum, square_root_up, up
from mechanisms.profiles.atomic_profile import AtomicProfile, convolved
from mechanisms.profiles.bounding_profiles import NoPrivacy, PerfectPrivacy, ZeroConcentratedProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import BoundedCurve, PrivacyProfile, bounds_on_both_sides
from mechanisms.profiles.related_profile import bare, restate

_WIDTH = 1e-9
_MOST_NODES = 256
"""Points at which a curve is computed; at more, it is bounded by its chords, as it is convex in e^ε."""
_FEW = 8
"""Different finite losses: sums of more have too many values, or an integral is as good."""
_SWITCHING = "the worst pair of data sets for each release, whatever the others showed"


def composed_profile(releases: Iterable[tuple[PrivacyProfile, int]]) -> PrivacyProfile:
    """Return the profile of a composition: of one kind of its own where there is one, else a `ComposedProfile`.

    Gaussians are one Gaussian, and ρ adds up.

    Raises
    ------
    ParameterError
        If a count is not a whole number of at least 1.
    MixedNeighbours
        If two profiles hold for different neighbouring relations.
    """
    composed = compose(releases)
    closed = _closed_form([(bare(profile), count) for profile, count in composed.releases])
    return ComposedProfile(composed.releases) if closed is None else restate(closed, composed.neighbouring)


def _closed_form(curves: list[tuple[PrivacyProfile, int]]) -> PrivacyProfile | None:
    without = [curve for curve, _ in curves if isinstance(curve, NoPrivacy)]
    if without:
        return min(without, key=lambda curve: curve.bound)  # an exact one, if there is one
    curves = [(curve, n) for curve, n in curves if not isinstance(curve, PerfectPrivacy)]
    if len(curves) <= 1 and all(n == 1 for _, n in curves):
        return curves[0][0] if curves else PerfectPrivacy()
    mus = [(curve.mu, n) for curve, n in curves if isinstance(curve, GaussianProfile)]
    if len(mus) == len(curves):
        return GaussianProfile(square_root_up(sum((n * Fraction(mu) ** 2 for mu, n in mus), Fraction(0))))
    rhos = [(curve.rho_bound, n) for curve, n in curves if isinstance(curve, ZeroConcentratedProfile)]
    if len(rhos) == len(curves):
        return ZeroConcentratedProfile(up(exact_sum([(Fraction(rho), n) for rho, n in rhos])))
    return None


@dataclass(frozen=True)
class ComposedProfile(BoundedCurve):
    """Profile of a composition: the bounds that `ComposedLoss` proves for δ(ε), on both sides.

    Parameters
    ----------
    releases : tuple of (PrivacyProfile, int)
        Distinct profiles, none of them a composition, with their counts.
    """

    releases: tuple[tuple[PrivacyProfile, int], ...]

    @cached_property
    def composed(self) -> ComposedLoss:
        """The composition."""
        return ComposedLoss(self.releases)

    def parts(self) -> tuple[tuple[PrivacyProfile, int], ...]:
        """Return the releases."""
        return self.releases

    def atoms(self) -> AtomicProfile | None:
        """Return the distribution of the whole loss, if all parts have one and the atoms are few."""
        return convolved(self.releases) if len(self.releases) <= _FEW else None

    @property
    def neighbouring(self) -> Neighbouring:
        """That of all parts."""
        return self.composed.neighbouring

    @cached_property
    def statable(self) -> frozenset[Neighbouring]:
        """Those of all parts."""
        return frozenset.intersection(*(profile.statable for profile, _ in self.releases))

    @cached_property
    def bound(self) -> str:
        """The bound of the first part that has one."""
        found = next((profile.bound for profile, _ in self.releases if profile.bound), "")
        return found or ("" if self.composed.attained else _SWITCHING)

    @property
    def symmetric(self) -> bool:
        """True if all parts are symmetric."""
        return all(profile.symmetric for profile, _ in self.releases)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of all; None if one is unbounded."""
        return self.composed.pure_epsilon

    @cached_property
    def largest_finite(self) -> Fraction | None:
        """The sum of all; None if one is not known."""
        known = [(profile.largest_finite, n) for profile, n in self.releases]
        terms = [(largest, n) for largest, n in known if largest is not None]
        return exact_sum(terms) if len(terms) == len(known) else None

    @cached_property
    def infinite_mass(self) -> float:
        """1 - Π (1 - m_i), rounded up."""
        masses = [(profile.infinite_mass, n) for profile, n in self.releases if profile.infinite_mass]
        if len(masses) == 1 and masses[0][1] == 1:
            return masses[0][0]
        if any(mass >= 1.0 for mass, _ in masses):
            return 1.0
        kept = math.fsum(n * math.log1p(-mass) for mass, n in masses)
        return min(1.0, -math.expm1(kept) * (1.0 + (len(masses) + 4) * 2.0**-52))

    @cached_property
    def rho(self) -> float | None:
        """Σ ρ_i, if all are known."""
        found = concentrated(self.releases)
        return None if found is None else found.rho_bound

    @cached_property
    def gaussian_mu(self) -> float | None:
        """√(Σ μ_i²), if all are known."""
        found = gaussian_dp(self.releases)
        return None if found is None else found.mu

    @property
    def outdoes_its_curve(self) -> bool:
        """True if this holds for a part."""
        return any(profile.outdoes_its_curve for profile, _ in self.releases)

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return the compositions of each direction."""
        sides = self.composed.directions
        if len(sides) == 1:
            return (self,)
        return tuple(ComposedProfile(tuple(zip(side.profiles, side.counts, strict=True))) for side in sides)

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the composition of the parts that have a pair of data sets; two where the worst pair may switch."""
        if self.composed.attained:
            return (self,)
        found: list[PrivacyProfile] = []
        for i in (0, 1):
            pairs = [((profile.attained() * 2)[i], n) for profile, n in self.releases if profile.attained()]
            if pairs:
                found.append(composed_profile(pairs))
        return tuple(dict.fromkeys(found))

    def loss(self) -> PrivacyLoss | None:
        """Return the sum of the losses, if all are known and both directions are alike."""
        sides = self.composed.directions
        return sides[0].loss if len(sides) == 1 else None

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the sum of all."""
        return sum_of_divergences(self.releases, np.asarray(order, dtype=np.float64))

    @property
    def relative_error(self) -> float:
        """Relative error at which contours aim; the error proved is in `bounds`."""
        return 1e-8

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest ε >= 0 with δ(ε) <= delta; inf if there is none."""
        if 0.0 <= delta < 1.0:
            return self.composed.epsilon_at_most(delta if delta >= LEAST_DELTA else 0.0)
        return super().epsilon(delta)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound δ; of many points, interpolate between nodes, as δ decreases and is convex in e^ε."""
        x = np.asarray(epsilon, dtype=np.float64)
        flat = np.ravel(x)
        size, place = np.unique(np.abs(flat), return_inverse=True)
        back = reverse_of(self.composed) if (flat < 0.0).any() else None
        curves = [_curve_of(one, size) for one in (self.composed, back) if one is not None]
        low, high = bounds_on_both_sides(flat, *((low[place], high[place]) for low, high in curves))
        return low.reshape(x.shape), high.reshape(x.shape)


def _curve_of(loss: ComposedLoss, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bound δ at rising nonnegative numbers; when the time is over, by its value at the last one before."""
    highs: list[float] = []

    def ends(size: float) -> tuple[float, float]:
        if highs and time_is_over():
            return 0.0, highs[-1]
        found: list[Enclosure | Bound] = list(loss.directed_delta(size, width=_WIDTH))
        highs.append(max(one.upper for one in found))
        return max(lower_end(one) or 0.0 for one in found), highs[-1]

    nodes = sizes
    if sizes.size > _MOST_NODES:
        nodes = np.unique(sizes[np.linspace(0.0, sizes.size - 1.0, _MOST_NODES).astype(np.int64)])
    low, high = (np.array(end) for end in zip(*(ends(float(node)) for node in nodes), strict=True))
    if nodes is sizes:
        return low, high
    right = np.clip(np.searchsorted(nodes, sizes), 1, nodes.size - 1)
    left = right - 1
    share = np.expm1(sizes - nodes[left]) / np.expm1(np.minimum(nodes[right] - nodes[left], 700.0))
    chords = high[left] + (high[right] - high[left]) * np.clip(share, 0.0, 1.0)
    upper = np.maximum(chords * (1.0 + 2.0**-50), high[right])
    return np.where(sizes == nodes[left], low[left], low[right]), np.minimum(upper, high[left])
