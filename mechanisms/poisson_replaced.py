"""Poisson subsampling, one record replaced by another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.gaussian import GaussianProfile
from mechanisms.laplace import LaplaceProfile
from mechanisms.log_sum import log_mixture
from mechanisms.neighbouring import Neighbouring, conversion_hint
from mechanisms.parameters import ParameterError
from mechanisms.poisson_replaced_curve import (
    poisson_replaced_gaussian_delta,
    poisson_replaced_laplace_delta,
)
from mechanisms.privacy_loss import ROUNDING, PrivacyLoss
from mechanisms.profile import PrivacyProfile, bounds_on_both_sides
from mechanisms.related_profile import bare
from mechanisms.rounding import up
from mechanisms.subsampled import SampledProfile, check_sampled


@dataclass(frozen=True)
class PoissonReplacedProfile(SampledProfile):
    """Profile of a mechanism run on a Poisson subsample, for replacing one record by another.

    One symmetric pair, ((1-q) N_0 + q N_D, (1-q) N_0 + q N_{-D}), D the movement of the query when a record *joins or
    leaves* the sample: hence the base is stated for adding or removing a record.

    *Proved* for Gaussian noise in any number of dimensions (below) and Laplace noise on a
    single number (`SampledLaplaceLoss`); by joint convexity over the other records' sample and by Zhu, Dong,
    Wang 2022, Thm 10, also composed. *Attained* if records that move the query by D in opposite directions exist.
    *Not proved* for Laplace noise on several numbers, and of other noise no curve is written here: take the base's
    `SubsampledProfile` and `convert` it, a group of two.

    **Theorem.** Let a query move by at most 1 in L2 when a record joins or leaves the sample, and let each
    record take part with probability q. With Gaussian noise σ, also in several dimensions, this pair dominates
    the mechanism for replacing one record by another, at every real ε.

    *Proof.* Fix the other records' sample: the two data sets give (1-q) N_0 + q N_u and (1-q) N_0 + q N_v,
    |u|, |v| <= 1, and δ is jointly convex. For w = e^ε >= 1, δ = ∫ (q n_u - (w-1)(1-q) n_0 - wq n_v)^+. For
    c_i >= 0, ∫ (q n_{m_0} - Σ c_i n_{m_i})^+ does not decrease in any entry of the Gram matrix
    G_ij = (m_i - m_0)·(m_j - m_0): it is E h(Σ c_i X_i), h(t) = (q - t)^+, X_i = exp(g_i - G_ii/2),
    g ~ N(0, G/σ²), and along (1-t) G + t G* its derivative is ½ Σ (G*-G)_ij c_i c_j E[h'' X_i X_j] >= 0 (the
    heat equation; the drift cancels the terms in h'). Here |u|² <= 1, |u-v|² <= 4 and u·(u-v) <= 2, all attained
    by u = 1, v = -1 on a line. For w < 1 use δ_{P,Q}(ε) = 1 - w + w δ_{Q,P}(-ε) and the symmetry of the set.

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian or Laplace curve on the sample, stated for adding or removing a record of it.
    rate : float
        Sampling rate q in (0, 1).
    coordinates : int, optional
        How many numbers the query has; Laplace noise needs the statement that it is one.

    Raises
    ------
    ParameterError
        If the base is stated for another relation, no pair is proved for it, or the rate is not in (0, 1).
    """

    base: PrivacyProfile
    rate: float
    coordinates: int | None = None

    def __post_init__(self) -> None:
        check_sampled(self.base, self.rate)
        if self.base.neighbouring is not Neighbouring.ADD_OR_REMOVE:
            raise ParameterError(
                f"base: is for {self.base.neighbouring.value!r}; the pair for replacing a record of a Poisson sample "
                "takes the movement of a record that joins or leaves it, stated as "
                "RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)"
            )
        hint = conversion_hint(Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE)
        curve = bare(self.base)
        if curve.pure_epsilon == 0 or not isinstance(curve, GaussianProfile | LaplaceProfile):
            raise ParameterError(
                f"base: for {type(curve).__name__} no pair is proved for replacing a record of a Poisson sample; {hint}"
            )
        if isinstance(curve, LaplaceProfile) and self.coordinates != 1:
            raise ParameterError(
                f"coordinates = {self.coordinates!r}: with Laplace noise the pair for replacing a record of a "
                f"Poisson sample is proved for a query of one number (coordinates = 1) only; else {hint}"
            )

    @cached_property
    def _laplace(self) -> tuple[float, float, float] | None:
        """Of a Laplace base its largest loss e, rounded up, and ln(1-q + q e^{-e}) and ln(1-q + q e^e)."""
        if self.base.pure_epsilon is None:
            return None
        largest = up(self.base.pure_epsilon)
        low, high = log_mixture(self.rate, np.array([-largest, largest]))
        return largest, float(low), float(high)

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """ln(1-q + q e^e) - ln(1-q + q e^{-e}) of Laplace noise, rounded up."""
        if self._laplace is None:
            return None
        _, low, high = self._laplace
        return Fraction((high - low) * (1.0 + 1e-14))

    @property
    def relative_error(self) -> float:
        """Of Gaussian noise: see `poisson_replaced_gaussian_delta`."""
        mu = self.base.gaussian_mu
        return 1e-11 + 2e-13 * (0.0 if mu is None else mu)

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss."""
        base = self.base.loss()
        return None if base is None else base.poisson_replaced(self.rate)

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curve; of Laplace noise at both ends of the interval of the rounded distance to the largest loss.

        Of Gaussian noise by the rate, too, which is the probability that the record is in the sample.
        """
        x = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(x)
        if self._laplace is None or self.pure_epsilon is None:
            low, high = super().bounds(epsilon)
            most = np.where(x >= 0.0, self.rate, -np.expm1(-size) + np.exp(-size) * self.rate)
            return low, np.minimum(high, most * (1.0 + 8.0 * ROUNDING))
        largest, *ends = self._laplace
        # The largest loss moves by at most twice what the base's does, which is rounded.
        off = 16.0 * ROUNDING * (abs(ends[0]) + abs(ends[1]) + size + largest)
        error = 16.0 * ROUNDING * (8.0 + largest + size)
        low = self._curve(size + off) * (1.0 - error)
        high = np.where(
            size >= up(self.pure_epsilon), 0.0, self._curve(np.maximum(size - off, 0.0)) * (1.0 + error)
        )
        low, high = bounds_on_both_sides(x, (low, high))
        return np.maximum(low, 0.0), high

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if self._laplace is not None:
            return poisson_replaced_laplace_delta(self.rate, self._laplace[0], epsilon)
        curve = bare(self.base)
        assert isinstance(curve, GaussianProfile)
        # With less noise than that squares are no floats; `relative_error` is far above 1 there.
        return poisson_replaced_gaussian_delta(self.rate, max(1.0 / curve.mu, 1e-150), epsilon)
