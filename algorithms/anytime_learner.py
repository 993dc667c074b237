"""Learners with indices at a confidence level, for a known horizon or, without one, for each epoch."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt

from accountant import Gate
from algorithms.epochs import EPOCHS, epoch_end, epoch_horizon, epoch_of
from algorithms.structured_learner import HorizonLearner, StructureType
from mechanisms.arrays import FloatArray, IntArray


class AnytimeLearner(HorizonLearner[StructureType], abc.ABC):
    """A learner that takes a horizon, or without one goes on by epochs.

    Parameters
    ----------
    structure, gate
        As for `StructuredLearner`.
    horizon
        The number of rounds T, or None.

    Attributes
    ----------
    exponent
        x, that of the horizon or of the epoch; shape (lanes, 1) if lanes have clocks of their own.
    epoch
        The epoch of the exponent; 0 with a horizon.
    """

    needs_horizon = ""
    exponent: float | FloatArray

    def __init__(self, structure: StructureType, gate: Gate, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.epoch: IntArray = epoch_of(0)

    @abc.abstractmethod
    def exponent_for(self, horizon: int) -> float:
        """Return x of the indices of a learner with this horizon."""

    @abc.abstractmethod
    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices of these lanes from the values released so far, with the current exponents."""

    def until_renewed(self, rounds: IntArray) -> IntArray:
        """Return `rounds`, (lanes,), or the rest of the epoch where that is less."""
        if self.rounds.horizon is not None:
            return rounds
        left: IntArray = epoch_end(epoch_of(self.rounds.observed)) - self.rounds.observed
        return np.minimum(rounds, left)

    def update_epoch(self) -> None:
        """Begin the next epoch where the last one has ended."""
        if self.rounds.horizon is not None:
            return
        epoch = epoch_of(self.rounds.observed)
        begins = epoch != self.epoch
        if begins.any():
            levels = np.array([self.exponent_for(epoch_horizon(k)) for k in range(EPOCHS)])
            self.exponent = levels[epoch][:, np.newaxis] if epoch.ndim else float(levels[epoch])
            self.renew(np.broadcast_to(begins, self.gate.lanes))
            self.epoch = epoch  # last: if this is interrupted, it is done again
