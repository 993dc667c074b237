"""Checks of the assumptions of the regret proof for a learner by doubling episodes, on a running one.

An arm is played until it has been played twice as often; then the last episode's mean counts alone, and in round t the
arm of largest index is next (`algorithms.theory.published_bandit_regret`). With N plays of an arm, x the theorem's
exponent in round t, and n values of level y in its estimate, ``y / n = 2 x / N``:

- *bookkeeping*: an arm's count is half its plays, and nothing is released within an episode;
- *radius*: the index is the largest q with ``kl(estimate + b y / n, q) <= y / n``, searched for in another way;
- *oracle*: an episode is of an arm of largest index;
- *noise*, *estimates*: their laws, as for learners on means;
- *good event*: the best arm's index is its mean at least, and the arm that is chosen not further above its own than its
  radius, but in as many of the episodes that start in a round as the proof allots to it;
- *gap lemma*: on it, the gap of an arm that is chosen is at most twice its radius.

There is no statement of a single lane's regret: the proof adds up the costs of rare events.
"""

from __future__ import annotations

import numpy as np

from algorithms.estimates.divergence import divergence_upper
from algorithms.lanes import gather
from algorithms.learner import Confidence
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.proof_run import TOLERANCE, scatter_masked

_STEPS = 24  # of Newton's from above: twice as many as the learner makes
_INDEX_TOLERANCE = 1e-6


class EpisodeRun(MeanRun):
    """The checked state of a learner that plays episodes, up to the current round.

    Attributes
    ----------
    begins
        True for the lanes in which an episode starts.
    level
        The exponent of the round in which each lane's episode has started; shape (lanes, 1).
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        super().__init__(bound, instance, lanes, laws=laws)
        self.begins: BoolArray = np.ones(lanes, dtype=bool)
        self.level: FloatArray = np.zeros((lanes, 1))
        self._index: FloatArray | None = None

    def _enter_round(self, shown: Confidence) -> None:
        """Check the indices where an episode starts, and that no others have moved."""
        self.exponent = self.bound.value_of(self.theorem.exponent, self.instance, t=float(self.round))
        self.level[self.begins] = self.exponent
        if self._index is not None:
            moved = ~self.begins[:, np.newaxis] & (shown.index != self._index)
            self.refuse_moves("radius", "index", moved, self._index, shown.index, "within an episode")
        self._index = shown.index
        some = shown.count > 0
        self.refuse_arm(
            "radius",
            ~some & ~np.isposinf(shown.index),
            lambda lane, arm: f"index {shown.index[lane, arm]:.6g} of an arm that has not been played",
        )
        here = some & self.begins[:, np.newaxis]
        rate = self._levels()[here] / shown.count[here]
        mean = np.clip(shown.estimate[here] + self.scale * rate, 0.0, 1.0)
        expected = scatter_masked(divergence_upper(mean, rate, steps=_STEPS), here)

        def describe(lane: int, arm: int) -> str:
            return (
                f"index {shown.index[lane, arm]:.6g} where {shown.count[lane, arm]:g} values of mean "
                f"{shown.estimate[lane, arm]:.6g} make {expected[lane, arm]:.6g}"
            )

        self.refuse_arm("radius", here & ~(shown.index >= expected - _INDEX_TOLERANCE), describe)
        self.note_difference("radius", here & (shown.index > expected + _INDEX_TOLERANCE), describe)

    def _levels(self) -> FloatArray:
        """Return y: twice the exponent where a single play, and not half of all, is in the estimate."""
        return np.where(self.feeds == 1, 2.0, 1.0) * self.level

    def _check_gaps(self, shown: Confidence, action: IntArray, gap: FloatArray) -> None:
        """Note where an episode starts outside of the good event; check the gaps of all others' arms."""
        means, arms = self.problem.means, np.arange(self.problem.means.size)
        radius = self.radius(shown.count, shown.releases, self._levels()) * (1 + TOLERANCE)
        above = (shown.estimate - means > radius) & (arms == action)
        below = (shown.index < means - TOLERANCE) & (arms == self.best[0])
        self.note_failures(
            self.begins & (above | below).any(axis=1),
            self.bound.value_of(self.theorem.failure, self.instance, t=float(self.round)),
        )
        allowed = 2 * gather(radius, action)[:, 0]
        self.refuse(
            "gap lemma",
            self.begins & ~self.failed & (gap > allowed),
            lambda lane: (
                f"an episode is of arm {action[lane, 0]}, with a gap of {gap[lane]:.6g}: more than the "
                f"{allowed[lane]:.6g} that its radius allows on the good event"
            ),
        )

    def check_feedback(
        self, before: Confidence, after: Confidence, action: IntArray, feedback: FloatArray, held: int
    ) -> None:
        """Check counts and estimates after the feedback, and which lanes' next round starts an episode."""
        due = gather(self.filled + held >= self.batch, action)[:, 0]
        super().check_feedback(before, after, action, feedback, held)
        self.begins = np.asarray(due)

    def _note(self, after: Confidence, due: BoolArray) -> None:
        """Note how far estimates are off, and where the next round starts an episode."""
        self.note_off(after, due & (self.feeds > 1))  # one value is there twice
