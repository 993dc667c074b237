"""The privacy loss of discrete Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.losses.point_masses import fourier_of_masses
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, LatticeValues, PrivacyLoss, log1p_complex

_WINDOW = 11.0  # standard deviations kept on each side: e^{-11²/2} < 6e-27
_NARROW = 0.5
"""σ below which noise is added up one by one; from there on the k-th term of θ is below e^{-π²σ²k(k-1)}."""
_WAVES = np.array([k for k in range(-4, 5) if k])[:, None]


@dataclass(frozen=True)
class DiscreteGaussianLoss(PrivacyLoss):
    """The loss s(s - 2k)/2σ² of noise k with P(k) ∝ e^{-k²/2σ²} on a whole number that moves by s = ``shift``.

    Theorem. With M_G(z) = e^{ρz(z+1)/2}, ρ = s²/σ², the Gaussian's, and θ(c) = Σ_k e^{-2π²σ²k² + 2πikc},

        M(z) = M_G(z) θ(sz) / θ(0).

        *Proof.* Complete the square in Σ_k e^{-k²/2σ² + zs(s-2k)/2σ²}: it is e^{ρz(z+1)/2} Σ_k e^{-(k+sz)²/2σ²};
        Poisson summation. []

    The losses are s²/2σ² + dZ, d = s/σ²: M(z + 2πi/d) = (-1)^s M(z), and only |t| <= π/d is needed. There the k-th
    term of θ is at most e^{-2π²σ²|k|(|k|-1)}, so that those beyond the fourth are below e^{-40π²σ²}.

    Envelope. For σ >= 1/2 all terms but k = 0 are at most 2.05 e^{-2π²σ² + 2πst}, and θ(0) >= 1. With y = ts/σ <= πσ,
    |M(r+it)| <= M_G(r) (e^{-y²/2} + 2.05 e^{-(2πσ-y)²/2}), for t >= τ at most M_G(r) (e^{-y²/2} + 2.05 e^{-π²σ²/2}), y
    that of τ.
    """

    shift: int
    sigma: float

    @cached_property
    def _spacing(self) -> Fraction:
        return self.shift / Fraction(self.sigma) ** 2

    @property
    def lattice(self) -> LatticeValues:
        """Noise 0 and -1: s²/2σ² and s/σ² more."""
        first = self.shift * self._spacing / 2
        return (((first, first + self._spacing), 1),)

    @property
    def _rho(self) -> float:
        return (self.shift / self.sigma) ** 2

    def _window(self, s: float) -> tuple[FloatArray, FloatArray]:
        """Return losses and ln(P e^{sL}) of the noises that matter at tilt s."""
        reach = math.ceil(_WINDOW * self.sigma) + 1
        around = np.arange(-reach, reach + 1, dtype=np.float64)
        log_total = float(logsumexp(-0.5 * (around / self.sigma) ** 2))
        k = around - np.rint(s * self.shift)
        losses = self.shift * (self.shift - 2.0 * k) / (2.0 * self.sigma * self.sigma)
        return losses, -0.5 * (k / self.sigma) ** 2 - log_total + s * losses

    def cost(self, s: float, height: float) -> float:
        """The terms of θ."""
        return 10.0

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the theorem's; of narrow noise the tilted sum over a window (`fourier_of_masses`)."""
        if self.sigma < _NARROW:
            losses, log_masses = self._window(s)
            k = np.abs(losses) * self.sigma * self.sigma / self.shift + self.shift
            relative = ROUNDING * (30.0 + 4.0 * (k / self.sigma) ** 2 + 6.0 * s * np.abs(losses))
            return fourier_of_masses(log_masses, losses, relative, 1e-25, t)
        period = 2.0 * math.pi / float(self._spacing)
        turns = np.rint(t / period)
        height = t - turns * period
        z: ComplexArray = np.asarray(s + 1j * height, dtype=np.complex128)
        gaussian = 0.5 * self._rho * (z * (z + 1.0))
        fall = 2.0 * math.pi**2 * self.sigma**2 * _WAVES**2
        size = fall + 2.0 * math.pi * self.shift * _WAVES * height
        terms = np.exp(-size + 2j * math.pi * _WAVES * math.fmod(self.shift * s, 1.0))
        theta, at_zero = np.sum(terms, axis=0), float(np.sum(np.exp(-fall)))
        off = ROUNDING * (
            30.0 + 8.0 * fall + 2.0 * math.pi * np.abs(_WAVES) * self.shift * (3.0 * s + 8.0 * t)
        )
        error = np.sum(np.abs(terms) * off, axis=0) + 2.1 * math.exp(-40.0 * math.pi**2 * self.sigma**2)
        modulus = np.maximum(np.abs(1.0 + theta), 1e-300)
        ratio = log1p_complex(np.where(modulus > 1e-290, theta, 1e-290 - 1.0))
        value = gaussian + ratio - math.log1p(at_zero) + 1j * math.pi * self.shift * np.fmod(turns, 2.0)
        rounding = 16.0 * np.abs(gaussian) + 8.0 * self._rho * np.abs(z + 0.5) * np.where(turns > 0.0, t, 0.0)
        error = np.log1p((error + 8.0 * ROUNDING * np.abs(theta)) / modulus) + ROUNDING * (
            rounding + 4.0 * np.abs(ratio) + 8.0 * at_zero
        )
        return value, error

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """ρ s (s+1) / 2 with ρ = shift²/σ², which it is at most and nearly attains."""
        return 0.5 * self._rho * s * (s + 1.0)

    def log_lattice_envelope(self, s: float, heights: FloatArray, spacing: Fraction) -> FloatArray:
        """Return the class docstring's bound, if the lattice is this loss's own."""
        if spacing != self._spacing or self.sigma < _NARROW:
            return super().log_lattice_envelope(s, heights, spacing)
        square = np.minimum(heights * (self.shift / self.sigma) * (1.0 - 1e-12), math.pi * self.sigma) ** 2
        rest = np.log1p(2.05 * np.exp(-0.5 * (math.pi**2 * self.sigma**2 * (1.0 - 1e-12) - square)))
        top = 0.5 * self._rho * s * (s + 1.0) * (1.0 + 16.0 * ROUNDING)
        return np.asarray(top - 0.5 * square * (1.0 - 8.0 * ROUNDING) + rest)
