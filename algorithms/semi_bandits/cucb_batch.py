"""CUCB under central differential privacy, certified: growing batches, each released once (`HeldBatches`)."""

from __future__ import annotations

import math
from typing import ClassVar

from accountant import Gate
from algorithms.claim import ClaimForm, View
from algorithms.learner import check_delta, check_epsilon, check_horizon
from algorithms.problems import FailingTopK, Matroid, SuperArms, TopK
from algorithms.semi_bandits.level_free_learner import HeldBatches
from algorithms.unit import ONE_REPORT
from mechanisms import Box, Gaussian, Laplace

UNKNOWN_HORIZON = 100_000
"""T of the number of arms that are fed, where it is not known."""


def _laplace(epsilon: float, few: int) -> Laplace:
    """Return the noise of scale q / epsilon on sums that a record moves by 1 each, q of them at most."""
    return Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=Box(0, 1, few).sensitivity)


class CUCBBatchAll(HeldBatches[SuperArms]):
    """All arms played are fed, with ``Lap(K / epsilon)`` on every batch: `CUCBBatch` with q = K.

    A record feeds at most K batches, each with an outcome in [0, 1]: exactly epsilon.

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
        source="Chen et al. 2020, Algorithm 3, repaired: growing batches instead of a tree",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        few = self.size_of(structure)
        super().__init__(structure, gate, _laplace(epsilon, few), horizon, few)


class CUCBBatchGaussian(HeldBatches[SuperArms]):
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
        source="Chen et al. 2020, Algorithm 3, repaired: growing batches with Gaussian noise",
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
        super().__init__(structure, gate, mechanism, horizon, structure.size)


class CUCBBatchLeast(HeldBatches[SuperArms]):
    """Only the arm played of fewest released outcomes is fed, with ``Lap(1 / epsilon)`` on every batch.

    `CUCBBatch` with q = 1. Which arm is fed follows from public counts; a record feeds one batch: exactly epsilon.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBBatchAll`.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="Chen et al. 2020, least-pulled variant of Algorithm 3, repaired: growing batches",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, _laplace(epsilon, few=1), horizon)


class CUCBBatch(HeldBatches[SuperArms]):
    """The few arms played of fewest released outcomes are fed.

    ``q = min(K, ceil(epsilon / 4))`` arms of a round are fed, with ``Lap(q / epsilon)`` on every batch: as many as
    leave the noise a scale of about 1/4, on sets and bases of a matroid, where one arm can be exchanged for
    another. Elsewhere an arm is played with others, and ``q = min(K, ceil(epsilon T^(2/5) / 36))``: the longer a run,
    the less a batch's noise counts beside what its outcomes say. (Without a horizon q is that of T = 100,000.) Which
    arms are fed follows from public counts; a record feeds q batches: exactly epsilon. The rules for q are measured. The
    regret theorems, one for sets and bases and one for all structures else, hold for any q.

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

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        size = self.size_of(structure)
        exchanged = isinstance(structure, TopK | FailingTopK | Matroid)
        rounds = UNKNOWN_HORIZON if horizon is None else check_horizon(horizon)
        share = 0.25 if exchanged else rounds**0.4 / 36.0
        few = min(size, math.ceil(share * check_epsilon(epsilon)))
        super().__init__(structure, gate, _laplace(epsilon, few), horizon, few)
