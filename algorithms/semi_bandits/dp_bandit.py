"""Private K-armed bandits: level-free indices of batches, of shuffled bits, or of randomized ones.

*Central.* The arm of largest index is played, and its outcomes released in growing batches: as
`CUCBBatch` does with sets of one arm. Each record is in one batch, and which one follows from releases before: a record
pays for one release of one number.

*Shuffled.* Every user of a batch sends a bit, some bits that are random, and a shuffler leaves how many ones there are:
the same with hardly more noise than a trusted server adds (`ShuffledCounts`).

*Local.* Every user sends one randomized bit, and the bits of an arm are read in growing batches: as `CUCBLDPBit`.
"""

from __future__ import annotations

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.shuffled_counts import ShuffledBatches, ShuffledCounts
from algorithms.learner import check_delta, check_epsilon
from algorithms.problems import Arms
from algorithms.semi_bandits.cucb_batch import BatchLearner, CUCBBatch, CUCBBatchGaussian
from algorithms.semi_bandits.cucb_ldp_bit import CUCBLDPBit
from mechanisms import RandomRounding
from mechanisms.arrays import FloatArray, IntArray


class DPBandit(CUCBBatch):
    """K arms under central pure differential privacy: exactly epsilon for every round.

    ``Lap(1 / epsilon)`` on every batch, whose first has ``f = ln(T) / epsilon`` values
    (`algorithms.theory.level_free_regret` has the regret theorem).

    Parameters
    ----------
    structure
        The arms.
    gate
        The gate of the feedback: a number in [0, 1] for the arm played.
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

    name = "dp-bandit"
    summary = "K arms, level-free index on growing batches with Laplace noise"
    as_printed = "certified; 1.1 to 2.5 times the least regret of any epsilon-private learner, as T grows"
    family = "bandit"
    claim = ClaimForm.for_reports(
        "central", "this library: level-free indices of accumulated batches with Laplace noise"
    )


class DPBanditGaussian(CUCBBatchGaussian):
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

    name = "dp-bandit-gaussian"
    summary = "K arms, level-free index on growing batches with Gaussian noise"
    as_printed = "certified, (epsilon, delta)"
    family = "bandit"
    claim = ClaimForm.for_reports(
        "central", "this library: level-free indices of accumulated batches with Gaussian noise"
    )


class DPBanditShuffle(BatchLearner[Arms]):
    """K arms under shuffled differential privacy: exactly (epsilon, delta) for every user, and no server is trusted.

    A batch's users round their outcome in [0, 1] to a bit with its probability, in public randomness, and send it as g
    ones among random bits. The shuffled counts have the noise of `DPBanditGaussian` and a tenth more, at most: so
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

    name = "dp-bandit-shuffle"
    summary = "K arms, every user sends shuffled bits, level-free index on growing batches"
    as_printed = (
        "certified, (epsilon, delta); hardly more noise than dp-bandit-gaussian, and no server is trusted"
    )
    family = "bandit"
    claim = ClaimForm.for_reports(
        "shuffle", "this library: level-free indices of accumulated batches of shuffled bits"
    )

    def __init__(
        self, structure: Arms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        counts = ShuffledCounts(check_epsilon(epsilon), check_delta(delta))
        super().__init__(structure, gate, counts.noise, horizon)
        self.batches = ShuffledBatches(gate, structure.arms, counts, self.sizes)
        self._uniform: FloatArray | None = None

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Round the outcome to a bit, and put it in its arm's batch."""
        if self._uniform is None:  # else it was drawn for a refused user
            self._uniform = self.gate.random.random((self.gate.lanes, 1))
        super().learn(action, feedback.map(RandomRounding(0.0, 1.0, self._uniform, 0, 1)))
        self._uniform = None


class DPBanditLDP(CUCBLDPBit):
    """K arms under local differential privacy: every user sends one randomized bit (`CUCBLDPBit`).

    An arm is played ``1.1 ln(T) / kl(p, p*)`` times in the limit, p the means of the bits: 1.1 times the least for this
    message.

    Parameters
    ----------
    structure, gate, horizon
        As for `DPBandit`; nothing depends on the horizon.
    epsilon
        The privacy of one user's message.
    """

    name = "dp-bandit-ldp"
    summary = "K arms, every user sends one randomized bit, level-free index of growing batches of bits"
    as_printed = "certified; 1.1 times the least regret that messages of one randomized bit allow, as T grows"
    family = "bandit"
    claim = ClaimForm.for_reports("local", "this library: level-free indices of randomized bits")
