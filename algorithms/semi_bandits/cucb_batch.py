"""CUCB under central differential privacy, certified: level-free indices of batches that are released once.

Every outcome enters at most one batch of its arm, a batch's sum is released once, when it is full, and batch ends
depend on counts of actions only. So a record moves as many released numbers as it feeds, each by at most 1, and
pays for one release of them, however long the run: no composition over batches.

Nothing is forgotten: the index of an arm is from the noisy total of all its releases (`level_free_upper`), and 1 before
the first one. Whenever something is released all indices of the run are computed again; nothing in them depends on a
horizon. An arm's first batch has ``b ln T`` outcomes with Laplace noise of scale b, or ``sigma sqrt(2 ln T)`` with
Gaussian noise: fewer say nothing. After j releases the next batch is ``max(0.1, 1.5 / j)`` of those released before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.doubling_batches import BatchSizes, GrowingBatches
from algorithms.estimates.level_free import UNCOUNTED, level_free_upper
from algorithms.estimates.message_means import least_counted
from algorithms.lanes import gather
from algorithms.learner import Confidence, Family, check_delta, check_epsilon, check_horizon
from algorithms.problems import FailingTopK, Matroid, SuperArms, TopK
from algorithms.problems.availability import mask_weights
from algorithms.structured_learner import HorizonLearner, StructureType
from mechanisms import Box, Gaussian, Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray

UNKNOWN_HORIZON = 100_000
"""The horizon T that sets the number of fed arms where none is known."""


class LevelFreeLearner(HorizonLearner[StructureType]):
    """The oracle's super arm for the indices; the few arms played of least count put their outcomes in batches.

    Parameters
    ----------
    structure, gate, horizon
        As for `HorizonLearner`.
    noise
        The law of the noise on a batch's sum.
    few
        The number of arms a round feeds, at most.
    """

    family: ClassVar[Family] = "semi-bandit"
    needs_horizon = ""
    needs_all_arms = ""
    growth: ClassVar[float] = 0.1
    """The least size of an arm's next batch, as a share of its outcomes released before."""
    falling: ClassVar[float] = 1.5
    """After j releases the share is ``falling / j``, if that is more."""
    uncounted: ClassVar[float] = UNCOUNTED
    """The constant c of the indices (`algorithms.estimates.level_free`)."""
    batches: GrowingBatches
    """The growing batches of each arm that are released; a class makes its own."""

    def __init__(
        self,
        structure: StructureType,
        gate: Gate,
        noise: NoiseTail,
        horizon: int | None,
        *,
        few: int = 1,
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.noise, self.few = noise, few
        self.first = max(1, math.ceil(noise.first_size(self.horizon)))
        self.index: FloatArray = np.ones((gate.lanes, structure.arms))

    @property
    def sizes(self) -> BatchSizes:
        """The sizes of an arm's batches."""
        return BatchSizes(self.first, self.growth, self.falling)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.index, available))

    @property
    def fed_arms(self) -> IntArray:
        """The arms played of fewest released outcomes, (lanes, few)."""
        return gather(self.action, least_counted(self.batches.size, self.action, self.few))

    def confidence(self) -> Confidence:
        """Return the means of all released batches, the values and noises in them, and the indices."""
        mean = np.where(self.batches.size > 0, self._unbiased(self.batches.mean), 0.0)
        return Confidence(mean, self.batches.size, self.batches.releases, self.index)

    def _renew(self, released: BoolArray | None, rounds: IntArray | None = None) -> None:
        """Compute all indices of the lanes in which a batch was released."""
        if released is None:
            return
        clock = np.asarray(self.rounds.observed + (1 if rounds is None else rounds), dtype=np.float64)
        some = (self.batches.releases > 0) & released.any(axis=1, keepdims=True)
        batches = self.batches
        upper = level_free_upper(
            batches.size[some],
            batches.releases[some],
            batches.total[some],
            np.broadcast_to(clock[..., np.newaxis], some.shape)[some],
            noise=self.noise,
            share=self.uncounted,
        )
        self.index[some] = np.clip(self._unbiased(upper), 0.0, 1.0)

    def _unbiased(self, mean: FloatArray) -> FloatArray:
        """Return bounds of arms' means from those of the values in their batches: the same."""
        return mean


class BatchLearner(LevelFreeLearner[StructureType]):
    """The same on private outcomes."""

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcomes of the arms of fewest released outcomes in their batches (lower ids among equals)."""
        place = least_counted(self.batches.size, action, self.few)
        self._renew(self.batches.add(gather(action, place), feedback.take(place), rounds), rounds)


class _HeldBatches(BatchLearner[StructureType]):
    """The same where a server adds the noise to a batch's sum, or none: it accepts the total of several rounds of an
    action.
    """

    def __init__(
        self,
        structure: StructureType,
        gate: Gate,
        mechanism: Laplace | Gaussian | None,
        horizon: int | None,
        *,
        few: int = 1,
    ) -> None:
        super().__init__(structure, gate, NoiseTail.from_mechanism(mechanism), horizon, few=few)
        self.mechanism = mechanism
        self.batches = GrowingBatches(gate, structure.arms, mechanism, self.sizes)

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until a batch is full: before, nothing changes."""
        return self.batches.values_until_full(self.fed_arms)


class CUCBBatch(_HeldBatches[SuperArms]):
    """CUCB on noisy batches of the few arms played of fewest released outcomes.

    ``q = min(K, ceil(epsilon / 4))`` arms of a round are fed, with ``Lap(q / epsilon)`` on every batch: as many as
    leave the noise a scale of about 1/4, on sets and bases of a matroid, where one arm can be exchanged for another.
    Elsewhere an arm is played with others, and ``q = min(K, ceil(epsilon T^(2/5) / 36))``: the longer a run, the less a
    batch's noise counts beside its outcomes. (Without a horizon q is that of T = 100,000.) Which arms are fed
    follows from public counts; a record feeds q batches: exactly epsilon. The rules for q are measured. The regret
    theorems, one for sets and bases and one for all structures else, hold for any q.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        The gate of the feedback.
    epsilon
        The privacy of one round's outcome vector, in the view of everything released.
    horizon
        The number of rounds T, by which the first batches are as long as they are; None if it is not known: then they
        are those of T = 2048.
    """

    name = "cucb-batch"
    summary = "combinatorial UCB, growing batches of the few least-counted arms with Laplace noise, level-free index"
    as_printed = "certified; the least regret here of learners of super arms in the central model"
    claim = ClaimForm.for_reports("central", "this library: accumulated batches of the least-counted arms")

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        size = self.size_of(structure)
        exchanged = isinstance(structure, TopK | FailingTopK | Matroid)
        rounds = UNKNOWN_HORIZON if horizon is None else check_horizon(horizon)
        share = 0.25 if exchanged else rounds**0.4 / 36.0
        few = min(size, math.ceil(share * check_epsilon(epsilon)))
        mechanism = Laplace.for_epsilon(epsilon, sensitivity=Box(0, 1, few).sensitivity)
        super().__init__(structure, gate, mechanism, horizon, few=few)


class CUCBBatchGaussian(_HeldBatches[SuperArms]):
    """`CUCBBatch` of all arms played, with ``N(0, sigma^2)`` on every batch: noise grows with sqrt(K) instead of K.

    ``sigma = sqrt(K) / mu(epsilon, delta)``: a record moves at most K sums by 1 each, sqrt(K) in L2 norm. They are
    released at different times, chosen by earlier releases; that costs no more than one release of all K, by the
    Gaussian differential-privacy filter (`accountant.GaussianComposition`), not by basic composition.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBBatch`.
    delta
        The delta of one round, in (0, 1).
    """

    name = "cucb-batch-gaussian"
    summary = "combinatorial UCB, growing batches of all played arms with Gaussian noise, level-free index"
    as_printed = "certified repair of Algorithm 3, (epsilon, delta)"
    claim = ClaimForm.for_reports(
        "central", "Chen et al. 2020, Algorithm 3, repaired: growing batches with Gaussian noise"
    )

    def __init__(
        self, structure: SuperArms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        together = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=outcomes
        )
        # A hair more: the ledger rounds the cost of each of the K releases up.
        mechanism = Gaussian(sigma=together.sigma * (1 + 1e-10), sensitivity=outcomes, delta=delta)
        super().__init__(structure, gate, mechanism, horizon, few=structure.size)


class CUCBKL(_HeldBatches[SuperArms]):
    """`CUCBBatch` without noise, and without privacy: all arms played are fed, first batches have one outcome.

    The index of an arm of n outcomes and mean p is then the largest u with ``H(n kl(p, u)) <= ln+(tau / n)``: but for H
    that of KL-UCB+ (Garivier & Cappe 2011).

    Parameters
    ----------
    structure
        The super arms.
    gate
        The gate of the feedback.
    """

    name = "cucb-kl"
    summary = "cucb-batch without noise: growing batches of all played arms, level-free index, no privacy"
    source = "this library; Garivier & Cappe 2011"
    claim = NO_CLAIM
    needs_all_arms = "it is what private learners of all arms are compared with"

    def __init__(self, structure: SuperArms, gate: Gate) -> None:
        super().__init__(structure, gate, None, None, few=self.size_of(structure))

    def confidence(self) -> Confidence:
        """Return the means, the values in them, of which none has noise, and the indices."""
        return replace(super().confidence(), releases=np.zeros_like(self.index))
