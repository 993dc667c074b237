"""The privacy loss of one of two pairs, when it is announced which."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.neighbouring import Neighbouring
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, log1p_complex


@dataclass(frozen=True)
class AnnouncedLoss(PrivacyLoss):
    """Loss of one of two pairs, the second with probability τ, when it is announced which: M = (1-τ) M_1 + τ M_2.

    The less likely of τ and ``rest`` = 1 - τ is known to ``off`` of itself, the other to as much.
    """

    first: PrivacyLoss
    second: PrivacyLoss
    rest: float
    probability: float
    off: float = 0.0

    @property
    def neighbouring(self) -> Neighbouring:
        """That of the first pair."""
        return self.first.neighbouring

    @property
    def supremum(self) -> float:
        """The larger one."""
        return max(self.first.supremum, self.second.supremum)

    @property
    def infimum(self) -> float:
        """The smaller one."""
        return min(self.first.infimum, self.second.infimum)

    def cost(self, s: float, height: float) -> float:
        """The sum of both."""
        return self.first.cost(s, height) + self.second.cost(s, height)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln of the sum, by M - 1 where that is small."""
        one, one_off = self.first.log_mgf_line(s, t)
        two, two_off = self.second.log_mgf_line(s, t)
        rest, tau = self.rest, self.probability
        top = max(float(one[0].real), float(two[0].real))
        with np.errstate(over="ignore", invalid="ignore"):
            if top < 0.3:
                parts: tuple[ComplexArray, ComplexArray] = (
                    np.asarray(rest * np.expm1(one)),
                    np.asarray(tau * np.expm1(two)),
                )
                value, sizes = log1p_complex(parts[0] + parts[1]), np.abs(parts[0]) + np.abs(parts[1])
            else:
                parts = np.asarray(rest * np.exp(one - top)), np.asarray(tau * np.exp(two - top))
                value = np.asarray(top + np.log(parts[0] + parts[1] + 1e-300))
                sizes = (np.abs(parts[0]) + np.abs(parts[1])) * (2.0 + np.abs(one) + np.abs(two) + 2.0 * top)
                sizes = sizes * np.exp(np.minimum(top, 700.0))
            first, second = np.exp(one.real - value.real), np.exp(two.real - value.real)
            error = rest * first * np.expm1(one_off) + tau * second * np.expm1(two_off)
            error += self.off * min(rest, tau) * (first + second)
            error += 16.0 * ROUNDING * sizes * np.exp(-value.real)
        return value, np.log1p(np.where(np.isfinite(error), error, 1e300)) + 8.0 * ROUNDING * np.abs(value)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln of the sum."""
        one, two = self.first.log_mgf_real(s), self.second.log_mgf_real(s)
        return np.logaddexp(math.log(self.rest) + one, math.log(self.probability) + two)

    def _divergence(self, order: float) -> float:
        """Return it from those of both pairs: of a high order they take no quadrature."""
        s = order - 1.0
        first, second = s * self.first._divergence(order), s * self.second._divergence(order)
        total = np.logaddexp(math.log(self.rest) + first, math.log(self.probability) + second)
        size = self.off + 4.0 * ROUNDING * (2.0 + abs(first) + abs(second))
        return min(max(0.0, (float(total) + size) / s * (1.0 + 1e-15)), self.supremum)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of the sum of both bounds."""
        one, two = (loss.log_envelope(s, heights) for loss in (self.first, self.second))
        logs = math.log(self.rest), math.log(self.probability)
        return np.logaddexp(logs[0] + one, logs[1] + two) + 2.0 * self.off + 8.0 * ROUNDING
