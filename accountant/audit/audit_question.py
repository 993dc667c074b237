"""The question of an audit: epsilon at a delta, or delta at an epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass

from accountant.audit.worst_group import CompositionSums, advantages
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import ComposedLoss
from mechanisms.composition.conversions import deltas_of_renyi, epsilons_of_renyi
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.theorems import RENYI_ORDERS
from mechanisms.parameters import ParameterError, finite_nonnegative, half_open_unit

DEFAULT_DELTA = 1e-6
"""The delta of a question that states none."""
DEFAULT_SECONDS = 60.0
"""The seconds after which a command answers with the bound that is proved by then."""


@dataclass(frozen=True)
class AuditQuestion:
    """Epsilon at a delta, or delta at an epsilon: exactly one of the two is given.

    Raises
    ------
    ParameterError
        If both or none is given, delta is outside [0, 1) or epsilon is not a number of at least 0.
    """

    delta: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if (self.delta is None) == (self.epsilon is None):
            raise ParameterError(
                f"epsilon = {self.epsilon!r}, delta = {self.delta!r}: exactly one must be given"
            )
        if self.delta is not None:
            half_open_unit("delta", self.delta)
        if self.epsilon is not None:
            finite_nonnegative("epsilon", self.epsilon)

    @property
    def quantity(self) -> str:
        """The quantity of which bounds are computed: ``"epsilon"`` or ``"delta"``."""
        return "epsilon" if self.delta is not None else "delta"

    @property
    def fixed_value(self) -> float:
        """The number that is given."""
        number = self.delta if self.delta is not None else self.epsilon
        assert number is not None
        return number

    def evaluate(self, loss: ComposedLoss) -> Enclosure | Bound:
        """Return the answer for one composition."""
        return loss.epsilon(self.fixed_value) if self.quantity == "epsilon" else loss.delta(self.fixed_value)

    def theorems(self, loss: ComposedLoss) -> dict[str, Enclosure | Bound]:
        """Return the bound that each theorem by itself gives for one composition."""
        return loss.theorems(delta=self.delta, epsilon=self.epsilon)

    def by_every_theorem(self, loss: ComposedLoss, answer: Enclosure | Bound) -> Enclosure | Bound:
        """Tighten the known answer for one composition by the bounds of all theorems."""
        if lower_end(answer) == (math.inf if self.quantity == "epsilon" else 1.0):
            return answer  # no theorem has a number for an infinite answer
        return answer.at_most(
            row.bound if isinstance(row, Enclosure) else row for row in self.theorems(loss).values()
        )

    def point(self, most: float) -> tuple[float, float]:
        """Return the point (ε, δ) of a privacy curve through which the answer is ``most``."""
        return (most, self.fixed_value) if self.quantity == "epsilon" else (self.fixed_value, most)

    def at_most(self, sums: CompositionSums) -> FloatArray:
        """Return upper bounds on the answers for some groups."""
        if self.delta == 0.0:
            return sums.largest_losses
        if self.epsilon == 0.0:
            return advantages(sums)
        convert = epsilons_of_renyi if self.quantity == "epsilon" else deltas_of_renyi
        return convert(RENYI_ORDERS, sums.divergences, self.fixed_value)
