"""Cascading bandits under central privacy with hybrid mechanisms, as printed (Algorithm 1).

Verdict on Theorem 1 (epsilon-differential privacy): **false for every epsilon**. w_0 enters raw, and A_1 is a function
of it; the counts of examinations, which the index and the mechanisms' clocks use, are not private; and a changed
click inserts values into other items' streams or deletes them, so streams are not neighbours in the sense of the
proof. The certified learner is `algorithms.CascadeUCBBatch`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.cascades.cascade_ucb1 import examined_positions
from algorithms.claim import ClaimForm
from algorithms.estimates.continual_sums import PrivateHybridSums
from algorithms.lanes import gather
from algorithms.learner import check_epsilon, check_horizon
from algorithms.problems import RankedLists
from algorithms.structured_learner import StructuredLearner
from mechanisms import Box, Hybrid
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.counters.continual import checked_steps


class CascadeUCBHybrid(StructuredLearner[RankedLists]):
    """Algorithm 1: one hybrid mechanism of ``epsilon / L`` for the examined attractions of each item.

    ``U_t(e) = mean_e + sqrt(1.5 ln t / T_e) + 3 c_1 L ln^1.5(n) ln t / (epsilon T_e)``, n the horizon. The constant
    c_1 is not specified; 1 here.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        The gate of the feedback.
    epsilon
        The claimed privacy of one round.
    horizon
        The number of rounds n; `observe` raises `HorizonExceeded` beyond it, where an item's tree is full.
    """

    name = "published/cascade-ucb-hybrid"
    summary = "cascading bandits with a hybrid counting mechanism for each item, as printed"
    as_printed = "FALSE for every epsilon: w_0 and the counts of examinations are not private"
    repaired_by = "cascade-ucb-batch"
    claim = ClaimForm.for_reports("central", "cascading bandits paper, Algorithm 1, Theorem 1")
    family = "cascade"
    noise_constant: ClassVar[float] = 1.0  # c_1

    def __init__(self, structure: RankedLists, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate)
        self.examined = examined_positions(structure.size)
        per_item = check_epsilon(epsilon) / structure.items
        log_horizon = math.log(check_horizon(horizon))
        self.noise_width = 3 * self.noise_constant * log_horizon**1.5 / per_item
        sensitivity = Box(0, 1, self.size_of(structure)).sensitivity
        # A record of K attractions; calibrated, as printed, for one.
        counter = Hybrid(epsilon=per_item * sensitivity.l1, sensitivity=sensitivity)
        self.horizon = horizon
        self.sums = PrivateHybridSums(gate, counter, structure.items)
        self.total: FloatArray = np.zeros((gate.lanes, structure.items))
        self.round = 0
        self.first: FloatArray = np.zeros((gate.lanes, structure.items))  # w_0

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw attraction."""
        self.first += self.gate.declassify(outcomes, "Algorithm 1 starts on the raw attractions w_0")

    def choose(self) -> IntArray:
        """Return the list of the largest upper confidence bounds, best first."""
        self.round += 1
        log_term = math.log(self.round)
        count = 1.0 + self.sums.steps
        mean = (self.first + self.total) / count
        index = mean + np.sqrt(1.5 * log_term / count) + self.noise_width * log_term / count
        return self.structure.solve(index)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Insert the attractions of the positions up to the click."""
        checked_steps(gather(self.sums.steps, action) + 1, self.horizon)
        seen = self.gate.declassify(
            feedback.map(self.examined),
            "Algorithm 1 counts examinations: how many positions were examined gives the click away",
            shown=False,
        )
        self.total = self.sums.step(feedback, np.where(seen > 0, action, -1))
