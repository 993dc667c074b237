"""DP-SE as printed (Sajed & Sheffet 2019, Algorithm 2): private successive elimination.

With ``x = ln(8 |S| e^2 / beta)``, ``y = ln(4 |S| e^2 / beta)`` and ``Delta_e = 2^-e``, epoch e = 1, 2, ... pulls all
remaining arms S in turn, ``R_e = max(32 x / Delta_e^2, 8 y / (epsilon Delta_e)) + 1`` times each; adds ``Lap(1 /
(epsilon r))`` to the mean of an arm's r rewards of this epoch; and removes the arms whose noisy mean is more than ``2
h_e + 2 c_e`` below the largest, ``h_e = sqrt(x / (2 R_e))``, ``c_e = y / (R_e epsilon)``. The last arm is played to the
end. beta is 1 / T, as for the paper's regret bound.

Verdict (epsilon-differential privacy): **holds, tight**. A record is in one mean, released once.

The text of the paper was not available; the pseudocode is that of two public implementations, which agree.
"""

from __future__ import annotations

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.elimination_epochs import epoch_pulls
from algorithms.lanes import scatter_add
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Arms
from algorithms.structured_learner import HorizonLearner
from mechanisms import Interval, Laplace
from mechanisms.arrays import FloatArray, IntArray


class DPSE(HorizonLearner[Arms]):
    """K arms, successive elimination with Laplace noise on the means of an epoch.

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
    epsilon
        The claimed privacy of one round's outcome.
    horizon
        The number of rounds T.
    """

    name = "published/dp-se"
    summary = "K arms, successive elimination with Laplace noise on each epoch's means, as printed"
    as_printed = "holds, tight"
    repaired_by = "dp-bandit"
    family = "bandit"
    claim = ClaimForm.for_reports("central", "Sajed & Sheffet 2019, Algorithm 2")

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, horizon)
        self.epsilon = check_epsilon(epsilon)
        self.mechanism = Laplace.for_epsilon(self.epsilon, sensitivity=Interval(0, 1).sensitivity)
        shape = (gate.lanes, structure.arms)
        self.left = np.ones(shape, dtype=np.bool_)
        self.epoch: FloatArray = np.ones((gate.lanes, 1))
        self.pulls: FloatArray = np.zeros(shape)  # of this epoch
        self.mean: FloatArray = np.zeros(shape)  # of the last epoch that is over
        self.size: FloatArray = np.zeros(shape)
        self.width: FloatArray = np.full((gate.lanes, 1), np.inf)
        self._sums = gate.sums(structure.arms)

    def choose(self) -> IntArray:
        """Return the remaining arm pulled least in this epoch, ties by the lowest id."""
        pulls = np.where(self.left, self.pulls, np.inf)
        return np.asarray(pulls.argmin(axis=1)[:, np.newaxis], dtype=np.int64)

    def confidence(self) -> Confidence:
        """Return the means of an arm's last whole epoch, its values and noises, and the means plus ``h_e + c_e``."""
        index = np.where(self.left, self.mean + self.width, -np.inf)
        return Confidence(self.mean, self.size, np.minimum(self.size, 1.0), index)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Add the outcome to its arm's sum; at an epoch's end release the sums and remove arms."""
        several = self.left.sum(axis=1, keepdims=True) > 1
        fed = np.where(several, action, -1)  # the last arm is played without looking
        self._sums.add(feedback.take(np.where(several, 0, -1)), at=fed, release=self.mechanism)
        scatter_add(self.pulls, fed, 1.0)
        arms = self.left.sum(axis=1, keepdims=True).astype(np.float64)
        needed = epoch_pulls(self.epoch, arms, epsilon=self.epsilon, horizon=self.horizon)
        over = several & (~self.left | (self.pulls >= needed)).all(axis=1, keepdims=True)
        if over.any():
            self._end_epoch(over, arms, needed)

    def _end_epoch(self, over: np.typing.NDArray[np.bool_], arms: FloatArray, needed: FloatArray) -> None:
        """Release the means of the epochs that are over, remove arms, and start the next ones."""
        where = self.left & over
        try:
            sums = self.gate.release(self.mechanism, self._sums, where=where)
            self.mean[where] = sums[where] / self.pulls[where]
            self.size[where] = self.pulls[where]
            counted = arms * self.epoch**2 * self.horizon
            width = np.sqrt(np.log(8.0 * counted) / (2.0 * needed)) + np.log(4.0 * counted) / (
                needed * self.epsilon
            )
            self.width = np.where(over, width, self.width)
            best = np.where(self.left, self.mean, -np.inf).max(axis=1, keepdims=True)
            self.left &= ~(over & (best - self.mean > 2.0 * width))
            self.epoch = self.epoch + over
        finally:  # if a record spent its budget elsewhere meanwhile, the epoch is lost, and is played again
            self.pulls = np.where(over, 0.0, self.pulls)
            self._sums.clear(where)
