"""OMM: optimistic matroid maximisation without privacy (Kveton et al., UAI 2014, Algorithm 2)."""

from __future__ import annotations

import math
from typing import ClassVar

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.estimates.running_means import RunningMeans
from algorithms.learner import Confidence, Family
from algorithms.problems import SuperArms
from algorithms.structured_learner import StructuredLearner
from mechanisms.arrays import IntArray


class OMM(StructuredLearner[SuperArms]):
    """Play the maximum-weight basis for ``U_t(e) = mean_e + sqrt(2 ln(t-1) / T_e)``.

    As published it starts on one observation of every element. All data are declassified.

    Parameters
    ----------
    structure
        A matroid.
    gate
        Where feedback comes from.
    """

    name = "omm"
    summary = "optimistic matroid maximisation, no privacy"
    source = "Kveton et al. 2014, Algorithm 2"
    claim: ClassVar[ClaimForm] = NO_CLAIM
    family: ClassVar[Family] = "matroid"

    def __init__(self, structure: SuperArms, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.round = 0
        self.means = RunningMeans(gate.lanes, structure.arms)

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw observation."""
        self.means.start(self.gate.declassify(outcomes, "OMM starts on the raw outcomes w_0"))

    def choose(self) -> IntArray:
        """Return the greedy basis of the upper confidence bounds."""
        action = self.structure.solve(self.confidence().index)
        self.round += 1
        return action

    def confidence(self) -> Confidence:
        """Return the means, counts and indices of the next round."""
        return self.means.confidence(self.means.upper(2 * math.log(max(self.round, 1))))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the raw outcomes to the running means."""
        self.means.add(action, self.gate.declassify(feedback, "OMM averages the raw outcomes"))
