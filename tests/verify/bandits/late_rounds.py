"""Bandits that are 1-private in all rounds but one: there, an action depends on raw rewards, or on half the noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verify import PlainBandit

HONEST = ("honest", "honest own generator")
LEAKS = ("raw", "own generator", "delayed", "both", "parity", "half noise", "stays", "counts")


@dataclass
class LateLeak:
    """Arms at random by local randomised response; after round `at` another action depends on rewards.

    Every round's reward is answered with randomised response at epsilon = 1, and the next arm is drawn from what the
    answer prefers.
    """

    kind: str
    arms: int
    rounds: int
    at: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        if "own generator" in self.kind:
            self.rng = np.random.default_rng()
        self.rewards: list[float] = []
        self.forced = dict[int, int]()
        self.next = int(self.rng.integers(self.arms))

    def choose(self) -> int:
        """Return the arm of the round."""
        return self.forced.get(len(self.rewards) + 1, self.next) % self.arms

    def learn(self, arm: int, reward: float) -> None:
        """Answer the reward, and leak it if this is the round."""
        rng, t = self.rng, len(self.rewards) + 1
        self.rewards.append(reward)
        said = reward if rng.random() < math.e / (1.0 + math.e) else 1.0 - reward
        self.next = int(rng.integers(self.arms)) if t % 3 else int(said)
        if t != self.at or self.kind in HONEST:
            return
        if self.kind in ("raw", "own generator"):
            self.forced[t + 1] = int(reward)
        elif self.kind == "delayed":
            self.forced[t + 5] = int(reward)
        elif self.kind == "both":
            self.forced[t + 1] = int(min(self.rewards[-2:]))
        elif self.kind == "parity":
            self.forced[t + 1] = int(sum(self.rewards[-2:])) % 2
        elif self.kind == "half noise":
            self.forced[t + 1] = int(reward if rng.random() < 1.0 / (1.0 + math.exp(-2.0)) else 1.0 - reward)
        elif self.kind == "stays":
            self.forced[t + 1] = arm + 1 - int(reward)
        else:
            assert self.kind == "counts"  # after a good reward, arm 0 in every third of the later rounds
            self.forced.update({later: 0 for later in range(t + 20, self.rounds + 1, 3) if reward > 0.5})


def late_leak(kind: str, arms: int, rounds: int, at: int) -> PlainBandit:
    """Return the bandit."""
    make: Callable[[np.random.Generator], LateLeak] = lambda rng: LateLeak(kind, arms, rounds, at, rng)  # noqa: E731
    return PlainBandit(make, arms=arms, rounds=rounds)
