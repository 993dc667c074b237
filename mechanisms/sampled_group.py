"""Gaussian noise on a Poisson sample, for a group of records that take part, or do not, independently of each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.gaussian import GaussianProfile
from mechanisms.gaussian_loss import sampled_gaussian_loss, sigma_of_sampled
from mechanisms.gaussian_mixture_curve import GaussianMixtureCurve
from mechanisms.gaussian_mixture_loss import AT_ZERO, GaussianMixtureLoss, Mixture, binomial_mixture
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.privacy_loss import PrivacyLoss
from mechanisms.profile import BoundedCurve, PrivacyProfile
from mechanisms.related_profile import bare
from mechanisms.rounding import multiply_up
from mechanisms.subsampled import BothDirections, OneDirection, SampledProfile, check_sampled

MOST_SAMPLED = 256
"""The largest group whose pair is computed; the time grows with it."""


class GroupOnSample(BoundedCurve, SampledProfile):
    """Base class of the profiles of both directions, and of the larger of them."""

    rate: float
    size: int

    neighbouring = delegated("base.neighbouring")

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None: the loss is unbounded if the group is removed."""
        return None

    @cached_property
    def _mu(self) -> float:
        curve = bare(self.base)
        if not isinstance(curve, GaussianProfile) or not curve.mu:
            raise ParameterError(f"base: is a {type(curve).__name__}; must be a GaussianProfile that moves")
        return curve.mu

    @cached_property
    def _taken(self) -> Mixture:
        """Return (jμ, ln p_j), j = 0 .. k."""
        return tuple((self._mu * j, weight) for j, weight in binomial_mixture(self.size, self.rate))

    @property
    def gaussian_mu(self) -> float:
        """Kμ: for every sample, the outputs on it are at most Kμ apart (joint convexity)."""
        return multiply_up(self._mu, float(self.size))

    @property
    def rho(self) -> float:
        """Of kμ-Gaussian noise."""
        return GaussianProfile(self.gaussian_mu).rho

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return ln(Σ_j p_j e^{a(a-1) (jμ)²/2}) / (a-1) at orders a, in both directions.

        E R^a <= Σ_j p_j E r_j^a and E R^{1-a} <= Σ_j p_j E r_j^{1-a}, as both powers are convex and Σ p_j = 1.
        """
        a = np.asarray(order, dtype=np.float64)
        movements, log_weights = np.array(self._taken).T
        logs = log_weights + np.multiply.outer(a * (a - 1.0), 0.5 * movements**2)
        return np.asarray(logsumexp(logs, axis=-1) / (a - 1.0) * (1.0 + 1e-12) + 1e-12)


@dataclass(frozen=True)
class SampledGroupDirection(OneDirection, GroupOnSample):
    """One direction of `SampledGroupProfile`: (M, N(0, 1)) if the group is removed, (N(0, 1), M) if it is added."""

    base: PrivacyProfile
    rate: float
    size: int
    added: bool

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss in this direction; None if it is beyond quadratures."""
        sigma = sigma_of_sampled(self._mu * self._mu)
        if sigma is None:
            return None
        return sampled_gaussian_loss(self.rate, sigma, self.added, self.size)

    @cached_property
    def _own(self) -> GaussianMixtureCurve:
        return GaussianMixtureCurve(*((AT_ZERO, self._taken) if self.added else (self._taken, AT_ZERO)))

    bounds = delegated("_own.bounds")


@dataclass(frozen=True)
class SampledGroupProfile(BothDirections, GroupOnSample):
    """Gaussian noise on a Poisson sample, for up to k records that are all removed, all added, or all zeroed out.

    The pair is (M, N(0, 1)) and its reverse, M = Σ_j C(k, j) q^j (1-q)^{k-j} N(jμ, 1): each record is in the sample
    with probability q, independently of the others (Ganesh 2024, "Tight group-level DP guarantees for DP-SGD with
    sampling via mixture of Gaussians mechanisms").

    *Proof.* Record i moves the query by u_i, |u_i| <= μ, the noise being N(0, I). Given the other records' sample
    (joint convexity) the outputs have the densities Σ_S p_S n(v_S), v_S = Σ_{i in S} u_i, and n(0). For
    a = 1 - w p_∅ > 0 the divergence ∫ (n(0) - w Σ_S p_S n(v_S))_+ is ∫ (a n(0) - w Σ_{S≠∅} p_S n(v_S))_+ =
    E h(Σ_S c_S X_S), h(t) = (a - t)_+
    convex, X_S = exp(g_S - G_SS/2), g normal with covariance G_{ST} = v_S·v_T. Along a line from G to another Gram
    matrix G* the derivative is ½ Σ (G* - G)_{ST} c_S c_T E h'' X_S X_T (heat equation; the terms of h' cancel): so it
    does not fall if no entry does. The largest entries |S||T| μ² are those of equal u_i. The other direction:
    ∫ (M - wN)_+ = 1 - w + ∫ (wN - M)_+. Fewer records: some u_i = 0. []

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian, stated for adding or removing a record of the sample, or for zeroing one out.
    rate : float
        Sampling rate q in (0, 1).
    size : int
        k, from 1 to 256.

    Raises
    ------
    ParameterError
        If the base is not Gaussian, or stated for replacing a record, the rate is not in (0, 1), or the size not in
        1 .. 256.
    """

    base: PrivacyProfile
    rate: float
    size: int

    def __post_init__(self) -> None:
        check_sampled(self.base, self.rate)
        _ = self._mu
        if self.base.neighbouring is Neighbouring.REPLACE_ONE:
            raise ParameterError(
                "base: is for 'replace one'; a Poisson sample needs the movement of a record that joins"
            )
        if whole_number("size", self.size, least=1) > MOST_SAMPLED:
            raise ParameterError(f"size = {self.size}: must be at most {MOST_SAMPLED}")

    @cached_property
    def _sides(self) -> tuple[SampledGroupDirection, SampledGroupDirection]:
        removed = SampledGroupDirection(self.base, self.rate, self.size, False)
        return removed, removed.reversed()


@dataclass(frozen=True)
class ReplacedGroupProfile(GroupOnSample):
    """Gaussian noise on a Poisson sample, for up to k records that are all replaced by others.

    The pair is (Σ_j p_j N(jμ, 1), Σ_j p_j N(-jμ, 1)), p_j of Bin(k, q), for every real ε, and so composed.

    *Proof.* Given the other records' sample (joint convexity) the outputs have the densities Σ_S p_S n(v_S) and Σ_T p_T
    n(w_T), sums of movements |u_i| <= μ. The divergence is E h(Σ_S p_S X_S, Σ_T p_T Y_T) over n(0), h(a, b) =
    (a - wb)_+ convex. Along a line from one Gram matrix to another the derivative is ½ Σ dG c c' E h'' X X', where h''
    is nonnegative for two of the first or of the second kind, and not positive for one of each (see
    `SampledGroupProfile`): it does not fall if entries of one kind do not fall and mixed ones do not rise. Their
    extremes |S||S'|μ², |T||T'|μ² and -|S||T|μ² are those of u_i that are equal, and opposite in the other data. []

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian, stated for adding or removing a record of the sample.
    rate : float
        Sampling rate q in (0, 1).
    size : int
        k, at most 256.
    """

    base: PrivacyProfile
    rate: float
    size: int

    def __post_init__(self) -> None:
        _ = SampledGroupProfile(self.base, self.rate, self.size)

    @property
    def neighbouring(self) -> Neighbouring:
        """Replacing records."""
        return Neighbouring.REPLACE_ONE

    @property
    def gaussian_mu(self) -> float:
        """2kμ: as in both directions of `SampledGroupProfile`."""
        return multiply_up(super().gaussian_mu, 2.0)

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the loss's, or of 2kμ-Gaussian noise."""
        return PrivacyProfile.renyi(self, order)

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss; None if it is beyond quadratures."""
        sigma, taken = sigma_of_sampled(self._mu * self._mu), binomial_mixture(self.size, self.rate)
        return None if sigma is None else GaussianMixtureLoss(taken, taken, sigma)

    @cached_property
    def _own(self) -> GaussianMixtureCurve:
        return GaussianMixtureCurve(self._taken, self._taken)

    bounds = delegated("_own.bounds")
