"""The privacy loss of discrete Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, LatticeValues, PrivacyLoss

_WINDOW = 11.0  # standard deviations kept on each side: e^{-11²/2} < 6e-27


@dataclass(frozen=True)
class DiscreteGaussianLoss(PrivacyLoss):
    """The loss s(s - 2k)/2σ² of noise k with P(k) ∝ e^{-k²/2σ²} on a whole number that moves by s = ``shift``.

    Tilted by e^{wL} the noise is a discrete Gaussian around -ws, so a window of 11σ around it holds all but
    4e-26 of the mass.
    """

    shift: int
    sigma: float

    @property
    def lattice(self) -> LatticeValues:
        """Noise 0 and -1: s²/2σ² and s/σ² more."""
        variance = Fraction(self.sigma) ** 2
        first = self.shift * self.shift / (2 * variance)
        return (((first, first + self.shift / variance), 1),)

    @cached_property
    def _log_total(self) -> float:
        reach = math.ceil(40.0 * self.sigma) + 1
        k = np.arange(-reach, reach + 1, dtype=np.float64)
        return float(logsumexp(-0.5 * (k / self.sigma) ** 2))

    def _window(self, s: float) -> tuple[FloatArray, FloatArray]:
        """Return losses and ln(P e^{sL}) of the noises that matter at tilt s."""
        reach = math.ceil(_WINDOW * self.sigma) + 1
        k = np.arange(-reach, reach + 1, dtype=np.float64) - np.rint(s * self.shift)
        variance = self.sigma * self.sigma
        losses = self.shift * (self.shift - 2.0 * k) / (2.0 * variance)
        return losses, -0.5 * (k / self.sigma) ** 2 - self._log_total + s * losses

    def cost(self, s: float, height: float) -> float:
        """The window, at a tenth (a matrix product)."""
        return 1.0 + 2.2 * self.sigma

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the tilted sum over the window; see `fourier_of_masses`."""
        losses, log_masses = self._window(s)
        k = np.abs(losses) * self.sigma * self.sigma / self.shift + self.shift
        relative = ROUNDING * (30.0 + 4.0 * (k / self.sigma) ** 2 + 6.0 * s * np.abs(losses))
        return fourier_of_masses(log_masses, losses, relative, 1e-25, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """ρ s (s+1) / 2 with ρ = shift²/σ², which it is at most and nearly attains."""
        rho = (self.shift / self.sigma) ** 2
        return 0.5 * rho * s * (s + 1.0)
