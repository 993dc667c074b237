"""CTS: combinatorial Thompson sampling without privacy, Gaussian priors.

Wang & Chen (ICML 2018) for the combinatorial form; Agrawal & Goyal (J. ACM 2017) for the Gaussian
prior; the matroid bandits paper uses this combination as its baseline.
"""

from __future__ import annotations

import numpy as np

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM
from algorithms.lanes import scatter_add
from algorithms.problems import SuperArms
from algorithms.structured_learner import StructuredLearner
from mechanisms.arrays import FloatArray, IntArray


class CTS(StructuredLearner[SuperArms]):
    """Play the maximum-weight basis for samples ``theta_e ~ N(total_e / (T_e + 1), 1 / (T_e + 1))``.

    Prior N(0, 1) and unit-variance Gaussian likelihood. All data are declassified: posterior sampling
    gives no privacy by itself.

    Parameters
    ----------
    structure
        A matroid.
    gate
        The gate of the feedback and of the posterior samples' randomness.
    """

    name = "cts"
    summary = "combinatorial Thompson sampling with Gaussian priors on a matroid, no privacy"
    source = "Wang & Chen 2018; Agrawal & Goyal 2017"
    claim = NO_CLAIM
    family = "matroid"

    def __init__(self, structure: SuperArms, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.total: FloatArray = np.zeros((gate.lanes, structure.arms))

    def choose(self) -> IntArray:
        """Return the greedy basis of one posterior sample."""
        precision = self.count + 1.0
        sample = self.total / precision + self.gate.random.standard_normal(precision.shape) / np.sqrt(
            precision
        )
        return self.structure.solve(sample)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the raw outcomes to the posterior."""
        outcomes = self.gate.declassify(feedback, "CTS updates its posterior on the raw outcomes")
        scatter_add(self.total, action, outcomes)
        scatter_add(self.count, action, 1.0)
