"""What every learner offers: `act`, `observe`, and a claim.

A learner is built on a public *structure* (super arms, matroid bases or ranked lists with their
oracle), never on a problem's means, and touches user data only through its gate. Its arrays have a
leading axis of lanes, one lane in production.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from accountant import Private
from algorithms.claim import ClaimForm
from mechanisms import Domain

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

DEFAULT_DELTA = 1e-3
"""The delta of simulated learners that need one (the cascading bandits paper's); a claim names its own."""

Family = Literal["semi-bandit", "matroid", "cascade"]


class Learner(Protocol):
    """One bandit learner in any number of lanes."""

    claim: ClassVar[ClaimForm]
    """What the learner says about its own privacy."""

    family: ClassVar[Family]
    """The kind of problem that it plays."""

    @property
    def feedback_domain(self) -> Domain:
        """The domain of what is observed of one record."""

    def act(self) -> IntArray:
        """Return the super arm to play in the next round, shape (lanes, size), padded with -1."""

    def observe(self, feedback: Private) -> None:
        """Learn from the round's private feedback, shape (lanes, size)."""


class WarmStartLearner(Learner, Protocol):
    """A learner that its paper starts on a full outcome vector before the first round."""

    def observe_initial(self, outcomes: Private) -> None:
        """Learn from the outcomes of all arms at once, shape (lanes, arms)."""


def check_epsilon(epsilon: float) -> float:
    """Return a privacy parameter after checking it.

    Raises
    ------
    ValueError
        Unless it is a finite number above 0.
    """
    try:
        number = float(epsilon)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(epsilon, bool | str) or not 0 < number < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number above 0")
    return number


def check_horizon(horizon: int) -> int:
    """Return a horizon after checking it.

    Raises
    ------
    ValueError
        Unless it is a whole number of at least 1.
    """
    if isinstance(horizon, bool) or not (isinstance(horizon, int | np.integer) and horizon >= 1):
        raise ValueError(f"horizon={horizon!r}: must be a whole number of at least 1")
    return int(horizon)


def check_delta(delta: float) -> float:
    """Return the delta of approximate differential privacy after checking it.

    Raises
    ------
    ValueError
        Unless it is a number strictly between 0 and 1.
    """
    try:
        number = float(delta)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(delta, bool | str) or not 0 < number < 1:
        raise ValueError(f"delta={delta!r}: must be a number above 0 and below 1")
    return number
