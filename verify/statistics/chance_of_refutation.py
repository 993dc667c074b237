"""The predicted power of more draws of an event to refute a claim, from its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.statistics.predicted_bound import predicted_epsilon

_CASES = 4_096  # probabilities are right to about a percent


@dataclass(frozen=True, slots=True)
class CountsOfEvent:
    """The counts of an event in `trials` draws of the world where it is likelier, and of the other."""

    hits: int
    other: int
    trials: int

    def loss(self, delta: float) -> float:
        """Return ln((p - delta) / q) as counted, -inf where p is at most delta."""
        excess, q = self.hits / self.trials - delta, self.other / self.trials
        return -math.inf if excess <= 0.0 else math.log(excess / q) if q > 0.0 else math.inf

    def chance_of_refuting(self, n: int, epsilon: float, delta: float, error: float) -> float:
        """Return how likely `n` fresh draws a side of the event refute (epsilon, delta) at an error.

        It is predictive: the two probabilities are as likely as Jeffreys' prior and these counts make them, and the
        coming counts are binomial. Bounds are the ones to expect of those (`predicted_epsilon`).
        """
        rng = np.random.default_rng(0)
        p, q = (rng.binomial(n, probability) / n for probability in self._probabilities())
        return float(np.mean(predicted_epsilon(p, q, n, delta, error) > epsilon))

    def _probabilities(self) -> tuple[FloatArray, FloatArray]:
        """Return draws of both probabilities from what these counts make likely; always the same ones."""
        rng = np.random.default_rng(1)
        p, q = (rng.beta(k + 0.5, self.trials - k + 0.5, _CASES) for k in (self.hits, self.other))
        return p, q
