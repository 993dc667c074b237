"""CUCB: combinatorial UCB without privacy (Chen, Wang & Yuan, 2013, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from accountant import Private
from algorithms.claim import NO_CLAIM
from algorithms.learner import Confidence
from algorithms.means_learner import MeansLearner
from algorithms.problems import SuperArms
from mechanisms.arrays import IntArray


class CUCB(MeansLearner[SuperArms]):
    """Play the oracle's super arm for the indices ``min{mean_i + sqrt(3 ln t / (2 T_i)), 1}``.

    It reads every observed outcome as it is, and says so: each is declassified.

    Parameters
    ----------
    structure
        The super arms and their (alpha, beta)-oracle.
    gate
        The gate of the feedback.
    """

    name = "cucb"
    summary = "combinatorial UCB, no privacy"
    source = "Chen, Wang & Yuan 2013, Algorithm 1"
    claim = NO_CLAIM
    family = "semi-bandit"

    def _width(self, t: int) -> float:
        return math.sqrt(1.5 * math.log(t))

    def confidence(self) -> Confidence:
        """Return the means, counts and indices of the next round."""
        shown = super().confidence()
        return replace(shown, index=np.minimum(shown.index, 1.0))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the raw outcomes to the running means."""
        self.add(action, self.gate.declassify(feedback, "CUCB averages the raw outcomes"))
