"""Gaussian noise on a value to which a record contributes a random amount, as in subsampled batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.amplification.gaussian_mixture_curve import GaussianMixtureCurve
from mechanisms.arrays import FloatArray
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.gaussian_mixture_loss import AT_ZERO, GaussianMixtureLoss, Mixture
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, log1p_complex
from mechanisms.parameters import ParameterError, nonnegative, positive, real
from mechanisms.profiles.privacy_profile import BoundedCurve
from mechanisms.profiles.subsampled import BothDirections, OneDirection

_MOST_PARTS = 256
_LEAST_RATIO = 1e-15
_LARGEST_RATIO = 44.0
"""The largest ratio of a movement to sigma: beyond, e^L is no float, and quadratures take too many nodes."""


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


@dataclass(frozen=True)
class GaussianMixtureDirection(BoundedCurve, OneDirection):
    """One direction of a mixture of Gaussians: (M, N(0, σ²)), or (N(0, σ²), M) if ``added``.

    Parameters
    ----------
    mixtures
        M with probability 1; or two with theirs, when it is announced which.
    off
        Relative error of the smaller probability.
    """

    mixtures: tuple[tuple[float, Mixture], ...]
    sigma: float
    relation: Neighbouring
    added: bool
    bound: str = ""
    off: float = 0.0

    @property
    def neighbouring(self) -> Neighbouring:
        """The relation that is stated."""
        return self.relation

    @property
    def pure_epsilon(self) -> None:
        """None: nothing is known of the largest loss of a group that is added, and of one removed there is none."""
        return None

    def _pairs(self, scale: float) -> Iterator[tuple[Mixture, Mixture]]:
        for _, mixture in self.mixtures:
            taken = tuple((centre * scale, weight) for centre, weight in mixture)
            yield (AT_ZERO, taken) if self.added else (taken, AT_ZERO)

    def loss(self) -> PrivacyLoss:
        """Return the law of the loss in this direction."""
        first, *more = (GaussianMixtureLoss(*pair, self.sigma) for pair in self._pairs(1.0))
        return (
            AnnouncedLoss(first, more[0], self.mixtures[0][0], self.mixtures[1][0], self.off)
            if more
            else first
        )

    @cached_property
    def _curves(self) -> list[GaussianMixtureCurve]:
        return [GaussianMixtureCurve(*pair) for pair in self._pairs(1.0 / self.sigma)]

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the mean of the curves, as `GaussianMixtureCurve` does each."""
        if len(self._curves) == 1:
            return self._curves[0].bounds(epsilon)
        (low, high), (other_low, other_high) = (curve.bounds(epsilon) for curve in self._curves)
        rest, tau = (chance for chance, _ in self.mixtures)
        off = self.off * min(rest, tau) + 4.0 * ROUNDING
        lower = rest * low + tau * other_low - off * (low + other_low)
        upper = rest * high + tau * other_high + off * (high + other_high)
        return np.maximum(lower, 0.0), np.minimum(upper, 1.0)


@dataclass(frozen=True)
class GaussianMixtureProfile(BothDirections):
    """Profile of N(0, σ²) against Σ_i p_i N(c_i, σ²), in both directions.

    So much is lost at most where a value moves by c_i with probability p_i, and by no more than that (Choquette-Choo,
    Ganesh, Steinke, Thakurta 2024, "Privacy amplification for matrix mechanisms", Sec. 4: also for vectors of such
    norms, and adaptively).

    Parameters
    ----------
    movements : tuple of float
        c_i, nonnegative, at most 44 sigma, one of them at least 1e-15 sigma; at most 256.
    probabilities : tuple of float
        p_i, positive, which add up to 1 but for rounding, and are divided by their sum.
    sigma : float
        Noise, positive.
    relation : Neighbouring
        Adding or removing a record, or zeroing one out.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """

    movements: tuple[float, ...]
    probabilities: tuple[float, ...]
    sigma: float
    relation: Neighbouring = Neighbouring.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        sigma = positive("sigma", self.sigma)
        for name in ("movements", "probabilities"):
            if not isinstance(getattr(self, name), list | tuple):
                raise ParameterError(f"{name} = {getattr(self, name)!r}: must be a list of numbers")
        if not 1 <= len(self.movements) == len(self.probabilities) <= _MOST_PARTS:
            raise ParameterError(
                f"movements: there are {len(self.movements)}, and {len(self.probabilities)} probabilities; must be "
                f"as many, from 1 to {_MOST_PARTS}"
            )
        moved = tuple(nonnegative("movements", own) for own in self.movements)
        chances = tuple(real("probabilities", own) for own in self.probabilities)
        if not min(chances) > 0.0 or abs(math.fsum((*chances, -1.0))) > len(chances) * 4.0 * ROUNDING:
            raise ParameterError(f"probabilities = {list(chances)}: must be positive and add up to 1")
        if not _LEAST_RATIO * sigma <= max(moved) <= _LARGEST_RATIO * sigma:
            raise ParameterError(
                f"movements = {list(moved)}: the largest must be {_LEAST_RATIO:g} to {_LARGEST_RATIO:g} sigma"
            )
        if self.relation is Neighbouring.REPLACE_ONE:
            raise ParameterError(
                "relation: a mixture of Gaussians is for a record that joins, leaves or is zeroed out, not for "
                "'replace one'"
            )
        for name, value in (("movements", moved), ("probabilities", chances), ("sigma", sigma)):
            object.__setattr__(self, name, value)

    @property
    def gaussian_mu(self) -> float:
        """The largest movement over sigma (joint convexity)."""
        return math.nextafter(max(self.movements) / self.sigma, math.inf)

    @cached_property
    def _sides(self) -> tuple[GaussianMixtureDirection, GaussianMixtureDirection]:
        together: dict[float, float] = {}
        for moved, chance in zip(self.movements, self.probabilities, strict=True):
            together[moved] = together.get(moved, 0.0) + chance
        log_sum = math.log1p(math.fsum((*self.probabilities, -1.0)))
        mixture = tuple((moved, math.log(chance) - log_sum) for moved, chance in sorted(together.items()))
        removed = GaussianMixtureDirection(((1.0, mixture),), self.sigma, self.relation, added=False)
        return removed, removed.reversed()
