"""Randomized bits of numbers in [0, 1]: the messages of the users of local learners."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from accountant import Gate
from mechanisms import Above, BitsToCategory, Mechanism, RandomizedResponse
from mechanisms.arrays import FloatArray


class RandomizedBits:
    """The user rounds each X of a few to a bit Y with ``P(Y = 1) = X``, and sends all by one randomized response.

    Of the ``2^many`` vectors of bits the true one is sent with probability ``p = e^epsilon / (e^epsilon + 2^many -
    1)``, each other one with ``p e^-epsilon``. Given all X, the message is a mixture of the laws of randomized
    response: epsilon-locally differentially private, and no better. Each bit of it is 1 with probability ``1/2 +
    (E X - 1/2) / gain`` exactly, ``gain = 1 + 2^many / (e^epsilon - 1)``; alone it is flipped with probability
    ``1 / (1 + e^epsilon)``, and the gain is ``coth(epsilon / 2)``.

    Parameters
    ----------
    gate
        The gate of the values.
    epsilon
        The privacy of one message, above 0.
    many
        The number of values that a message is about, at most 20.
    """

    def __init__(self, gate: Gate, epsilon: float, many: int) -> None:
        self.many = many
        self._together = BitsToCategory(many)
        self.randomizer = RandomizedResponse(size=2**many, epsilon=epsilon)
        self.gain = bit_gain(epsilon, many)
        self._gate = gate
        self._threshold: FloatArray | None = None

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism of the next user's message about numbers in [0, 1], in each lane; its output is a category."""
        # The rounding needs no secrecy: for every threshold the bit is a function of the value. The threshold of a
        # refused user serves the next one, and the law of both stays: it is drawn without data, and a refusal depends
        # on accounts alone, not on it.
        if self._threshold is None:
            self._threshold = self._gate.random.random((self._gate.lanes, self.many))
        rounded = Above(self._threshold)
        return (rounded if self.many == 1 else rounded >> self._together) >> self.randomizer

    def decode_bits(self, message: npt.NDArray[np.integer]) -> FloatArray:
        """Return the bits of a message of shape (lanes, 1), shape (lanes, many)."""
        return self._together.bits(message[:, 0]).astype(np.float64)

    def reset_threshold(self) -> None:
        """Let the next message have thresholds of its own."""
        self._threshold = None


def bit_gain(epsilon: float, many: int = 1) -> float:
    """Return ``1 + 2^many / (e^epsilon - 1)``, by which a bit of a message is debiased."""
    return 1.0 - 2.0**many * math.exp(-epsilon) / math.expm1(-epsilon)


def bits_of_one_message(epsilon: float, most: int) -> int:
    """Return the largest ``q <= most`` with ``2^q <= (e^epsilon - 1) / 32``, at most 20; 1 if there is none."""
    enough = (epsilon + math.log1p(-math.exp(-epsilon))) / math.log(2.0) - 5.0
    return max(1, min(most, BitsToCategory.most, math.floor(enough)))
