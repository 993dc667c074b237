"""Bandit learners: a private one, and variants with common mistakes.

All play two arms for 64 rounds in episodes of doubling length (one arm throughout), and release an arm's noisy mean
at the end of an episode; the index is a confidence bound for that mean. A record is one round's rewards. A
true epsilon below is that of the releases, where the actions cannot show more than those.
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm, View
from algorithms.lanes import scatter_add
from algorithms.learner import Family
from algorithms.problems import SemiBandit, SuperArms, TopK
from algorithms.unit import ONE_REPORT
from mechanisms import Box, Domain, Gaussian, Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.zoo.specimen import specimen

HORIZON = 64
BATCHES = (HORIZON + 1).bit_length() - 1  # of one arm: 1 + 2 + 4 + ... rewards

_SOURCE = "DP-UCB in episodes: Azize & Basu 2022, Algorithm 1"
_bug = partial(specimen, epsilon=1.0, source=f"{_SOURCE}; the bug is ours")


def _claim(view: View = View.ACTIONS) -> ClaimForm:
    return ClaimForm("central", view, ONE_REPORT, _SOURCE)


@specimen(
    "bandit-ucb",
    epsilon=1.0,
    source=_SOURCE,
    why="each reward enters one released sum with Lap(1/ε)",
)
class EpisodicUCB:
    """Play the arm of largest ``mean + sqrt(x / 2n) + b x / n``, x = ln(3 T^2), for an episode of twice the length.

    Every reward enters one episode's sum, which is released once with ``Lap(b)``, b = 1 / epsilon: exactly epsilon.
    """

    claim: ClassVar[ClaimForm] = _claim()
    family: ClassVar[Family] = "semi-bandit"
    own_problem: ClassVar[SemiBandit] = SemiBandit(TopK(2, 1), np.array([0.6, 0.5]))
    own_horizon: ClassVar[int] = HORIZON

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        self.structure, self.gate, self.epsilon = structure, gate, epsilon
        self.feedback_domain: Domain = Box(0, 1, structure.size)
        self.mechanism = Laplace.for_epsilon(epsilon, sensitivity=self.feedback_domain.sensitivity)
        self.exponent = math.log(3.0 * horizon**2)
        shape = (gate.lanes, structure.arms)
        self.sums = gate.sums(structure.arms)
        self.filled, self.length = np.zeros(shape), np.ones(shape)
        self.index = np.full(shape, math.inf)

    def act(self) -> IntArray:
        """Return the arm of largest index; it changes at the end of episodes only."""
        self.played = self.structure.solve(self.index)
        return self.played

    def observe(self, feedback: Private) -> None:
        """Add the reward to the arm's episode, and release the sum at its end."""
        self.sums.add(feedback, at=self.played)
        scatter_add(self.filled, self.played, 1.0)
        full = self.filled >= self.length
        if full.any():
            self.end_episode(full)

    def end_episode(self, full: BoolArray) -> None:
        """Release the sums of the episodes that end."""
        noisy = self.gate.release(self.mechanism, self.sums, where=full)
        self.learn(full, noisy[full])

    def learn(self, full: BoolArray, sums: FloatArray) -> None:
        """Set the indices from released sums, and forget the rewards."""
        self.set_index(full, sums)
        self.sums.clear(full)

    def set_index(self, full: BoolArray, sums: FloatArray) -> None:
        """Set the indices from released sums; begin episodes of twice the length."""
        n, x = self.length[full], self.exponent
        self.index[full] = sums / n + np.sqrt(x / (2.0 * n)) + x / (self.epsilon * n)
        self.length[full] *= 2.0
        self.filled[full] = 0.0


@_bug(
    "bandit-reused-rewards",
    true_epsilon=float(BATCHES),
    why=f"sums are not emptied: a first reward is released with each of up to {BATCHES} episodes, ε each time",
)
class _ReusedRewards(EpisodicUCB):
    """The sums are not emptied: an episode's rewards are released again at the end of every later one."""

    def learn(self, full: BoolArray, sums: FloatArray) -> None:
        """Set the indices from released sums, which hold the arm's whole past."""
        self.set_index(full, sums)  # and nothing is forgotten: the bug shows where the sums are released


@_bug(
    "bandit-raw-phase",
    true_epsilon=math.inf,
    why="whether an episode goes on depends on the raw reward",
)
class _PhaseOnRawRewards(EpisodicUCB):
    """An episode ends early when its raw rewards are too low: its length reveals them."""

    def observe(self, feedback: Private) -> None:
        """Add the reward; a reward of 0 ends the episode."""
        if feedback < 0.5:  # the bug: whether the episode goes on depends on the raw reward
            self.filled[:] = self.length
        super().observe(feedback)


@_bug(
    "bandit-shared-noise",
    true_epsilon=math.inf,
    why="one noise for all arms and episodes: it cancels in every comparison",
)
class _SharedNoise(EpisodicUCB):
    """One noise is drawn for all arms and episodes: comparisons of arms are without noise."""

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        draws = gate.random.standard_exponential((gate.lanes, 2))
        self.noise = (draws[:, :1] - draws[:, 1:]) / epsilon  # Laplace, once

    def end_episode(self, full: BoolArray) -> None:
        """Add the noise to the raw sums."""
        raw = self.gate.declassify(self.sums, "noise is added by hand", shown=False)  # the bug
        self.learn(full, (raw + self.noise)[full])


@_bug(
    "bandit-raw-first",
    true_epsilon=math.inf,
    why="the first reward of an arm enters the argmax without noise",
)
class _RawFirstReward(EpisodicUCB):
    """An arm's first reward, an episode of its own, goes into the index as it is."""

    def end_episode(self, full: BoolArray) -> None:
        """Release the sums of later episodes; take the first as they are."""
        first = full & (self.length == 1.0)
        later = full & ~first
        if first.any():
            raw = self.gate.declassify(self.sums, "initial index", shown=False)  # the bug
            self.learn(first, raw[first])
        if later.any():
            noisy = self.gate.release(self.mechanism, self.sums, where=later)
            self.learn(later, noisy[later])


@specimen(
    "bandit-tree",
    epsilon=1.0,
    source=_SOURCE,
    why="a record lies in 7 nodes, each with Lap(7/ε)",
)
class _TreeUCB(EpisodicUCB):
    """UCB on sums from a binary tree under one clock, with Laplace noise at every node."""

    levels_paid: ClassVar[int] = HORIZON.bit_length()  # floor(log2 T) + 1: a record lies in so many nodes
    claim: ClassVar[ClaimForm] = _claim(View.RELEASES)

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        self.mechanism = Laplace(
            scale=self.levels_paid / epsilon, sensitivity=self.feedback_domain.sensitivity
        )
        levels = horizon.bit_length()
        # The node of each level that is being filled.
        self.open = [gate.sums(structure.arms) for _ in range(levels)]
        self.nodes = np.zeros((levels, gate.lanes, structure.arms))  # the released nodes of the running sum
        self.count = np.zeros((gate.lanes, structure.arms))
        self.rounds = 0

    def observe(self, feedback: Private) -> None:
        """Add the reward to a node of every level, and release the one that is complete."""
        for node in self.open:
            node.add(feedback, at=self.played)
        self.rounds += 1
        level = (
            self.rounds & -self.rounds
        ).bit_length() - 1  # the largest power of two that divides the round
        self.nodes[level] = self.gate.release(self.mechanism, self.open[level])
        everywhere = np.ones(self.count.shape, dtype=np.bool_)
        self.nodes[:level] = 0.0
        for below in self.open[: level + 1]:
            below.clear(everywhere)
        scatter_add(self.count, self.played, 1.0)
        seen = self.count > 0
        n = self.count[seen]
        self.index[seen] = self.nodes.sum(axis=0)[seen] / n + np.sqrt(self.exponent / (2.0 * n))


@_bug(
    "bandit-tree-level",
    true_epsilon=7.0 / 6.0,
    why="a record lies in floor(log2 64) + 1 = 7 nodes, the noise is for 6",
)
class _TreeMissesLevel(_TreeUCB):
    """The noise is for floor(log2 T) nodes a record; it lies in one more."""

    levels_paid: ClassVar[int] = HORIZON.bit_length() - 1  # the bug


@_bug(
    "bandit-tree-raw-leaves",
    true_epsilon=math.inf,
    why="the leaves of the tree enter the index without noise",
)
class _TreeRawLeaves(EpisodicUCB):
    """A level of the tree gets no noise: the first reward of every pair goes into the index raw."""

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        self.pairs = np.zeros((gate.lanes, structure.arms))

    def end_episode(self, full: BoolArray) -> None:
        """Release pairs of rewards with noise; show the odd one, a leaf, as it is."""
        leaf = self.gate.declassify(self.sums, "a leaf of the tree", shown=False)  # the bug
        self.learn(full, (self.pairs + leaf)[full])
        self.pairs[full] += self._noisy(full)[full]

    def learn(self, full: BoolArray, sums: FloatArray) -> None:
        """Set the indices; the sums are emptied after their release."""
        self.set_index(full, sums)

    def _noisy(self, full: BoolArray) -> FloatArray:
        noisy = self.gate.release(self.mechanism, self.sums, where=full)
        self.sums.clear(full)
        return np.where(full, noisy, 0.0)


@_bug(
    "bandit-variance",
    delta=1e-5,
    # Of N(0, (sigma^2 / 64)^2) at delta: an episode of 64 is the longest that ends in 128 rounds.
    true_epsilon=29.480093,
    why="a variance where the standard deviation belongs: sums of n have noise σ²/n instead of σ",
)
class _VarianceForDeviation(EpisodicUCB):
    """The mean's noise gets its variance where the standard deviation belongs: too little from n = 4 on.

    A mean of n rewards needs ``sd = sigma / n``. With ``sd**2`` in its place the sum's noise is
    ``n (sigma / n)^2 = sigma^2 / n`` instead of sigma. Only episodes of 32 rewards, which both arms end within 128
    rounds, leave so little noise that their comparison tells one reward.
    """

    delta: ClassVar[float] = 1e-5
    own_horizon: ClassVar[int] = 2 * HORIZON

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        sensitivity = self.feedback_domain.sensitivity
        right = Gaussian.for_epsilon_delta(epsilon, self.delta, sensitivity=sensitivity)
        self.by_length = {
            2.0**j: Gaussian(sigma=right.sigma**2 / 2**j, sensitivity=sensitivity, delta=self.delta)
            for j in range(BATCHES + 2)
        }

    def end_episode(self, full: BoolArray) -> None:
        """Release the sums of the episodes that end, by length."""
        lengths = np.where(full, self.length, 0.0)
        for length in np.unique(self.length[full]).tolist():
            ending = lengths == length
            noisy = self.gate.release(self.by_length[length], self.sums, where=ending)  # the bug
            self.learn(ending, noisy[ending])
