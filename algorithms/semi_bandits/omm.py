"""OMM: optimistic matroid maximisation without privacy (Kveton et al., UAI 2014, Algorithm 2)."""

from __future__ import annotations

import math

from accountant import Private
from algorithms.claim import NO_CLAIM
from algorithms.means_learner import StartsRaw
from algorithms.problems import SuperArms
from mechanisms.arrays import IntArray


class OMM(StartsRaw[SuperArms]):
    """Play the maximum-weight basis for ``U_t(e) = mean_e + sqrt(2 ln(t-1) / T_e)``.

    As published it starts on one observation of every element. All data are declassified.

    Parameters
    ----------
    structure
        A matroid.
    gate
        The gate of the feedback.
    """

    name = "omm"
    summary = "optimistic matroid maximisation, no privacy"
    source = "Kveton et al. 2014, Algorithm 2"
    claim = NO_CLAIM
    family = "matroid"

    def _width(self, t: int) -> float:
        return math.sqrt(2 * math.log(max(t - 1, 1)))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the raw outcomes to the running means."""
        self.add(action, self.gate.declassify(feedback, "OMM averages the raw outcomes"))
