"""CUCB under central differential privacy with continual sums (Chen et al. 2020, Algorithm 3), certified.

One binary tree over the rounds sums the outcomes of all arms under one clock. A record lies in up to
``N = floor(log2 T) + 1`` nodes, so Laplace noise of scale ``b = q N / epsilon`` on every coordinate of every node is
exactly epsilon for a record that feeds q arms. The running sums after round t have ``J = popcount(t)`` noises each.

With ``x = ln(4 m T^2)``, all of the following hold for all arms and rounds except with probability 1/T: an arm's n
outcomes sum to at least ``n mean - sqrt(n x / 2)`` (Hoeffding; outcomes are fresh whatever chose the arm), and the
noises sum to at least ``-w_J``, ``w_J = min_u b (x - J ln(1 - u^2)) / u <= b (2 sqrt(J x) + x)`` (Chernoff, at every
fixed t: which nodes make up a prefix is fixed in advance). So every value that the index has ever had bounds the
arm's mean, and the index is the least of them: ``(sum + w_J) / n + sqrt(x / (2 n))``, clipped to [0, 1].

Nothing here beats batches. A tree pays N noises for a sum at every round where a learner needs a new one at every
doubling only: `CUCBBatchAll` and `CUCBBatchLeast` have noise of scale ``q / epsilon`` instead of ``q N / epsilon``, and
far less regret. These learners are for comparison with the published one.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm, View
from algorithms.estimates.continual_sums import PrivateTreeSums
from algorithms.estimates.message_means import least_counted
from algorithms.lanes import gather
from algorithms.learner import Confidence, Family, check_epsilon
from algorithms.problems import SuperArms
from algorithms.problems.availability import mask_weights
from algorithms.restarting_learner import RestartingLearner
from algorithms.unit import ONE_REPORT
from mechanisms import BinaryTree, Box, Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray

_EXPONENTS = np.linspace(0.0, 1.0, 2001)[1:-1]
"""Chernoff exponents u = b s to choose from; each gives a valid bound."""


def laplace_sum_width(terms: int, exponent: float) -> float:
    """Return w such that so many independent Lap(1) noises sum to more than w with probability <= ``e^-exponent``.

    The least of ``(x - J ln(1 - u^2)) / u`` over a grid of u in (0, 1): Markov's inequality for ``e^{uS}`` with
    ``E e^{uS} = (1 - u^2)^-J``. At most ``2 sqrt(J x) + x`` up to the grid's width.
    """
    u = _EXPONENTS
    return float(((exponent - terms * np.log1p(-u * u)) / u).min())


class _TreeLearner(RestartingLearner[SuperArms]):
    """The oracle's super arm for the indices; one step of the tree per round."""

    family: ClassVar[Family] = "semi-bandit"
    needs_all_arms: ClassVar[str] = ""

    def __init__(
        self, structure: SuperArms, gate: Gate, *, fed: int, epsilon: float, horizon: int | None
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.few, self.epsilon = fed, check_epsilon(epsilon)
        self.begin(self.horizon)

    def begin(self, horizon: int) -> None:
        """Take a new tree: of the last one all nodes are released, as many steps as it has."""
        gate, structure, outcomes = self.gate, self.structure, Box(0, 1, self.few).sensitivity
        exact = BinaryTree.for_epsilon(self.epsilon, horizon=horizon, sensitivity=outcomes).mechanism
        assert isinstance(exact, Laplace)
        self.mechanism = Laplace(
            scale=exact.scale, sensitivity=outcomes
        )  # a record moves one node by K at most
        self.tree = BinaryTree(horizon=horizon, mechanism=self.mechanism, sensitivity=outcomes)
        sums = PrivateTreeSums(gate, self.tree, structure.arms)
        self.exponent = math.log(4 * structure.arms * horizon**2)
        self.widths = [
            self.mechanism.scale * laplace_sum_width(terms, self.exponent)
            for terms in range(1, self.tree.levels + 1)
        ]
        self.count = sums.count  # of the outcomes in the running sums
        self.running: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.index: FloatArray = np.ones((gate.lanes, structure.arms))
        # Last: until then the old tree is full, and a beginning that is interrupted due again.
        self.sums = sums

    @property
    def epoch_rounds(self) -> int:
        """The steps of the tree: a round whose release failed is one, too."""
        return self.sums.steps

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.index, available))

    def confidence(self) -> Confidence:
        """Return the running means, the values in them, the noises in all of them, and the indices."""
        noises = np.full(self.count.shape, float(self.sums.steps.bit_count()))
        return Confidence(self.running / np.maximum(self.count, 1.0), self.count, noises, self.index)

    def _feed(self, arms: IntArray, outcomes: Private) -> None:
        """Make one step of the tree; no later bound is worse than an earlier one."""
        self.running = running = self.sums.step(outcomes, arms)
        width = self.widths[self.sums.steps.bit_count() - 1]
        n = np.maximum(self.count, 1.0)
        upper = running + width
        upper /= n
        n *= 2.0
        upper += np.sqrt(np.divide(self.exponent, n, out=n), out=n)
        np.copyto(self.index, np.clip(upper, 0.0, self.index), where=self.count > 0)


class CUCBDP(_TreeLearner):
    """CUCB-DP with the exact scale: all arms played are summed, ``Lap(K (floor(log2 T) + 1) / epsilon)`` per node.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        Where feedback comes from.
    epsilon
        The privacy of one round's outcome vector, in the view of everything released: exactly that.
    horizon
        The number of rounds T; `observe` raises `HorizonExceeded` beyond it, before anything is added. None if it is
        not known (`algorithms.restarts`).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, Algorithm 3, with the exact scale and radius",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, fed=self.size_of(structure), epsilon=epsilon, horizon=horizon)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Sum the outcomes of all arms played."""
        self._feed(action, feedback)


class CUCBDPLeast(_TreeLearner):
    """Only the least-counted arm played is summed, with ``Lap((floor(log2 T) + 1) / epsilon)`` per node.

    For B_inf-smooth rewards. Which arm it is follows from public counts, ties by the lowest id.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBDP`.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, least-pulled variant of Algorithm 3, with the exact scale and radius",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, fed=1, epsilon=epsilon, horizon=horizon)

    @property
    def fed_arms(self) -> IntArray:
        """The least-counted arm played, (lanes, 1)."""
        return gather(self.action, least_counted(self.count, self.action))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Sum the outcome of the least-counted arm played."""
        place = least_counted(self.count, action)
        self._feed(gather(action, place), feedback.take(place))
