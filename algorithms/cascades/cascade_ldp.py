"""Ranked-list learners under local differential privacy: noise on the whole click vector.

Two users' click vectors differ by at most 2 in L1 and sqrt(2) in L2 norm, however long the list (by 1 if it
has one position), and everything that a round yields follows from them. So every user sends K numbers, a
message of fixed format, with noise that does not grow with K.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.cascades.click_estimates import AdditiveNoiseBound, ClickEstimates
from algorithms.claim import ClaimForm, View
from algorithms.estimates.chernoff import NoiseTail
from algorithms.learner import ClickConfidence, Family, check_delta, check_epsilon
from algorithms.problems import RankedLists
from algorithms.unit import ONE_REPORT
from mechanisms import Gaussian, Laplace, OneHot
from mechanisms.arrays import BoolArray, IntArray


class _ClickVectorLearner(AnytimeLearner[RankedLists]):
    """Show the K items of largest upper bound; average every user's noisy click vector."""

    family: ClassVar[Family] = "cascade"
    needs_all_arms: ClassVar[str] = ""

    def __init__(
        self, structure: RankedLists, gate: Gate, randomizer: Laplace | Gaussian, horizon: int | None
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.randomizer = randomizer
        self.exponent: float = self.exponent_for(self.horizon)
        bound = AdditiveNoiseBound(structure.size, NoiseTail.from_mechanism(randomizer), self.exponent)
        self.estimates = ClickEstimates(gate.lanes, structure, bound)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(3 L T^2)``: C - wE on two sides and E on one, for each item and number of displays."""
        return math.log(3 * self.structure.arms * horizon**2)

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices again."""
        self.estimates.renew(self.exponent, lanes)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the K items of largest index, the least displayed first."""
        return self.estimates.best_lists(available)

    def click_confidence(self) -> ClickConfidence:
        """Return the items' sums and indices."""
        return self.estimates.confidence()

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the user's noisy click vector into the displayed items."""
        self.estimates.add(action, self.gate.release(self.randomizer, feedback))


class CascadeUCBLDPLaplace(_ClickVectorLearner):
    """Every user sends the click vector plus ``Lap(2 / epsilon)`` on each of the K positions.

    epsilon-locally differentially private, and no better: two different clicks are at L1 distance 2 (with
    one position 1, and the scale is ``1 / epsilon``). Per item, U is the largest u with ``u E <= C + R(u)``,
    ``R(u) = sqrt(n x (1/2 + 4 b^2 (1 + u^2 (K - 1)))) + b x``, ``x = ln(3 L T^2)`` (`AdditiveNoiseBound`).

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
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
        source="cascading bandits paper, Algorithm 2, repaired: Laplace noise on the click vector",
    )

    def __init__(self, structure: RankedLists, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        clicks = OneHot(self.size_of(structure)).sensitivity
        randomizer = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=clicks)
        super().__init__(structure, gate, randomizer, horizon)


class CascadeUCBLDPGaussian(_ClickVectorLearner):
    """Every user sends the click vector plus ``N(0, sigma^2)`` on each of the K positions.

    sigma is the least for which the Gaussian mechanism is (epsilon, delta)-differentially private at L2
    distance sqrt(2) (1 for a single position): ``sqrt(2) / mu(epsilon, delta)``, for every epsilon. As for
    `CascadeUCBLDPLaplace`, with ``R(u) = sqrt(2 n x (1/4 + sigma^2 (1 + u^2 (K - 1))))``.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CascadeUCBLDPLaplace`.
    delta
        The delta of one user's message, in (0, 1).
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="cascading bandits paper, Algorithm 3, repaired: Gaussian noise on the click vector",
    )

    def __init__(
        self, structure: RankedLists, gate: Gate, *, epsilon: float, delta: float, horizon: int | None
    ) -> None:
        clicks = OneHot(self.size_of(structure)).sensitivity
        randomizer = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=clicks
        )
        super().__init__(structure, gate, randomizer, horizon)
