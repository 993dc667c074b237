"""Running means of public outcomes, and their UCB1 index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from algorithms.estimates.confidence import ucb1_radius
from algorithms.lanes import scatter_add
from algorithms.learner import Confidence
from mechanisms.arrays import FloatArray, IntArray


class RunningMeans:
    """Number of observations of each arm, and their total, shape (lanes, arms)."""

    def __init__(self, lanes: int, arms: int) -> None:
        self.count: FloatArray = np.zeros((lanes, arms))
        self.total: FloatArray = np.zeros((lanes, arms))

    def start(self, outcomes: FloatArray) -> None:
        """Count one outcome of every arm, shape (lanes, arms)."""
        self.total += outcomes
        self.count += 1.0

    def add(self, arms: IntArray, outcomes: FloatArray, seen: npt.ArrayLike = 1.0) -> None:
        """Count outcomes of some arms, shape (lanes, k); `seen` is 0 where an outcome does not count."""
        scatter_add(self.total, arms, outcomes)
        scatter_add(self.count, arms, np.broadcast_to(seen, arms.shape))

    def confidence(self, index: FloatArray) -> Confidence:
        """Return the means with the indices that are made of them; they have no noise."""
        return Confidence(
            self.total / np.maximum(self.count, 1.0), self.count, np.zeros_like(self.count), index
        )

    def upper(self, weight: float) -> FloatArray:
        """Return ``mean + sqrt(weight / count)``, and +inf for an arm that was never seen."""
        return self.total / np.maximum(self.count, 1.0) + ucb1_radius(weight, self.count)
