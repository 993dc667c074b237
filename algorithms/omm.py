"""OMM: optimistic matroid maximisation without privacy (Kveton et al., UAI 2014, Algorithm 2)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ONE_ROUND_CENTRAL, ClaimForm, View
from algorithms.confidence import ucb1_radius
from algorithms.lanes import scatter_add
from algorithms.learner import Family, FloatArray, IntArray
from algorithms.problems import SuperArms
from mechanisms import Box, Domain


class OMM:
    """Play the maximum-weight basis for ``U_t(e) = mean_e + sqrt(2 ln(t-1) / T_e)``.

    As published it starts on one observation of every element. All data are declassified.

    Parameters
    ----------
    structure
        A matroid.
    gate
        Where feedback comes from.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_ROUND_CENTRAL,
        source="none: the learner makes no privacy claim",
    )
    family: ClassVar[Family] = "matroid"

    def __init__(self, structure: SuperArms, gate: Gate) -> None:
        self.structure = structure
        self.gate = gate
        self.feedback_domain: Domain = Box(0, 1, structure.size)
        self.round = 0
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.total: FloatArray = np.zeros((gate.lanes, structure.arms))

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw observation."""
        self.total += self.gate.declassify(outcomes, "OMM starts on the raw outcomes w_0")
        self.count += 1.0

    def act(self) -> IntArray:
        """Return the greedy basis of the upper confidence bounds."""
        self.round += 1
        mean = self.total / np.maximum(self.count, 1)
        index = mean + ucb1_radius(2 * math.log(max(self.round - 1, 1)), self.count)
        self.basis = self.structure.solve(index)
        return self.basis

    def observe(self, feedback: Private) -> None:
        """Add the raw outcomes to the running means."""
        outcomes = self.gate.declassify(feedback, "OMM averages the raw outcomes")
        scatter_add(self.total, self.basis, outcomes)
        scatter_add(self.count, self.basis, np.ones(self.basis.shape))
