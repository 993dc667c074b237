"""Privatizers: (randomizer, shuffler, analyzer), of which central, local and shuffle trust are instances.

n clients hold one vector in [-B, B]^s each; the server learns their mean. The party that adds the noise
depends on trust:

========  ===================  ====================  =============================
trust     randomizer (client)  shuffler              analyzer (server)
========  ===================  ====================  =============================
central   the vector itself    passes on             adds noise to the mean
local     adds noise           passes on             averages
shuffle   random bits          permutes, forgets     counts the ones, removes the
                               who sent what         bias
========  ===================  ====================  =============================

Li, Zhou & Ji 2022, "Differentially private linear bandits with partial distributed feedback", Sec. 4.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.domain import Box
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.parameters import ParameterError, positive, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile

TrustModel = Literal["central", "local", "shuffle"]
Messages = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Communication:
    """Size of the message that one client sends.

    Attributes
    ----------
    reals
        Real numbers (central and local trust).
    bits
        Bits (shuffle trust).
    """

    reals: int = 0
    bits: int = 0

    def __add__(self, other: Communication) -> Communication:
        """Return the size of both messages together."""
        return Communication(self.reals + other.reals, self.bits + other.bits)

    def __mul__(self, clients: int) -> Communication:
        """Return the size of the messages of `clients` clients."""
        return Communication(self.reals * clients, self.bits * clients)


@runtime_checkable
class Privatizer(Protocol):
    """A private mean of clients' vectors in [-B, B]^s; a frozen value."""

    @property
    def trust(self) -> TrustModel:
        """The trust model: a trusted server, no trusted party, or a trusted shuffler."""

    @property
    def clients(self) -> int:
        """Number n of clients that take part, each once."""

    @property
    def size(self) -> int:
        """Coordinates of a client's vector (s)."""

    @property
    def bound(self) -> float:
        """Every coordinate lies in [-B, B]."""

    @property
    def communication(self) -> Communication:
        """Size of the message that one client sends."""

    @property
    def proxy(self) -> float:
        """A sub-Gaussian variance proxy of the noise in each coordinate of the mean."""

    def profile(self) -> PrivacyProfile:
        """Return the profile of one client's vector in the view that `trust` gives the adversary."""

    def randomize(self, values: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Messages:
        """Return the clients' messages, shape (clients, size)."""

    def shuffle(self, messages: Messages) -> Messages:
        """Return the messages as the shuffler passes them to the server."""

    def analyze(self, seen: Messages, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return the estimate of the mean, shape (size,)."""


def private_mean(
    privatizer: Privatizer, values: npt.ArrayLike, noise: NoiseSource | np.random.Generator
) -> FloatArray:
    """Return the private mean: randomizer, shuffler and analyzer one after the other.

    Raises
    ------
    DomainError
        If a value is outside [-B, B] or NaN.
    ParameterError
        If there are not exactly ``clients`` vectors.
    """
    source = noise_source(noise)
    return privatizer.analyze(privatizer.shuffle(privatizer.randomize(values, source)), source)


def checked_vectors(privatizer: Privatizer, values: npt.ArrayLike) -> FloatArray:
    """Return the clients' vectors after checking their number, their length and their range."""
    array = Box(-privatizer.bound, privatizer.bound, privatizer.size).check(values, "values")
    if array.shape != (privatizer.clients, privatizer.size):
        raise ParameterError(
            f"values of shape {array.shape}: must be (clients, size) = {privatizer.clients, privatizer.size}"
        )
    return np.asarray(array, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class _Gaussian(abc.ABC):
    """Base class of the two Gaussian privatizers.

    Parameters
    ----------
    clients, size, bound
        n, s and B.
    mechanism
        The Gaussian mechanism, calibrated for the movement by one client of the vector that it is added to.
    """

    clients: int
    size: int
    bound: float
    mechanism: Gaussian

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", whole_number("clients", self.clients, least=1))
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))
        object.__setattr__(self, "bound", positive("bound", self.bound))
        if not self.mechanism.sensitivity.covers(self._client_movement):
            raise ParameterError(
                f"mechanism = {self.mechanism!r}: must be calibrated for a movement of {self._client_movement}"
            )

    @staticmethod
    @abc.abstractmethod
    def _movement(clients: int, size: int, bound: float) -> Sensitivity:
        """Return the largest movement by one client of the vector to which the noise is added."""

    @property
    def _client_movement(self) -> Sensitivity:
        return self._movement(self.clients, self.size, self.bound)

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, *, clients: int, size: int, bound: float
    ) -> Self:
        """Return the privatizer with the least noise that is (ε, δ)-DP: the analytic Gaussian mechanism."""
        n, s = whole_number("clients", clients, least=1), whole_number("size", size, least=1)
        moved = cls._movement(n, s, positive("bound", bound))
        mechanism = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=moved)
        return cls(clients=n, size=s, bound=bound, mechanism=mechanism)

    @property
    def communication(self) -> Communication:
        """``size`` real numbers."""
        return Communication(reals=self.size)

    def profile(self) -> PrivacyProfile:
        """Return the Gaussian profile at the movement of one client."""
        return self.mechanism.profile(self._client_movement)

    def shuffle(self, messages: Messages) -> Messages:
        """Return the messages: there is no shuffler."""
        return messages


@dataclass(frozen=True, kw_only=True)
class CentralGaussian(_Gaussian):
    """The server sees the vectors and adds Gaussian noise to their mean, which one client moves by 2B√s/n."""

    @property
    def trust(self) -> TrustModel:
        """The server is trusted."""
        return "central"

    @staticmethod
    def _movement(clients: int, size: int, bound: float) -> Sensitivity:
        share = math.nextafter(1.0 / clients, 1.0) if clients > 1 else 1.0
        return Box(-bound, bound, size).sensitivity.multiply_by(share)

    @cached_property
    def proxy(self) -> float:
        """σ²."""
        return self.mechanism.sigma**2

    def randomize(self, values: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return the vectors themselves."""
        return checked_vectors(self, values)

    def analyze(self, seen: Messages, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return the mean + N(0, σ² I)."""
        return self.mechanism.release(np.mean(seen, axis=0), noise)


@dataclass(frozen=True, kw_only=True)
class LocalGaussian(_Gaussian):
    """Every client adds Gaussian noise to its own vector, which can be anything in a box of diameter 2B√s."""

    @property
    def trust(self) -> TrustModel:
        """The trust model "local": no party is trusted."""
        return "local"

    @staticmethod
    def _movement(clients: int, size: int, bound: float) -> Sensitivity:
        return Box(-bound, bound, size).sensitivity

    @cached_property
    def proxy(self) -> float:
        """σ² / n."""
        return float(Fraction(self.mechanism.sigma) ** 2 / self.clients)

    def randomize(self, values: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return the vectors + N(0, σ² I) each."""
        return self.mechanism.release(checked_vectors(self, values), noise)

    def analyze(self, seen: Messages, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return the mean of the messages."""
        return np.asarray(np.mean(seen, axis=0), dtype=np.float64)
