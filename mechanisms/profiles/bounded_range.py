"""Bounded-range mechanisms, with a privacy loss in an interval of length ε: the exponential mechanism and its kin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.losses.atomic_loss import NO_LOSS
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.numerics.rounding import Ceiling, up
from mechanisms.profiles.bounding_profiles import EpsilonBound


@dataclass(frozen=True)
class BoundedRangeLoss(PrivacyLoss):
    """The loss with density e^{(l+ε)/2} / (2(e^ε - 1)) on [-ε, ε]: M(z) = sinh(εy) / (2y sinh(ε/2)), y = z + 1/2.

    Parameters
    ----------
    epsilon : Fraction
        Positive.
    """

    epsilon: Fraction

    @property
    def supremum(self) -> float:
        """ε, rounded up."""
        return up(self.epsilon)

    @property
    def infimum(self) -> float:
        """-ε, rounded down."""
        return -up(self.epsilon)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln M = εz + ln(1 - e^{-2εy}) - ln 2y - ln(1 - e^{-ε}).

        εz has 3u; x = -2εy has 3u, which moves 1 - e^x by 3u |x e^x| and is divided by it; the rest a few u.
        """
        e = float(self.epsilon)
        z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        x = -e * (2.0 * z + 1.0)
        rest = -np.expm1(x)
        value = e * z + np.log(rest) - np.log(2.0 * z + 1.0) - math.log(-math.expm1(-e))
        parts = np.abs(e * z) + np.abs(np.log(2.0 * z + 1.0)) + abs(math.log(-math.expm1(-e)))
        with np.errstate(over="ignore"):  # of the tiniest losses nothing is certain
            error = 8.0 * parts + 12.0 + 6.0 * (np.abs(x) + 1.0) * np.exp(x.real) / np.abs(rest)
        return value, ROUNDING * (error + 4.0 * np.abs(value))

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return the same on the real line."""
        e = float(self.epsilon)
        y = s + 0.5
        return np.asarray(
            e * s + np.log(-np.expm1(-2.0 * e * y)) - np.log(2.0 * y) - math.log(-math.expm1(-e))
        )

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln(cosh(εx) / (2|y| sinh(ε/2))), x = Re y, or ln M(s): |sinh(εy)|² = sinh²(εx) + sin²(εt)."""
        e, x = float(self.epsilon), s + 0.5
        log_cosh = e * x + math.log1p(math.exp(-2.0 * e * x))
        log_sinh = 0.5 * e + math.log(-math.expm1(-e))
        bound = log_cosh - log_sinh - np.log(2.0 * np.hypot(x, heights))
        slack = 16 * ROUNDING * (e * (x + 1.0) + abs(math.log(-math.expm1(-e))) + 8.0)
        return np.asarray(np.minimum(bound + slack + 8 * ROUNDING * np.abs(bound), self.log_top(s)))


_LITTLE = 1e-3
"""Orders times ε, below which αρ is at most 1e-6 above the divergence."""


@dataclass(frozen=True)
class BoundedRangeProfile(EpsilonBound):
    """Bound for any mechanism with loss in [t - ε, t] for some t ("bounded range", Durfee & Rogers 2019).

    The exponential mechanism with weights e^{η score}, and noisy max with Gumbel noise of scale 1/η, which is the same:
    ε = η (largest - smallest change of a score over all outputs), at most 2η times the sensitivity of a score, and
    once that if all scores move in the same direction (monotone).

    Theorem. δ(x) = (1 - e^{(x-ε)/2})² / (1 - e^{-ε}) for |x| <= ε.

        *Proof.* (1 - e^{x-L})^+ is convex in e^{-L}, whose mean is 1: for a given t the two ends of the interval are
        worst, t with probability (E - Y)/(E - 1), E = e^ε, Y = e^t. That has δ = (E-Y)(1 - w/Y)/(E-1) at w = e^x, which
        is largest at Y = √(Ew). The supremum over t is convex in w, so it is the curve of a pair, whose loss has
        the density w² δ''(w) of `BoundedRangeLoss`. []

    Each of several releases, chosen adaptively, is dominated by the pair, and all of them by the product.

    Parameters
    ----------
    epsilon_bound : Fraction (or a float or int, taken exactly)
        The length of the interval, nonnegative and finite.
    """

    bound: str = "bounded range"

    @property
    def rho(self) -> float:
        """ε²/8 (Cesar & Rogers 2021, "Bounding, concentrating, and truncating", Lemma 3.2), rounded up."""
        return up(self.epsilon_bound**2 / 8)

    @property
    def outdoes_its_curve(self) -> bool:
        """True: for each order the worst t is another one."""
        return True

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the divergence at the worst t of each order, rounded up.

        Of the two ends of the interval the larger, t, has the probability (E - Y)/(E - 1), E = e^ε, Y = e^t (see
        above), so M_t(s) = Y^s (1 - c (Y - 1)/(E - 1)), s = α - 1, c = 1 - E^{-s}. It is largest at Y = E e^{-d}, e^d =
        (1 + 1/s)(1 - e^{-sε})/(1 - e^{-(s+1)ε}). ln M is concave in Y: a d that is off by η costs at most η times the
        slope there in ln Y. Rounding moves ln M by a few u sε, which is added. Where that would be much beside ln M
        itself the divergence is αρ.
        """
        orders = np.asarray(order, dtype=np.float64)
        e, s = float(self.epsilon_bound), orders - 1.0
        by_rho = np.minimum(self.rho * orders * (1.0 + 2.0**-50), up(self.epsilon_bound))
        usual = orders * e > _LITTLE
        if not usual.any():
            return np.asarray(by_rho)
        s = np.where(usual, s, 1.0)
        all_e, c = math.expm1(-e), -np.expm1(-s * e)
        first, both = np.log1p(1.0 / s), np.expm1(-(s + 1.0) * e)
        second = np.where(s * e < 1.0, np.log(-c / both), np.log1p(-np.exp(-s * e) * all_e / both))
        d = np.clip(first + second, 0.0, e)
        smaller = np.exp(-d) * np.expm1(d - e) / all_e  # the probability of the smaller end
        rest = np.expm1(-d) / all_e + smaller * np.exp(-s * e)  # 1 - c times it, which may cancel
        log_rest = np.where(c * smaller < 0.5, np.log1p(-np.minimum(c * smaller, 0.5)), np.log(rest))
        slope = s + c * np.exp(-d) / all_e / rest
        mean = s * (e - d) + log_rest + 8.0 * ROUNDING * (1.0 + first - second) * np.abs(slope)
        worst = mean / s * (1.0 + 1e-13) + 2.0**-48 * e
        return np.where(usual, np.minimum(worst, by_rho), by_rho)

    def loss(self) -> PrivacyLoss:
        """Return the loss of the dominating pair."""
        return BoundedRangeLoss(self.epsilon_bound) if self.epsilon_bound else NO_LOSS

    @property
    def relative_error(self) -> float:
        """1e-14: the square of an exponential of a distance, and a quotient."""
        return 1e-14

    @cached_property
    def _ceiling(self) -> Ceiling:
        return Ceiling.from_fraction(self.epsilon_bound)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if not self.epsilon_bound:
            return np.zeros_like(epsilon)
        gap = np.maximum(self._ceiling.gap(epsilon), 0.0)
        root = np.expm1(-0.5 * gap) / math.sqrt(-math.expm1(-up(self.epsilon_bound)))
        return np.asarray(root * root)  # the square of a distance may be below all floats

    def _invert(self, delta: float) -> float:
        size = float(self.epsilon_bound)
        return max(0.0, size + 2.0 * math.log1p(-math.sqrt(min(1.0, delta * -math.expm1(-size)))))
