"""CUCB under local differential privacy, certified: every user sends the outcomes of all arms played.

For small epsilon one value per user (`algorithms.semi_bandits.cucb_ldp_one`) is better by a factor of K; these are for
settings in which all outcomes must be reported. No raw outcome is ever used: an arm without a message has index
1. Radii are valid for every epsilon (one exponent for sampling and noise, ``x = ln(2 m T^2)``).
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.claim import ClaimForm, View
from algorithms.estimates.message_means import MessageMeans
from algorithms.learner import Confidence, Family, check_delta, check_epsilon
from algorithms.problems import SuperArms
from algorithms.problems.availability import mask_weights
from algorithms.unit import ONE_REPORT
from mechanisms import Box, Gaussian, Laplace
from mechanisms.arrays import BoolArray, IntArray


class _AllValuesLearner(AnytimeLearner[SuperArms]):
    """The oracle's super arm for the indices, and a noisy message about each of its arms."""

    family: ClassVar[Family] = "semi-bandit"
    needs_all_arms: ClassVar[str] = ""

    def __init__(
        self, structure: SuperArms, gate: Gate, randomizer: Laplace | Gaussian, horizon: int | None
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.randomizer = randomizer
        self.exponent: float = self.exponent_for(self.horizon)
        root, tail = self._widths()
        self.estimates = MessageMeans(gate.lanes, structure.arms, root=root, tail=tail)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(2 m T^2)``: two sides of a mean, for each arm and each number of messages, failure 1/T."""
        return math.log(2 * self.structure.arms * horizon**2)

    def _widths(self) -> tuple[float, float]:
        x, randomizer = self.exponent, self.randomizer
        if isinstance(randomizer, Gaussian):
            return math.sqrt(2 * x * (0.25 + randomizer.sigma**2)), 0.0
        return math.sqrt(x * (0.5 + 4 * randomizer.scale**2)), randomizer.scale * x

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices: messages come one in every lane."""
        root, tail = self._widths()
        self.estimates.widen(root=root, tail=tail)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.estimates.index, available))

    @property
    def fed_arms(self) -> IntArray:
        """All arms played."""
        return self.action

    def confidence(self) -> Confidence:
        """Return the mean messages, their counts and indices."""
        return self.estimates.confidence()

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the noisy outcomes of all arms played."""
        played = action >= 0
        messages = self.gate.release(self.randomizer, feedback, None if played.all() else played)
        self.estimates.add(action, messages)


class CUCBLDPLaplaceAll(_AllValuesLearner):
    """Every user sends all outcomes with ``Lap(K / epsilon)`` on each.

    Two users' K outcomes are at most K apart in L1 norm: epsilon-locally differentially private, and no better.
    Radius ``sqrt(x (1/2 + 4 b^2) / n) + b x / n`` with ``b = K / epsilon``.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        Where feedback comes from.
    epsilon
        The privacy of one user's message.
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="Chen et al. 2020, Algorithm 1, with a radius for every epsilon",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        randomizer = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=outcomes)
        super().__init__(structure, gate, randomizer, horizon)


class CUCBLDPGaussian(_AllValuesLearner):
    """Every user sends all outcomes with ``N(0, sigma^2)`` on each.

    sigma is the least for which the Gaussian mechanism is (epsilon, delta)-differentially private at L2 distance
    sqrt(K), ``sqrt(K) / mu(epsilon, delta)``, for every epsilon. Radius ``sqrt(2 x (1/4 + sigma^2) / n)``.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBLDPLaplaceAll`.
    delta
        The delta of one user's message, in (0, 1).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="cascading bandits paper, Algorithm 4, repaired: no raw start, exact Gaussian calibration",
    )

    def __init__(
        self, structure: SuperArms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        randomizer = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=outcomes
        )
        super().__init__(structure, gate, randomizer, horizon)
