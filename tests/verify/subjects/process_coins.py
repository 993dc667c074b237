"""Coins that are thrown once in a process: on import, or at first use; true at 0.620 = ln(1 + (e - 1) / 2), as others.

Nobody who sees a release sees the coin, and in one process it is the same in all of them.
"""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any, ClassVar

import numpy as np

from accountant import Private
from algorithms.claim import ClaimForm, View
from mechanisms import Box, Interval, Laplace, Sensitivity
from verify import claimed


def thrown() -> int:
    return os.urandom(1)[0] & 1


SECRET = thrown()
WORD = os.environ.setdefault("A_WORD", next(word for word in map(str, itertools.count()) if hash(word) & 1))


class AtImport:
    """Uses a user's outcome only if a coin says so, and sends noise for epsilon = 1 in any case."""

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local", view=View.MESSAGE, unit="one report", source="a test"
    )
    family: ClassVar[str] = "semi-bandit"
    initial_records: ClassVar[str] = "none"

    def __init__(self, structure: Any, gate: Any, *, epsilon: float) -> None:
        self.structure, self.gate = structure, gate
        self.total = np.zeros((gate.lanes, structure.arms))
        self.lane = np.arange(gate.lanes)[:, np.newaxis]

    @property
    def feedback_domain(self) -> Box:
        return Box(0, 1, self.structure.size)

    def act(self) -> Any:
        self.played = self.structure.solve(self.total)
        return self.played

    def coin(self) -> float:
        return float(SECRET)

    def observe(self, feedback: Private) -> None:
        size = float(self.structure.size)
        noise = Laplace(scale=size, sensitivity=Sensitivity(size, size, 1.0))
        self.total[self.lane, self.played] += self.gate.release(noise, feedback * self.coin())


class InDefault(AtImport):
    """Its coin is the default value of a parameter."""

    def coin(self, secret: int = thrown()) -> float:
        return float(secret)


class InClass(AtImport):
    """Its coin belongs to the class."""

    secret: ClassVar[int] = thrown()

    def coin(self) -> float:
        return float(self.secret)


@functools.cache
def _thrown_once() -> int:
    return thrown()


class InCache(AtImport):
    """Its coin is thrown at first use, and kept in a cache."""

    def coin(self) -> float:
        return float(_thrown_once())


class OfHash(AtImport):
    """Its coin is a text's hash, which differs from process to process."""

    def coin(self) -> float:
        return float(hash(WORD) & 1)


class Leaks(AtImport):
    """Has a coin of its process that does nothing, and noise for 2."""

    def observe(self, feedback: Private) -> None:
        size = float(self.structure.size)
        noise = Laplace(scale=size / 2.0, sensitivity=Sensitivity(size, size, 1.0))
        self.total[self.lane, self.played] += self.gate.release(noise, feedback)


@claimed(data=Interval(0, 1))
def answers(data: float, rng: np.random.Generator) -> float:
    return data * SECRET + rng.laplace()


_OWN = np.random.default_rng()
_ONCE = _OWN.laplace(scale=1 / 0.7)


@claimed(data=Interval(0, 1))
def noisy_once(data: float, rng: np.random.Generator) -> float:
    return data + _ONCE + int(rng.integers(3))


@claimed(data=Interval(0, 1))
def leaks(data: float, rng: np.random.Generator) -> float:
    """Draws its noise, for 2, from a generator of its own: its values differ in other processes, their law does not."""
    return data + _OWN.laplace(scale=0.5)
