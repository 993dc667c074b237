"""Learners with upper confidence bounds on sample means, as in papers: without privacy, or from noisy messages."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.lanes import scatter_add
from algorithms.learner import Confidence
from algorithms.structured_learner import StructuredLearner, StructureType
from mechanisms.arrays import FloatArray, IntArray


class MeansLearner(StructuredLearner[StructureType], abc.ABC):
    """UCB: the oracle's answer to ``mean_i + width(t) / sqrt(T_i)`` in round t, infinite where T_i is 0.

    Parameters
    ----------
    structure, gate
        As for `StructuredLearner`.

    Attributes
    ----------
    round
        The number of rounds so far.
    count, total
        T_i, and the sum of the arm's values; shape (lanes, arms).
    """

    def __init__(self, structure: StructureType, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.round = 0
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.total: FloatArray = np.zeros((gate.lanes, structure.arms))

    @abc.abstractmethod
    def _width(self, t: int) -> float:
        """Return the confidence radius of round t times sqrt(T_i)."""

    def choose(self) -> IntArray:
        """Return the oracle's answer to the upper confidence bounds."""
        action = self.structure.solve(self.confidence().index)
        self.round += 1
        return action

    def confidence(self) -> Confidence:
        """Return the means, their counts, how many noises are in them, and the indices of the next round."""
        mean, radius = self.total / np.maximum(self.count, 1.0), np.full(self.count.shape, np.inf)
        np.divide(self._width(self.round + 1), np.sqrt(self.count), out=radius, where=self.count > 0)
        return Confidence(mean, self.count, self._noises(), mean + radius)

    def _noises(self) -> FloatArray:
        """Return how many noises are in each mean."""
        return np.zeros_like(self.count)

    def add(self, arms: IntArray, values: FloatArray, seen: npt.ArrayLike = 1.0) -> None:
        """Count values of some arms, shape (lanes, k); `seen` is 0 where a value does not count."""
        scatter_add(self.total, arms, values)
        scatter_add(self.count, arms, np.broadcast_to(seen, arms.shape))


class StartsRaw(MeansLearner[StructureType]):
    """Base class of printed learners with means that start on one raw outcome of every arm."""

    noisy: ClassVar[bool] = False
    """True if all later values are noisy."""

    def observe_initial(self, outcomes: Private) -> None:
        """Start every mean on one raw outcome."""
        self.total += self.gate.declassify(
            outcomes, f"{type(self).__name__} starts on the raw outcomes of round 0"
        )
        self.count += 1.0

    def _noises(self) -> FloatArray:
        return self.count - 1.0 if self.noisy else super()._noises()
