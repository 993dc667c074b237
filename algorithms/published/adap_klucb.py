"""AdaP-KLUCB as printed (Azize & Basu 2022, Algorithm 1 with the second index of (7)).

Every arm is played once; then, again and again, the arm of largest index until it has been played twice as often. Only
the last such episode of an arm counts: with N its plays, ``m = mean of the last N / 2 + Lap(2 / (epsilon N))``, and in
round t

``index = max{q in [0, 1]: kl(clip(m + alpha ln(t) / (epsilon N / 2)), q) <= alpha ln(t) / (N / 2)}``.

Verdict on Theorem 8 (epsilon-global differential privacy): **holds, tight**. A record is in one sum, released once with
``Lap(1 / epsilon)``. The paper is silent on the noise of the very first play of an arm, whose last half is of half a
value: here it is released with ``Lap(1 / epsilon)``, which its radius at N = 1 is valid for. (Lemma 1 divides a sum of
j - i + 1 values by j - i; Section 4 has the right count.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accountant import Gate
from algorithms.claim import ClaimForm
from algorithms.estimates.divergence import divergence_upper
from algorithms.estimates.doubling_batches import DoublingBatches
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Arms
from algorithms.semi_bandits.batch_learner import HeldBatchLearner
from mechanisms import Interval, Laplace, Mechanism
from mechanisms.arrays import FloatArray
from mechanisms.parameters import positive

_NEWTON_STEPS = 12


class _DoublingEpisodes(DoublingBatches):
    """Batches each as long as all before of the element: of 1, 1, 2, 4, 8, ... values; older ones are forgotten.

    Parameters
    ----------
    gate, elements, mechanism
        As for `DoublingBatches`.
    """

    def __init__(self, gate: Gate, elements: int, mechanism: Mechanism) -> None:
        super().__init__(gate, elements, mechanism, first_size=1)
        self.played: FloatArray = np.zeros((gate.lanes, elements))

    def _learn(self, full: npt.NDArray[np.bool_], sums: FloatArray, sizes: FloatArray) -> None:
        """Keep the means of the released batches, and count all values."""
        super()._learn(full, sums, sizes)
        self.played[full] += sizes

    def _following(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        """Return as many as there were."""
        return self.played[full]


class AdaPKLUCB(HeldBatchLearner):
    """K arms, doubling episodes with Laplace noise, KL-UCB's index; no horizon.

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
    epsilon
        The claimed privacy of one round's outcome.
    alpha
        The exponent of the index's level; Theorem 8 has alpha > 3, the experiments 3.1.

    Raises
    ------
    ParameterError
        If epsilon or alpha is not a finite number above 0.
    """

    name = "published/adap-klucb"
    summary = "K arms, KL-UCB on doubling episodes with Laplace noise, as printed"
    as_printed = "holds, tight"
    repaired_by = "dp-bandit"
    batches: _DoublingEpisodes
    claim = ClaimForm.for_reports(
        "central", "Azize & Basu 2022, Algorithm 1 with AdaP-KLUCB's index, Theorem 8"
    )

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float, alpha: float = 3.1) -> None:
        super().__init__(structure, gate)
        self.mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=Interval(0, 1).sensitivity)
        self.alpha = positive("alpha", alpha)
        self.batches = _DoublingEpisodes(gate, structure.arms, self.mechanism)

    def confidence(self) -> Confidence:
        """Return the means of the last episodes, the values and noises in them, and the indices."""
        size = self.batches.size
        return Confidence(self.batches.mean, size, np.minimum(size, 1.0), -self.index)

    def _index(self, lanes: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the indices' negatives in some lanes; -inf before an arm's first play."""
        played, mean = self.batches.played[lanes], self.batches.mean[lanes]
        rounds = played.sum(axis=1, keepdims=True) + 1.0  # t_l: other arms' batches are empty
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = self.alpha * np.log(rounds) / (played / 2.0)
            clipped = np.clip(mean + self.mechanism.scale * rate, 0.0, 1.0)
            upper = divergence_upper(clipped, rate, steps=_NEWTON_STEPS)
        return np.where(played > 0, -upper, -np.inf)
