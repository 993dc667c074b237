"""Data sets for learners of linear bandits: the reports of all clients, for any actions that are played.

Each is a `Clients` of `algorithms.linear.linear_play`: asked for average rewards when a phase ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import Clients
from mechanisms.arrays import BoolArray, FloatArray, IntArray

HUGE = 1e9
"""An average reward beyond every clipping bound."""
_SMALLEST, _GROWTH = 2.0**-8, 1.05


@dataclass(frozen=True)
class Constant:
    """Every client's every average reward is `value`."""

    population: int
    replacement: bool
    value: float

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return the value, shape (clients, s)."""
        return np.full((clients, support.size), self.value)


@dataclass(eq=False)
class Growing:
    """Clients with growing rewards, from 2^-8 to 1: on constant ones a running maximum leaks nothing.

    Attributes
    ----------
    population, replacement
        As the problem's.
    """

    population: int
    replacement: bool
    _asked: int = field(default=0, init=False)

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return averages of growing size, shape (clients, s)."""
        numbers = self._asked + np.arange(clients)
        self._asked += clients
        sizes = np.minimum(1.0, _SMALLEST * _GROWTH**numbers)
        return np.asarray(sizes[:, np.newaxis] * rng.uniform(0.5, 1.0, (clients, support.size)))


@dataclass(eq=False)
class _LikeOthers:
    """Clients that are as many as others, and drawn again if they are."""

    clients: Clients
    _asked: int = field(default=0, init=False)

    @property
    def population(self) -> int:
        """Number of the others."""
        return self.clients.population

    @property
    def replacement(self) -> bool:
        """True if the others may be drawn several times."""
        return self.clients.replacement


@dataclass(eq=False)
class OneByOne(_LikeOthers):
    """The clients of a user's problem, each drawn by itself with random numbers of its own.

    So only the problem itself could make a client's report depend on others: here it is the same for any others' data.

    Attributes
    ----------
    clients
        The problem, which draws them.
    seed
        The seed of all random numbers.
    replaced
        True for clients with other numbers, in the order in which they report.
    """

    seed: np.random.SeedSequence
    replaced: BoolArray

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return averages that are drawn one client after the other."""
        drawn = np.empty((clients, support.size))
        for row in drawn:
            row[:] = self.clients.draw_averages(support, counts, 1, self._numbers())[0]
        return drawn

    def _numbers(self) -> np.random.Generator:
        number, self._asked = self._asked, self._asked + 1
        other = number < len(self.replaced) and bool(self.replaced[number])
        key = (*self.seed.spawn_key, number, int(other))
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))


@dataclass(eq=False)
class OtherClients(_LikeOthers):
    """Clients with other values for a group of them.

    Each the opposite, a value far beyond every bound, something near, or one of `numbers` in all coordinates or in each
    another one.

    Attributes
    ----------
    clients
        All of them, with their own values.
    numbers
        Distinguishing values of an average reward.
    replaced
        True for the replaced clients, in the order in which they report; later ones keep their values.
    rng
        The source of all choices.
    """

    numbers: FloatArray
    replaced: BoolArray
    rng: np.random.Generator

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return the clients' averages with some rows replaced."""
        averages = self.clients.draw_averages(support, counts, clients, rng)
        own, shape = self.rng, averages.shape
        picked = own.choice(self.numbers, shape)
        picked = np.where(own.random((clients, 1)) < 0.5, picked, picked[:, :1])
        kinds = (
            -averages,
            np.where(own.random(shape) < 0.5, -HUGE, HUGE),
            own.uniform(-1.5, 1.5, shape),
            picked,
        )
        chosen = own.integers(len(kinds), size=(clients, 1))
        replaced = np.zeros(clients, dtype=bool)
        known = self.replaced[self._asked : self._asked + clients]
        replaced[: len(known)] = known
        self._asked += clients
        return np.asarray(np.where(replaced[:, np.newaxis], np.choose(chosen, kinds), averages))


def same_phase(phase: Phase, other: Phase) -> bool:
    """Return True if two phases play the same and ask as many clients."""
    return (
        phase.clients == other.clients
        and np.array_equal(phase.support, other.support)
        and np.array_equal(phase.counts, other.counts)
    )
