"""Lazy-DP-TS as published (Hu & Hegde 2022, Algorithm 2): Thompson sampling on the last noisy batch.

With O the values of an arm's last full batch and m their mean with ``Lap(1 / (epsilon O))``, round t draws
``Beta(c O + 1, (1 - c) O + 1)`` for every arm, ``c = clip(m + 3 ln(t) / (epsilon O))``, and plays the arm of the
largest draw. Batches have 1, 2, 4, ... values; every arm is played once first.

Verdict on Theorem 3 (epsilon-differential privacy): **holds, tight**. A record is in one batch, released once; draws
are from released numbers only.

The text was available in an abridged form: batches, noise, the optimistic shift and the posterior.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.doubling_batches import DoublingBatches
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Arms
from algorithms.structured_learner import StructuredLearner
from mechanisms import Interval, Laplace
from mechanisms.arrays import FloatArray, IntArray


class LazyDPTS(StructuredLearner[Arms]):
    """K arms, Thompson sampling with optimistic Beta posteriors on doubling batches with Laplace noise; no horizon.

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
    epsilon
        The claimed privacy of one round's outcome.
    """

    name = "published/lazy-dp-ts"
    summary = "K arms, Thompson sampling on doubling batches with Laplace noise, as published"
    as_printed = "holds, tight"
    repaired_by = "dp-bandit"
    family = "bandit"
    claim = ClaimForm.for_reports("central", "Hu & Hegde 2022, Algorithm 2, Theorem 3")

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float) -> None:
        super().__init__(structure, gate)
        self.mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=Interval(0, 1).sensitivity)
        self.batches = DoublingBatches(gate, structure.arms, self.mechanism, first_size=1)
        self.observed = 0
        self.sample: FloatArray = np.full(self.batches.size.shape, np.inf)

    def choose(self) -> IntArray:
        """Return the arm of the largest draw; one that was not played yet comes first."""
        size = self.batches.size
        count = np.maximum(size, 1.0)
        centre = np.clip(
            self.batches.mean + 3.0 * np.log(self.observed + 1.0) * self.mechanism.scale / count, 0.0, 1.0
        )
        uniform = self.gate.random.random(size.shape)
        drawn = betaincinv(centre * count + 1.0, (1.0 - centre) * count + 1.0, uniform)
        self.sample = np.where(size > 0, drawn, np.inf)
        return np.asarray(self.sample.argmax(axis=1)[:, np.newaxis], dtype=np.int64)

    def confidence(self) -> Confidence:
        """Return the means of the last full batches, the values and noises in them, and the last draws."""
        size = self.batches.size
        return Confidence(self.batches.mean, size, np.minimum(size, 1.0), self.sample)

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Put the outcome in its arm's batch."""
        self.batches.add(action, feedback)
        self.observed += 1
