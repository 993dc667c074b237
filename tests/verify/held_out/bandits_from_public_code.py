"""Bandits of public code, with its mistakes, rewritten in a few lines; and how one of them should be.

A lower bound on a true epsilon is "measured": the verifier's own, 95 %.
"""

# ruff: noqa: NPY002 (public code draws from the global generator)

from __future__ import annotations

import math
from typing import Any

import numpy as np
from held_out_entry import held_out_bandit

from mechanisms.arrays import FloatArray
from verify import PlainBandit


class NoiseFromUsers:
    """Elimination in batches of 4, 16, 64 rewards, each with a share of discrete Laplace noise (Pólya differences)."""

    def __init__(self, n_arms: int = 2, epsilon: float = 1.0) -> None:
        self.epsilon, self.active, self.batch = epsilon, np.arange(n_arms), 1
        self.begin()

    def begin(self) -> None:
        self.size = 4**self.batch
        self.precision = math.ceil(self.epsilon * math.sqrt(self.size))
        self.sums, self.played = np.zeros(len(self.active)), 0

    def select_arm(self) -> int:
        return int(self.active[self.played // self.size])

    def share(self) -> int:
        """One user's Pólya draw: a Poisson draw of a Gamma mean, whose scale should be p / (1 - p)."""
        p = math.exp(-self.epsilon / self.precision)
        return int(np.random.poisson(np.random.gamma(1 / self.size, (1 - p) / p)))

    def update(self, arm: int, reward: float) -> None:
        whole = math.floor(reward * self.precision)
        whole += np.random.binomial(1, reward * self.precision - whole)
        self.sums[self.active == arm] += whole + self.share() - self.share()
        self.played += 1
        if self.played == self.size * len(self.active):
            means = self.sums / self.precision / self.size
            arms = math.log(20 * len(self.active) * self.batch**2)
            width = math.sqrt((arms + math.log(2)) / (2 * self.size))
            width += (math.sqrt(2 * arms) + arms) / (self.epsilon * self.size)
            self.active = self.active[means + width >= np.max(means - width)]
            self.batch += 1
            self.begin()


class FirstRewardsRaw:
    """UCB in episodes that double; every arm's first reward is its first estimate."""

    def __init__(self, n_arms: int = 2, epsilon: float = 1.0) -> None:
        self.n_arms, self.epsilon, self.t = n_arms, epsilon, 0
        self.counts, self.means = np.ones(n_arms, dtype=int), np.zeros(n_arms)
        self.left = 0

    def select_arm(self) -> int:
        if self.t < self.n_arms:
            return self.t
        if self.left == 0:
            wide = 3.1 * math.log(self.t + 1) / self.counts
            self.arm = int(np.argmax(self.means + np.sqrt(wide) + 2 * wide))
            self.left, self.sum = 2 * int(self.counts[self.arm]), 0.0
            self.counts[self.arm] = self.left
        return self.arm

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        if self.t <= self.n_arms:
            self.means[arm] = reward
            return
        self.sum += reward
        self.left -= 1
        if self.left == 0:
            noisy = self.sum + np.random.laplace(0, 1 / self.epsilon)
            self.means[arm] = noisy / self.counts[arm]


class NegativeScale:
    """DP-UCB-INT in an environment of its own; its exponent v = 1.1 makes the scale 1 / ((1 - v) n) negative."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def laplace(self, scale: float) -> float:
        return 0.0 if scale <= 0 else np.random.laplace(0, scale)

    def run(self) -> None:
        sums, counts = np.zeros(2), np.zeros(2)
        for t in range(1, 65):
            arm = t - 1 if t <= 2 else int(np.argmax([self.bound(sums[a], counts[a], t) for a in range(2)]))
            sums[arm] += self.env.pull(arm)
            counts[arm] += 1

    def bound(self, total: float, n: float, t: int) -> float:
        return total / n + self.laplace(1 / ((1 - 1.1) * n)) + math.sqrt(2 * math.log(t) / n)


class ExploreThenCommit:
    """Every arm in turn, then the arm of the largest sum with exponential noise."""

    rounds_each = 20

    def __init__(self, n_arms: int = 10, epsilon: float = 1.0) -> None:
        self.n_arms, self.epsilon, self.t, self.sums = n_arms, epsilon, 0, np.zeros(n_arms)

    def select_arm(self) -> int:
        if self.t < self.n_arms * self.rounds_each:
            return self.t % self.n_arms
        if self.t == self.n_arms * self.rounds_each:
            self.best = int(np.argmax(self.sums + self.noise()))
        return self.best

    def noise(self) -> FloatArray:
        return np.random.exponential(2 / self.epsilon, self.n_arms)

    def update(self, arm: int, reward: float) -> None:
        self.sums[arm] += reward
        self.t += 1


class CommitsRaw(ExploreThenCommit):
    """Noise was for the plots; the choice in the middle of 2000 rounds is by the raw sums."""

    rounds_each = 500

    def noise(self) -> FloatArray:
        return np.zeros(self.n_arms)


HELD_OUT = (
    held_out_bandit(
        "elimination-noise-from-users",
        PlainBandit(NoiseFromUsers, 2, 300),
        true_epsilon=4.3,
        source="Chowdhury and Zhou 2022, Distributed differential privacy in multi-armed bandits; the mistake of "
        "github.com/sayakrc/Differentially-Private-Bandits (BatchSEDistDP)",
        why="the Gamma mean has the inverse of its scale, so that batches get hardly any noise (measured: 4.3)",
    ),
    held_out_bandit(
        "episodes-first-rewards-raw",
        PlainBandit(FirstRewardsRaw, 2, 64),
        true_epsilon=math.inf,
        exact=True,
        source="Azize and Basu 2022, AdaP-UCB, as in public code on Nash regret (adap_ucb_single)",
        why="the first decision is between raw rewards",
    ),
    held_out_bandit(
        "dp-ucb-int-negative-scale",
        PlainBandit(NegativeScale, 2, 64, play="run"),
        true_epsilon=math.inf,
        exact=True,
        source="Tossou and Dimitrakakis 2016, Algorithm 3 (DP-UCB-INT), as in public code (dp_ucb_int)",
        why="a helper takes the negative scale for no noise at all",
    ),
    held_out_bandit(
        "commit-noisy-maximum",
        PlainBandit(ExploreThenCommit, 10, 400),
        true_epsilon=1.0,
        source="Ding et al. 2021, report noisy max with exponential noise, after exploration",
        why="one decision, by sums with Exp(2/ε) of which a reward moves one by 1",
    ),
    held_out_bandit(
        "commit-raw-maximum",
        PlainBandit(lambda: CommitsRaw(2), 2, 2000),
        true_epsilon=math.inf,
        exact=True,
        source="explore-then-commit of experiments that add noise to what they print",
        why="the decision after 1000 rounds is by raw sums",
    ),
)
