"""The best of K arms with a chosen confidence, under central pure differential privacy.

Successive elimination on accumulated batches. In phase j = 1, 2, ... every arm that is left is played through its jth
batch, and the batch's sum is released once, with ``Lap(1 / epsilon)``. All arms then have the same count n and j
noises; the first batch has ``f = x_1 / epsilon`` values, later ones half of all released before. An arm is removed
if the arm of largest mean is apart from it by more than ``x_j``, where for two totals

``Z = inf_u I(u) + J(u)``

sums Chernoff's exponents (`algorithms.estimates.chernoff`) with which the smaller total rejects a mean of u or more and
the larger one a mean of u or less. Under "the smaller one's mean is at least the larger one's" both are exponents at
a mean u between the true ones, or smaller; they are independent, and each exceeds v with probability ``e^-v`` at most.
So Z exceeds x with probability ``(1 + x) e^-x`` at most, the tail of two exponential variables' sum, and ``x_j`` is
where that is ``error / ((m - 1) j (j + 1))``.

*Correctness.* The best arm (one of them) is removed by some other arm in some phase with probability ``(m - 1) sum_j
error / ((m - 1) j (j + 1)) = error`` at most, whenever the learner stops and for all means: there is no horizon.

*Tolerance.* With ``tolerance = eta > 0`` it also stops where ``inf_u I(u + eta) + J(u) > x_j`` between the leader and
all arms that are left. If the leader is more than eta below the best arm, this is one of the events above. It is
always so once ``2 C_j(eta / 2) > x_j`` (`algorithms.theory.best_arm`, which has the expected number of plays, too).

Nothing but the batches is observed, each record is in one of them, and which one follows from releases before: a
record pays for one release of one number. Plays after the end are not observed.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.chernoff import NoiseTail, chernoff_separation, sum_exponent
from algorithms.estimates.doubling_batches import BatchSizes, GrowingBatches
from algorithms.lanes import gather
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Arms, Parameter
from algorithms.structured_learner import StructuredLearner
from mechanisms import Interval, Laplace
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import LEAST_DELTA, ParameterError, half_open_unit, open_unit

_ERROR = Parameter(
    "error", "float", 0.05, 1e-12, 0.5, "the probability that the recommended arm is not the best one"
)
_TOLERANCE = Parameter(
    "tolerance", "float", 0.0, 0.0, 0.99, "by how much the recommended arm may be below the best one"
)
_FOREVER = 1 << 62


class DPBestArm(StructuredLearner[Arms]):
    """Find the best arm, play it from then on: exactly epsilon for every round, wrong with a chosen probability.

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
    epsilon
        The privacy of one round's outcome, in the view of everything released.
    error
        The largest probability that the recommended arm is not the best one (or more than `tolerance` below it),
        in (0, 1). Rewards of an arm are independent and have one mean.
    tolerance
        The largest gap of the recommended arm, in [0, 1). At 0 two best arms are never separated, and both are played
        for ever; above 0 the number of rounds is bounded.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import DPBestArm
    >>> from algorithms.problems import Arms
    >>> accountant = Accountant(Budget(epsilon=1.0), noise=np.random.default_rng(1))
    >>> learner = DPBestArm(Arms(3), accountant, epsilon=1.0, error=0.05)
    >>> users = 0
    >>> while not learner.has_stopped[0]:
    ...     arm = learner.act()[0, 0]
    ...     reward = accountant.private([float(arm == 1)], learner.feedback_domain, record=users)
    ...     learner.observe(reward)
    ...     users += 1
    >>> int(learner.recommendation[0]), users < 100, accountant.worst()[1].epsilon == 1
    (1, True, True)
    """

    name = "dp-best-arm"
    summary = "K arms, elimination on batches with Laplace noise finds the best one with a chosen error, and plays it"
    as_printed = "certified; it stops by itself, so that regret is for dp-bandit"
    parameters = (_ERROR, _TOLERANCE)
    family = "bandit"
    needs_all_arms = "a phase plays every arm that is left"
    claim = ClaimForm.for_reports(
        "central", "this library: successive elimination on accumulated batches with Laplace noise"
    )
    growth: ClassVar[float] = 0.5
    """The size of an arm's next batch, as a share of its outcomes released before."""

    def __init__(
        self, structure: Arms, gate: Gate, *, epsilon: float, error: float = 0.05, tolerance: float = 0.0
    ) -> None:
        super().__init__(structure, gate)
        self.error = open_unit("error", error)
        if self.error < LEAST_DELTA:
            raise ParameterError(
                f"error = {error!r}: must be at least {LEAST_DELTA:g}, for exponents in floats"
            )
        self.tolerance = half_open_unit("tolerance", tolerance)
        self.mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=Interval(0, 1).sensitivity)
        self.noise = NoiseTail.from_mechanism(self.mechanism)
        first = first_batch(structure.arms, self.error, self.mechanism.scale)
        self.batches = GrowingBatches(gate, structure.arms, self.mechanism, BatchSizes(first, self.growth))
        self.left = np.ones((gate.lanes, structure.arms), dtype=np.bool_)
        self.phase: FloatArray = np.ones((gate.lanes, 1))
        self.recommendation: IntArray = np.full(gate.lanes, 0 if structure.arms == 1 else -1, dtype=np.int64)
        """The arm found in each lane, -1 before."""

    @property
    def has_stopped(self) -> npt.NDArray[np.bool_]:
        """True in the lanes that have a recommendation; shape (lanes,)."""
        return self.recommendation >= 0

    @property
    def _waiting(self) -> npt.NDArray[np.bool_]:
        """True of the arms that this phase has still to play; of none after the end."""
        missing = self.left & (self.batches.releases < self.phase)
        return missing & ~self.has_stopped[:, np.newaxis]

    def choose(self) -> IntArray:
        """Return the first arm of this phase without a released batch; in the end, the recommended one."""
        first = self._waiting.argmax(axis=1)
        return np.where(self.has_stopped, self.recommendation, first)[:, np.newaxis]

    def confidence(self) -> Confidence:
        """Return the means of all released batches, their values and noises, and the means of the arms left."""
        index = np.where(self.left, self.batches.mean, -np.inf)
        return Confidence(self.batches.mean, self.batches.size, self.batches.releases, index)

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until the arm's batch is full; after the end, all."""
        return np.where(self.has_stopped, _FOREVER, self.batches.values_until_full(self.action))

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Add the outcome to its arm's batch, or the total of some rounds; ignore outcomes too late for the phase."""
        wanted = gather(self._waiting, action)
        fed = np.where(wanted, action, -1)
        released = self.batches.add(fed, feedback.take(np.where(wanted, 0, -1)), rounds)
        if released is None:
            return
        over = released.any(axis=1) & ~self._waiting.any(axis=1)
        if over.any():
            self._end_phase(np.flatnonzero(over))

    def _end_phase(self, lanes: IntArray) -> None:
        """Remove arms in the lanes at the end of a phase, and stop where the leader is apart from all others."""
        left, mean, total = self.left[lanes], self.batches.mean[lanes], self.batches.total[lanes]
        leader = np.where(left, mean, -np.inf).argmax(axis=1)[:, np.newaxis]
        others = left.copy()
        np.put_along_axis(others, leader, False, axis=1)
        larger = np.broadcast_to(np.take_along_axis(total, leader, axis=1), total.shape)[others]
        count, noises = self.batches.size[lanes][others], self.batches.releases[lanes][others]
        phase = self.phase[lanes]
        level = np.broadcast_to(phase_exponent(self.structure.arms, self.error, phase), left.shape)[others]
        apart = chernoff_separation(count, noises, larger, total[others], noise=self.noise) > level
        keeps = others.copy()
        keeps[others] = ~apart
        left = left & (keeps | ~others)
        ends = left.sum(axis=1) == 1
        if self.tolerance:
            near = chernoff_separation(
                count, noises, larger, total[others], noise=self.noise, shift=self.tolerance
            )
            unsure = others.copy()
            unsure[others] = near <= level
            ends |= ~unsure.any(axis=1)
        self.left[lanes] = left
        self.phase[lanes] = phase + 1.0
        self.recommendation[lanes[ends]] = leader[ends, 0]


def phase_exponent(arms: int, error: float, phase: FloatArray) -> FloatArray:
    """Return x_j, where ``(1 + x) e^-x = error / ((m - 1) j (j + 1))``.

    Parameters
    ----------
    arms
        m, at least 2.
    error
        The probability of a wrong recommendation.
    phase
        j.
    """
    return sum_exponent(error / ((arms - 1) * phase * (phase + 1.0)))


def first_batch(arms: int, error: float, scale: float) -> int:
    """Return f: how many values weigh as much as noise of this scale, ``x_1 scale``; 1 for a single arm."""
    if arms == 1:
        return 1
    return max(1, math.ceil(scale * float(phase_exponent(arms, error, np.ones(1))[0])))
