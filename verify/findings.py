"""What the layers of a verification find: findings, bounds on ε, and what shows a lower one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """Something seen while verifying.

    Attributes
    ----------
    kind
        A short stable name, such as ``"declassified"`` or ``"sensitivity"``.
    where
        ``"file.py:12"``, or "" if no line of code is to blame.
    message
        One sentence.
    failing
        Whether the finding stands in the way of a certificate; False for remarks.
    """

    kind: str
    where: str
    message: str
    failing: bool = True


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The mechanism is (epsilon, delta)-differentially private, by `method`; epsilon may be infinite."""

    epsilon: float
    delta: float
    method: str

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No ε below `epsilon` is true at `delta`, as far as `method` can be trusted.

    Attributes
    ----------
    epsilon, delta
        The bound on ε and the δ it is for; epsilon may be infinite.
    confidence
        Probability with which the bound holds; 1 if it was computed exactly.
    method
        How it was found.
    samples
        Draws of the view spent on it; 0 if it was computed exactly.
    in_view
        Whether it is about the claim's own view. A bound on more than the adversary sees refutes nothing.
    decisive
        Whether a refutation may rest on it: it is exact, or it also exceeds the claim at the strict error
        level.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    samples: int
    in_view: bool = True
    decisive: bool = False

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)
        if not 0.0 < self.confidence <= 1.0:
            raise ValueError(f"confidence must lie in (0, 1], got {self.confidence}")


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring data sets and an event that is too likely on one of them.

    Attributes
    ----------
    neighbours
        ``{"data": ..., "data_prime": ...}``: the two data sets, each in words; data is where the event is
        likelier.
    event
        The event as a clause, or the decision that differs.
    probability, probability_prime
        Of the event, on data and on data_prime (estimated, or exact where no counts are given).
    reproduce
        A command that shows the same again.
    details
        Anything else, as JSON-able data: the event's exact form, seeds, bounds.
    hits, hits_prime, trials
        Counts behind the probabilities: draws in the event on either side, and draws a side. Without
        `hits_prime`, the probability on data_prime is a bound that follows from the one on data.
    """

    neighbours: Mapping[str, str]
    event: str
    probability: float
    probability_prime: float
    reproduce: str
    details: Mapping[str, Any] = field(default_factory=dict)
    hits: int | None = None
    hits_prime: int | None = None
    trials: int | None = None

    def __post_init__(self) -> None:
        if not {"data", "data_prime"} <= set(self.neighbours):
            raise ValueError(f"neighbours must describe data and data_prime, got {sorted(self.neighbours)}")
        for name, value in (("probability", self.probability), ("probability_prime", self.probability_prime)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must lie in [0, 1], got {value}")


def _check_bound(epsilon: float, delta: float) -> None:
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    if not 0.0 <= delta <= 1.0:
        raise ValueError(f"delta must lie in [0, 1], got {delta}")
