"""A ranked-list learner under local differential privacy, by randomized response on the click."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate
from algorithms.anytime_learner import AnytimeLearner
from algorithms.cascades.click_estimates import ClickEstimates
from algorithms.claim import ONE_USER_LOCAL, ClaimForm, View
from algorithms.learner import ClickConfidence, Family, check_epsilon
from algorithms.message_learner import MessageLearner, Question
from algorithms.problems import RankedLists
from mechanisms import FirstAbove, RandomizedResponse
from mechanisms.arrays import FloatArray, IntArray

_PASSES = 3


@dataclass(frozen=True, slots=True)
class _ResponseBound:
    """The bound for clicks by randomized response: Hoeffding's or Bernstein's radius, whichever is smaller.

    Attributes
    ----------
    positions
        K, the length of a list.
    false_rate
        q, the probability of each false symbol.
    gain
        p - q, by how much the true symbol is likelier.
    exponent
        x.
    """

    positions: int
    false_rate: float
    gain: float
    exponent: float

    def upper(self, n: FloatArray, m: FloatArray, clicks: FloatArray, examinations: FloatArray) -> FloatArray:
        """Return U after three passes from u = 1, each of which stays above w; +inf where E <= 0."""
        reliable = examinations > 0
        examinations = np.where(reliable, examinations, 1.0)
        scaled = np.sqrt(n)
        hoeffding = scaled * math.sqrt(self.exponent / 2)
        scaled *= math.sqrt(2 * self.exponent)
        index = self._pass(clicks, examinations, hoeffding, scaled * math.sqrt(self._variance(1.0)))
        for _ in range(_PASSES - 1):
            deviation = np.sqrt(self._variance(np.clip(index, 0.0, 1.0)))
            index = self._pass(clicks, examinations, hoeffding, scaled * deviation)
        return np.where(reliable, index, np.inf)

    def _pass(
        self, clicks: FloatArray, examinations: FloatArray, hoeffding: FloatArray, bernstein: FloatArray
    ) -> FloatArray:
        """Return ``(C + min{hoeffding, bernstein + x / 3} / (p - q)) / E``."""
        radius = np.minimum(hoeffding, bernstein + self.exponent / 3)
        radius *= 1.0 / self.gain
        radius += clicks
        radius /= examinations
        return radius

    def _variance(self, u: FloatArray | float) -> FloatArray:
        """Return v(u), a bound on the variance of ``1{R=k} + u 1{R<k}``."""
        above = min(1.0, (self.positions - 1) * self.false_rate + self.gain)
        variance: FloatArray = np.minimum(0.25, self.false_rate + u * (self.gain + above * u))
        return variance


class CascadeUCBRR(MessageLearner[RankedLists], AnytimeLearner[RankedLists]):
    """Every user sends one symbol: the clicked position or "none", by (K+1)-ary randomized response.

    The only private datum of a round is the one-hot (or zero) click vector X, because the positions that
    a user examined follow from it: ``examined_k = 1 - sum_{j<k} X_j``. The symbol R is the true one with
    probability ``p = e^epsilon / (e^epsilon + K)``, each other with ``q = 1 / (e^epsilon + K)``:
    epsilon-locally differentially private, in one message of fixed format, and no better.

    ``Z_k = (1{R=k} - q) / (p - q)`` is unbiased for X_k. Per item, over its n displays,
    ``C = sum Z_k`` and ``E = sum (1 - sum_{j<k} Z_j)`` satisfy ``E[C - w E] = 0`` for the attraction
    probability w, so ``U = (C + R_n) / E`` is an upper confidence bound where E > 0, with

    ``R_n(u) = min{ sqrt(n x / 2), sqrt(2 n x v(u)) + x / 3 } / (p - q)``,
    ``v(u) = min{ 1/4, q + (p - q) u + u^2 min(1, (K - 1) q + p - q) }``, ``x = ln(3 L T^2)``

    (Hoeffding and Bernstein; evaluated from u = 1 downwards, each pass stays above w). The K largest are
    shown, the least displayed first (of equally often displayed ones the larger index): reward depends on
    the set only, the top positions are examined most.

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
        unit=ONE_USER_LOCAL,
        source="cascading bandits paper, repaired: randomized response on the click vector",
    )
    family: ClassVar[Family] = "cascade"

    def __init__(self, structure: RankedLists, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.positions = structure.size
        self.symbol = FirstAbove()  # the clicked position, or K
        self.randomizer = RandomizedResponse(size=self.positions + 1, epsilon=check_epsilon(epsilon))
        odds = math.exp(-epsilon)
        self.false_rate = odds / (1.0 + self.positions * odds)  # q
        self.gain = -math.expm1(-epsilon) / (1.0 + self.positions * odds)  # p - q
        self.exponent: float = self.exponent_for(self.horizon)
        said = np.eye(self.positions + 1, self.positions)  # row: symbol, column: position
        self._click = (said - self.false_rate) / self.gain  # Z_k of each symbol
        bound = _ResponseBound(self.positions, self.false_rate, self.gain, self.exponent)
        self.estimates = ClickEstimates(gate.lanes, structure, bound)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(3 L T^2)``."""
        return math.log(3 * self.structure.arms * horizon**2)

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute the indices of these lanes."""
        self.estimates.renew(self.exponent, lanes)

    def choose(self) -> IntArray:
        """Return the K items of largest index, the least displayed first."""
        return self.estimates.best_lists()

    def click_confidence(self) -> ClickConfidence:
        """Return the items' sums and indices."""
        return self.estimates.confidence()

    def ask(self, action: IntArray) -> Question:
        """Ask for the clicked position, or none, by randomized response."""
        return Question(self.symbol >> self.randomizer, self.feedback_domain, action)

    def hear(self, about: IntArray, message: npt.NDArray[Any]) -> None:
        """Average the user's symbol into the displayed items."""
        self.estimates.add(about, self._click.take(message[:, 0], axis=0))
