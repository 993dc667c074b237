"""Gaussian noise on a value that moves by a random amount: what a record adds depends on who is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.announced_loss import AnnouncedLoss
from mechanisms.arrays import FloatArray
from mechanisms.gaussian_mixture_curve import GaussianMixtureCurve
from mechanisms.gaussian_mixture_loss import AT_ZERO, GaussianMixtureLoss, Mixture
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, nonnegative, positive, real
from mechanisms.privacy_loss import ROUNDING, PrivacyLoss
from mechanisms.subsampled import BothDirections, BoundedCurve, OneDirection

_MOST_PARTS = 256
_LEAST_RATIO = 1e-9
_LARGEST_RATIO = 44.0
"""Of a movement to sigma: beyond, e^L is beyond floats, and quadratures take too many nodes."""


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
        losses = [GaussianMixtureLoss(*pair, self.sigma, self.relation) for pair in self._pairs(1.0)]
        return losses[0] if len(losses) == 1 else AnnouncedLoss(*losses, *self._chances, self.off)

    @cached_property
    def _chances(self) -> list[float]:
        return [chance for chance, _ in self.mixtures]

    @cached_property
    def _curves(self) -> list[GaussianMixtureCurve]:
        return [GaussianMixtureCurve(*pair) for pair in self._pairs(1.0 / self.sigma)]

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the mean of the curves, as `GaussianMixtureCurve` does each."""
        if len(self._curves) == 1:
            return self._curves[0].bounds(epsilon)
        (low, high), (other_low, other_high) = (curve.bounds(epsilon) for curve in self._curves)
        (rest, tau), off = self._chances, self.off * min(self._chances) + 4.0 * ROUNDING
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
        c_i, nonnegative, at most 44 sigma, one of them at least 1e-9 sigma; at most 256.
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
