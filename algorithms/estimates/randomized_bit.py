"""One randomized bit about a number in [0, 1]: what a user of the local learners sends."""

from __future__ import annotations

import math

from accountant import Gate
from mechanisms import Above, Mechanism, RandomizedResponse
from mechanisms.arrays import FloatArray


class RandomizedBit:
    """The user rounds X to a bit Y with ``P(Y = 1) = X`` and flips it with probability ``1 / (1 + e^epsilon)``.

    Given X, the message is a mixture of the two randomized-response laws: epsilon-locally differentially private, and
    no better. It is 1 with probability ``q + (1 - 2 q) E X``, ``q = 1 / (1 + e^epsilon)``, exactly.

    Parameters
    ----------
    gate
        Where values come from.
    epsilon
        The privacy of one message, above 0.
    """

    def __init__(self, gate: Gate, epsilon: float) -> None:
        self.randomizer = RandomizedResponse(size=2, epsilon=epsilon)
        self.gain = 1.0 / math.tanh(epsilon / 2)  # coth = 1 / (1 - 2 q)
        self._gate = gate
        self._threshold: FloatArray | None = None

    @property
    def mechanism(self) -> Mechanism:
        """What the next user's message about a number in [0, 1] is drawn through, in each lane; 0 or 1."""
        # The rounding needs no secrecy: for every threshold the bit is a function of the value. The threshold of a user
        # who was refused serves the next one, and the law of both stays: it is drawn without data, and whether somebody
        # is refused depends on accounts alone, not on it.
        if self._threshold is None:
            self._threshold = self._gate.random.random((self._gate.lanes, 1))
        return Above(self._threshold) >> self.randomizer

    def used(self) -> None:
        """Let the next message have a threshold of its own."""
        self._threshold = None
