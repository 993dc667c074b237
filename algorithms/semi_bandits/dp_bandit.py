"""Private K-armed bandits: on batches with level-free indices, shuffled too, or on randomized bits by divergence.

*Central.* The arm of largest index is played, and its outcomes released in growing batches (`HeldBatches`): as
`CUCBBatch` does with sets of one arm. Each record is in one batch, and which one follows from releases before: a record
pays for one release of one number.

*Shuffled.* Every user of a batch sends a bit, some bits that are random, and a shuffler leaves how many ones there are:
the same with hardly more noise than a trusted server adds (`ShuffledCounts`).

*Local.* Every user sends one bit, and every message counts at once. The index is how much speaks against an arm's being
the best one (Honda & Takemura 2015), ``H(n kl(mean, largest mean)) + ln n`` with ``H(v) = v + 0.2 ln(1 + 4 pi v)``, and
the arm of least index is played.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.claim import ClaimForm, View
from algorithms.estimates.level_free import UNCOUNTED, sharpened
from algorithms.estimates.randomized_bits import RandomizedBits
from algorithms.estimates.shuffled_counts import ShuffledBatches, ShuffledCounts
from algorithms.lanes import scatter_add
from algorithms.learner import Confidence, Family, check_delta, check_epsilon
from algorithms.message_learner import MessageLearner, Question
from algorithms.problems import Arms
from algorithms.problems.availability import least_among
from algorithms.semi_bandits.cucb_batch import BatchLearner, HeldBatches
from algorithms.unit import ONE_REPORT
from mechanisms import Gaussian, Interval, Laplace, RandomRounding
from mechanisms.arrays import BoolArray, FloatArray, IntArray

BIT_SHARE = 0.5 * UNCOUNTED
"""c where an arm is looked at after every message: it has more chances to look bad than where batches end."""


class DPBandit(HeldBatches[Arms]):
    """K arms under central pure differential privacy: exactly epsilon for every round.

    ``Lap(1 / epsilon)`` on every batch, whose first has ``f = ln(T) / epsilon`` values
    (`algorithms.theory.level_free_regret` has the regret theorem).

    Parameters
    ----------
    structure
        The arms.
    gate
        Where feedback comes from: a number in [0, 1] for the arm played.
    epsilon
        The privacy of one round's outcome, in the view of everything released.
    horizon
        The number of rounds T, by which the first batches are as long as they are; None if it is not known: then they
        are those of T = 2048, and the theorem holds at every T.

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import DPBandit
    >>> from algorithms.problems import Arms
    >>> accountant = Accountant(Budget(epsilon=1.0), noise=np.random.default_rng(1))
    >>> learner = DPBandit(Arms(3), accountant, epsilon=1.0, horizon=1000)
    >>> for user in range(100):
    ...     arm = learner.act()[0, 0]
    ...     reward = accountant.private([float(arm == 1)], learner.feedback_domain, record=user)
    ...     learner.observe(reward)
    >>> int(learner.act()[0, 0]), accountant.worst()[1].epsilon == 1
    (1, True)
    """

    family: ClassVar[Family] = "bandit"
    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="this library: level-free indices of accumulated batches with Laplace noise",
    )

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=Interval(0, 1).sensitivity)
        super().__init__(structure, gate, mechanism, horizon)


class DPBanditGaussian(HeldBatches[Arms]):
    """K arms under central differential privacy with Gaussian noise: exactly (epsilon, delta) for every round.

    ``N(0, sigma^2)`` on every batch, whose first has ``f = sigma sqrt(2 ln T)`` values: privacy costs nothing in the
    limit of large T.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `DPBandit`.
    delta
        The delta of one round, in (0, 1).
    """

    family: ClassVar[Family] = "bandit"
    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="this library: level-free indices of accumulated batches with Gaussian noise",
    )

    def __init__(
        self, structure: Arms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        mechanism = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=Interval(0, 1).sensitivity
        )
        super().__init__(structure, gate, mechanism, horizon)


class DPBanditShuffle(BatchLearner[Arms]):
    """K arms under shuffled differential privacy: exactly (epsilon, delta) for every user, and no server is trusted.

    A batch's users round their outcome in [0, 1] to a bit with its probability, in public randomness, and send it as g
    ones among random bits. What the shuffler leaves has the noise of `DPBanditGaussian` and a tenth more, at most: so
    has the first batch, ``f = sigma sqrt(2 ln T)``, and privacy costs nothing in the limit of large T.

    How many bits a message has follows from the batch's length and the claim: some tens for the first, and about ``2
    mu sqrt(n) + 17`` in long batches of n users, mu the claim's in Gaussian differential privacy.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `DPBandit`; an accountant's trust is `Trust.SHUFFLE`.
    delta
        The delta of one user's message, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget, Trust
    >>> from algorithms import DPBanditShuffle
    >>> from algorithms.problems import Arms
    >>> accountant = Accountant(Budget(1.0, 1e-3), trust=Trust.SHUFFLE, seed=1)
    >>> learner = DPBanditShuffle(Arms(3), accountant, epsilon=1.0, delta=1e-3, horizon=1000)
    >>> for user in range(100):
    ...     arm = learner.act()[0, 0]
    ...     reward = accountant.private([float(arm == 1)], learner.feedback_domain, record=user)
    ...     learner.observe(reward)
    >>> int(learner.act()[0, 0]), accountant.worst()[1].epsilon <= 1
    (1, True)
    """

    family: ClassVar[Family] = "bandit"
    claim: ClassVar[ClaimForm] = ClaimForm(
        model="shuffle",
        view=View.SHUFFLED,
        unit=ONE_REPORT,
        source="this library: level-free indices of accumulated batches of shuffled bits",
    )

    def __init__(
        self, structure: Arms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        counts = ShuffledCounts(check_epsilon(epsilon), check_delta(delta))
        super().__init__(structure, gate, counts.noise, horizon)
        self.batches = ShuffledBatches(
            gate, structure.arms, counts, first_size=self.first, growth=self.growth, falling=self.falling
        )
        self._uniform: FloatArray | None = None

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Round the outcome to a bit, and put it in its arm's batch."""
        if self._uniform is None:  # else it was drawn for a user who was refused
            self._uniform = self.gate.random.random((self.gate.lanes, 1))
        super().learn(action, feedback.map(RandomRounding(0.0, 1.0, self._uniform, 0, 1)))
        self._uniform = None


class DPBanditLDP(MessageLearner[Arms]):
    """K arms under local differential privacy: every user sends one randomized bit.

    Every arm is played ``ceil(sqrt(ln T))`` times first. Then the arm of least ``H(n kl(o / n, largest o / n)) + ln n``
    is played, with o the ones among an arm's n messages and ``H(v) = v + 0.2 ln(1 + 4 pi v)``. An arm is played ``ln(T)
    / kl(p, p*)`` times in the limit, p the means of the bits: the least for this message.

    Parameters
    ----------
    structure, gate, horizon
        As for `DPBandit`.
    epsilon
        The privacy of one user's message.
    """

    family: ClassVar[Family] = "bandit"
    needs_horizon: ClassVar[str] = ""
    needs_all_arms: ClassVar[str] = ""
    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="this library: IMED (Honda & Takemura 2015) on randomized bits",
    )

    def __init__(self, structure: Arms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.bits = RandomizedBits(gate, check_epsilon(epsilon))
        self.first = max(1, math.ceil(math.sqrt(math.log(self.horizon))))
        self.count: FloatArray = np.zeros((gate.lanes, structure.arms))
        self.ones: FloatArray = np.zeros((gate.lanes, structure.arms))

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the least played arm while it has fewer than the first messages; then the one of least index."""
        return least_among(self._index(), available)

    def confidence(self) -> Confidence:
        """Return the debiased means of the messages, their counts (a noise in each), and ``H(n kl) + ln n``."""
        mean = 0.5 + self.bits.gain * (self.ones / np.maximum(self.count, 1.0) - 0.5)
        return Confidence(mean, self.count, self.count, self._index())

    def _index(self) -> FloatArray:
        """Return ``H(n kl) + ln n``, and before the first messages how many are missing, below 0."""
        count = np.maximum(self.count, 1.0)
        mean = self.ones / count
        best = mean.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ones = np.where(self.ones > 0, self.ones * np.log(mean / best), 0.0)
            zeros = np.where(mean < 1, (count - self.ones) * (np.log1p(-mean) - np.log1p(-best)), 0.0)
        against = np.where(mean < best, np.maximum(ones + zeros, 0.0), 0.0)
        index = sharpened(against, BIT_SHARE) + np.log(count)
        return np.where(self.count < self.first, self.count - self.first, index)

    def ask(self, action: IntArray) -> Question:
        """Ask for one bit about the arm."""
        return Question(self.bits.mechanism, self.feedback_domain, action)

    def reset_user(self) -> None:
        """Let the next user round by a threshold of their own."""
        self.bits.reset_threshold()

    def hear(self, about: IntArray, message: npt.NDArray[Any]) -> None:
        """Count one bit."""
        scatter_add(self.ones, about, message.astype(np.float64))
        scatter_add(self.count, about, 1.0)
