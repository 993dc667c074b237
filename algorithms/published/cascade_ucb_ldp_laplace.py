"""Cascading bandits under local privacy with Laplace noise, as printed (Algorithm 2).

Verdict on Theorem 3 (epsilon-local differential privacy): **false for every epsilon and every delta < 1**.
The message holds ``min(C_t, K)`` numbers, so their number gives the click position away; and w_0 is sent
raw. The certified learner `algorithms.CascadeUCBRR` sends one symbol of fixed format.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.cascade_ucb1 import examined
from algorithms.claim import ONE_USER_LOCAL, ClaimForm, View
from algorithms.lanes import gather, scatter_set
from algorithms.learner import Family, FloatArray, IntArray, check_epsilon
from algorithms.problems import RankedLists
from mechanisms import Box, Domain, Laplace, OneHot


class CascadeUCBLDPLaplace:
    """Algorithm 2: every examined position is sent with noise ``Lap(K / epsilon)``.

    ``U_t(e) = mean_e + sqrt(1.5 ln t / T_e) + (K / epsilon) sqrt(24 ln t / T_e)``; the K largest are shown.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        Where feedback comes from.
    epsilon
        The claimed privacy of one user's message.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_USER_LOCAL,
        source="cascading bandits paper, Algorithm 2, Theorem 3",
    )
    family: ClassVar[Family] = "cascade"

    def __init__(self, structure: RankedLists, gate: Gate, *, epsilon: float) -> None:
        self.structure = structure
        self.gate = gate
        self.feedback_domain: Domain = OneHot(structure.size)
        self.scale = structure.size / check_epsilon(epsilon)
        self.positions = Box(0, 1, structure.size)
        self.laplace = Laplace(scale=self.scale, sensitivity=self.positions.sensitivity)
        self.round = 0
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.mean: FloatArray = np.zeros((gate.lanes, structure.arms))

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw attraction."""
        self.mean += self.gate.declassify(outcomes, "Algorithm 2 starts on the raw attractions w_0")
        self.count += 1.0

    def act(self) -> IntArray:
        """Return the list of the largest upper confidence bounds, best first."""
        self.round += 1
        log_term = math.log(self.round)
        width = math.sqrt(1.5 * log_term) + self.scale * math.sqrt(24 * log_term)
        self.shown = self.structure.solve(self.mean + width / np.sqrt(self.count))
        return self.shown

    def observe(self, feedback: Private) -> None:
        """Average the noisy values of the positions up to the click."""
        sent = self.gate.declassify(
            feedback.map(examined, into=self.positions),
            "Algorithm 2 sends min(C_t, K) numbers: how many gives the click position away",
            shown=False,
        )
        examined_here = sent > 0
        values = self.gate.release(self.laplace, feedback, where=examined_here)
        count = gather(self.count, self.shown)
        mean = gather(self.mean, self.shown)
        averaged = (count * mean + values) / (count + 1)
        scatter_set(self.mean, self.shown, np.where(examined_here, averaged, mean))
        scatter_set(self.count, self.shown, count + examined_here)
