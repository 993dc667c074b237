"""CUCB under local differential privacy with Gaussian noise, certified: users send the outcomes of all arms played.

Randomized bits of the least-counted arms (`algorithms.semi_bandits.cucb_ldp_bit`) are better; this is for settings in
which all outcomes must be reported. No raw outcome is ever used: an arm without a message has index 1. The radius is
valid for every epsilon (one exponent for sampling and noise, ``x = ln(2 m T^2)``).
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
from mechanisms import Box, Gaussian
from mechanisms.arrays import BoolArray, IntArray


class CUCBLDPGaussian(AnytimeLearner[SuperArms]):
    """Every user sends all outcomes with ``N(0, sigma^2)`` on each.

    sigma is the least for which the Gaussian mechanism is (epsilon, delta)-differentially private at L2 distance
    sqrt(K), ``sqrt(K) / mu(epsilon, delta)``, for every epsilon. Radius ``sqrt(2 x (1/4 + sigma^2) / n)``.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        Where feedback comes from.
    epsilon, delta
        The privacy of one user's message; delta in (0, 1).
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="cascading bandits paper, Algorithm 4, repaired: no raw start, exact Gaussian calibration",
    )
    family: ClassVar[Family] = "semi-bandit"
    needs_all_arms: ClassVar[str] = ""

    def __init__(
        self, structure: SuperArms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        self.randomizer = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=outcomes
        )
        super().__init__(structure, gate, horizon)
        self.exponent: float = self.exponent_for(self.horizon)
        self.estimates = MessageMeans(gate.lanes, structure.arms, root=self._root())

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(2 m T^2)``: two sides of a mean, for each arm and each number of messages, failure 1/T."""
        return math.log(2 * self.structure.arms * horizon**2)

    def _root(self) -> float:
        return math.sqrt(2 * self.exponent * (0.25 + self.randomizer.sigma**2))

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices: messages come one in every lane."""
        self.estimates.widen(root=self._root())

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
