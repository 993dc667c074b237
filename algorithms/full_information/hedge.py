"""Exponential weights over experts (Hedge), on raw outcomes or on private running sums.

An expert is drawn with weight ``exp(eta S_i)``, S_i the running sum of its outcomes and ``eta = sqrt(8 ln K / T)``
(Freund & Schapire 1997, "A decision-theoretic generalization of on-line learning"). Private, S comes from a
`PrivateStream` of a `BufferedCounter`: a record is charged once, in its round, for all later sums.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import LONGEST_STREAM, Gate, Private, PrivateStream
from algorithms.claim import NO_CLAIM, ClaimForm, View
from algorithms.learner import check_delta, check_epsilon
from algorithms.problems import Experts
from algorithms.restarts import restart_horizon
from algorithms.structured_learner import HorizonLearner
from mechanisms import Box, BufferedCounter
from mechanisms.arrays import FloatArray, IntArray


class Hedge(HorizonLearner[Experts]):
    """Exponential weights without privacy.

    Parameters
    ----------
    structure
        The experts.
    gate
        The gate of the feedback: the outcomes of all experts in [0, 1], in the order of the action.
    horizon
        The number of rounds T; None if it is not known (`algorithms.restarts`).

    Attributes
    ----------
    weights
        The weights of the experts, shape (lanes, experts), of sum 1: for uses that mix experts rather than follow one.

    Raises
    ------
    ProblemError
        If the structure is not `Experts`: others do not show all outcomes.
    """

    name = "hedge"
    summary = "experts: exponential weights on the outcomes of all, no privacy"
    source: ClassVar[str] = "Freund & Schapire 1997"
    family = "experts"
    claim = NO_CLAIM
    needs_horizon = ""

    def __init__(self, structure: Experts, gate: Gate, *, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.epoch = self.begun = 0
        self.begin(self.horizon)

    @property
    def horizon(self) -> int:
        """T, or that of the epoch."""
        told = self.rounds.horizon
        return _epoch_horizon(self.epoch) if told is None else told

    def update_epoch(self) -> None:
        """Begin afresh, with a longer horizon, where the last one has ended and none is known."""
        observed = int(self.rounds.observed)
        if self.rounds.horizon is None and observed - self.begun >= self.horizon:
            self.begin(_epoch_horizon(self.epoch + 1))
            self.begun, self.epoch = observed, self.epoch + 1

    def begin(self, horizon: int) -> None:
        """Begin with equal weights, and nothing summed."""
        lanes, experts = self.gate.lanes, self.structure.arms
        self.rate = math.sqrt(8.0 * math.log(experts) / horizon)
        self.weights: FloatArray = np.full((lanes, experts), 1.0 / experts)
        self._total: FloatArray = np.zeros((lanes, experts))

    def choose(self) -> IntArray:
        """Return an expert drawn by the weights, and then the others by their ids."""
        drawn = self.gate.random.random((self.gate.lanes, 1))
        first = (self.weights.cumsum(axis=1) < drawn).sum(axis=1, keepdims=True)
        first = np.minimum(first, self.structure.arms - 1)  # weights may sum to less than 1, rounded
        others = np.arange(self.structure.arms - 1)
        return np.concatenate([first, others + (others >= first)], axis=1)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Weigh the experts by the sums of their outcomes."""
        score = self.rate * self.running_sums(feedback.take(np.argsort(action, axis=1)))
        weights = np.exp(score - score.max(axis=1, keepdims=True))
        self.weights = weights / weights.sum(axis=1, keepdims=True)

    def running_sums(self, outcomes: Private) -> FloatArray:
        """Add the outcomes of all experts, and return the running sums."""
        self._total = self._total + self.gate.declassify(outcomes, "Hedge sums the raw outcomes")
        return self._total


def _epoch_horizon(epoch: int) -> int:
    return min(restart_horizon(epoch), LONGEST_STREAM)


class DPHedge(Hedge):
    """Exponential weights on private running sums: exactly (epsilon, delta) for every round's outcomes of all experts.

    Expected regret to the best expert is at most ``sqrt(T ln K / 2) + m s``, m the mean of the largest of K standard
    normals and s the noise's deviation after T - 1 rounds (`algorithms.full_information.leader_regret`): privacy is
    added, not multiplied. A `DurableRun` cannot save it: its stream is in memory only.

    Parameters
    ----------
    structure, gate, horizon
        As for `Hedge`; beyond the horizon `observe` raises `HorizonExceeded`, before anything is charged.
    epsilon, delta
        The privacy of one round's outcomes, in the view of everything released.

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import DPHedge
    >>> from algorithms.problems import Experts
    >>> accountant = Accountant(Budget(epsilon=1.0, delta=1e-6), noise=np.random.default_rng(1), seed=1)
    >>> learner = DPHedge(Experts(3), accountant, epsilon=1.0, delta=1e-6, horizon=1000)
    >>> for user in range(1000):
    ...     action = learner.act()[0]
    ...     seen = accountant.private((action == 2).astype(float), learner.feedback_domain, record=user)
    ...     learner.observe(seen)
    >>> int(learner.weights.argmax())
    2
    """

    name = "dp-hedge"
    summary = "experts: exponential weights on running sums of all outcomes with correlated Gaussian noise"
    as_printed = (
        "certified, (epsilon, delta); privacy is added to regret, with the deviation of one running sum"
    )
    source = ""  # the claim's
    claim = ClaimForm.for_reports(
        "central", "this library: exponential weights on a buffered counter under a gate", view=View.RELEASES
    )

    def __init__(
        self, structure: Experts, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        self.epsilon, self.delta = check_epsilon(epsilon), check_delta(delta)
        super().__init__(structure, gate, horizon=horizon)

    def begin(self, horizon: int) -> None:
        """Begin with equal weights and a stream of its own."""
        super().begin(horizon)
        experts = self.structure.arms
        counter = expert_counter(experts, epsilon=self.epsilon, delta=self.delta, horizon=horizon)
        self._sums = PrivateStream(self.gate, counter, experts)

    def running_sums(self, outcomes: Private) -> FloatArray:
        """Release the row of this round, and return the running sums that follow from all rows."""
        return self._sums.step(outcomes)


def expert_counter(experts: int, *, epsilon: float, delta: float, horizon: int) -> BufferedCounter:
    """Return the counter of `DPHedge`: a record is the outcomes of all experts in one round."""
    return BufferedCounter.for_epsilon_delta(
        epsilon, delta, horizon=horizon, sensitivity=Box(0, 1, experts).sensitivity
    )
