"""Gaussian noise on a Poisson sample, for a group of records that take part, or do not, independently of each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.gaussian import GaussianProfile
from mechanisms.gaussian_loss import sigma_of_sampled
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.privacy_loss import ROUNDING, PrivacyLoss, stated_alike
from mechanisms.profile import PrivacyProfile
from mechanisms.related_profile import bare
from mechanisms.rounding import multiply_up
from mechanisms.subsampled import OneDirection, SampledProfile, check_sampled
from mechanisms.subsampled_gaussian_loss import SubsampledGaussianLoss, log_binomial_weights

MOST_SAMPLED = 256
"""The largest group whose pair is computed; the time grows with it."""
_STEPS = 100
_MARGIN = 64.0 * ROUNDING


class GroupOnSample(SampledProfile):
    """Base class of the profiles of both directions, and of the larger of them."""

    rate: float
    size: int

    neighbouring = delegated("base.neighbouring")

    @property
    def pure_epsilon(self) -> None:
        """None: the loss is unbounded if the group is removed."""
        return None

    @cached_property
    def _mu(self) -> float:
        curve = bare(self.base)
        if not isinstance(curve, GaussianProfile) or not curve.mu:
            raise ParameterError(f"base: is a {type(curve).__name__}; must be a GaussianProfile that moves")
        return curve.mu

    @cached_property
    def _log_weights(self) -> FloatArray:
        """Return ln p_j, j = 0 .. k."""
        return log_binomial_weights(self.size, self.rate)

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
        squares = 0.5 * (self._mu * np.arange(self.size + 1.0)) ** 2
        logs = self._log_weights + np.multiply.outer(a * (a - 1.0), squares)
        return np.asarray(logsumexp(logs, axis=-1) / (a - 1.0) * (1.0 + 1e-12) + 1e-12)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._everywhere(epsilon)

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        return self.bounds(epsilon)[1]


@dataclass(frozen=True)
class SampledGroupDirection(GroupOnSample, OneDirection):
    """One direction of `SampledGroupProfile`: (M, N(0, 1)) if the group is removed, (N(0, 1), M) if it is added.

    With p_j the probability that j of k records are in the sample and r_j(x) = exp(jμx - j²μ²/2) the likelihood ratio
    of N(jμ, 1), that of M is R(x) = Σ_j p_j r_j(x), which increases. With g_m the Gaussian curve at m, w = e^ε and
    R(τ) = w,

        removed: δ(ε) = Σ_{j>=1} p_j g_{jμ}(ln r_j(τ)) for w > p_0, else 1 - w,

    and with R(τ) = 1/w

        added: δ(ε) = w Σ_{j>=1} p_j r_j(τ) g_{jμ}(-ln r_j(τ)) for w p_0 < 1, else 0:

    sums of nonnegative terms, which at any other τ are δ at ε = ln R(τ), or -ln R(τ). As δ falls, a τ on the one side,
    found to be there by R itself, gives an upper bound, and one on the other side a lower bound.
    """

    base: PrivacyProfile
    rate: float
    size: int
    added: bool

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss in this direction; None if it is beyond quadratures."""
        sigma = sigma_of_sampled(self._mu * self._mu)
        if sigma is None:
            return None
        own = SubsampledGaussianLoss(self.rate, sigma, self.added, self.size)
        return stated_alike(own, self.neighbouring)

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return jμ and ln r_j(x) for j = 1 .. k, along the first axis."""
        shift = self._mu * np.arange(1.0, self.size + 1.0).reshape(-1, *([1] * x.ndim))
        return shift, np.asarray(shift * (x - 0.5 * shift))

    def _weighted(self, logs: FloatArray) -> FloatArray:
        """Return ln(p_j r_j), j = 1 .. k."""
        return np.asarray(logs + self._log_weights[1:].reshape(-1, *([1] * (logs.ndim - 1))))

    def _point(self, log_rest: FloatArray) -> FloatArray:
        """Return about the τ with ln Σ_{j>=1} p_j r_j(τ) = log_rest.

        The left side is convex and increases. It is above each single term: the least of the points at which one term
        has the value lies to the right of τ, and Newton's steps from there never pass τ.
        """
        shift = self._parts(log_rest)[0]
        x = np.min((log_rest - self._weighted(np.zeros(shift.shape))) / shift + 0.5 * shift, axis=0)
        for _ in range(_STEPS):
            logs = self._weighted(self._parts(x)[1])
            total = logsumexp(logs, axis=0)
            step = (total - log_rest) / np.sum(shift * np.exp(logs - total), axis=0)
            x = x - step
            if np.all(np.abs(step) <= 8.0 * ROUNDING * (1.0 + np.abs(x))):
                break
        return np.asarray(x)

    def _log_ratio(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln R(x), and how far it may be off: each term is by a few u of its own parts."""
        shift, logs = self._parts(x)
        weighted = self._weighted(logs)
        total = logsumexp(weighted, axis=0)
        sizes = np.abs(logs) + shift * shift + np.abs(weighted)
        off = _MARGIN * (
            2.0 + abs(float(self._log_weights[0])) + np.sum(np.exp(weighted - total) * sizes, axis=0)
        )
        return np.asarray(np.logaddexp(self._log_weights[0], total)), np.asarray(off)

    def _sums(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return ln R(x), how far it may be off, and bounds on δ there."""
        shift, logs = self._parts(x)
        log_r, off = self._log_ratio(x)
        low, high = np.zeros(x.shape), np.zeros(x.shape)
        for j, own in enumerate(logs):
            curve = GaussianProfile(float(shift[j].flat[0]))
            # g falls by at most (1 + 40/m) of itself a unit of its argument while it is above 1e-300.
            error = 1e-12 + _MARGIN * (1.0 + 40.0 / curve.mu) * (np.abs(own) + curve.mu**2)
            below, above = curve.bounds(-own if self.added else own)
            factor = np.exp(self._log_weights[j + 1] + (own - log_r if self.added else 0.0))
            low, high = low + factor * below * (1.0 - error), high + factor * above * (1.0 + error)
        error = off + _MARGIN * (1.0 + float(np.abs(self._log_weights).max()))
        return log_r, off, low * (1.0 - error), high * (1.0 + error)

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curve from both sides of τ; where w is close to p_0, by 1 - w there, or nearly."""
        x = np.asarray(epsilon, dtype=np.float64)
        log_none = float(self._log_weights[0])
        target = -x if self.added else x
        inside = target > log_none * (1.0 - _MARGIN)
        safe = np.where(inside, target, log_none + 1.0)
        log_rest = safe + np.log(-np.expm1(log_none - safe))
        tau = self._point(log_rest)
        # ln R has a slope of at least μ (R - p_0) / R.
        apart = 4.0 * self._log_ratio(tau)[1] * np.exp(safe - log_rest) / self._mu + _MARGIN * (
            1.0 + np.abs(tau)
        )
        log_left, off_left, low_left, high_left = self._sums(tau - apart)
        log_right, off_right, low_right, high_right = self._sums(tau + apart)
        is_left = inside & (log_left + off_left <= target)
        is_right = inside & (log_right - off_right >= target)
        certain = -np.expm1(np.minimum(x, 0.0)) * (1.0 - 8.0 * ROUNDING)  # 1 - w
        rounding = 1e-12 + _MARGIN * (np.abs(x) + abs(log_none))
        if self.added:  # M >= p_0 N(0, 1)
            lower = np.where(is_left, low_left, 0.0)
            rest = -np.expm1(np.minimum(x + log_none - rounding, 0.0)) * (1.0 + 8.0 * ROUNDING)
            upper = np.where(is_right, np.minimum(high_right, rest), rest)
        else:  # δ falls, and is 1 - p_0 at w = p_0
            lower = np.where(is_right, low_right, 0.0)
            rest = np.maximum(-math.expm1(log_none), -np.expm1(np.minimum(x, 0.0))) * (1.0 + rounding)
            upper = np.where(is_left, np.minimum(high_left, rest), rest)
        return np.maximum(lower, certain), np.minimum(1.0, np.maximum(upper, certain))


@dataclass(frozen=True)
class SampledGroupProfile(GroupOnSample):
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
        return (
            SampledGroupDirection(self.base, self.rate, self.size, False),
            SampledGroupDirection(self.base, self.rate, self.size, True),
        )

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return (removing the group, adding it)."""
        return self._sides

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the larger of both directions."""
        (low, high), (low_added, high_added) = (side.bounds(epsilon) for side in self._sides)
        return np.maximum(low, low_added), np.maximum(high, high_added)
