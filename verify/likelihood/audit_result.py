"""What a likelihood audit saw, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accountant import CertifiedInterval
from verify.events.event import Event
from verify.findings import Finding, LowerBound, Witness
from verify.sentences import number


@dataclass(frozen=True)
class LikelihoodAudit:
    """What stated laws say of some pairs, and what the subject's draws say to that.

    Attributes
    ----------
    candidate, label
        The pair whose laws force the largest ε.
    swapped
        Whether that is in the order D′, D.
    epsilon
        The ε that the laws of this pair have at the claimed δ.
    delta
        The δ that they have at the claimed ε.
    contradiction
        What in the subject's draws contradicts the laws; None if nothing does.
    event
        The tested event as code-free data, if it has a short form.
    event_words
        The tested event; "" if none was tested.
    hits, hits_prime, trials
        Counts of the final draws, the likelier world first.
    epsilon_lower, strict_epsilon_lower
        Lower bounds on the subject's ε from these counts, at `confidence` and at error `false_alarm`.
    confidence, false_alarm, claim_epsilon, claim_delta, samples, seed
        As asked for; `samples` as spent.
    """

    candidate: int
    label: str
    swapped: bool
    epsilon: CertifiedInterval
    delta: CertifiedInterval
    contradiction: str | None
    event: Event | None
    event_words: str
    hits: int
    hits_prime: int
    trials: int
    epsilon_lower: float
    strict_epsilon_lower: float
    confidence: float
    false_alarm: float
    claim_epsilon: float
    claim_delta: float
    samples: int
    seed: int

    @property
    def refuted(self) -> bool:
        """Whether the subject's own draws refute the claim."""
        return self.strict_epsilon_lower > self.claim_epsilon

    @property
    def findings(self) -> list[Finding]:
        """A contradiction, or a stated law that breaks the claim."""
        if self.contradiction is not None:
            message = (
                f"the draws contradict the stated law, which is not used ({self.label}): {self.contradiction}"
            )
            return [Finding("law", "", message)]
        if self.epsilon.lower > self.claim_epsilon:
            seen = "; its draws show it" if self.refuted else "; its draws are too few to show it"
            message = (
                f"the stated law has ε = {number(self.epsilon.lower)} at δ = {number(self.claim_delta)} "
                f"({self.epsilon.lower_by}), above the claim ({self.label}){seen}"
            )
            return [Finding("stated-law", "", message)]
        return []

    def lower_bound(self) -> LowerBound | None:
        """The bound from the subject's draws; None if no event was tested."""
        if not self.event_words:
            return None
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method="the stated law's own event",
            samples=self.samples,
            in_view=True,
            decisive=self.refuted,
        )

    def witness(self, data: str, data_prime: str, reproduce: str) -> Witness:
        """The witness of the bound; `data` and `data_prime` in the candidate's order."""
        if self.swapped:
            data, data_prime = data_prime, data
        return Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=self.event_words,
            probability=self.hits / self.trials,
            probability_prime=self.hits_prime / self.trials,
            reproduce=reproduce,
            details=self.to_dict(),
            hits=self.hits,
            hits_prime=self.hits_prime,
            trials=self.trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return {
            "label": self.label,
            "swapped": self.swapped,
            "law_epsilon": [self.epsilon.lower, self.epsilon.upper],
            "law_epsilon_by": [self.epsilon.lower_by, self.epsilon.upper_by],
            "law_delta": [self.delta.lower, self.delta.upper],
            "contradiction": self.contradiction,
            "event": None if self.event is None else self.event.to_dict(),
            "event_words": self.event_words,
            "hits": self.hits,
            "hits_prime": self.hits_prime,
            "trials": self.trials,
            "epsilon_lower": self.epsilon_lower,
            "strict_epsilon_lower": self.strict_epsilon_lower,
            "confidence": self.confidence,
            "refuted": self.refuted,
            "false_alarm": self.false_alarm,
            "samples": self.samples,
            "seed": self.seed,
        }
