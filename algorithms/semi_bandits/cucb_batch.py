"""CUCB under central differential privacy, certified: batches of growing size, each released once.

Every outcome enters at most one batch of its arm, a batch's sum is released once, when it is full, and batch ends
depend on counts of actions only. So a record moves as many released numbers as it feeds, each by at most 1, and
pays for one release of them, however long the run: no composition over batches.

Nothing is forgotten: after j releases an arm has the noisy total y of ``n = 2^j - 1`` outcomes with j noises. Its
index is the additive bound, with ``x = ln(2 m J T)`` and ``J = floor(log2(T + 1))`` batches per arm at most,

``(y + sqrt(2 x (n / 4 + s j)) + b x) / n``, ``s = 2 b^2`` (Laplace) or ``s = sigma^2, b = 0`` (Gaussian noise),

lowered by Chernoff's inequality and clipped to [0, 1]; 1 before the first release.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.claim import ClaimForm, View
from algorithms.estimates.chernoff import NoiseTail, chernoff_upper
from algorithms.estimates.doubling_batches import AccumulatedBatches, GrowingBatches, released_counts
from algorithms.estimates.message_means import least_counted
from algorithms.lanes import gather
from algorithms.learner import Confidence, Family, check_delta, check_epsilon, check_horizon
from algorithms.problems import FailingTopK, Matroid, SuperArms, TopK
from algorithms.problems.availability import mask_weights
from algorithms.unit import ONE_REPORT
from mechanisms import Box, Gaussian, Interval, Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray

UNKNOWN_HORIZON = 100_000
"""T of the number of arms that are fed, where it is not known."""


class _BatchLearner(AnytimeLearner[SuperArms]):
    """The oracle's super arm for the indices; the arms that a round feeds put their outcomes in batches."""

    family: ClassVar[Family] = "semi-bandit"
    needs_all_arms: ClassVar[str] = ""

    def __init__(
        self, structure: SuperArms, gate: Gate, mechanism: Laplace | Gaussian, horizon: int | None
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.mechanism = mechanism
        self.noise = NoiseTail.from_mechanism(mechanism)
        self.exponent = self.exponent_for(self.horizon)
        self.batches: AccumulatedBatches = AccumulatedBatches(gate, structure.arms, mechanism)
        self.index: FloatArray = np.ones((gate.lanes, structure.arms))

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(2 m J T)``."""
        batches_per_arm = (horizon + 1).bit_length() - 1  # floor(log2(T + 1)), exact
        return math.log(2 * self.structure.arms * batches_per_arm * horizon)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.index, available))

    @property
    def fed_arms(self) -> IntArray:
        """All arms played."""
        return self.action

    def confidence(self) -> Confidence:
        """Return the means of all released batches, the values and noises in them, and the indices."""
        return Confidence(self.batches.mean, self.batches.size, self.batches.releases, self.index)

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until a batch is full, or an epoch ends: before, nothing changes."""
        return self.until_renewed(self.batches.values_until_full(self.fed_arms))

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcomes of all arms played, or their totals of some rounds, in their batches."""
        self._feed(action, feedback, rounds)

    def _feed(self, arms: IntArray, outcomes: Private, rounds: IntArray | None) -> None:
        """Put outcomes in batches, and update the indices of those released."""
        released = self.batches.add(arms, outcomes, rounds)
        if released is not None:
            self.index[released] = self._upper(released)

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute the indices of these lanes."""
        released = (self.batches.releases > 0) & lanes[:, np.newaxis]
        self.index[released] = self._upper(released)

    def _upper(self, where: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the indices of the arms in a mask, all with a release."""
        n, j, total = self.batches.size[where], self.batches.releases[where], self.batches.total[where]
        x, noise = np.broadcast_to(self.exponent, where.shape)[where], self.noise
        additive = (total + np.sqrt(2 * x * (0.25 * n + noise.proxy * j)) + noise.scale * x) / n
        start = np.clip(additive, 0.0, 1.0)
        return chernoff_upper(start, n, j, total, n, noise=noise, exponent=x)


class CUCBBatchAll(_BatchLearner):
    """All arms played are fed, with ``Lap(K / epsilon)`` on every batch: for sums and other B_1-smooth rewards.

    Its bound is the smaller one for such rewards where sampling dominates; `CUCBBatchLeast` had less regret below
    about epsilon = 5 in simulation (top-K sums, K = 4 and 10, T = 10^5 and 10^7). A record feeds at most K batches,
    each with an outcome in [0, 1]: exactly epsilon.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        Where feedback comes from.
    epsilon
        The privacy of one round's outcome vector, in the view of everything released.
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, Algorithm 3, repaired: doubling batches instead of a tree",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=outcomes)
        super().__init__(structure, gate, mechanism, horizon)


class CUCBBatchGaussian(_BatchLearner):
    """All arms played are fed, with ``N(0, sigma^2)`` on every batch: noise grows with sqrt(K) instead of K.

    ``sigma = sqrt(K) / mu(epsilon, delta)``: a record moves at most K sums by 1 each, sqrt(K) in L2 norm. They are
    released at different times, chosen by earlier releases; that costs no more than one release of all K, by the
    Gaussian differential-privacy filter (`accountant.GaussianComposition`), not by basic composition.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBBatchAll`.
    delta
        The delta of one round, in (0, 1).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, Algorithm 3, repaired: doubling batches with Gaussian noise",
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
        super().__init__(structure, gate, mechanism, horizon)


class CUCBBatchLeast(_BatchLearner):
    """Only the arm played of fewest released outcomes is fed, with ``Lap(1 / epsilon)`` on every batch.

    For B_inf-smooth rewards, and for sums too unless epsilon is large (see `CUCBBatchAll`). Which arm is fed follows
    from public counts; a record feeds one batch: exactly epsilon.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBBatchAll`.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, least-pulled variant of Algorithm 3, repaired: doubling batches",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        sensitivity = Interval(0, 1).sensitivity
        mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=sensitivity)
        super().__init__(structure, gate, mechanism, horizon)

    @property
    def fed_arms(self) -> IntArray:
        """The arm played of fewest released outcomes, (lanes, 1)."""
        return gather(self.action, least_counted(self.batches.size, self.action))

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcome of the arm of fewest released outcomes in its batch (the lowest id among equals)."""
        place = least_counted(self.batches.size, action)
        self._feed(gather(action, place), feedback.take(place), rounds)


class CUCBBatch(_BatchLearner):
    """The few arms played of fewest released outcomes are fed, in long batches.

    ``q = min(K, ceil(epsilon / 4))`` arms of a round are fed, with ``Lap(q / epsilon)`` on every batch: as many as
    leave the noise a scale of about 1/4, on sets and bases of a matroid, where one arm can be exchanged for
    another. Elsewhere an arm is played with others, and ``q = min(K, ceil(epsilon T^(2/5) / 36))``: the longer a run,
    the less a batch's noise counts beside what its outcomes say. (Without a horizon q is that of T = 100,000.) An
    arm's first batch has ``q x / epsilon`` outcomes, fewer of which say nothing, and each later one half as many as
    were released before. An index need only be valid for the K best arms: ``x = ln(K J T)``. Which arms are fed follows
    from public counts; a record feeds q batches: exactly epsilon.

    In simulation it had 1.15 to 2 times less regret than the better one of `CUCBBatchLeast` and `CUCBBatchAll`, and
    2.5 to 11 times less than `DPUCBMat`. The rules for q are measured (the second on paths, disjoint paths and
    coverage, T from 1,000 to 1,000,000). Its regret theorems, one for sets and bases and one for all structures else,
    hold for any q.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBBatchAll`.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="this library: accumulated batches of the least-counted arms",
    )
    growth: ClassVar[float] = 0.5
    """By which share of what was released an arm's data grow with its next batch."""

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        size = self.size_of(structure)
        exchanged = isinstance(structure, TopK | FailingTopK | Matroid)
        rounds = UNKNOWN_HORIZON if horizon is None else check_horizon(horizon)
        share = 0.25 if exchanged else rounds**0.4 / 36.0
        self.few = min(size, math.ceil(share * check_epsilon(epsilon)))
        mechanism = Laplace.for_epsilon(epsilon, sensitivity=Box(0, 1, self.few).sensitivity)
        super().__init__(structure, gate, mechanism, horizon)
        first = max(1, math.ceil(mechanism.scale * self.exponent_for(self.horizon)))
        self.batches = GrowingBatches(gate, structure.arms, mechanism, first_size=first, growth=self.growth)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(K J T)``."""
        most = len(released_counts(horizon, 1, self.growth))
        return math.log(self.structure.size * most * horizon)

    @property
    def fed_arms(self) -> IntArray:
        """The q arms played of fewest released outcomes, (lanes, q)."""
        return gather(self.action, least_counted(self.batches.size, self.action, self.few))

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcomes of the q arms of fewest released outcomes in their batches (lower ids among equals)."""
        place = least_counted(self.batches.size, action, self.few)
        self._feed(gather(action, place), feedback.take(place), rounds)
