"""The exact privacy profile of binomial noise, in one coordinate or several."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.binomial_law import log_binomial, window
from mechanisms.loss_product import GridMasses, LossProduct, grid_range, on_grid
from mechanisms.parameters import open_unit, whole
from mechanisms.profile import PrivacyProfile

_GRID = 2048  # points of one coordinate's loss
_GRID_OF_TWO = 512  # the same where d + 1 products of two losses are compared
_SLACK = 2.0**-49  # 16 roundings, relative to 1 + |ln pmf|


@functools.lru_cache(maxsize=8)
def _one_loss(trials: int, shift: int, probability: float) -> tuple[FloatArray, FloatArray, float]:
    """Return the losses ln P/Q of Bin + shift against Bin (ascending), their masses, the infinite mass.

    Rounding is upwards: the computed log probabilities err by less than `_SLACK` of their size.
    """
    low, high = window(trials, probability)
    noise = np.arange(low, high + 1)
    log_p = log_binomial(noise, trials, probability)
    log_q = log_binomial(noise + shift, trials, probability)
    scale = 1.0 + math.log1p(trials)
    masses = np.exp(log_p) * (1.0 + _SLACK * (scale - log_p))
    finite = np.isfinite(log_q)
    losses = (log_p - log_q)[finite] + _SLACK * (2.0 * scale - log_p[finite] - log_q[finite])
    # The loss ln P/Q increases with y (log-concavity); rounding must not disturb the order.
    return np.maximum.accumulate(losses), masses[finite], float(masses[~finite].sum())


def _one_curve(trials: int, shift: int, probability: float, epsilon: float) -> float:
    losses, masses, infinite = _one_loss(trials, shift, probability)
    start = int(np.searchsorted(losses, epsilon, side="right"))
    return infinite + float(np.sum(-np.expm1(epsilon - losses[start:]) * masses[start:]))


@dataclass(frozen=True)
class BinomialProfile(PrivacyProfile):
    """Profile of d coordinates of Bin(N, p) noise, each moved by ``shift`` (signs at their worst).

    The noise is log-concave, so for one coordinate the likelihood ratio of a shift is monotone and the pair
    with the largest shift has the smaller ones as post-processings: the worst data set moves every coordinate
    by ``shift``. At p = 1/2 the reflection y -> N + shift - y makes all signs equivalent; else the largest δ
    over the numbers r of upward shifts counts. Rounding data to whole numbers at random is covered, δ being
    jointly convex.

    One coordinate: δ(ε) = Σ_y (P(y) - e^ε Q(y))^+ summed term by term, exact (relative error below 1e-11,
    upwards). Several: the losses on a grid that dominates them, tilted, convolved by FFT, all errors added;
    its ε is above the exact one by a few parts in 10⁵ (p = 1/2) or 10⁴. Losses of probability below 1e-30 count as
    infinite there.

    Parameters
    ----------
    trials : int
        N >= 1.
    shift : int
        Movement of each coordinate, >= 1.
    probability : float
        p in (0, 1).
    coordinates : int
        d >= 1.
    bound : str
        Why the curve is only a bound, besides the grid: empty if data exist that move every coordinate by
        ``shift``.
    """

    trials: int
    shift: int
    probability: float = 0.5
    coordinates: int = 1
    bound: str = ""

    def __post_init__(self) -> None:
        for name in ("trials", "shift", "coordinates"):
            object.__setattr__(self, name, whole(name, getattr(self, name), least=1))
        object.__setattr__(self, "probability", open_unit("probability", self.probability))
        if self.coordinates > 1 and not self.bound:
            object.__setattr__(self, "bound", "losses on a grid that dominates them")

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None: the largest outputs are impossible under the smaller value."""
        return None

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss, rounded up."""
        return (
            min(1.0, max(product.infinite_mass for product in self._products))
            if self._many
            else max(_one_loss(self.trials, self.shift, p)[2] for p in self._laws)
        )

    @property
    def _many(self) -> bool:
        return self.coordinates > 1

    @property
    def _laws(self) -> tuple[float, ...]:
        """The upward shift's p, and the downward one's where it differs (its reflection)."""
        return (0.5,) if self.probability == 0.5 else (self.probability, 1.0 - self.probability)

    @cached_property
    def _products(self) -> list[LossProduct]:
        laws = [_one_loss(self.trials, self.shift, p) for p in self._laws]
        ranges = [grid_range(losses, masses) for losses, masses, _ in laws]
        cells = _GRID if len(laws) == 1 else _GRID_OF_TWO
        step = (max(high - low for low, high in ranges) or max(1e-12, abs(ranges[0][1]))) / cells
        parts: list[GridMasses] = [on_grid(*law, step, ends) for law, ends in zip(laws, ranges, strict=True)]
        d = self.coordinates
        if len(parts) == 1:
            return [LossProduct(parts, (d,))]
        return [LossProduct(parts, (up, d - up)) for up in range(d + 1)]

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        flat = np.ravel(epsilon).tolist()
        if self._many:
            values = [max(product.delta(x) for product in self._products) for x in flat]
        else:
            values = [max(_one_curve(self.trials, self.shift, p, x) for p in self._laws) for x in flat]
        return np.asarray(values).reshape(np.shape(epsilon))
