"""Learners on a structure that begin afresh, with longer horizons, where none is known."""

from __future__ import annotations

import abc
from typing import ClassVar

from accountant import Gate
from algorithms.restarts import restart_horizon
from algorithms.structured_learner import HorizonLearner, StructureType


class RestartingLearner(HorizonLearner[StructureType], abc.ABC):
    """A learner of one round at a time that takes a horizon, or without one restarts (`algorithms.restarts`).

    Feedback that comes late is learned from in the epoch in which it comes: it is on the same arms, fresh, and its
    record has paid nothing before.

    Parameters
    ----------
    structure, gate
        As for `StructuredLearner`.
    horizon
        The number of rounds T, or None.

    Attributes
    ----------
    epoch
        How often it has begun afresh; 0 with a horizon.
    begun
        The rounds that had been observed when it did.
    """

    needs_horizon: ClassVar[str] = ""

    def __init__(self, structure: StructureType, gate: Gate, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.epoch = self.begun = 0

    @property
    def horizon(self) -> int:
        """T, or that of the epoch."""
        told = self.rounds.horizon
        return restart_horizon(self.epoch) if told is None else told

    @abc.abstractmethod
    def begin(self, horizon: int) -> None:
        """Begin as a learner with this horizon that has seen nothing; also the first time."""

    @property
    def epoch_rounds(self) -> int:
        """The rounds of the epoch so far."""
        return int(self.rounds.observed) - self.begun

    def update_epoch(self) -> None:
        """Begin the next epoch where the last one has ended."""
        if self.rounds.horizon is None and self.epoch_rounds >= self.horizon:
            self.begin(restart_horizon(self.epoch + 1))
            self.begun = int(self.rounds.observed)
            self.epoch += 1
