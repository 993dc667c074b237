"""The privacy loss of Gaussian noise: L is itself Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.fixed_size_loss import FixedSizeGaussianLoss
from mechanisms.poisson_replaced_loss import PoissonReplacedGaussianLoss
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.subsampled_gaussian_loss import SubsampledGaussianLoss

_MOST_OF_SAMPLED = 2000.0
"""Of ρ: e^L of a record in the sample is beyond floats, and nodes are as many as 1/σ."""
_LEAST_OF_SAMPLED = 1e-280
"""Of ρ: less, and σ² is beyond floats, or ρ has lost digits."""


def sigma_of_sampled(rho: float) -> float | None:
    """Return 1/√ρ, or None if a quadrature of the loss on a sample is out of reach: then curves have to do."""
    return 1.0 / math.sqrt(rho) if _LEAST_OF_SAMPLED <= rho <= _MOST_OF_SAMPLED else None


@dataclass(frozen=True)
class GaussianLoss(PrivacyLoss):
    """The loss of N(μ², μ²) against N(0, μ²): L ~ N(ρ/2, ρ) with ρ = μ², ln M(z) = ρ z (z+1) / 2.

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

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """ρ z (z+1) / 2; relative error 8u of ρ and 8u of the arithmetic (in norm)."""
        z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        value = (0.5 * self.rho) * (z * (z + 1.0))
        return value, 16 * ROUNDING * np.abs(value)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """ρ s (s+1) / 2."""
        return 0.5 * self.rho * s * (s + 1.0)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """|M(s+it)| e^{ρt²/2} = M(s)."""
        return np.full(heights.shape, 0.5 * self.rho * s * (s + 1.0) * (1.0 + 20 * ROUNDING))

    def subsampled(self, rate: float, added: bool) -> PrivacyLoss | None:
        """Return the loss of the subsampled pair at σ = 1/√ρ; None if that is beyond quadratures."""
        sigma = sigma_of_sampled(self.rho)
        return None if sigma is None else SubsampledGaussianLoss(rate, sigma, added)

    def poisson_replaced(self, rate: float) -> PrivacyLoss | None:
        """Return the loss of the pair with movements 1 and -1 at σ = 1/√ρ; None if that is beyond quadratures."""
        sigma = sigma_of_sampled(self.rho)
        return None if sigma is None else PoissonReplacedGaussianLoss(rate, sigma)

    def fixed_size(self, rate: float) -> PrivacyLoss | None:
        """Return the loss on a sample of fixed size at σ = 1/√ρ; None if that is beyond quadratures."""
        sigma = sigma_of_sampled(self.rho)
        return None if sigma is None else FixedSizeGaussianLoss(rate, sigma)

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Variances add."""
        parts = []
        for loss, n in zip(losses, counts, strict=True):
            assert isinstance(loss, GaussianLoss)
            parts.append(n * loss.rho)
        return cls(math.fsum(parts))
