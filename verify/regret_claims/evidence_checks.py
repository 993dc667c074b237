"""Checks of the assumptions of the regret proof of randomized bits by empirical divergence, on a running learner.

Its indices are the evidence against an arm, ``H(n kl(mean, largest mean)) + ln n`` of bits, ``H(v) = v + 0.2 ln(1 + 4
pi v)``, and the arm of least index is played (`algorithms.theory.level_free_regret`). Bookkeeping, noise and estimates
are checked as for learners on means; further

- *radius*: the divergence is computed again;
- *estimates*: at its true mean p, ``P(n kl > x) <= e^-x`` on either side, and no estimate is above its radius of level
  x more often;
- *gap lemma*: the arm played has ``n kl <= ln T``, so for every z with ``u >= p* - z`` and ``o <= n (p + z)`` its gap
  is at most its radius of level ln T and 2 z.

There is no good event, and no statement of a single lane's regret: the proof adds up the costs of rare events.
"""

from __future__ import annotations

import numpy as np

from algorithms.estimates.divergence import coin_divergence
from algorithms.estimates.level_free import sharpened
from algorithms.lanes import gather
from algorithms.learner import Confidence
from algorithms.semi_bandits.dp_bandit import BIT_SHARE
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.proof_run import TOLERANCE, rounded, scatter_masked

_EXPONENT_TOLERANCE = 1e-4
_ALL_ALIKE = 1e-9  # a mean of bits this near 0 or 1 is 0 or 1 but for rounding


class EvidenceRun(MeanRun):
    """The checked state of a learner that plays the arm of least index, up to the current round."""

    def _check_oracle(self, shown: Confidence, action: IntArray) -> None:
        """Check that no index is below that of the arm played."""
        index = np.maximum(shown.index, -1e9)
        least = index.min(axis=1)
        self.refuse(
            "oracle",
            gather(index, action)[:, 0] > least + TOLERANCE * (1 + np.abs(least)),
            lambda lane: f"arm {action[lane, 0]} where the indices are {rounded(shown.index[lane])}",
        )

    def _check_gaps(self, shown: Confidence, action: IntArray, gap: FloatArray) -> None:
        """Check the gap of an arm against its radius and what the estimates are off by."""
        radius = gather(self.radius(shown.count, shown.releases, self.exponent), action)[:, 0]
        means = self.problem.means
        above = gather(np.where(shown.count > 0, shown.estimate - means, 0.0), action)[:, 0]
        off = np.maximum(0.0, np.maximum(means.max() - self._largest(shown)[:, 0], above))
        allowed = radius + 2 * off
        self.refuse(
            "gap lemma",
            gap > allowed * (1 + TOLERANCE),
            lambda lane: (
                f"arm {action[lane, 0]} has a gap of {gap[lane]:.6g}, more than the {allowed[lane]:.6g} that its "
                f"radius and estimates that are off by {off[lane]:.6g} allow"
            ),
        )

    def _check_indices(self, before: Confidence, after: Confidence, released: BoolArray) -> None:
        """Check the indices of all arms where something was released, which moves the largest estimate.

        The proof holds of ``H(v) + ln n`` for any H between v and its own.
        """
        here = np.broadcast_to(released.any(axis=1, keepdims=True), released.shape) | (
            after.index != before.index
        )
        some = here & (after.count >= self.first)  # before, fewest messages first
        mean = np.broadcast_to(self._largest(after), some.shape)[some]
        against, count = self._evidence(after, some, mean), np.log(after.count[some])
        least = scatter_masked(np.minimum(against + count, 1e9), some)
        most = scatter_masked(np.minimum(sharpened(against, BIT_SHARE) + count, 1e9), some)
        shown = np.minimum(after.index, 1e9)
        slack = _EXPONENT_TOLERANCE * (1 + np.abs(most))
        self.refuse_arm(
            "radius",
            some & ~((shown >= least - slack) & (shown <= most + slack)),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} where {after.count[lane, arm]:g} values of mean "
                f"{after.estimate[lane, arm]:.6g} make from {least[lane, arm]:.6g} to {most[lane, arm]:.6g}"
            ),
        )
        self.refuse_arm(
            "radius",
            here & (after.count < self.first) & (after.index >= 0),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} of an arm with {after.count[lane, arm]:g} values: it is to be "
                "played first"
            ),
        )

    def _largest(self, shown: Confidence) -> FloatArray:
        """Return the mean that arms are held against, (lanes, 1)."""
        largest: FloatArray = np.where(shown.count > 0, shown.estimate, 0.0).max(axis=1, keepdims=True)
        return largest

    def _evidence(self, shown: Confidence, where: BoolArray, mean: FloatArray) -> FloatArray:
        """Return ``n kl`` against a mean that is larger, for arms in a mask."""
        n, estimate = shown.count[where], shown.estimate[where]
        sent = np.round(n * self._sent(estimate)) / n
        return np.where(estimate < mean, n * coin_divergence(sent, self._sent(mean)), 0.0)

    def _sent(self, value: FloatArray) -> FloatArray:
        """Return the mean of randomized bits that a debiased mean was; 0 and 1 exactly, where kl is not continuous."""
        sent = 0.5 + (value - 0.5) / self.scale
        return np.asarray(np.where(np.abs(sent - np.round(sent)) < _ALL_ALIKE, np.round(sent), sent))

    def _note(self, after: Confidence, count: FloatArray, releases: FloatArray, due: BoolArray) -> None:
        """Note how much speaks against the true means, and how far estimates are above them."""
        means = np.broadcast_to(self.problem.means, due.shape)
        against = scatter_masked(self._evidence(after, due, means[due]), due)
        off = after.estimate - means
        here = due & (np.log2(np.maximum(count, 1.0)) % 1.0 == 0)

        def far(level: float) -> tuple[BoolArray, BoolArray]:
            return against > level, off > self.radius(count, releases, level)

        self.note_levels(count, here, far)
