"""Learners with coins of their own: hidden ones make them more private than their releases beside the coins."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from accountant import Private
from algorithms.claim import ClaimForm, View
from mechanisms import Box, Laplace, Sensitivity

MESSAGE = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
RELEASES = ClaimForm(model="central", view=View.RELEASES, unit="one report", source="a test")


class Coin:
    """Uses a user's outcome only if a coin says so, and sends noise for epsilon = 1 in any case.

    Who does not see the coin learns ln(1 + (e - 1) / 2) = 0.620 at most.
    """

    claim: ClassVar[ClaimForm] = MESSAGE
    family: ClassVar[str] = "semi-bandit"
    initial_records: ClassVar[str] = "none"

    def __init__(self, structure: Any, gate: Any, *, epsilon: float) -> None:
        self.structure, self.gate = structure, gate
        self.total = np.zeros((gate.lanes, structure.arms))
        self.lane = np.arange(gate.lanes)[:, np.newaxis]

    @property
    def feedback_domain(self) -> Box:
        return Box(0, 1, self.structure.size)

    @property
    def noise(self) -> Laplace:
        size = float(self.structure.size)
        return Laplace(scale=size, sensitivity=Sensitivity(size, size, 1.0))

    def act(self) -> Any:
        self.played = self.structure.solve(self.total)
        return self.played

    def coin(self) -> Any:
        """One for each lane, 0 or 1, (lanes, 1)."""
        return (self.gate.random.random((self.gate.lanes, 1)) < 0.5).astype(float)

    def observe(self, feedback: Private) -> None:
        self.total[self.lane, self.played] += self.gate.release(self.noise, feedback * self.coin())


class OneCoin(Coin):
    """One coin for all rounds."""

    uses: Any = None

    def coin(self) -> Any:
        if self.uses is None:
            self.uses = super().coin()
        return self.uses


class CoinBefore(Coin):
    """Thrown before the user is there."""

    def act(self) -> Any:
        self.uses = super().coin()
        return super().act()

    def coin(self) -> Any:
        return self.uses


class Signs(Coin):
    """A coin turns the outcome around: the message tells hardly anything."""

    def observe(self, feedback: Private) -> None:
        sign = 2.0 * self.coin() - 1.0
        self.total[self.lane, self.played] += self.gate.release(self.noise, (feedback - 0.5) * sign)


class Scales(Coin):
    """A coin says how much of the outcome is sent."""

    def observe(self, feedback: Private) -> None:
        self.total[self.lane, self.played] += self.gate.release(
            self.noise, feedback * (0.5 * self.coin() + 0.5)
        )


class InReleases(Coin):
    """The same, for an adversary who sees all releases."""

    claim: ClassVar[ClaimForm] = RELEASES


class Waits(Coin):
    """A coin says whether a round is released at once, or with the next one."""

    claim: ClassVar[ClaimForm] = RELEASES
    kept: Any = None

    def observe(self, feedback: Private) -> None:
        now = self.coin()
        value = feedback * now if self.kept is None else feedback * now + self.kept
        self.kept = feedback * (1.0 - now)
        size = float(self.structure.size)
        noise = Laplace(scale=size, sensitivity=Sensitivity(size, size, 1.0))
        self.total[self.lane, self.played] += self.gate.release(noise, value)


class Elsewhere(Coin):
    """Its coin is of a generator of its own, which no gate knows."""

    def coin(self) -> Any:
        return (np.random.default_rng().random((self.gate.lanes, 1)) < 0.5).astype(float)


class OfCopy(Coin):
    """Its coin is of a copy of its gate's generator."""

    copied: Any = None

    def coin(self) -> Any:
        if self.copied is None:
            self.copied = copy.deepcopy(self.gate.random)
        return (self.copied.random((self.gate.lanes, 1)) < 0.5).astype(float)


class OfChild(Coin):
    """Its coin is of a generator that its gate's has spawned; there is one in single lanes only."""

    def coin(self) -> Any:
        return (self.gate.random.spawn(1)[0].random((1, 1)) < 0.5).astype(float)


class Public(Coin):
    """Everybody sees the coin."""

    public_draws = True


class SaidOfAnother(Public):
    """Whoever takes over a class says for himself whether its draws are seen."""


class Leaks(Coin):
    """Noise for 3, but for the coin: who does not see it learns ln(1 + (e³ - 1) / 2) = 2.35 at most."""

    @property
    def noise(self) -> Laplace:
        size = float(self.structure.size)
        return Laplace(scale=size / 3.0, sensitivity=Sensitivity(size, size, 1.0))


class Louder(Laplace):
    """Adds noise twice; its inherited density says once."""

    def release(self, value: Any, noise: Any) -> Any:
        return super().release(super().release(value, noise), noise)


class WordOfNoise(Coin):
    """Noise for 1, added twice: what is seen is less than its density says."""

    @property
    def noise(self) -> Laplace:
        size = float(self.structure.size)
        return Louder(scale=size, sensitivity=Sensitivity(size, size, 1.0))

    def coin(self) -> Any:
        return 1.0
