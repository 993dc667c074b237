"""An (α, β) oracle with β below 1: it fails on a share of all weights, which a hash decides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations

import numpy as np

from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.super_arms import Structure, checked_weights
from algorithms.problems.top_k import TopK
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class FailingTopK(Structure):
    """The K arms of largest weight, from an oracle that gives the K of *smallest* weight with probability 1 - beta.

    An (alpha, beta) oracle with ``alpha = 1`` (Chen, Wang and Yuan 2013): regret is measured against ``beta`` times the
    optimum. Oracles are functions of the weights, so that runs can be replayed: whether one fails is decided by a hash
    of its weights. A learner that asks with the same weights again gets the same answer, failure or not.

    As far as the hash is as good as chance, the theorems of learners that ask with other weights in every round
    (`algorithms.semi_bandits.cucb.CUCB`) hold for it as for ``beta = 1``: against ``beta`` times the optimum, what is
    lost is at most what rounds without failure lose against the optimum. Those of learners that may ask with the same
    weights for long, as batches do, do not: there a failure lasts as long as what it plays, and regret may be linear.

    Parameters
    ----------
    arms, size
        m and K, as in `TopK`.
    beta
        In (0, 1].

    Raises
    ------
    ProblemError
        As `TopK`, or if beta is outside (0, 1].
    """

    arms: int
    size: int
    beta: float = field()  # without the default of other structures

    def __post_init__(self) -> None:
        TopK(self.arms, self.size)
        if not (isinstance(self.beta, int | float) and 0.0 < self.beta <= 1.0):
            raise ProblemError(f"beta = {self.beta!r}: must be in (0, 1], how often the oracle does not fail")

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the K arms of largest weight or, where the oracle fails, of smallest, in increasing order."""
        weights = checked_weights(weights, self.arms) + 0.0  # -0.0 is 0.0, and so is its hash
        signs = np.where([_share(row.tobytes()) < self.beta for row in weights], 1.0, -1.0)[:, np.newaxis]
        # An arm not seen yet is no reason to fail otherwise.
        finite = np.minimum(weights, np.finfo(np.float64).max)
        return TopK(self.arms, self.size).solve(signs * finite)

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield every set of K arms."""
        return combinations(range(self.arms), self.size)

    def optimum(self, means: FloatArray) -> float:
        """Return the sum of the K largest means, which no failure changes."""
        return TopK(self.arms, self.size).optimum(means)


def _share(written: bytes) -> float:
    """Return a number in [0, 1) that a hash makes of bytes."""
    return math.ldexp(int.from_bytes(blake2b(written, digest_size=4).digest(), "big"), -32)
