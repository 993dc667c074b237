"""Gaussian or Laplace noise on a Poisson sample, for records that take part, or do not, independently of each other.

**Theorem.** Let noise be N(0, σ²I), or independent Laplace noise in every coordinate, and let a record move the query
by at most D (in L2, or L1) if it joins the sample. Let n_j be the density of the noise on a line, moved by jD, and p_j
the chance that j of k records are in the sample, Bin(k, q). For up to k records together the mechanism is dominated, at
every real ε and so composed, by

- (Σ_j p_j n_j, n_0) if they are removed, or zeroed out, and its reverse if they are added;
- (Σ_j p_j n_j, Σ_j p_j n_{-j}) if they are replaced by others.

*Proof.* Fix the other records' sample (δ is jointly convex). A set S of the k records moves the query by a v_S, their
replacements by a w_S, of norms at most |S| D; the outputs have the densities Σ_S p_S n(v_S), and n(0) or Σ_S p_S
n(w_S). Under n(0) let X_v = n(v)/n(0). δ is E φ(Z), φ convex, of Z = Σ_S p_S X_{v_S}: φ(z) = (z - w)^+, or (1 - wz)^+
if records are added; and (z)^+ of Z = Σ_S p_S X_{v_S} - w Σ_S p_S X_{w_S} if they are replaced. The curve of n(v)
against n(0) is at most that of n_j against n_0, |v| <= jD (`GaussianProfile`, `LaplaceProfile`): so X_v is smaller in
convex order than X_j = n_j/n_0 under n_0, and -X_w than -X_{-j}, which has the same law. A sum of such is smaller in
convex order than that of any comonotone variables which are larger each (Kaas, Dhaene, Goovaerts 2000, "Upper and lower
bounds for sums of random variables": E(Σ Y_i - d)^+ of comonotone Y_i is the least of Σ E(Y_i - d_i)^+ over Σ d_i = d,
and no larger for any others). The X_j all increase with the noise on the line, and the X_{-j} fall, as its density is
log-concave: they are comonotone, and attain it. Fewer records: some of no movement. []

*Attained* by records that move the query by D in one direction, and if replaced in opposite ones. Of the Gaussian
pairs: Ganesh 2024, "Tight group-level DP guarantees for DP-SGD with sampling via mixture of Gaussians mechanisms".
"""

from __future__ import annotations

import abc
import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from mechanisms.amplification.gaussian_mixture_curve import (
    GaussianMixtureCurve,
    MixtureCurve,
    ReplacedGaussianCurve,
)
from mechanisms.amplification.laplace_mixture_curve import LaplaceMixtureCurve
from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.domains.neighbouring import Neighbouring, conversion_hint
from mechanisms.losses.gaussian_mixture_loss import AT_ZERO, Mixture, binomial_mixture
from mechanisms.losses.privacy_loss import ROUNDING, PrivacyLoss, SampledPair
from mechanisms.numerics.log_sum import log_mixture
from mechanisms.numerics.rounding import multiply_up, up
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import BoundedCurve, PrivacyProfile, bounds_on_both_sides
from mechanisms.profiles.related_profile import bare
from mechanisms.profiles.subsampled import BothDirections, OneDirection, SampledProfile, check_sampled

MOST_SAMPLED = 256
"""The largest group for which the dominating pair is computed; the time grows with it."""
_MOST_MOVEMENT = 1e7
"""The largest movement, in units of the noise, at which rounding leaves something of a curve of mixtures."""


def has_pair(base: PrivacyProfile) -> bool:
    """Return True if pairs for groups of records on a sample are known: of Gaussian or Laplace noise that moves."""
    return isinstance(bare(base), GaussianProfile | LaplaceProfile) and base.pure_epsilon != 0


class GroupOnSample(BoundedCurve, SampledProfile):
    """Base class of the profiles of each pair: of records that are removed, added or replaced."""

    rate: float
    size: int

    @property
    @abc.abstractmethod
    def pair(self) -> SampledPair:
        """Pair of records on the sample."""

    neighbouring = delegated("base.neighbouring")

    @cached_property
    def _noise(self) -> GaussianProfile | LaplaceProfile:
        curve = bare(self.base)
        assert isinstance(curve, GaussianProfile | LaplaceProfile)
        return curve

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """Of Laplace noise k times that of one record, rounded up; else None."""
        if isinstance(self._noise, GaussianProfile):
            return None
        low, high = log_mixture(self.rate, np.array([-1.0, 1.0]) * up(self._noise.pure_epsilon)).tolist()
        one = {SampledPair.REMOVED: high, SampledPair.ADDED: -low}.get(self.pair, high - low)
        return Fraction(math.nextafter(self.size * one * (1.0 + 1e-14), math.inf))

    @cached_property
    def _in_full(self) -> GaussianProfile | LaplaceProfile:
        """Of noise on all records: for every sample outputs are at most so far apart (joint convexity)."""
        times = self.size * (2.0 if self.pair is SampledPair.REPLACED else 1.0)
        if isinstance(self._noise, GaussianProfile):
            return GaussianProfile(multiply_up(self._noise.mu, times))
        return dataclasses.replace(self._noise, shift=multiply_up(self._noise.shift, times))

    @property
    def _largest_movement(self) -> float:
        """The movement of all records, in units of the noise."""
        return (
            self._in_full.mu if isinstance(self._in_full, GaussianProfile) else up(self._in_full.pure_epsilon)
        )

    gaussian_mu = delegated("_in_full.gaussian_mu")
    rho = delegated("_in_full.rho")

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss; None if it is beyond quadratures."""
        base = self._noise.loss()
        return None if base is None else base.on_sample(self.rate, self.pair, self.size)

    @cached_property
    def _curve_of_pair(self) -> MixtureCurve:
        if isinstance(self._noise, LaplaceProfile):
            return LaplaceMixtureCurve(self.rate, up(self._noise.pure_epsilon), self.size, self.pair)
        mu = self._noise.mu
        if self.pair is SampledPair.REPLACED and self.size == 1:
            return ReplacedGaussianCurve(self.rate, mu)
        taken: Mixture = tuple((mu * j, weight) for j, weight in binomial_mixture(self.size, self.rate))
        above = AT_ZERO if self.pair is SampledPair.ADDED else taken
        return GaussianMixtureCurve(above, AT_ZERO if self.pair is SampledPair.REMOVED else taken)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curve, by the chance that one of the records is in the sample, too.

        Gaussian movements above 10^7 are beyond its precision: there it is at most that of noise on all records.
        """
        x = np.asarray(epsilon, dtype=np.float64)
        symmetric = self.pair is SampledPair.REPLACED
        size = np.abs(x) if symmetric else x
        moved = self._largest_movement
        if moved > _MOST_MOVEMENT and isinstance(self._noise, GaussianProfile):
            low, high = np.maximum(-np.expm1(np.minimum(size, 0.0)), 0.0), self._in_full.bounds(size)[1]
        else:
            far = 1e10 * (1.0 + moved * moved)  # the curve falls: beyond, its value there bounds it
            low, high = self._curve_of_pair.bounds(np.minimum(size, far))
            low = np.where(size > far, 0.0, low)
        if symmetric:
            low, high = bounds_on_both_sides(x, (low, high))
        taken, w = -math.expm1(self.size * math.log1p(-self.rate)), np.minimum(x, 0.0)
        high = np.minimum(high, (-np.expm1(w) + np.exp(w) * taken) * (1.0 + 16.0 * ROUNDING))
        return np.minimum(low, high), high


def _check_group(base: PrivacyProfile, rate: float, size: int) -> None:
    check_sampled(base, rate)
    if not has_pair(base):
        raise ParameterError(
            f"base: for {type(bare(base)).__name__} no pair is proved for replacing a record of a Poisson sample, or "
            f"for groups; {conversion_hint(Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE)}"
        )
    if whole_number("size", size, least=1) > MOST_SAMPLED:
        raise ParameterError(f"size = {size}: must be at most {MOST_SAMPLED}")


@dataclass(frozen=True)
class SampledGroupDirection(OneDirection, GroupOnSample):
    """One direction of `SampledGroupProfile`: the group is removed, or it is added."""

    base: PrivacyProfile
    rate: float
    size: int
    added: bool

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the loss's; of Gaussian noise ln(Σ_j p_j e^{a(a-1) (jμ)²/2}) / (a-1) at orders a, in both directions.

        E R^a <= Σ_j p_j E r_j^a and E R^{1-a} <= Σ_j p_j E r_j^{1-a}, as both powers are convex and Σ p_j = 1.
        """
        if isinstance(self._noise, LaplaceProfile):
            return super().renyi(order)
        a = np.asarray(order, dtype=np.float64)
        movements, log_weights = np.array(binomial_mixture(self.size, self.rate)).T
        logs = log_weights + np.multiply.outer(a * (a - 1.0), 0.5 * (self._noise.mu * movements) ** 2)
        return np.asarray(logsumexp(logs, axis=-1) / (a - 1.0) * (1.0 + 1e-12) + 1e-12)


@dataclass(frozen=True)
class SampledGroupProfile(BothDirections, SampledProfile):
    """Gaussian or Laplace noise on a Poisson sample, for up to k records that are all removed, added, or zeroed out.

    See the module's theorem.

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian or Laplace, stated for adding or removing a record of the sample, or for zeroing one out.
    rate : float
        Sampling rate q in (0, 1).
    size : int
        k, from 1 to 256.

    Raises
    ------
    ParameterError
        If the base is of other noise, or stated for replacing a record, the rate is not in (0, 1), or the size not in
        1 .. 256.
    """

    base: PrivacyProfile
    rate: float
    size: int

    def __post_init__(self) -> None:
        _check_group(self.base, self.rate, self.size)
        if self.base.neighbouring is Neighbouring.REPLACE_ONE:
            raise ParameterError(
                "base: is for 'replace one'; a Poisson sample needs the movement of a record that joins"
            )

    gaussian_mu = delegated("_removed.gaussian_mu")
    rho = delegated("_removed.rho")

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the larger of both directions'."""
        return np.asarray(np.maximum(*(side.renyi(order) for side in self._sides)))

    @cached_property
    def _sides(self) -> tuple[SampledGroupDirection, SampledGroupDirection]:
        removed = SampledGroupDirection(self.base, self.rate, self.size, False)
        return removed, removed.reversed()


@dataclass(frozen=True)
class PoissonReplacedProfile(GroupOnSample):
    """Gaussian or Laplace noise on a Poisson sample, for one record, or up to k, replaced by others.

    The base is stated for adding or removing a record: its movement D is that of the query when one *joins or leaves*
    the sample. One symmetric pair, ((1-q) N_0 + q N_D, (1-q) N_0 + q N_{-D}) of one record; see the module's
    theorem. Of other noise no curve is written here: take the base's `SubsampledProfile` and `convert` it, a group of
    two.

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian or Laplace curve on the sample, stated for adding or removing a record of it.
    rate : float
        Sampling rate q in (0, 1).
    size : int
        k, from 1 to 256.

    Raises
    ------
    ParameterError
        If the base is stated for another relation, no pair is proved for it, the rate is not in (0, 1), or the size not
        in 1 .. 256.
    """

    base: PrivacyProfile
    rate: float
    size: int = 1

    neighbouring = Neighbouring.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_group(self.base, self.rate, self.size)
        if self.base.neighbouring is not Neighbouring.ADD_OR_REMOVE:
            raise ParameterError(
                f"base: is for {self.base.neighbouring.value!r}; the pair for replacing a record of a Poisson sample "
                "takes the movement of a record that joins or leaves it, stated as "
                "RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)"
            )

    @property
    def pair(self) -> SampledPair:
        """Of replaced records."""
        return SampledPair.REPLACED
