"""CUCB: combinatorial UCB without privacy (Chen, Wang & Yuan, 2013, Algorithm 1)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.estimates.running_means import RunningMeans
from algorithms.learner import Confidence, Family
from algorithms.problems import SuperArms
from algorithms.structured_learner import StructuredLearner
from mechanisms.arrays import IntArray


class CUCB(StructuredLearner[SuperArms]):
    """Play the oracle's super arm for the indices ``min{mean_i + sqrt(3 ln t / (2 T_i)), 1}``.

    It reads every observed outcome as it is, and says so: each is declassified.

    Parameters
    ----------
    structure
        The super arms and their (alpha, beta)-oracle.
    gate
        Where feedback comes from.
    """

    name = "cucb"
    summary = "combinatorial UCB, no privacy"
    source = "Chen, Wang & Yuan 2013, Algorithm 1"
    claim: ClassVar[ClaimForm] = NO_CLAIM
    family: ClassVar[Family] = "semi-bandit"

    def __init__(self, structure: SuperArms, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.round = 0
        self.means = RunningMeans(gate.lanes, structure.arms)

    def choose(self) -> IntArray:
        """Return the oracle's answer to the upper confidence bounds."""
        action = self.structure.solve(self.confidence().index)
        self.round += 1
        return action

    def confidence(self) -> Confidence:
        """Return the means, counts and indices of the next round."""
        return self.means.confidence(np.minimum(self.means.upper(1.5 * math.log(self.round + 1)), 1.0))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the raw outcomes to the running means."""
        self.means.add(action, self.gate.declassify(feedback, "CUCB averages the raw outcomes"))
