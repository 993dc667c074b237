"""DPUCB-MAT and DPTS-MAT, certified: private learners for matroid bandits.

The papers' learners without the leak of their start: no round-0 vector is observed, elements without
a released batch are taken first, and the first batch has size 1. Privacy: each record shows the K
elements of one basis, each enters one released sum, so with ``Lap(K / epsilon)`` on every sum a record
pays ``K * epsilon / K = epsilon``, exactly. Loops are in no basis and never observed.

Radii are those of the regret theorem proved for known horizon T (see `algorithms.theory.regret`), or for each epoch's:
``x = ln(3 L J T)`` with ``J = floor(log2(T + 1))`` batches per element at most, and Laplace scale
``b = K / epsilon``.
"""

from __future__ import annotations

import abc
import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.claim import ClaimForm, View
from algorithms.estimates.confidence import ratio_or_infinity, ucb1_radius
from algorithms.estimates.doubling_batches import DoublingBatches
from algorithms.learner import Confidence, Family, check_epsilon
from algorithms.problems import SuperArms
from algorithms.problems.availability import mask_weights
from algorithms.restarting_learner import RestartingLearner
from algorithms.structured_learner import HorizonLearner
from algorithms.unit import ONE_REPORT
from mechanisms import Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray


class _MatroidLearner(HorizonLearner[SuperArms], abc.ABC):
    """State that both learners share: released batch means and the exponent x of their radii."""

    family: ClassVar[Family] = "matroid"
    needs_all_arms: ClassVar[str] = ""

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.mechanism = Laplace.for_epsilon(
            check_epsilon(epsilon), sensitivity=self.feedback_domain.sensitivity
        )
        self.scale = self.mechanism.scale
        self.batches = DoublingBatches(gate, structure.arms, self.mechanism, first_size=1)
        self.exponent: float | FloatArray = self.exponent_for(self.horizon)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(3 L J T)``."""
        batches_per_element = (horizon + 1).bit_length() - 1  # floor(log2(T + 1)), exact
        return math.log(3 * self.structure.arms * batches_per_element * horizon)

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the basis's outcomes, or their totals of some rounds, in their batches."""
        self.batches.add(action, feedback, rounds)


class DPUCBMat(_MatroidLearner, AnytimeLearner[SuperArms]):
    """Play the maximum-weight basis for ``U_e = mean_e + sqrt(x / 2n) + b x / n``, +inf without a release.

    Parameters
    ----------
    structure
        A matroid with L elements and rank K.
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
        source="matroid bandits paper, Algorithm 2, repaired: no round-0 vector",
    )

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the greedy basis of the upper confidence bounds."""
        return self.structure.solve(mask_weights(self.confidence().index, available))

    @property
    def fed_arms(self) -> IntArray:
        """All elements of the basis."""
        return self.action

    def confidence(self) -> Confidence:
        """Return the means of the last full batches, the values and noises in them, and the indices."""
        n = self.batches.size
        radius = ucb1_radius(self.exponent / 2, n) + ratio_or_infinity(self.scale * self.exponent, n)
        return Confidence(self.batches.mean, n, np.minimum(n, 1.0), self.batches.mean + radius)

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until a batch is full, or an epoch ends: before, nothing changes."""
        return self.until_renewed(self.batches.values_until_full(self.action))

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Nothing: indices are computed when they are asked for, with the exponents of now."""


class DPTSMat(_MatroidLearner, RestartingLearner[SuperArms]):
    """Play the maximum-weight basis for samples ``theta_e ~ N(mean_e + b x / n, 1 / n)``.

    The draws are data-independent randomness on released means: they cost no privacy and give none.

    Parameters
    ----------
    structure, gate, epsilon
        As for `DPUCBMat`.
    horizon
        The number of rounds T; None if it is not known (`algorithms.restarts`).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.ACTIONS,
        unit=ONE_REPORT,
        source="matroid bandits paper, Algorithm 3, repaired: no round-0 vector",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        self.sample: FloatArray = np.full(self.batches.size.shape, np.inf)

    def begin(self, horizon: int) -> None:
        """Discard all batches, so that the records in open ones pay nothing, and set the exponent of this horizon."""
        self.batches = DoublingBatches(self.gate, self.structure.arms, self.mechanism, first_size=1)
        self.exponent = self.exponent_for(horizon)
        self.sample = np.full(self.batches.size.shape, np.inf)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the greedy basis of one sample."""
        n = self.batches.size
        centre = self.batches.mean + ratio_or_infinity(self.scale * self.exponent, n)
        self.sample = centre + self.gate.random.standard_normal(n.shape) / np.sqrt(np.maximum(n, 1))
        return self.structure.solve(mask_weights(self.sample, available))

    def confidence(self) -> Confidence:
        """Return the means of the last full batches, the values and noises in them, and the last samples."""
        n = self.batches.size
        return Confidence(self.batches.mean, n, np.minimum(n, 1.0), self.sample)
