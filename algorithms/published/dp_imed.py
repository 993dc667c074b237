"""DP-IMED as published (Azize, Wu, Honda, Orabona, Ito & Basu 2025).

Arms are played in batches that grow geometrically, each arm's with its own; nothing is forgotten: y is the sum of an
arm's releases, each with ``Lap(1 / epsilon)``, n the values in it. The arm of least ``n d_epsilon([y / n], u) + ln n``
is played next, u the largest [y / n] and [.] clipping to [0, 1] (`private_divergence`).

Verdict on Proposition 2 (epsilon-global differential privacy): **holds, tight**. A record is in one batch, released
once.

The index treats the sum of all its noises as one. At a small epsilon and means near 0 or 1 that sum deceives it, and
rarely, but for long: regret has a heavy tail. `DPBandit` counts every noise in the exponent.

The text was available in an abridged form: the index, that n grows by a ratio above 1 (here 1 + `growth`), and the
theorems, not how batch sizes are rounded. Here they are rounded up, and an arm's first batch has one value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accountant import Gate
from algorithms.claim import ClaimForm
from algorithms.estimates.divergence import private_divergence
from algorithms.estimates.doubling_batches import BatchSizes, GrowingBatches
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Arms, Parameter
from algorithms.semi_bandits.batch_learner import HeldBatchLearner
from mechanisms import Interval, Laplace
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError

_GROWTH = Parameter(
    "growth",
    "float",
    0.1,
    1e-3,
    1.0,
    "the size of an arm's next batch, as a share of its outcomes released before",
)


class DPIMED(HeldBatchLearner):
    """K arms, accumulated batches with Laplace noise, least private divergence; no horizon.

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
    epsilon
        The claimed privacy of one round's outcome.
    growth
        The size of an arm's next batch, as a share of its outcomes released before, in (0, 1].

    Raises
    ------
    ParameterError
        If epsilon is not a finite number above 0, or the growth is out of range.
    """

    name = "published/dp-imed"
    summary = "K arms, least private divergence on accumulated batches with Laplace noise, as published"
    as_printed = "holds, tight"
    parameters = (_GROWTH,)
    repaired_by = "dp-bandit"
    batches: GrowingBatches
    claim = ClaimForm.for_reports(
        "central", "Azize, Wu, Honda, Orabona, Ito & Basu 2025, DP-IMED, Proposition 2"
    )

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float, growth: float = 0.1) -> None:
        super().__init__(structure, gate)
        if not 0 < growth <= 1:
            raise ParameterError(f"growth = {growth!r}: must be above 0 and at most 1")
        self.epsilon = check_epsilon(epsilon)
        self.mechanism = Laplace.for_epsilon(self.epsilon, sensitivity=Interval(0, 1).sensitivity)
        self.batches = GrowingBatches(gate, structure.arms, self.mechanism, BatchSizes(1, growth))

    def confidence(self) -> Confidence:
        """Return the means of all released batches, the values and noises in them, and the indices."""
        return Confidence(self.batches.mean, self.batches.size, self.batches.releases, self.index)

    def _index(self, lanes: npt.NDArray[np.bool_]) -> FloatArray:
        """Return ``n d_epsilon + ln n`` in some lanes; -inf before an arm's first release."""
        n = self.batches.size[lanes]
        mean = np.clip(self.batches.mean[lanes], 0.0, 1.0)
        known, count = n > 0, np.maximum(n, 1.0)
        best = np.where(known, mean, 0.0).max(axis=1, keepdims=True)
        divergence = private_divergence(mean, np.broadcast_to(best, mean.shape), self.epsilon)
        return np.where(known, count * divergence + np.log(count), -np.inf)
