"""Binomial noise: what shuffled bits add, with its exact privacy profile."""

from __future__ import annotations

import functools
import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.binomial_law import log_binomial, window
from mechanisms.bounds import NoPrivacy, PerfectPrivacy
from mechanisms.loss_product import GridLoss, LossProduct, grid_range, on_grid
from mechanisms.mechanism import BuiltInMechanism, register
from mechanisms.noise import NoiseSource, noise_source
from mechanisms.parameters import DomainError, ParameterError, open_unit, whole
from mechanisms.profile import PrivacyProfile
from mechanisms.sensitivity import Sensitivity

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
    the result is above the exact curve by a relative 1e-3 or less in ε. Losses of probability below 1e-30 count as
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
        Empty if data exist that move every coordinate by ``shift``, else why the curve is only a bound.
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
        parts: list[GridLoss] = [on_grid(*law, step, ends) for law, ends in zip(laws, ranges, strict=True)]
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


@register
@dataclass(frozen=True, kw_only=True)
class Binomial(BuiltInMechanism):
    """Add independent Bin(N, p) noise to every coordinate of a vector of whole numbers.

    What the analyzer of a shuffle protocol sees: the number of ones among shuffled bits. The noise is not
    centred; subtract Np (post-processing).

    Parameters
    ----------
    trials : int
        N, the number of random bits in each coordinate.
    shift : int
        How far one record moves a coordinate, at most.
    dimension : int
        How many coordinates a released vector has, at most; all of them may move.
    probability : float
        p, 1/2 by default.
    delta : float, optional
        The nominal δ at which ``epsilon`` and basic composition read the profile.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or shift exceeds trials.
    """

    trials: int
    shift: int
    dimension: int = 1
    probability: float = 0.5
    delta: float | None = None

    def __post_init__(self) -> None:
        for name in ("trials", "shift", "dimension"):
            object.__setattr__(self, name, whole(name, getattr(self, name), least=1))
        object.__setattr__(self, "probability", open_unit("probability", self.probability))
        if self.shift > self.trials:
            raise ParameterError(f"shift = {self.shift}: must be at most trials = {self.trials}")
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """A box: every coordinate moves by ``shift``."""
        return Sensitivity.of_box([float(self.shift)] * self.dimension)

    @property
    def nominal_delta(self) -> float:
        """The δ given, else 0."""
        return self.delta or 0.0

    @cached_property
    def _own_profile(self) -> PrivacyProfile:
        return self._profile_at(self.sensitivity)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        if moved.l1 < 1.0 or moved.linf < 1.0:
            return PerfectPrivacy()
        if math.isinf(moved.l1) or moved.linf > self.trials:
            return NoPrivacy()
        # Whole numbers: every coordinate that moves moves by at least 1, so at most l1 of them do.
        coordinates, shift = min(self.dimension, math.floor(moved.l1)), math.floor(moved.linf)
        reached = moved.l1 >= coordinates * shift
        bound = "" if reached else "every moved coordinate moving by linf"
        return BinomialProfile(self.trials, shift, self.probability, coordinates, bound)

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the `BinomialProfile` when one record moves the value by ``sensitivity`` (default: its own)."""
        return self._own_profile if sensitivity is None else self._profile_at(sensitivity)

    @cached_property
    def epsilon(self) -> float:
        """The smallest ε at (`sensitivity`, `nominal_delta`); inf without a delta."""
        return self.profile().epsilon(self.nominal_delta)

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> IntArray:
        """Return value + Bin(N, p), same shape; the trailing axis holds at most ``dimension`` coordinates.

        A secure source's noise is counted from the operating system's random bits (p = 1/2 only); others
        invert the distribution function at one normal variate per coordinate.

        Raises
        ------
        DomainError
            If the value holds anything but whole numbers.
        ParameterError
            If the value has more than ``dimension`` coordinates, or a secure source is asked for p != 1/2.
        """
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            rounded = np.rint(array)
            if array.dtype.kind != "f" or not np.array_equal(rounded, array):
                raise DomainError("value: must hold whole numbers only")
            array = rounded.astype(np.int64)
        if array.ndim and array.shape[-1] > self.dimension:
            raise ParameterError(
                f"value has {array.shape[-1]} coordinates: this mechanism's profile is for at most {self.dimension}"
            )
        source = noise_source(noise)
        if source.secure:
            if self.probability != 0.5:
                raise ParameterError(f"probability = {self.probability}: secure binomial noise needs 1/2")
            bits = [secrets.randbits(self.trials).bit_count() for _ in range(array.size)]
            return np.asarray(array + np.array(bits, dtype=np.int64).reshape(array.shape))
        low, table = _distribution(self.trials, self.probability)
        uniform = ndtr(source.gaussian(np.zeros(array.shape), 1.0))
        return np.asarray(array + low + np.searchsorted(table, uniform, side="right"))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln P(Bin(N, p) = output - value), -inf off the whole numbers 0 .. N."""
        step: npt.NDArray[Any] = np.asarray(np.subtract(output, value), dtype=np.float64)
        count = np.rint(step)
        return np.where(count == step, log_binomial(count, self.trials, self.probability), -np.inf)


@functools.lru_cache(maxsize=32)
def _distribution(trials: int, probability: float) -> tuple[int, FloatArray]:
    """Return the first point of the window and the distribution function on it, its last point left out."""
    low, high = window(trials, probability)
    table = np.cumsum(np.exp(log_binomial(np.arange(low, high + 1), trials, probability)))
    return low, table[:-1] / table[-1]
