"""CUCB under local differential privacy with Gaussian noise, certified: users send the outcomes of all arms played.

Randomized bits of the least-counted arms (`algorithms.semi_bandits.cucb_ldp_bit`) are better; this is for settings in
which all outcomes must be reported. No raw outcome is ever used: an arm without a message has index 1. The radius is
valid for every epsilon (one exponent for sampling and noise, ``x = ln(2 m T^2)``).
"""

from __future__ import annotations

import math

from accountant import Gate
from algorithms.claim import ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.problems import SuperArms
from algorithms.semi_bandits.cucb_ldp import MessageMeanLearner
from mechanisms import Box, Gaussian


class CUCBLDPGaussian(MessageMeanLearner):
    """Local CUCB on Gaussian messages: every user sends all outcomes with ``N(0, sigma^2)`` on each.

    sigma is the least for which the Gaussian mechanism is (epsilon, delta)-differentially private at L2 distance
    sqrt(K), ``sqrt(K) / mu(epsilon, delta)``, for every epsilon. Radius ``sqrt(2 x (1/4 + sigma^2) / n)``.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        The gate of the feedback.
    epsilon, delta
        The privacy of one user's message; delta in (0, 1).
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    name = "cucb-ldp-gaussian"
    summary = "combinatorial UCB, every user sends all outcomes with Gaussian noise"
    as_printed = "certified repair of published/cucb-ldp-gaussian"
    claim = ClaimForm.for_reports(
        "local", "cascading bandits paper, Algorithm 4, repaired: no raw start, exact Gaussian calibration"
    )

    def __init__(
        self, structure: SuperArms, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        randomizer = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=outcomes
        )
        self.sigma = randomizer.sigma
        super().__init__(structure, gate, randomizer, horizon)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(2 m T^2)``: two sides of a mean, for each arm and each number of messages, failure 1/T."""
        return math.log(2 * self.structure.arms * horizon**2)

    def _root(self) -> float:
        return math.sqrt(2 * self.exponent * (0.25 + self.sigma**2))
