"""CTS: combinatorial Thompson sampling without privacy, Gaussian priors.

Wang & Chen (ICML 2018) for the combinatorial form; Agrawal & Goyal (J. ACM 2017) for the Gaussian
prior; the matroid bandits paper uses this combination as its baseline.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ONE_ROUND_CENTRAL, ClaimForm, View
from algorithms.lanes import scatter_add
from algorithms.learner import Family, FloatArray, IntArray
from algorithms.problems import SuperArms
from mechanisms import Box, Domain


class CTS:
    """Play the maximum-weight basis for samples ``theta_e ~ N(total_e / (T_e + 1), 1 / (T_e + 1))``.

    Prior N(0, 1) and unit-variance Gaussian likelihood. All data are declassified: posterior sampling
    gives no privacy by itself.

    Parameters
    ----------
    structure
        A matroid.
    gate
        Where feedback and the posterior samples' randomness come from.
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
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.total: FloatArray = np.zeros((gate.lanes, structure.arms))

    def act(self) -> IntArray:
        """Return the greedy basis of one posterior sample."""
        precision = self.count + 1.0
        sample = self.total / precision + self.gate.random.standard_normal(precision.shape) / np.sqrt(
            precision
        )
        self.basis = self.structure.solve(sample)
        return self.basis

    def observe(self, feedback: Private) -> None:
        """Add the raw outcomes to the posterior."""
        outcomes = self.gate.declassify(feedback, "CTS updates its posterior on the raw outcomes")
        scatter_add(self.total, self.basis, outcomes)
        scatter_add(self.count, self.basis, np.ones(self.basis.shape))
