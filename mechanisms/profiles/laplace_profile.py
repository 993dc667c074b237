"""The exact privacy profile of Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.atomic_loss import NO_LOSS
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.rounding import Ceiling, up
from mechanisms.parameters import check_largest_loss, finite_nonnegative, positive
from mechanisms.profiles.privacy_profile import HARDLY_ANY, PrivacyProfile, gaussian_mu_at


@dataclass(frozen=True)
class LaplaceProfile(PrivacyProfile):
    """Profile of Laplace(scale) noise on a value that one record moves by ``shift`` in L1.

    With e = shift / scale: δ(x) = 1 - exp((x - e) / 2) for |x| <= e, 0 above, 1 - e^x below.

    For a vector, moving a single coordinate by the whole shift is the worst case. Let f be the (log-concave)
    density of the noise vector. By Prékopa's theorem, v -> ∫ min(f(y - v), e^x f(y)) dy is log-concave: a
    minimum of log-concave functions is log-concave, and so are marginals of log-concave functions. Hence
    δ(v) = 1 - ∫ min(f(y - v), e^x f(y)) dy is quasi-convex in the movement v, and its maximum over the
    L1 ball is attained at a vertex ±shift·eᵢ. The curve is exact when the sensitivity allows that vertex.

    Parameters
    ----------
    shift : float
        L1 movement, nonnegative and finite.
    scale : float
        Scale of the noise, positive and finite.
    bound : str
        Empty if a single coordinate can make the whole movement, else why the curve is only a bound.
    """

    shift: float
    scale: float
    bound: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", finite_nonnegative("shift", self.shift))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        check_largest_loss("shift / scale", self._pure)

    @cached_property
    def _pure(self) -> Fraction:
        return Fraction(self.shift) / Fraction(self.scale)

    @cached_property
    def _pure_up(self) -> float:
        return up(self._pure)

    @property
    def pure_epsilon(self) -> Fraction:
        """Shift / scale, exactly."""
        return self._pure

    def loss(self) -> PrivacyLoss:
        """Return the law of the loss of one coordinate."""
        return LaplaceLoss((self._pure,)) if self._pure else NO_LOSS

    @property
    def rho(self) -> float:
        """E + exp(-e) - 1, e = shift / scale, rounded up: sup D_α / α is its limit at α = 1, the KL divergence.

        Harrison & Manurangsi 2025, "Exact zCDP characterizations for fundamental differentially private
        mechanisms" (conjectured by Wang 2022); at most the e²/2 of every pure mechanism.
        """
        size = self._pure_up
        if size < 0.01:  # the series alternates: e²/2 - e³/6 + e⁴/24 - ...
            about = size * size / 2.0 * (1.0 - size / 3.0 + size * size / 12.0) * (1.0 + 1e-15)
            return math.nextafter(about, math.inf) if size else 0.0  # the square may vanish, or lose digits
        return (size + math.expm1(-size)) * (1.0 + 1e-13)

    @property
    def gaussian_mu(self) -> float:
        """2 Φ⁻¹(1 - e^{-e/2} / 2), e = shift / scale: the curves touch on the diagonal; rounded up.

        Laplace noise has the trade-off curve f(a) = c²/a between a = e^{-e}/2 and 1/2, c = e^{-e/2}/2 (Dong,
        Roth & Su 2022, appendix A), and lines to (0, 1) and (1, 0) outside. G(a) = Φ(Φ⁻¹(1-a) - μ) passes
        (c, c) for this μ, and with r(x) = φ(x)/Φ(-x), which increases, d ln G / d ln a = -r(μ-z)/r(z) at
        a = Φ(-z). For a < c that is above -1, so a G(a) increases up to c: G <= f in the middle, and
        outside because G is convex and has the line's ends on or below it.
        """
        size = self._pure_up
        if not HARDLY_ANY <= size <= 1000.0:
            mu = super().gaussian_mu
            return math.inf if mu is None else mu
        return gaussian_mu_at(0.5 * math.exp(-0.5 * size), -math.expm1(-0.5 * size))

    @property
    def relative_error(self) -> float:
        """2e-15: of the distance to the largest loss 4u, of the exponential 4u."""
        return 2e-15

    @cached_property
    def _ceiling(self) -> Ceiling:
        return Ceiling.from_fraction(self._pure)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        # From the distance to e, which no rounding disturbs: relative error 6u up to e itself.
        return -np.expm1(-0.5 * np.maximum(self._ceiling.gap(epsilon), 0.0))

    def _invert(self, delta: float) -> float:
        # δ = 1 - exp((x - e) / 2)  <=>  x = e + 2 ln(1 - δ)
        return max(0.0, self._pure_up + 2.0 * math.log1p(-delta))
