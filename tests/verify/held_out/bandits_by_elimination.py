"""Bandits that eliminate arms: successive elimination, with raw sums, shared noise, noise from the users.

A lower bound on a true epsilon is by the argument in `why`, or "measured": the verifier's own, 95 %.
"""

# ruff: noqa: NPY002 (public code draws from the global generator)

from __future__ import annotations

import math
from typing import Any

import numpy as np
from held_out_entry import held_out_bandit

from mechanisms.arrays import FloatArray
from verify import PlainBandit

SAJED = "Sajed and Sheffet 2019, An optimal private stochastic-MAB algorithm, Algorithm 2 (DP-SE)"

HALVING = "Karnin, Koren, Somekh 2013, Almost optimal exploration in multi-armed bandits, with noise"


class RawElimination:
    """Every twelve rounds, arms whose raw mean is clearly below the best are dropped."""

    def __init__(self, n_arms: int = 3) -> None:
        self.active = list(range(n_arms))
        self.counts, self.sums, self.t = np.zeros(n_arms), np.zeros(n_arms), 0

    def select_arm(self) -> int:
        return self.active[self.t % len(self.active)]

    def update(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.t += 1
        if self.t % 12 == 0:
            means = self.sums / np.maximum(self.counts, 1)
            least = max(means[self.active]) - math.sqrt(1 / self.counts[self.active].min())
            self.active = [each for each in self.active if means[each] >= least]


class OneSeedForAllArms:
    """Successive elimination with a generator for each arm, all seeded alike."""

    def __init__(self, n_arms: int = 2, epsilon: float = 1.0, seed: int | None = None) -> None:
        self.generators = [np.random.RandomState(seed) for _ in range(n_arms)]
        self.epsilon = epsilon
        self.active = list(range(n_arms))
        self.sums, self.played = np.zeros(n_arms), 0

    def select_arm(self) -> int:
        return self.active[self.played % len(self.active)]

    def update(self, arm: int, reward: float) -> None:
        self.sums[arm] += reward
        self.played += 1
        if self.played == 6 * len(self.active):
            noisy = self.sums + [generator.laplace(0, 1 / self.epsilon) for generator in self.generators]
            least = max(noisy[self.active]) - 3.5
            self.active = [each for each in self.active if noisy[each] > least]
            self.sums, self.played = np.zeros(len(self.sums)), 0


class Elimination:
    """Successive elimination with the paper's batches, called with the round and (round, arm, reward)."""

    def __init__(self, K: int = 2, eps: float = 1.0, one_draw: bool = False) -> None:
        self.eps, self.one_draw = eps, one_draw
        self.active = np.arange(K)
        self.epoch, self.done = 1, 0
        self.begin()

    def begin(self) -> None:
        gap, arms = 0.5**self.epoch, len(self.active)
        self.size = 1 + int(
            max(
                32 * math.log(8 * arms * self.epoch**2 / 0.1) / gap**2,
                8 * math.log(4 * arms * self.epoch**2 / 0.1) / (gap * self.eps),
            )
        )
        self.sums, self.played = np.zeros(arms), 0

    def get_arm(self, t: int) -> int:
        return int(self.active[(t - self.done) // self.size])

    def update(self, t: int, arm: int, r: float) -> None:
        self.sums[self.active == arm] += r
        self.played += 1
        if self.played == self.size * len(self.active):
            means = (self.sums + self.noise()) / self.size
            arms = len(self.active)
            width = math.sqrt(math.log(8 * arms * self.epoch**2 / 0.1) / (2 * self.size))
            width += math.log(4 * arms * self.epoch**2 / 0.1) / (self.size * self.eps)
            self.active = self.active[means + width >= np.max(means - width)]
            self.done += self.played
            self.epoch += 1
            self.begin()

    def noise(self) -> float | FloatArray:
        return np.random.laplace(0, 1 / self.eps, 1 if self.one_draw else len(self.active))


class SequentialHalving:
    """Twice, sixteen rounds each, the arms that are left are played alike, and the better half by noisy sums stays."""

    def __init__(self, env: Any, rng: np.random.Generator, *, raw_answer: bool = False) -> None:
        self.env, self.rng, self.raw_answer = env, rng, raw_answer

    def run(self) -> int:
        left = list(range(4))
        for _ in range(2):
            sums = np.array([sum(self.env.pull(arm) for _ in range(16 // len(left))) for arm in left])
            scale = 0.0 if self.raw_answer and len(left) == 2 else 1.0
            best = np.argsort(-(sums + scale * self.rng.laplace(size=len(left))), kind="stable")
            left = [left[place] for place in best[: len(left) // 2]]
        return left[0]


class StopsOverNoisyThreshold:
    """Best of two arms that are pulled in turn, until their sums are further apart than 2 + Lap(1)."""

    def __init__(self, env: Any, rng: np.random.Generator) -> None:
        self.env, self.rng = env, rng

    def run(self) -> int:
        threshold, sums = 2.0 + self.rng.laplace(), [0.0, 0.0]
        for pull in range(8):
            sums[pull % 2] += self.env.pull(pull % 2)
            if abs(sums[0] - sums[1]) > threshold:
                break
        return int(sums[1] > sums[0])


HELD_OUT = (
    held_out_bandit(
        "stops-over-noisy-threshold",
        PlainBandit(StopsOverNoisyThreshold, 2, 8, play="run", stops=True),
        true_epsilon=math.inf,
        exact=True,
        source="sparse vector technique without noise on its queries, as a stopping rule",
        why="with rewards 1, 0, 1 it stops in round 3 if the threshold is in [1, 2), and never there with 1, 0, 0",
    ),
    held_out_bandit(
        "raw-elimination",
        PlainBandit(RawElimination, 3, 64),
        true_epsilon=math.inf,
        exact=True,
        source="Even-Dar, Mannor, Mansour 2006, Action elimination, with a claim",
        why="there is no noise: the arms are a function of the rewards",
    ),
    held_out_bandit(
        "elimination-one-seed",
        PlainBandit(OneSeedForAllArms, 2, 64),
        true_epsilon=math.inf,
        exact=True,
        source=f"{SAJED}; generators seeded alike for common random numbers",
        why="both arms get the same noise, which cancels: with the same two arms, raw sums are compared",
    ),
    held_out_bandit(
        "elimination-one-draw",
        PlainBandit(lambda: Elimination(one_draw=True), 2, 1400),
        true_epsilon=math.inf,
        exact=True,
        source=f"{SAJED}; the mistake of github.com/sayakrc/Differentially-Private-Bandits",
        why="one draw of noise is added to all arms' sums, and cancels",
    ),
    held_out_bandit(
        "elimination",
        PlainBandit(Elimination, 2, 1400),
        true_epsilon=1.0,
        source=SAJED,
        why="a reward is in one sum, released once with Lap(1/ε)",
    ),
    held_out_bandit(
        "halving",
        PlainBandit(SequentialHalving, 4, 32, play="run", stops=True),
        true_epsilon=1.0,
        source=HALVING,
        why="a reward is in one sum, released once with Lap(1/ε), the one of the answer too",
    ),
    held_out_bandit(
        "halving-raw-answer",
        PlainBandit(
            lambda env, rng: SequentialHalving(env, rng, raw_answer=True), 4, 32, play="run", stops=True
        ),
        true_epsilon=math.inf,
        exact=True,
        source=f"{HALVING}; the answer is no action, and was left without noise",
        why="the arm that is returned after all rounds is that of the larger raw sum",
    ),
)
