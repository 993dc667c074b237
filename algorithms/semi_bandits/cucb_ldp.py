"""CUCB under local differential privacy (Chen, Zheng, Zhou, Yang, Chen & Wang, ICML 2020).

Both algorithms are as printed. Their privacy claims hold exactly. Their radii have no separate term
for the sampling error and are valid for small epsilon only: see `algorithms.theory.regret`.
"""

from __future__ import annotations

import abc
import math

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.claim import ClaimForm
from algorithms.estimates.message_means import MessageMeans, least_counted
from algorithms.lanes import gather
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import SuperArms
from algorithms.problems.availability import mask_weights
from mechanisms import Box, Gaussian, Laplace
from mechanisms.arrays import BoolArray, IntArray


class MessageMeanLearner(AnytimeLearner[SuperArms], abc.ABC):
    """Means of noisy outcomes of arms played, one message a user; indices ``mean + root / sqrt(n)``.

    Parameters
    ----------
    structure, gate
        As for `AnytimeLearner`.
    randomizer
        The mechanism that adds noise to a user's message.
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    family = "semi-bandit"
    needs_all_arms = ""

    def __init__(
        self, structure: SuperArms, gate: Gate, randomizer: Laplace | Gaussian, horizon: int | None
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.randomizer = randomizer
        self.exponent: float = self.exponent_for(self.horizon)
        self.estimates = MessageMeans(gate.lanes, structure.arms, root=self._root())

    @abc.abstractmethod
    def _root(self) -> float:
        """Return the width of the confidence radius, ``radius sqrt(n)``."""

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices: messages come one in every lane."""
        self.estimates.widen(root=self._root())

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.estimates.index, available))

    def confidence(self) -> Confidence:
        """Return the mean messages, their counts and indices."""
        return self.estimates.confidence()

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the noisy outcomes of all arms played."""
        played = action >= 0
        messages = self.gate.release(self.randomizer, feedback, None if played.all() else played)
        self.estimates.add(action, messages)


class _PrintedMessages(MessageMeanLearner):
    """Algorithms 1 and 2: messages about `sent` outcomes with noise ``Lap(sent / epsilon)`` on each."""

    def __init__(
        self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None, sent: int
    ) -> None:
        self.epsilon = check_epsilon(epsilon)
        randomizer = Laplace.for_epsilon(self.epsilon, sensitivity=Box(0, 1, sent).sensitivity)
        super().__init__(structure, gate, randomizer, horizon)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln T``."""
        return math.log(horizon)

    def _root(self) -> float:
        return 4 * math.sqrt(2 * self.randomizer.sensitivity.l1**2 * self.exponent) / self.epsilon


class CUCBLDP1(_PrintedMessages):
    """CUCB-LDP1 (Algorithm 1): every played arm's outcome is sent with noise ``Lap(K / epsilon)``.

    A user's message is ``|S_t|`` numbers, each in [0, 1], so replacing the user moves it by at most K
    in L1 norm: the message is epsilon-locally differentially private (Theorem 1), and no better.

    Parameters
    ----------
    structure
        The super arms; K is the size of the largest.
    gate
        The gate of the feedback.
    epsilon
        The privacy of one user's message.
    horizon
        The number of rounds T, which the radius ``4 sqrt(2 K^2 ln T / (epsilon^2 T_i))`` needs; None if it is not known
        (`algorithms.epochs`).
    """

    name = "cucb-ldp1"
    summary = "combinatorial UCB, every user sends all played outcomes with Laplace noise"
    as_printed = "certified as printed, tight"
    claim = ClaimForm.for_reports("local", "Chen et al. 2020, Algorithm 1, Theorem 1")

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon, sent=self.size_of(structure))


class CUCBLDP2(_PrintedMessages):
    """CUCB-LDP2 (Algorithm 2): only the least-pulled played arm's outcome is sent, with ``Lap(1 / epsilon)``.

    ``I_t = argmin_{i in S_t} T_i`` is a function of public counters, so the message is one number in
    [0, 1] plus noise: epsilon-locally differentially private (Theorem 3), and no better.

    Parameters
    ----------
    structure, gate, epsilon, horizon
        As for `CUCBLDP1`; the radius is ``4 sqrt(2 ln T / (epsilon^2 T_i))``.
    """

    name = "cucb-ldp2"
    summary = "combinatorial UCB, every user sends the least-pulled outcome with Laplace noise"
    as_printed = "certified as printed, tight"
    claim = ClaimForm.for_reports("local", "Chen et al. 2020, Algorithm 2, Theorem 3")

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon, sent=1)

    @property
    def fed_arms(self) -> IntArray:
        """The least-pulled arm played, (lanes, 1)."""
        return gather(self.action, least_counted(self.estimates.count, self.action))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average one noisy outcome, of the least-pulled played arm (the lowest id among equals)."""
        least = least_counted(self.estimates.count, action)
        message = self.gate.release(self.randomizer, feedback.take(least))
        self.estimates.add(gather(action, least), message)
