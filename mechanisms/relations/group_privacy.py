"""Group privacy: the loss of k records together, all of them replaced, added, removed or zeroed out at once.

=============================  =========================================================  ======
curve for one record           for a group of k                                           bound
=============================  =========================================================  ======
Gaussian, movement D           Gaussian, movement kD                                      none
Laplace, movement D            Laplace, movement kD                                       none
either on a Poisson sample     `SampledGroupProfile`, `PoissonReplacedProfile`            none
pure ε                         pure kε                                                    yes
ρ-zCDP                         k²ρ-zCDP (Bun & Steinke 2016, Prop. 1.9)                   yes
(ε, δ)                         (kε, δ (e^{kε} - 1) / (e^ε - 1))                           yes
any other                      `GroupProfile`                                             yes
=============================  =========================================================  ======

Noise is added to a value that one record moves by at most D in the noise's norm, hence k records by at most kD
(triangle inequality); records that move it in one direction attain that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.amplification.sampled_group import (
    MOST_SAMPLED,
    PoissonReplacedProfile,
    SampledGroupProfile,
    has_pair,
)
from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.numerics.rounding import multiply_up, up
from mechanisms.parameters import whole_number
from mechanisms.profiles.bounding_profiles import (
    ApproximateProfile,
    NoPrivacy,
    PerfectPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import OneRelation, PrivacyProfile
from mechanisms.profiles.related_profile import HeldProfile, RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile
from mechanisms.relations.conversion import GroupOfTwoProfile, moved_further

GROUP = "group privacy"
_UP = 1.0 + 1e-12
_LEAST_EPSILONS = np.geomspace(1e-6, 300.0, 256)
"""Points at which a bound that may grow again is minimised; any gives a bound."""


def for_group(profile: PrivacyProfile, size: int) -> PrivacyProfile:
    """Return the profile for groups of up to ``size`` records that take part in the same releases.

    Of one record the profile itself. It holds composed, too: pairs that dominate each mechanism dominate their adaptive
    composition (Zhu, Dong, Wang 2022, Thm 10).

    Raises
    ------
    ParameterError
        If the size is not a whole number of at least 1.

    Examples
    --------
    >>> from mechanisms import GaussianProfile, for_group
    >>> for_group(GaussianProfile(0.5), 4)
    GaussianProfile(mu=2.0)
    """
    k = whole_number("group size", size, least=1)
    if k == 1:
        return profile
    match profile:
        case RelatedProfile(own, relation):
            moved = _closed_form(own, k)
            return GroupProfile(profile, k) if moved is None else RelatedProfile(moved, relation)
        case HeldProfile(own, relation):
            return HeldProfile(for_group(own, k), relation)
        case GroupOfTwoProfile(base):  # k records are removed together, then k others added
            return GroupOfTwoProfile(for_group(base, k))
        case SubsampledProfile(base, rate) if k <= MOST_SAMPLED and has_pair(base):
            return SampledGroupProfile(base, rate, k)
        case PoissonReplacedProfile(base, rate, 1) if k <= MOST_SAMPLED:
            return PoissonReplacedProfile(base, rate, k)
    return _closed_form(profile, k) or GroupProfile(profile, k)


def _closed_form(profile: PrivacyProfile, k: int) -> PrivacyProfile | None:
    """Return a curve of the same family that is the group's, or bounds it; None if there is none."""
    match profile:
        case PerfectPrivacy() | NoPrivacy():
            return profile
        case ApproximateProfile(epsilon, delta):
            return _approximate(epsilon, delta, k)
    return moved_further(profile, k, GROUP)


def _approximate(epsilon: Fraction, delta: float, k: int) -> PrivacyProfile:
    """Return the (kε, δ Σ_{i<k} e^{iε}) guarantee (Vadhan 2017, "The complexity of differential privacy",
    Lemma 2.2).
    """
    total = delta * float(_geometric(np.array(float(epsilon)), k)) * _UP
    return ApproximateProfile(k * epsilon, total, GROUP) if total < 1.0 else NoPrivacy(GROUP)


def _geometric(epsilon: FloatArray, k: int) -> FloatArray:
    """Return Σ_{i<k} e^{iε} = (e^{kε} - 1) / (e^ε - 1) for ε >= 0, inf beyond floats."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = np.expm1(k * epsilon) / np.expm1(epsilon)
    return np.where(epsilon == 0.0, float(k), np.where(np.isnan(sums), np.inf, sums))


@dataclass(frozen=True)
class GroupProfile(OneRelation):
    """Profile for groups of up to k records from the profile for one record: the smallest of several bounds.

    *By steps.* Let P_0, ..., P_k be the outputs while one record after another changes. At every step P_i <= δ(x) +
    e^x P_{i+1} on each event, δ the larger of both directions; together, with x = ε/k,

        δ_k(ε) <= δ(ε/k) Σ_{i<k} e^{iε/k}.

    *By families.* Pure ε becomes kε, ρ-zCDP k²ρ-zCDP (Bun & Steinke 2016, Prop. 1.9), μ-Gaussian DP kμ-Gaussian DP
    (Dong, Roth & Su 2022, Thm 2.14).

    Fewer than k records that change are k steps, of which some change nothing.

    Parameters
    ----------
    base : PrivacyProfile
        For one record.
    size : int
        k >= 2.
    """

    base: PrivacyProfile
    size: int
    bound = GROUP

    def __post_init__(self) -> None:
        whole_number("size", self.size, least=2)

    neighbouring = delegated("base.neighbouring")

    @property
    def pure_epsilon(self) -> Fraction | None:
        """K times the base's."""
        own = self.base.pure_epsilon
        return None if own is None else self.size * own

    @property
    def rho(self) -> float | None:
        """K² times the base's."""
        own = self.base.rho
        return None if own is None else multiply_up(own, float(self.size) ** 2)

    @cached_property
    def gaussian_mu(self) -> float | None:
        """K times the base's."""
        own = self.base.gaussian_mu
        return None if own is None else multiply_up(own, float(self.size))

    @cached_property
    def _lowest(self) -> tuple[float, float]:
        """Return where the bound by steps is least, and its value there: it may grow again, the true curve does not."""
        points, values = _LEAST_EPSILONS, self._by_steps(_LEAST_EPSILONS)
        for _ in range(3):
            place = int(np.argmin(values))
            ends = points[max(place - 1, 0)], points[min(place + 1, points.size - 1)]
            points = np.append(np.linspace(*ends, points.size), points[place])
            values = self._by_steps(points)
        place = int(np.argmin(values))
        return float(points[place]), min(1.0, float(values[place]))

    @cached_property
    def _least_below(self) -> FloatArray:
        """The least values of the bound by steps over the first 0, 1, 2, ... points of the search; 1 over none."""
        return np.minimum.accumulate(np.append(1.0, self._by_steps(_LEAST_EPSILONS)))

    @property
    def infinite_mass(self) -> float:
        """The least of the bound by steps; 0 if the base has none."""
        return self._lowest[1] if self.base.infinite_mass else 0.0

    @property
    def relative_error(self) -> float:
        """The base's and that of the sums; 1e-310 at the least is added where floats have fewer digits."""
        return 2.0 * self.base.relative_error + 1e-11

    @property
    def largest_finite(self) -> Fraction | None:
        """K times the base's largest loss if it is finite; else the ε at which the bound by steps is least."""
        if not self.base.infinite_mass:
            return self.pure_epsilon
        return None if self.base.largest_finite is None else Fraction(self._lowest[0])

    @cached_property
    def _families(self) -> tuple[PrivacyProfile, ...]:
        mu, rho, largest = self.gaussian_mu, self.rho, self.pure_epsilon
        found: list[PrivacyProfile] = []
        if mu is not None and math.isfinite(mu):
            found.append(GaussianProfile(mu))
        elif rho is not None and math.isfinite(rho):
            found.append(ZeroConcentratedProfile(rho))
        if largest is not None:
            found.append(PureProfile(largest))
        return tuple(found)

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return an upper bound on the Rényi curve: that of ρ-zCDP or pure ε, or 3^c D_{2^c α} with 2^c >= k, α >= 2.

        The last is Mironov 2017, Prop. 2; orders below 2 have the bound at 2, as Rényi curves increase.
        """
        orders = np.asarray(order, dtype=np.float64)
        halvings = (self.size - 1).bit_length()
        own = self.base.renyi(np.maximum(orders, 2.0) * 2.0**halvings) * 3.0**halvings * _UP
        least: FloatArray = np.minimum(super().renyi(orders), own)
        return least

    def _by_steps(self, epsilon: FloatArray) -> FloatArray:
        share = np.nextafter(epsilon / self.size, 0.0)
        with np.errstate(invalid="ignore"):
            sums = self.base.bounds(share)[1] * _geometric(share, self.size) * _UP
        return np.where(np.isnan(sums), 0.0, sums)  # 0 times infinity: beyond the largest loss

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        x: npt.NDArray[np.float64] = np.asarray(epsilon, dtype=np.float64)
        curves = [self._by_steps(x), *(family.bounds(x)[1] for family in self._families)]
        least = np.minimum.reduce(curves)
        least = np.minimum(least, self._least_below[np.searchsorted(_LEAST_EPSILONS, x, side="right")])
        if self.base.infinite_mass:
            start, mass = self._lowest
            least = np.where(x >= start, np.minimum(least, mass), least)
        if self.pure_epsilon is not None:
            least = np.where(x >= up(self.pure_epsilon), 0.0, least)
        return np.asarray(np.minimum(least, 1.0))
