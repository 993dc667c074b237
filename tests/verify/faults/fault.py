"""Faults: their effect on a learner's calls of its gate, the place where they act, and their true cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accountant import Mask, Private, PrivateSums
from mechanisms import Domain, Mechanism

if TYPE_CHECKING:
    from faults.planted_gate import PlantedGate

_Span = tuple[float, float]


class Misuse:
    """What stands between a learner and its gate, in one run; this one changes nothing.

    A fault overrides what it does otherwise, and tells the gate when it did (`PlantedGate.acted`). It reads private
    values through their underscored attributes, which is what no gate can prevent.
    """

    def takes(self, gate: PlantedGate, feedback: Private) -> Private:
        """Return what the learner observes in place of its feedback."""
        return feedback

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> npt.NDArray[Any]:
        """Return what the learner takes for the released values."""
        return gate.honest(mechanism, value, where)

    def adds(self, gate: PlantedGate, sums: PrivateSums, values: Private, at: npt.NDArray[np.int64]) -> None:
        """Add checked values to sums."""
        PrivateSums._add_checked(sums, values, at)

    def clears(self, gate: PlantedGate, sums: PrivateSums, where: Mask) -> None:
        """Clear sums."""
        PrivateSums.clear(sums, where)

    def narrowed(self, domain: Domain) -> Domain:
        """Return the domain that the learner says its feedback comes from."""
        return domain


@dataclass(frozen=True)
class AnyFault:
    """A fault of a learner or a function.

    Attributes
    ----------
    name
        As the command line and tables spell it.
    words
        What the author did.
    why
        Why its true loss exceeds the claim, or why it does not.
    factor
        The true loss of what leaves is at least so many times that without the fault; 1 if the fault is harmless.
    """

    name: str
    words: str
    why: str
    factor: float = field(default=math.inf, kw_only=True)

    @property
    def harmless(self) -> bool:
        """Whether a subject with the fault still keeps its claim."""
        return self.factor <= 1.0


@dataclass(frozen=True)
class Fault(AnyFault):
    """A fault of a learner.

    Attributes
    ----------
    misuse
        Makes what stands between the learner and its gate, for one run.
    start
        The first round (of linear learners: report) in which it acts.
    span
        It acts from the first report on with a coordinate in this part of its domain, which goes from 0 to 1;
        None: any.
    one_lane
        Whether it acts only where there is a single lane, as in production.
    """

    misuse: Callable[[], Misuse] = field(compare=False)
    start: int = 1
    span: _Span | None = None
    one_lane: bool = False

    @property
    def rounds(self) -> int:
        """How many rounds a run needs to show it: a tenth more than come before it acts."""
        return self.start + math.ceil(self.start / 10)
