"""The common result of every test of a claim: the event that it counted in two worlds, a bound and a witness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mechanisms.numerics.printed_numbers import as_given, at_least
from verify.conduct.other_processes import PROCESSES, Again
from verify.conduct.spawn_keys import SpawnKey
from verify.events.event import Event
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, LowerBound, Witness
from verify.findings.sentences import Sentence, exact

_BLOCK = 64  # draws are asked for in multiples of it
_FEWER = 128  # times fewer draws than were counted are made in another process
_MOST_BLOCKS = 8


@dataclass(frozen=True)
class CountedEvent(ABC):
    """The result of a test, and its event.

    Attributes
    ----------
    kind
        The name under which a report keeps it.
    candidate, worlds
        The pair of worlds, and its number among those that were tested.
    swapped
        True if D′ is the world in which the event is likelier: then "first world" is D′.
    event
        The event.
    hits, hits_prime, trials
        Numbers of draws of the first and of the second world in it, and of all draws of each.
    claim_epsilon, claim_delta
        The claim.
    epsilon_lower
        Lower bound on ε at the claimed δ, at `confidence`; at least 0.
    confidence
        The confidence of the bounds.
    refuted
        True if the claim is refuted.
    significance
        The largest probability with which a true claim is refuted.
    samples
        Draws spent, both worlds of all pairs.
    search_samples
        Draws that went to a search for pairs.
    seed
        The seed from which everything can be drawn again.
    interrupted
        True if it was stopped before its end.
    dependent
        The dependence of the counted draws (`verify.sampling.independence`): then no bound holds. None if they seem to
        be independent, or that was not tested.
    """

    kind: ClassVar[str]
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
    significance: float
    samples: int
    search_samples: int
    seed: int
    interrupted: bool
    dependent: str | None

    @property
    @abstractmethod
    def interruption(self) -> Finding | None:
        """The finding that it was interrupted; None if there is none."""

    @property
    @abstractmethod
    def floor_sentence(self) -> Sentence:
        """The smallest probability of an event that the counted draws detect, where they were drawn."""

    def with_interruption(self, *, by_time_limit: bool) -> Self:
        """Return the result as that of a test that was stopped, by a time limit or by hand."""
        return replace(self, interrupted=True)

    def more_time(self, *, bits: bool) -> Finding | None:
        """Return the finding that there was time for few draws, with the use of more; None if there was enough.

        `bits` is True if the lowest bits of numbers were to be tested, too.
        """
        return None

    @property
    def varied(self) -> bool:
        """True if draws of one of the worlds differed, as a counted event shows."""
        return any(0 < hits < self.trials for hits in (self.hits, self.hits_prime))

    @property
    def near_claim(self) -> Sentence | None:
        """The predicted power of another seed, if this result leaves the claim in doubt; None if not, or unknown."""
        return None

    @property
    def power(self) -> Sentence | None:
        """The losses that it detects with a stated power, for specialists; None if there is nothing to say."""
        return None

    def _floor_sentence(self, floor: float, draws: int, further: float | None = None) -> Sentence:
        """Return the sentence on `draws` draws a side, by which events below the probability `floor` are too rare.

        It is about the pair of data sets, and the rounds, that were drawn, and about nothing else: an event that was
        not drawn may violate the claim at any probability.

        Parameters
        ----------
        floor, draws
            Above 1 if the draws can reject the claim by no event.
        further
            The floor of ten times the draws.
        """
        rounds = self.worlds.rounds
        played = "" if rounds is None else f", rounds 1 to {rounds:,}"
        if floor > 1.0:
            too_few = "{draws:,} draws a side cannot reject ε = {claim} by any event; use more."
            return exact(too_few, draws=draws, claim=as_given(self.claim_epsilon))
        said = at_least(floor, 2)
        further_said = said if further is None else at_least(further, 2)
        more = "" if further_said == said else f" ({further_said} with 10 times the draws)"
        return exact(
            "On the tested data sets{played}: an event of probability below {floor}{more} is, at its expected count, "
            "too rare for {draws:,} draws a side to reject the claim. Untested: other data sets{later}, and events "
            "that the search did not find.",
            played=played,
            floor=said,
            more=more,
            draws=draws,
            later="" if rounds is None else ", later rounds",
        )

    @abstractmethod
    def lower_bound(self) -> LowerBound:
        """Return the bound for a verdict; decisive if the claim is refuted."""

    def _lower_bound(self, method: str, samples: int) -> LowerBound:
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method=method,
            samples=samples,
            in_view=True,
            decisive=self.refuted,
        )

    def band_beside(self, upper: Callable[[float], float] | None, upper_by: str) -> dict[str, Any] | None:
        """Return lower bounds on δ at many ε, beside an upper one, as JSON-able data; None if it has none.

        Parameters
        ----------
        upper, upper_by
            An upper bound on δ at every ε ≥ 0, if one is known, and the method that proves it.
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

    @property
    def repetition(self) -> Again:
        """Draws the event again: a few draws for a digest; in all processes as many as were counted here."""

        def inside(draws: int) -> Sequence[np.ndarray[Any, Any]]:
            seeds = SpawnKey.OTHER_PROCESSES.sequence(self.seed).spawn(2)
            return [
                self.event.holds(self.worlds.draw(other, draws, seed))
                for other, seed in zip((self.swapped, not self.swapped), seeds, strict=True)
            ]

        block = 1 if self.worlds.one_by_one else _BLOCK
        blocks = [max(self.trials // share // block, 1) for share in (_FEWER, PROCESSES)]
        counted = [(self.hits, self.trials), (self.hits_prime, self.trials)]
        return Again.from_events(inside, block * min(blocks[0], _MOST_BLOCKS), block * blocks[1], counted)

    @property
    def finding_values(self) -> dict[str, Any]:
        """The values of a finding on the test's counts, by their names in a `Statement`."""
        data, data_prime = self.likelier_first
        return {
            "confidence": self.confidence,
            "draws": self.trials,
            "event": self.event.description,
            "probability": self.probability,
            "data": data,
            "probability_prime": self.probability_prime,
            "data_prime": data_prime,
        }

    def witness(self, reproduce: str) -> Witness:
        """Return the witness for a verdict; `reproduce` is a command that repeats the test."""
        data, data_prime = self.likelier_first
        return Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=self.event.description,
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
            "label": self.worlds.pair_label,
            "data": self.worlds.data,
            "rounds": self.worlds.rounds,
            "event": self.event.to_dict(),
            "event_words": self.event.description,
            "dependent": self.dependent,
            **{name: value for name, value in vars(self).items() if isinstance(value, bool | int | float)},
        }
