"""What is claimed about an algorithm's privacy, precisely enough to be refuted."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Model = Literal["central", "local", "shuffle"]


class View(Enum):
    """What the adversary of a claim sees.

    Without the action of a record's own round it is the view of joint differential privacy.
    """

    ACTIONS = "the sequence of actions"
    OTHER_ACTIONS = "the actions of all rounds but the record's own"
    RELEASES = "everything that is released"
    MESSAGE = "one user's message"
    OUTPUT = "the output"
    SHUFFLED = "how many ones the shuffled bits of every action hold"


@dataclass(frozen=True, slots=True)
class ClaimForm:
    """A claim without its numbers: what an algorithm says of itself for every epsilon.

    Attributes
    ----------
    model
        The trust model: ``central``, ``local`` or ``shuffle``.
    view
        What the adversary sees.
    unit
        What one record is.
    neighbours
        When two data sets are neighbours.
    source
        Where the claim is made.
    """

    model: Model
    view: View
    unit: str
    source: str
    neighbours: str = "one record replaced by any other"

    def at(self, epsilon: float, delta: float = 0.0) -> Claim:
        """Return the claim with its numbers filled in."""
        return Claim(self.model, epsilon, delta, self.unit, self.neighbours, self.view.value, self.source)


@dataclass(frozen=True, slots=True)
class Claim:
    """An (epsilon, delta)-differential-privacy claim.

    Raises
    ------
    ValueError
        If epsilon is not a positive finite number or delta is not a number in [0, 1).
    """

    model: Model
    epsilon: float
    delta: float
    unit: str
    neighbours: str
    view: str
    source: str = ""

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise ValueError(f"{name}={value!r}: must be a number")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise ValueError(f"epsilon={self.epsilon!r}: a claim's epsilon must be a finite number above 0")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta={self.delta!r}: a claim's delta must be in [0, 1)")


ONE_ROUND_CENTRAL = "one round: the outcome vector of that round"
ONE_USER_LOCAL = "one user: everything the user of one round could send"

NO_CLAIM = ClaimForm("central", View.ACTIONS, ONE_ROUND_CENTRAL, "none: the learner makes no privacy claim")
"""What a learner without privacy is held to when somebody claims it for it."""
