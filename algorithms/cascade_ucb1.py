"""CascadeUCB1: ranked lists without privacy (Kveton, Szepesvari, Wen & Ashkan, ICML 2015)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ONE_ROUND_CENTRAL, ClaimForm, View
from algorithms.confidence import ucb1_radius
from algorithms.lanes import scatter_add
from algorithms.learner import Family, FloatArray, IntArray
from algorithms.problems import RankedLists
from mechanisms import Domain, OneHot


def examined(clicks: FloatArray) -> FloatArray:
    """Return which positions a user examined: ``1 - sum_{j<k} click_j`` for position k.

    Holds whatever was clicked: all positions when nothing was.
    """
    above = np.cumsum(clicks, axis=-1) - clicks
    return 1.0 - above


class CascadeUCB1:
    """Show the K items of largest ``mean_e + sqrt(1.5 ln(t-1) / T_e)``; T_e counts examinations.

    As published it starts on one observation of every item. All data are declassified.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        Where feedback comes from.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_ROUND_CENTRAL,
        source="none: the learner makes no privacy claim",
    )
    family: ClassVar[Family] = "cascade"

    def __init__(self, structure: RankedLists, gate: Gate) -> None:
        self.structure = structure
        self.gate = gate
        self.feedback_domain: Domain = OneHot(structure.size)
        self.round = 0
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.total: FloatArray = np.zeros((gate.lanes, structure.arms))

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw attraction."""
        self.total += self.gate.declassify(outcomes, "CascadeUCB1 starts on the raw attractions w_0")
        self.count += 1.0

    def act(self) -> IntArray:
        """Return the list of the largest upper confidence bounds, best first."""
        self.round += 1
        mean = self.total / np.maximum(self.count, 1)
        index = mean + ucb1_radius(1.5 * math.log(max(self.round - 1, 1)), self.count)
        self.shown = self.structure.solve(index)
        return self.shown

    def observe(self, feedback: Private) -> None:
        """Average the examined items' attractions."""
        clicks = self.gate.declassify(feedback, "CascadeUCB1 averages the raw clicks")
        scatter_add(self.total, self.shown, clicks)
        scatter_add(self.count, self.shown, examined(clicks))
