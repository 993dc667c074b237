"""CUCB-DP as printed (Chen et al. 2020, Algorithm 3), and its least-pulled variant.

Verdict on Theorem 7 (epsilon-differential privacy): **holds with slack**. A record lies in ``floor(log2 T) + 1`` nodes
with noise ``Lap(2 K ln T / epsilon)``, so all nodes together lose exactly ``(floor(log2 T) + 1) / (2 ln T)`` times
epsilon: 0.738 epsilon at T = 10^5. At T = 2 and T = 4 that is more than epsilon (1.443 and 1.082 times), and at T = 1
there is no noise at all; the claim's own view, the actions, stays private there only because the node of round T comes
too late for any of them. The radius is valid for T >= 10, but for a probability of 3 m / T^2, and so wide that nothing
is learnt within 10^5 rounds.

The paper proposes the least-pulled variant in words (end of section 3.2) and gives no scale: here that of Algorithm
3 with K = 1.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.continual_sums import PrivateTreeSums
from algorithms.estimates.message_means import least_counted
from algorithms.lanes import gather, scatter_add, scatter_set
from algorithms.learner import Confidence, check_epsilon, check_horizon
from algorithms.problems import SuperArms
from algorithms.structured_learner import StructuredLearner
from mechanisms import BinaryTree, Box, HorizonExceeded, Laplace
from mechanisms.arrays import FloatArray, IntArray


class _PrintedTreeLearner(StructuredLearner[SuperArms]):
    """Algorithm 3 with `fed` in place of K in its noise and its radius."""

    repaired_by: ClassVar[str] = "cucb-batch"
    family = "semi-bandit"

    def __init__(self, structure: SuperArms, gate: Gate, *, fed: int, epsilon: float, horizon: int) -> None:
        epsilon, horizon = check_epsilon(epsilon), check_horizon(horizon)
        super().__init__(structure, gate)
        self.tree: BinaryTree | None = None
        self.sums: PrivateTreeSums | None = None
        self.raw_rounds = 0
        if horizon > 1:
            outcomes = Box(0, 1, fed).sensitivity
            noise = BinaryTree.as_published(epsilon, horizon=horizon, sensitivity=outcomes).mechanism
            assert isinstance(noise, Laplace)
            node = Laplace(scale=noise.scale, sensitivity=outcomes)  # Lap(2 fed ln T / epsilon)
            self.tree = BinaryTree(horizon=horizon, mechanism=node, sensitivity=outcomes)
            self.sums = PrivateTreeSums(gate, self.tree, structure.arms)
        self.sampling = 4 * math.log(structure.arms * horizon)
        self.noise_width = 12 * fed * math.log(horizon) ** 3 / epsilon
        self.count: FloatArray = (
            np.zeros((gate.lanes, structure.arms)) if self.sums is None else self.sums.count
        )
        self.mean: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.index: FloatArray = np.ones((gate.lanes, structure.arms))

    def choose(self) -> IntArray:
        """Return the oracle's answer to ``min{mean_i + radius_i, 1}``; 0 for negative ones (any super arm will do)."""
        return self.structure.solve(self.index)

    def confidence(self) -> Confidence:
        """Return the means when they were last fed, the values in them, the tree's noises now, and the indices."""
        noises = 0 if self.sums is None else self.sums.steps.bit_count()
        return Confidence(self.mean, self.count, np.full(self.count.shape, float(noises)), self.index)

    def _feed(self, arms: IntArray, outcomes: Private) -> None:
        """Put a leaf in the tree; the means and indices of `arms` change, others do not."""
        if self.sums is None:
            if self.raw_rounds:
                raise HorizonExceeded("round 2: the learner's horizon is 1")
            self.raw_rounds = 1
            totals = self.gate.declassify(
                outcomes, "at T = 1 the printed scale, 2 K ln T / epsilon, is 0", shown=False
            )
            scatter_add(self.count, arms, 1.0)
        else:
            totals = gather(self.sums.step(outcomes, arms), arms)
        n = np.maximum(gather(self.count, arms), 1.0)  # 0 at padding
        mean = totals / n
        upper = mean + np.sqrt(self.sampling / n) + self.noise_width / n
        scatter_set(self.mean, arms, mean)
        scatter_set(self.index, arms, np.clip(upper, 0.0, 1.0))


class CUCBDP(_PrintedTreeLearner):
    """Algorithm 3: ``min{mean_i + sqrt(4 ln(mT) / T_i) + 12 K ln^3 T / (T_i epsilon), 1}``.

    The means are the sums of a tree whose nodes have noise ``Lap(2 K ln T / epsilon)``.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        The gate of the feedback.
    epsilon
        The claimed privacy of one round.
    horizon
        The number of rounds T; `observe` raises `HorizonExceeded` beyond it.
    """

    name = "published/cucb-dp"
    summary = "combinatorial UCB on running sums of a binary tree, as printed"
    as_printed = (
        "holds with slack: all nodes lose 0.738 epsilon at T = 1e5 (only at T = 2 and 4 more than epsilon)"
    )
    claim = ClaimForm.for_reports("central", "Chen et al. 2020, Algorithm 3, Theorem 7")

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, fed=self.size_of(structure), epsilon=epsilon, horizon=horizon)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Put the outcomes of all arms played in the tree."""
        self._feed(action, feedback)


class CUCBDPLeast(_PrintedTreeLearner):
    """The least-pulled variant: only the arm played of least T_i is fed, noise and radius with K = 1.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBDP`.
    """

    name = "published/cucb-dp-least"
    summary = "the same tree, fed by the least-pulled arm played, as proposed in words"
    as_printed = (
        "holds with slack, as published/cucb-dp; the paper gives no scale, here that of Algorithm 3 with K = "
        "1"
    )
    claim = ClaimForm.for_reports(
        "central", "Chen et al. 2020, section 3.2, least-pulled variant of Algorithm 3"
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, fed=1, epsilon=epsilon, horizon=horizon)

    @property
    def fed_arms(self) -> IntArray:
        """The least-pulled arm played, (lanes, 1)."""
        return gather(self.action, least_counted(self.count, self.action))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Put the outcome of the least-pulled arm played in the tree, ties by the lowest id."""
        place = least_counted(self.count, action)
        self._feed(gather(action, place), feedback.take(place))
