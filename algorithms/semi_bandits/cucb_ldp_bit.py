"""CUCB under local differential privacy, certified: every user sends randomized bits of the least-counted arms.

Which arms these are follows from public counters, so a user's message is about one number in [0, 1], however large
the super arm; about a few where epsilon is large. Indices hold at all counts at once, by a mixture (``x = ln(K T)``).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate
from algorithms.anytime_learner import AnytimeLearner
from algorithms.claim import ClaimForm, View
from algorithms.estimates.bit_mixture import BitMeans
from algorithms.estimates.message_means import least_counted
from algorithms.estimates.randomized_bits import RandomizedBits, bits_of_one_message
from algorithms.lanes import gather
from algorithms.learner import Confidence, Family, check_epsilon
from algorithms.message_learner import MessageLearner, Question
from algorithms.problems import SuperArms
from algorithms.problems.availability import mask_weights
from algorithms.unit import ONE_REPORT
from mechanisms import Choose
from mechanisms.arrays import BoolArray, IntArray


class CUCBLDPBit(MessageLearner[SuperArms], AnytimeLearner[SuperArms]):
    """Every user sends randomized bits: one, or a few at once where epsilon is large.

    The user rounds the value X to a bit Y with ``P(Y = 1) = X`` and flips it with probability ``1 / (1 +
    e^epsilon)``: given X, the message is a mixture of the two randomized-response laws, so it is epsilon-locally
    differentially private, and no better. ``1/2 + (Y - 1/2) coth(epsilon / 2)`` is unbiased for X.

    From epsilon = 4.86 on a message is about the q least-counted arms played, the largest q <= K (and 20) with ``2^q <=
    (e^epsilon - 1) / 32``: one randomized response on all of their ``2^q`` values together, in which each bit has the
    gain ``1 + 2^q / (e^epsilon - 1)``, at most 33/32. In simulation that is 1.1 to 1.5 times less regret (sets of 4 of
    20 and paths, T = 10^4, epsilon = 5 and 10); a constant below 32 helps on paths, and costs as much on sets.

    A bit is 1 with a chance that is linear in the arm's mean, exactly, so a bound on the chance is one on the mean: the
    largest u with ``n kl(o/n, u) <= ln(K T) + c``, o ones among n bits (`algorithms.estimates.bit_mixture`), fails for
    any of the at most K best arms in the whole run with probability 1/T, and no other arm's index need be valid.

    Parameters
    ----------
    structure
        The super arms.
    gate
        Where feedback comes from.
    epsilon
        The privacy of one user's message.
    horizon
        The number of rounds T; None if it is not known (`algorithms.epochs`).
    """

    family: ClassVar[Family] = "semi-bandit"
    needs_all_arms: ClassVar[str] = ""
    claim: ClassVar[ClaimForm] = ClaimForm(
        model="local",
        view=View.MESSAGE,
        unit=ONE_REPORT,
        source="Chen et al. 2020, Algorithm 2, with randomized response on bits",
    )

    def __init__(self, structure: SuperArms, gate: Gate, *, epsilon: float, horizon: int | None) -> None:
        super().__init__(structure, gate, horizon)
        self.few = bits_of_one_message(check_epsilon(epsilon), structure.size)
        self.bits = RandomizedBits(gate, epsilon, self.few)
        self.exponent: float = self.exponent_for(self.horizon)
        self.estimates = BitMeans(gate.lanes, structure.arms, gain=self.bits.gain, exponent=self.exponent)

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(K T)``."""
        return math.log(self.structure.size * horizon)

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute all indices: messages come one in every lane."""
        self.estimates.renew(self.exponent)

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.estimates.index, available))

    @property
    def fed_arms(self) -> IntArray:
        """The least-counted arms played, (lanes, few)."""
        return gather(self.action, least_counted(self.estimates.count, self.action, self.few))

    def confidence(self) -> Confidence:
        """Return the mean messages, their counts and indices."""
        return self.estimates.confidence()

    def ask(self, action: IntArray) -> Question:
        """Ask about the least-counted arms played (lower ids among equals)."""
        place = least_counted(self.estimates.count, action, self.few)
        return Question(Choose(place) >> self.bits.mechanism, self.feedback_domain, gather(action, place))

    def reset_user(self) -> None:
        """Let the next user round by thresholds of their own."""
        self.bits.reset_threshold()

    def hear(self, about: IntArray, message: npt.NDArray[Any]) -> None:
        """Count the bits of one message."""
        self.estimates.add(about, self.bits.decode_bits(message))
