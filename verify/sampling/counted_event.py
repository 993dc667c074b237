"""An event of one pair of neighbours that was counted in two worlds, and the witness that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.events.event import Event
from verify.findings import Witness


@dataclass(frozen=True)
class CountedEvent:
    """What a test says of the event that it counted.

    Attributes
    ----------
    candidate, label
        Index and label of the pair.
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
    label: str
    swapped: bool
    event: Event
    hits: int
    hits_prime: int
    trials: int
    claim_epsilon: float
    claim_delta: float

    @property
    def probability(self) -> float:
        """Estimated probability of the event in the first world."""
        return self.hits / max(1, self.trials)

    @property
    def probability_prime(self) -> float:
        """Estimated probability of the event in the second world."""
        return self.hits_prime / max(1, self.trials)

    def witness(self, neighbours: Mapping[str, str], reproduce: str) -> Witness:
        """Return the witness for a verdict.

        Parameters
        ----------
        neighbours
            ``{"data", "data_prime"}`` of the tested pair, in the candidate's order; swapped here if need be.
        reproduce
            A command that repeats the test.
        """
        data, data_prime = neighbours["data"], neighbours["data_prime"]
        if self.swapped:
            data, data_prime = data_prime, data
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
            "label": self.label,
            "swapped": self.swapped,
            "event": self.event.to_dict(),
            "event_words": self.event.words,
            "hits": self.hits,
            "hits_prime": self.hits_prime,
            "trials": self.trials,
        }
