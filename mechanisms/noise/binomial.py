"""Binomial noise, as of shuffled bits."""

from __future__ import annotations

import functools
import math
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.mechanism import BuiltInMechanism, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.binomial_law import checked_trials, log_binomial, window
from mechanisms.parameters import DomainError, ParameterError, open_unit, whole_number
from mechanisms.profiles.binomial_profile import BinomialProfile
from mechanisms.profiles.bounding_profiles import NoPrivacy, PerfectPrivacy, unlimited_movement
from mechanisms.profiles.privacy_profile import PrivacyProfile

_PART = 2**26


@register
@dataclass(frozen=True, kw_only=True)
class Binomial(BuiltInMechanism):
    """Add independent Bin(N, p) noise to every coordinate of a vector of whole numbers, each worth some ones.

    The view of the analyzer of a shuffle protocol: the number of ones among shuffled bits. The noise is not
    centred; subtract Np (post-processing).

    Parameters
    ----------
    trials : int
        N, the number of random bits in each coordinate.
    shift : int
        The largest movement of a coordinate by one record.
    dimension : int
        The largest number of coordinates of a released vector; all of them may move.
    probability : float
        p, 1/2 by default.
    delta : float, optional
        The nominal δ at which ``epsilon`` and basic composition read the profile.
    clients : int, optional
        The clients whose random bits are the noise: N / clients bits of each client that sends a message. Then the
        mechanism is a shuffler, and the only kind that a gate of shuffle trust releases through.
    ones : int
        g, the number of ones for a 1: the value is multiplied by it before the noise. The noise on a count of clients
        is then finer than a client, and a client that moves a coordinate at all moves it by g ones.

    Raises
    ------
    ParameterError
        If a parameter is out of range, shift times ones exceeds trials, or trials are no multiple of clients.
    """

    trials: int
    shift: int
    dimension: int = 1
    probability: float = 0.5
    delta: float | None = None
    clients: int | None = None
    ones: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", checked_trials(self.trials))
        for name in ("shift", "dimension", "ones"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=1))
        object.__setattr__(self, "probability", open_unit("probability", self.probability))
        if self.shift * self.ones > self.trials:
            times = f", times ones = {self.ones}," if self.ones > 1 else ""
            raise ParameterError(f"shift = {self.shift}{times}: must be at most trials = {self.trials}")
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))
        if self.clients is not None:
            object.__setattr__(self, "clients", whole_number("clients", self.clients, least=1))
            if self.trials % self.clients:
                raise ParameterError(f"clients = {self.clients}: trials = {self.trials} must be a multiple")

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """A box: every coordinate moves by ``shift``."""
        return Sensitivity.of_box([float(self.shift)] * self.dimension)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the `BinomialProfile` when one record moves the value by ``moved``."""
        if moved.l1 < 1.0 or moved.linf < 1.0:
            return PerfectPrivacy()
        if moved.linf * self.ones > self.trials:
            return NoPrivacy()
        if math.isinf(moved.l1):
            return unlimited_movement(moved)
        # Whole numbers: every coordinate that moves moves by at least 1, so at most l1 of them do.
        coordinates, shift = min(self.dimension, math.floor(moved.l1)), math.floor(moved.linf)
        reached = moved.l1 >= coordinates * shift
        bound = "" if reached else "every moved coordinate moving by linf"
        return BinomialProfile(self.trials, shift * self.ones, self.probability, coordinates, bound)

    @property
    def samples_securely(self) -> bool:
        """True if p = 1/2: then the noise is a count of random bits."""
        return self.probability == 0.5

    @property
    def whole_values(self) -> bool:
        """True."""
        return True

    @property
    def counts_in_public(self) -> bool:
        """True if the sum is that of a shuffler's messages from a stated number of clients."""
        return self.clients is not None

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> IntArray:
        """Return g value + Bin(N, p), same shape; the trailing axis holds at most ``dimension`` coordinates.

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
        array = array * self.ones
        if array.ndim and array.shape[-1] > self.dimension:
            raise ParameterError(
                f"value has {array.shape[-1]} coordinates: this mechanism's profile is for at most {self.dimension}"
            )
        source = noise_source(noise)
        if source.secure:
            if self.probability != 0.5:
                raise ParameterError(f"probability = {self.probability}: secure binomial noise needs 1/2")
            bits = [_ones_of(self.trials) for _ in range(array.size)]
            return np.asarray(array + np.array(bits, dtype=np.int64).reshape(array.shape))
        low, table = _distribution(self.trials, self.probability)
        uniform = ndtr(source.gaussian(np.zeros(array.shape), 1.0))
        return np.asarray(array + low + np.searchsorted(table, uniform, side="right"))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln P(Bin(N, p) = output - g value), -inf off the whole numbers 0 .. N."""
        step: npt.NDArray[Any] = np.asarray(
            np.subtract(output, np.multiply(value, self.ones)), dtype=np.float64
        )
        count = np.rint(step)
        return np.where(count == step, log_binomial(count, self.trials, self.probability), -np.inf)


def _ones_of(trials: int) -> int:
    """Return the number of ones among `trials` of the operating system's random bits, 8 MB of them at a time."""
    whole_parts, rest = divmod(trials, _PART)
    return sum(secrets.randbits(size).bit_count() for size in (*(_PART,) * whole_parts, rest))


@functools.lru_cache(maxsize=32)
def _distribution(trials: int, probability: float) -> tuple[int, FloatArray]:
    """Return the first point of the window and the distribution function on it, its last point left out."""
    low, high = window(trials, probability)
    table = np.cumsum(np.exp(log_binomial(np.arange(low, high + 1), trials, probability)))
    return low, table[:-1] / table[-1]
