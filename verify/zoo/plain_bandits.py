"""Bandits in plain Python, as found in practice: two private ones, and three with bugs that a gate would catch.

They are called one method at a time, with a generator of their own: see `verify.bandits.calling.plain_bandit`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from verify.bandits.calling.plain_bandit import PlainBandit
from verify.zoo.specimen import specimen

ARMS, ROUNDS, EPSILON = 2, 64, 1.0
MARGIN = 2.5  # by which a sum of four rewards must be worse
_BONUS = math.log(3.0 * ROUNDS**2)

_SOURCE = "DP-UCB in episodes: Azize & Basu 2022, Algorithm 1"
_ELIMINATION = "DP successive elimination with phases of one length: after Sajed & Sheffet 2019, Algorithm 2"


_plain = partial(specimen, epsilon=EPSILON, make=lambda bandit: PlainBandit(bandit, ARMS, ROUNDS))


@_plain(
    "plain-bandit-ucb",
    true_epsilon=EPSILON,
    source=_SOURCE,
    why="each reward enters one released sum with Lap(1/ε)",
)
class DPUCB:
    """UCB in episodes of doubling length: an episode's sum is released once, with Lap(1 / epsilon)."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.index = [math.inf] * ARMS
        self.sums = [0.0] * ARMS
        self.filled = [0] * ARMS
        self.length = [1] * ARMS

    def select_arm(self) -> int:
        """Return the arm of largest index, the lowest among equals."""
        return self.index.index(max(self.index))

    def update(self, arm: int, reward: float) -> None:
        """Add the reward to the arm's episode, and release the sum at its end."""
        self.sums[arm] += reward
        self.filled[arm] += 1
        if self.filled[arm] == self.length[arm]:
            self.end_episode(arm)

    def end_episode(self, arm: int) -> None:
        """Set the arm's index from the noisy mean, and forget its rewards."""
        self.set_index(arm, self.sums[arm] + self.noise(arm), self.length[arm])
        self.sums[arm] = 0.0

    def noise(self, arm: int) -> float:
        """Return the noise of one release."""
        return self.rng.laplace(scale=1.0 / EPSILON)

    def set_index(self, arm: int, total: float, n: int) -> None:
        """Set the index from a total of n rewards; begin an episode of twice the length."""
        self.index[arm] = total / n + math.sqrt(_BONUS / (2 * n)) + _BONUS / (EPSILON * n)
        self.filled[arm] = 0
        self.length[arm] *= 2


@_plain(
    "plain-bandit-seeded",
    true_epsilon=math.inf,
    source=f"{_SOURCE}; the bug is ours",
    why="the noise is the same in every run: its generator is seeded with the arm",
)
class _SeededNoise(DPUCB):
    """The noise of an arm is drawn from a generator that every release seeds afresh with the arm's number."""

    def noise(self, arm: int) -> float:
        """Return the same number in every run."""
        return float(np.random.default_rng(arm).laplace(scale=1.0 / EPSILON))  # the bug


@_plain(
    "plain-bandit-stops",
    true_epsilon=math.inf,
    source=f"{_SOURCE}; the bug is ours",
    why="an episode's length depends on its raw rewards",
)
class _StopsOnSuccess(DPUCB):
    """An episode ends as soon as its raw rewards reach half of its length."""

    def update(self, arm: int, reward: float) -> None:
        """Add the reward, and release the sum at the end of the episode or when there is enough of it."""
        self.sums[arm] += reward
        self.filled[arm] += 1
        enough = self.sums[arm] >= 0.5 * self.length[arm]  # the bug: the episode's length reveals its rewards
        if enough or self.filled[arm] == self.length[arm]:
            self.end_episode(arm)


@_plain(
    "plain-bandit-elimination",
    # P(L - L' >= t) = (2 + t) e^-t / 4 for two Laplace draws; an arm worse by 3 or by 4 is kept as the better one.
    true_epsilon=1.0 + math.log((2.0 + MARGIN + 3.0) / (2.0 + MARGIN + 4.0)),
    source=_ELIMINATION,
    why="each reward enters one sum, released once with Lap(1/ε)",
)
class _Elimination:
    """Every active arm is played four times; then those clearly worse by the noisy sums are dropped for good."""

    length = 4

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.active = list(range(ARMS))
        self.sums = np.zeros(ARMS)
        self.played = 0

    def select_arm(self) -> int:
        """Return the active arm of the current turn."""
        return self.active[self.played // self.length]

    def update(self, arm: int, reward: float) -> None:
        """Add the reward, and compare the arms at the end of the phase."""
        self.sums[arm] += reward
        self.played += 1
        if self.played == self.length * len(self.active):
            noisy = self.sums + self.noise()
            least = max(noisy[self.active]) - MARGIN
            self.active = [each for each in self.active if noisy[each] > least]
            self.sums, self.played = np.zeros(ARMS), 0

    def noise(self) -> npt.NDArray[np.float64]:
        """Return the noise of a phase: each arm's sum is of rewards of its own."""
        return self.rng.laplace(scale=1.0 / EPSILON, size=ARMS)


@_plain(
    "plain-bandit-shared-noise",
    true_epsilon=math.inf,
    source=f"{_ELIMINATION}; the bug as in sayakrc/Differentially-Private-Bandits (DPSE)",
    why="all arms get the same noise, which cancels: the comparison is of raw sums",
)
class _SharedNoise(_Elimination):
    """One draw of noise is added to the sums of all arms, and cancels where they are compared."""

    def noise(self) -> npt.NDArray[np.float64]:
        """Return one number for all arms."""
        return np.full(ARMS, self.rng.laplace(scale=1.0 / EPSILON))  # the bug
