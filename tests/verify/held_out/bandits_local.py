"""Bandits in the local model: rewards are randomized one by one.

A lower bound on a true epsilon is "measured": the verifier's own, 95 %.
"""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out_bandit

from verify import PlainBandit

REN = "Ren, Zhou, Liu, Shroff 2020, Multi-armed bandits with local differential privacy"


class BinaryUCB:
    """UCB1 on one randomized bit for each reward."""

    factor = 1.0

    def __init__(self, rng: np.random.Generator, n_arms: int = 2, epsilon: float = 1.0) -> None:
        self.rng, self.n_arms, self.epsilon = rng, n_arms, epsilon * self.factor
        self.counts, self.sums, self.t = np.zeros(n_arms), np.zeros(n_arms), 0

    def choose_arm(self) -> int:
        if self.t < self.n_arms:
            return self.t
        return int(np.argmax(self.sums / self.counts + np.sqrt(2 * math.log(self.t) / self.counts)))

    def response(self, arm: int, reward: float) -> int:
        """A bit with the reward's mean, true with probability e^ε / (e^ε + 1)."""
        bit = self.rng.random() < reward
        honest = self.rng.random() < math.exp(self.epsilon) / (math.exp(self.epsilon) + 1)
        return int(bit == honest)

    def learn(self, reward: float, arm: int) -> None:
        self.counts[arm] += 1
        self.sums[arm] += self.response(arm, reward)
        self.t += 1


class TwiceEpsilon(BinaryUCB):
    """Randomized response with 2 ε."""

    factor = 2.0


class Remembered(BinaryUCB):
    """RAPPOR's permanent answers, remembered by arm and reward, not by user."""

    def __init__(self, rng: np.random.Generator, n_arms: int = 2, epsilon: float = 1.0) -> None:
        super().__init__(rng, n_arms, epsilon)
        self.answers: dict[tuple[int, float], int] = {}

    def response(self, arm: int, reward: float) -> int:
        if (arm, reward) not in self.answers:
            self.answers[arm, reward] = super().response(arm, reward)
        return self.answers[arm, reward]


class NoisePool:
    """Arms in turn; devices send rewards with Laplace noise that was drawn beforehand."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.pool, self.t = rng.laplace(size=10), 0

    def choose(self) -> int:
        return self.t % 2

    def report(self, reward: float) -> float:
        return float(reward + self.pool[self.t % 10])

    def learn(self, arm: int, reward: float) -> None:
        self.report(reward)
        self.t += 1


class ClicksOnly(BinaryUCB):
    """A device reports a click at once, with noise, and nothing where there was none."""

    def response(self, arm: int, reward: float) -> float | None:  # type: ignore[override]
        return None if reward == 0 else reward + float(self.rng.laplace(scale=1 / self.epsilon))

    def learn(self, reward: float, arm: int) -> None:
        self.counts[arm] += 1
        self.sums[arm] += self.response(arm, reward) or 0.0
        self.t += 1


class Restarts:
    """Arms in turn; noisy sums are published every 16 rounds, when it starts again with the seed of its settings."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.seed, self.t = int(rng.integers(2**31)), 0
        self.restart()

    def restart(self) -> None:
        self.noise, self.sums = np.random.default_rng(self.seed), np.zeros(2)

    def choose(self) -> int:
        return self.t % 2

    def learn(self, arm: int, reward: float) -> None:
        self.t += 1
        self.sums[arm] += reward
        self.published: list[float] | None = None
        if self.t % 16 == 0:
            self.published = (self.sums + self.noise.laplace(size=2)).tolist()
            self.restart()


HELD_OUT = (
    held_out_bandit(
        "local-ucb",
        PlainBandit(BinaryUCB, 2, 100),
        true_epsilon=1.0,
        source=REN,
        why="a reward is seen through randomized response with ε only; update(reward, arm)",
    ),
    held_out_bandit(
        "local-ucb-twice",
        PlainBandit(TwiceEpsilon, 2, 100),
        true_epsilon=1.6,
        source=f"{REN}; the factor is the bug",
        why="randomized response with 2ε, of which arms show 1.6 (measured)",
    ),
    held_out_bandit(
        "local-ucb-remembers",
        PlainBandit(Remembered, 2, 200),
        true_epsilon=4.5,
        source=f"{REN}; Erlingsson, Pihur, Korolova 2014, permanent answers",
        why="equal rewards of an arm get one answer: a different one shows by a new draw (measured: 4.5)",
    ),
    held_out_bandit(
        "reports-of-clicks-only",
        PlainBandit(ClicksOnly, 2, 30, message="response"),
        true_epsilon=math.inf,
        exact=True,
        source="click logs: who did not click sends nothing",
        why="whether a message comes is the click, whatever noise it has",
    ),
    held_out_bandit(
        "noise-pool",
        PlainBandit(NoisePool, 2, 40, message="report"),
        true_epsilon=math.inf,
        exact=True,
        source="noise drawn in advance to save time, as on phones and embedded devices",
        why="every tenth user has the same noise, which cancels in the difference of two messages",
    ),
    held_out_bandit(
        "restarts-reuse-seed",
        PlainBandit(
            Restarts, 2, 64, message=lambda bandit: getattr(bandit, "published", None), model="central"
        ),
        true_epsilon=math.inf,
        exact=True,
        source="a seed in the settings, for repeatable runs",
        why="the noise of all epochs is the same, and cancels in the difference of two published sums",
    ),
)
