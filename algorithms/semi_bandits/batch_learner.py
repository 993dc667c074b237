"""K-armed bandits that play in batches, one arm's batch after the other's."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.estimates.doubling_batches import DoublingBatches
from algorithms.lanes import gather
from algorithms.problems import Arms
from algorithms.problems.availability import least_among
from algorithms.structured_learner import StructuredLearner
from mechanisms.arrays import BoolArray, FloatArray, IntArray


class HeldBatchLearner(StructuredLearner[Arms]):
    """Play an arm until its batch is full and released, then the arm of least index.

    Parameters
    ----------
    structure, gate
        As for `StructuredLearner`.
    """

    family = "bandit"
    batches: DoublingBatches
    """The released batches of each arm; a subclass makes them."""

    def __init__(self, structure: Arms, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.index: FloatArray = np.full((gate.lanes, structure.arms), -np.inf)
        self.arm: IntArray = np.zeros((gate.lanes, 1), dtype=np.int64)
        self.released = np.zeros(gate.lanes, dtype=np.bool_)  # the arm's batch: another one is chosen

    @abc.abstractmethod
    def _index(self, lanes: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the indices in the lanes that released a batch; -inf before an arm's first release."""

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the arm of the open batch; after its release, or while it is not available, the one of least index."""
        if self.released.any():
            arm = self.arm.copy()
            arm[self.released, 0] = self.index[self.released].argmin(axis=1)
            self.arm, self.released = arm, np.zeros_like(self.released)
        if available is None:
            return self.arm
        return np.where(available[self.arm], self.arm, least_among(self.index, available))

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcome in its arm's batch, or the total of some rounds."""
        full = self.batches.add(action, feedback, rounds)
        if full is not None:
            self.released = self.released | gather(full, self.arm)[:, 0]
            lanes = np.asarray(full.any(axis=1))
            self.index[lanes] = self._index(lanes)

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until the arm's batch is full."""
        return self.batches.values_until_full(self.action)
