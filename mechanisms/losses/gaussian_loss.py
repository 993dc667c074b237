"""The privacy loss of Gaussian noise: L is itself Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.fixed_size_loss import FixedSizeGaussianLoss
from mechanisms.losses.gaussian_mixture_loss import AT_ZERO, GaussianMixtureLoss, binomial_mixture
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, SampledPair

_BEYOND_FLOATS = np.errstate(over="ignore", invalid="ignore")

_MOST_OF_SAMPLED = 2000.0
"""The largest ρ: beyond, e^L of a record in the sample is beyond floats, and nodes are as many as 1/σ."""
_LEAST_OF_SAMPLED = 1e-280
"""The least ρ: below, σ² is beyond floats, or ρ has lost digits."""


def sampled_gaussian_loss(
    rate: float, sigma: float, added: bool = False, size: int = 1
) -> GaussianMixtureLoss:
    """Return the loss of (Σ_j C(k,j) q^j (1-q)^{k-j} N(j,σ²), N(0,σ²)), or of the reversed pair if ``added``.

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    sigma : float
        Noise over the l2 movement of one record, positive.
    added : bool
        The direction.
    size : int
        k, the number of records that are added or removed together; for groups see
        `mechanisms.amplification.sampled_group`.
    """
    taken = binomial_mixture(size, rate)
    above, below = (AT_ZERO, taken) if added else (taken, AT_ZERO)
    return GaussianMixtureLoss(above, below, sigma)


@dataclass(frozen=True)
class GaussianLoss(PrivacyLoss):
    """The loss of N(μ², μ²) against N(0, μ²): L ~ N(ρ/2, ρ) with ρ = μ², ln M(z) = ρ z (z+1) / 2.

    Beyond floats ρ is infinite, and ln M infinite or NaN: nothing is proved of ε then.

    Parameters
    ----------
    rho : float
        Variance ρ of the loss, the sum of (l2 / σ)², known to a relative error of 8u.
    """

    rho: float

    @property
    def precision(self) -> float:
        """ρ: |M(s+it)| = M(s) e^{-ρt²/2}."""
        return self.rho * (1.0 - 16 * ROUNDING)

    @_BEYOND_FLOATS
    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """ρ z (z+1) / 2; relative error 8u of ρ and 8u of the arithmetic (in norm)."""
        z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        value = (0.5 * self.rho) * (z * (z + 1.0))
        return value, 16 * ROUNDING * np.abs(value)

    @_BEYOND_FLOATS
    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """ρ s (s+1) / 2."""
        return 0.5 * self.rho * s * (s + 1.0)

    @_BEYOND_FLOATS
    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """|M(s+it)| e^{ρt²/2} = M(s)."""
        return np.full(heights.shape, 0.5 * self.rho * s * (s + 1.0) * (1.0 + 20 * ROUNDING))

    def on_sample(self, rate: float, pair: SampledPair, size: int = 1) -> PrivacyLoss | None:
        """Return the loss on a sample at σ = 1/√ρ, of Σ_j C(k,j) q^j (1-q)^{k-j} N(±j,σ²) or of fixed size.

        None where quadratures are out of reach: then curves have to do.
        """
        if not _LEAST_OF_SAMPLED <= self.rho <= _MOST_OF_SAMPLED:
            return None
        sigma = 1.0 / math.sqrt(self.rho)
        if pair is SampledPair.FIXED_SIZE:
            return FixedSizeGaussianLoss(rate, sigma)
        if pair is SampledPair.REPLACED:
            taken = binomial_mixture(size, rate)
            return GaussianMixtureLoss(taken, taken, sigma)
        return sampled_gaussian_loss(rate, sigma, pair is SampledPair.ADDED, size)

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Variances add."""
        parts = []
        for loss, n in zip(losses, counts, strict=True):
            assert isinstance(loss, GaussianLoss)
            parts.append(n * loss.rho)
        return cls(math.fsum(parts))
