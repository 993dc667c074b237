"""The exact privacy profile of binomial noise, in one coordinate or several."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.loss_product import DROPPED, GridMasses, LossProduct, grid_range, on_grid
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.binomial_law import NEGLIGIBLE, checked_trials, log_binomial, window
from mechanisms.parameters import LEAST_DELTA, open_unit, whole_number
from mechanisms.profiles.atomic_profile import tail_sums
from mechanisms.profiles.privacy_profile import BoundedCurve, PrivacyProfile, bounds_on_both_sides

_GRID = 2048  # points of one coordinate's loss
_GRID_OF_TWO = 512  # the same where d + 1 products of two losses are compared
_FEW = 8  # points of a curve that are summed term by term
_MOST_ATOMS = 4096  # of a loss whose transform is summed
_SLACK = 2.0**-47  # 64 roundings, relative to 1 + |ln pmf|


@functools.lru_cache(maxsize=16)
def _one_loss(
    trials: int, shift: int, probability: float, side: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the losses ln P/Q of Bin + shift against Bin (ascending), their masses, the infinite mass.

    A shift below 0 is one downwards, under which losses ascend as the noise falls. The computed log probabilities err
    by less than `_SLACK` of their size: all is rounded upwards for ``side`` 1, downwards for -1.
    """
    low, high = window(trials, probability)
    noise = np.arange(low, high + 1) if shift > 0 else np.arange(high, low - 1, -1)
    log_p = log_binomial(noise, trials, probability)
    if abs(shift) < noise.size:
        beyond = log_binomial(noise[-abs(shift) :] + shift, trials, probability)
        log_q = np.concatenate([log_p[abs(shift) :], beyond])
    else:
        log_q = log_binomial(noise + shift, trials, probability)
    scale = 1.0 + math.log1p(trials)
    masses = np.exp(log_p) * (1.0 + side * _SLACK * (scale - log_p))
    finite = np.isfinite(log_q)
    losses = (log_p - log_q)[finite] + side * _SLACK * (2.0 * scale - log_p[finite] - log_q[finite])
    # The loss ln P/Q is monotone in the noise (log-concavity); rounding must not disturb the order.
    ordered = np.maximum.accumulate(losses) if side > 0.0 else np.minimum.accumulate(losses[::-1])[::-1]
    return ordered, masses[finite], float(masses[~finite].sum())


def _one_curve(trials: int, shift: int, probability: float, epsilon: float, side: float = 1.0) -> float:
    losses, masses, infinite = _one_loss(trials, shift, probability, side)
    start = int(np.searchsorted(losses, epsilon, side="right"))
    return infinite + float(np.sum(-np.expm1(epsilon - losses[start:]) * masses[start:]))


@functools.lru_cache(maxsize=16)
def _table(trials: int, shift: int, probability: float, side: float) -> tuple[FloatArray, FloatArray]:
    losses, masses, _ = _one_loss(trials, shift, probability, side)
    return tail_sums(np.diff(losses), masses)


def _curve_at(trials: int, shift: int, probability: float, epsilon: FloatArray, side: float) -> FloatArray:
    """Return one curve at all ε >= 0, rounded to a side: term by term for few, by `_table` for many."""
    flat = np.ravel(epsilon)
    losses, _, infinite = _one_loss(trials, shift, probability, side)
    if flat.size <= _FEW:
        values = np.array([_one_curve(trials, shift, probability, x, side) for x in flat.tolist()])
    else:
        c, d = _table(trials, shift, probability, side)
        j = np.searchsorted(losses, flat, side="right")
        fall = np.minimum(flat - np.append(losses, np.inf)[j], 0.0)
        values = infinite + d[j] - np.expm1(fall) * c[j]
    # Sums of so many terms, each with a few roundings; the window leaves out 3e-304.
    error = 1e-14 + 2.0**-53 * 8.0 * (losses.size if flat.size > _FEW else 0.0)
    moved = np.maximum(0.0, values * (1.0 + side * error) + side * 3e-304)
    return np.minimum(1.0, moved).reshape(np.shape(epsilon))


def _bounds_at(
    trials: int, shift: int, probability: float, epsilon: FloatArray
) -> tuple[FloatArray, FloatArray]:
    lower, upper = (_curve_at(trials, shift, probability, epsilon, side) for side in (-1.0, 1.0))
    return lower, upper


@functools.lru_cache(maxsize=16)
def _loss_of(trials: int, shift: int, probability: float) -> AtomicLoss | None:
    """Return the law of the losses, and bounds on its rounding and its masses'; None above `_MOST_ATOMS`."""
    low, high = window(trials, probability)
    if high - low >= _MOST_ATOMS:
        return None
    below, _, _ = _one_loss(trials, shift, probability, -1.0)
    above, masses, infinite = _one_loss(trials, shift, probability, 1.0)
    losses = 0.5 * (below + above)
    if (
        probability == 0.5
    ):  # noise k and N - s - k have opposite losses; those beyond the window, next to no mass
        k = np.arange(low, low + losses.size)
        mirror = trials - shift - k - low
        inside = (mirror >= 0) & (mirror < losses.size)
        losses[inside] = 0.5 * (losses[inside] - losses[mirror[inside]])
    values: dict[Fraction, float] = {}
    for x, p in zip(losses.tolist(), masses.tolist(), strict=True):
        values[Fraction(x)] = values.get(Fraction(x), 0.0) + p
    displaced = float(np.max(above - below)) * (0.5 + 1e-9)
    relative = 2.0 * _SLACK * (2.0 + math.log1p(trials) + NEGLIGIBLE)
    return AtomicLoss(tuple(values), tuple(values.values()), infinite + 3e-304, relative, displaced)


@dataclass(frozen=True)
class BinomialShift(BoundedCurve):
    """Profile of one data set against another with a value smaller by ``shift``, under Bin(N, p) noise.

    One of the two pairs behind `BinomialProfile` at p != 1/2; the reverse pair is the one with -``shift``.

    Parameters
    ----------
    trials, shift : int
        N and the change of the value, which is not 0; if it is negative the other value is larger.
    probability : float
        p in (0, 1).
    """

    trials: int
    shift: int
    probability: float

    @property
    def symmetric(self) -> bool:
        """Only at p = 1/2."""
        return self.probability == 0.5

    @property
    def pure_epsilon(self) -> None:
        """None: the largest outputs are impossible under the smaller value."""
        return None

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss, rounded up."""
        return _one_loss(self.trials, self.shift, self.probability, 1.0)[2]

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the losses, unless there are very many."""
        return _loss_of(self.trials, self.shift, self.probability)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the sum, and at ε < 0 the sum of the reverse pair."""
        right, left = (
            _bounds_at(self.trials, shift, self.probability, np.abs(epsilon))
            for shift in (self.shift, -self.shift)
        )
        return bounds_on_both_sides(epsilon, right, left)


@dataclass(frozen=True)
class BinomialProfile(PrivacyProfile):
    """Profile of d coordinates of Bin(N, p) noise, each moved by ``shift`` (signs at their worst).

    The noise is log-concave, so for one coordinate the likelihood ratio of a shift is monotone and the pair
    with the largest shift has the smaller ones as post-processings: the worst data set moves every coordinate
    by ``shift``. At p = 1/2 the reflection y -> N + shift - y makes all signs equivalent; else the largest δ
    over the numbers r of upward shifts counts; which way is worse may then differ from release to release, and
    with what was released before (`attained`). Rounding data to whole numbers at random is covered, δ being
    jointly convex.

    One coordinate: δ(ε) = Σ_y (P(y) - e^ε Q(y))^+ summed term by term, exact, rounded upwards (and downwards by
    `bounds`). Several: the losses on a grid that dominates them, tilted, convolved by FFT, all errors added;
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
        object.__setattr__(self, "trials", checked_trials(self.trials))
        for name in ("shift", "coordinates"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=1))
        object.__setattr__(self, "probability", open_unit("probability", self.probability))
        if self.coordinates > 1 and not self.bound:
            object.__setattr__(self, "bound", "losses on a grid that dominates them")

    @staticmethod
    def least_delta(coordinates: int) -> float:
        """Return a delta below which no number of fair trials proves a bound: the neglected tails can add up to it."""
        return coordinates * DROPPED if coordinates > 1 else LEAST_DELTA

    @property
    def pure_epsilon(self) -> Fraction | None:
        """None: the largest outputs are impossible under the smaller value."""
        return None

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss, rounded up."""
        return (
            min(1.0, max((product.infinite_mass for product in self._products), default=1.0))
            if self._many
            else max(_one_loss(self.trials, shift, self.probability, 1.0)[2] for shift in self._shifts)
        )

    @property
    def _many(self) -> bool:
        return self.coordinates > 1

    @property
    def _shifts(self) -> tuple[int, ...]:
        """The upward shift, and the downward one where it differs (not computed by 1 - p, which is rounded)."""
        return (self.shift,) if self.probability == 0.5 else (self.shift, -self.shift)

    @cached_property
    def _products(self) -> list[LossProduct]:
        laws = [_one_loss(self.trials, shift, self.probability, 1.0) for shift in self._shifts]
        if not all(losses.size for losses, _, _ in laws):
            return []  # a movement leaves the range of the noise: nothing is hidden
        ranges = [grid_range(losses, masses) for losses, masses, _ in laws]
        cells = _GRID if len(laws) == 1 else _GRID_OF_TWO
        step = (max(high - low for low, high in ranges) or max(1e-12, abs(ranges[0][1]))) / cells
        parts: list[GridMasses] = [on_grid(*law, step, ends) for law, ends in zip(laws, ranges, strict=True)]
        d = self.coordinates
        if len(parts) == 1:
            return [LossProduct(parts, (d,))]
        return [LossProduct(parts, (up, d - up)) for up in range(d + 1)]

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the losses of one coordinate at p = 1/2, unless there are very many."""
        return None if self._many or len(self._shifts) > 1 else _loss_of(self.trials, self.shift, 0.5)

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the upward and the downward shift of one coordinate at p != 1/2; else the profile itself."""
        if self.bound or len(self._shifts) == 1:
            return super().attained()
        return tuple(BinomialShift(self.trials, shift, self.probability) for shift in self._shifts)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the larger sum; for several coordinates the computed curve is the curve."""
        if self._many:
            return super()._bounds(epsilon)

        lower, upper = zip(
            *(_bounds_at(self.trials, shift, self.probability, np.abs(epsilon)) for shift in self._shifts),
            strict=True,
        )
        both = np.maximum.reduce(lower), np.maximum.reduce(upper)
        return bounds_on_both_sides(epsilon, both)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        if not self._many:
            upper = [_curve_at(self.trials, shift, self.probability, epsilon, 1.0) for shift in self._shifts]
            return np.asarray(np.maximum.reduce(upper))
        flat = np.ravel(epsilon).tolist()
        values = [max((product.delta(x) for product in self._products), default=1.0) for x in flat]
        return np.asarray(values).reshape(np.shape(epsilon))
