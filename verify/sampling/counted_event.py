"""What every test of a claim says: the event that it counted in two worlds, a bound and a witness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from verify.events.event import Event
from verify.findings import Finding, LowerBound, Witness
from verify.sampling.worlds import NeighbouringWorlds
from verify.sentences import number


@dataclass(frozen=True)
class CountedEvent(ABC):
    """What a test says, and of which event.

    Attributes
    ----------
    kind
        Under which name a report keeps it.
    looked_for_dependence
        Whether it looks if the draws that it counted are independent.
    candidate, worlds
        The pair of worlds, and its number among those that were tested.
    swapped
        Whether D′ is the world in which the event is likelier: then "first world" is D′.
    event
        The event.
    hits, hits_prime, trials
        How many draws of the first and of the second world lie in it, and of how many.
    claim_epsilon, claim_delta
        The claim.
    epsilon_lower
        Lower bound on ε at the claimed δ, at `confidence`; at least 0.
    confidence
        Of the bounds.
    refuted
        Whether the claim is refuted.
    false_alarm
        The largest probability with which a true claim is.
    samples
        Draws spent, both worlds of all pairs.
    search_samples
        Draws that went to a search for pairs.
    seed
        From which everything can be drawn again.
    interrupted
        Whether it was stopped before its end.
    dependent
        How the counted draws hang together (`verify.sampling.independence`): then no bound holds. None if they seem to
        be independent, or nobody looked.
    """

    kind: ClassVar[str]
    looked_for_dependence: ClassVar[bool]
    candidate: int
    worlds: NeighbouringWorlds
    swapped: bool
    event: Event
    hits: int
    hits_prime: int
    trials: int
    claim_epsilon: float
    claim_delta: float
    epsilon_lower: float
    confidence: float
    refuted: bool
    false_alarm: float
    samples: int
    search_samples: int
    seed: int
    interrupted: bool
    dependent: str | None

    @property
    @abstractmethod
    def interruption(self) -> Finding | None:
        """What is to be said of that; None if nothing is."""

    @property
    @abstractmethod
    def detection_floor_words(self) -> str:
        """What this effort could not have seen, in a sentence or two."""

    @property
    def near_claim_words(self) -> str:
        """How likely another seed would refute a claim that this leaves in doubt; "" if it does not, or cannot say."""
        return ""

    @property
    def power_words(self) -> str:
        """What it sees with a power that is stated, for specialists; "" if nothing is to be said."""
        return ""

    def _unseen_words(self, floor: float, draws: str) -> str:
        """Return what so many draws could not have seen: events of a probability below `floor`, or any if above 1."""
        if floor > 1.0:
            claim = number(self.claim_epsilon)
            return f"With {draws} a side no event at all could have refuted ε = {claim}: take more samples."
        return (
            f"With {draws} a side, a leak that shows itself with probability below {floor:.2g} would have gone unseen, "
            "however large it is."
        )

    @abstractmethod
    def lower_bound(self) -> LowerBound:
        """Return the bound for a verdict; decisive if the claim is refuted."""

    def band_beside(self, upper: Callable[[float], float] | None, upper_by: str) -> dict[str, Any] | None:
        """Return lower bounds on δ at many ε, beside an upper one, as JSON-able data; None if it has none.

        Parameters
        ----------
        upper, upper_by
            An upper bound on δ at every ε ≥ 0, if one is known, and what proves it.
        """
        return None

    @property
    def likelier_first(self) -> tuple[str, str]:
        """Both worlds in words, the one in which the event is likelier first."""
        first, second = self.worlds.words
        return (second, first) if self.swapped else (first, second)

    @property
    def probability(self) -> float:
        """Estimated probability of the event in the first world."""
        return self.hits / max(1, self.trials)

    @property
    def probability_prime(self) -> float:
        """Estimated probability of the event in the second world."""
        return self.hits_prime / max(1, self.trials)

    def witness(self, reproduce: str) -> Witness:
        """Return the witness for a verdict; `reproduce` is a command that repeats the test."""
        data, data_prime = self.likelier_first
        return Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=self.event.words,
            probability=self.probability,
            probability_prime=self.probability_prime,
            reproduce=reproduce,
            details=self.to_dict(),
            hits=self.hits,
            hits_prime=self.hits_prime,
            trials=self.trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything that a re-run needs and gives, as JSON-able data."""
        return {
            "candidate": self.candidate,
            "label": self.worlds.label,
            "swapped": self.swapped,
            "event": self.event.to_dict(),
            "event_words": self.event.words,
            "hits": self.hits,
            "hits_prime": self.hits_prime,
            "trials": self.trials,
        }
