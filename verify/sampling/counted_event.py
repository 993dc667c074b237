"""An event of one pair of neighbours that was counted in two worlds, and the witness that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verify.events.event import Event
from verify.findings import Witness
from verify.sampling.worlds import NeighbouringWorlds


@dataclass(frozen=True)
class CountedEvent:
    """What a test says of the event that it counted.

    Attributes
    ----------
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
    """

    candidate: int
    worlds: NeighbouringWorlds
    swapped: bool
    event: Event
    hits: int
    hits_prime: int
    trials: int
    claim_epsilon: float
    claim_delta: float

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
