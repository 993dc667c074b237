"""The test of a witness: its event is drawn again, on its two data sets, and counted in fresh draws.

The data sets and the event come from a file, so they were fixed before any of these draws: there is one look, and all
of the error is its. Whoever made the file gains nothing by a choice of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.spawn_keys import SpawnKey
from verify.events.event import event_from_dict
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, LowerBound
from verify.findings.sentences import Sentence
from verify.sampling.counted_event import CountedEvent
from verify.sampling.detection_floor import detection_floor
from verify.sampling.tester import CandidateSource
from verify.statistics.binomial_bounds import Union

_MORE = (
    1 << 19
)  # draws up to which there are twice as many as were counted before: a bare refutation needs them
_BLOCK = 8_192  # draws at once, a multiple of 64


@dataclass(frozen=True)
class CountedAgain(CountedEvent):
    """The counts of a witness's event in fresh draws; attributes as of `CountedEvent`."""

    kind: ClassVar[str] = "drawn_again"
    looked_for_dependence: ClassVar[bool] = False

    @property
    def interruption(self) -> Finding | None:
        """None: it is all or nothing."""
        return None

    @property
    def floor_sentence(self) -> Sentence:
        """The smallest probability of an event that these draws detect."""
        floor = detection_floor(self.claim_epsilon, self.claim_delta, self.trials, self.significance)
        return self._floor_sentence(floor, self.trials)

    def lower_bound(self) -> LowerBound:
        """Return the bound for a verdict; decisive if the claim is refuted."""
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method="witness drawn again",
            samples=self.samples,
            in_view=True,
            decisive=self.refuted,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the entries of a report, as JSON-able data."""
        numbers = ("epsilon_lower", "confidence", "refuted", "significance", "samples", "seed")
        return {**super().to_dict(), **{name: getattr(self, name) for name in numbers}}


@dataclass(frozen=True)
class EventAgain:
    """The tester of a witness, on data sets that only the same search with the same seed finds again.

    Attributes
    ----------
    witness
        `Witness.details`.
    seed
        Of the draws: a fresh one.
    """

    anytime: ClassVar[bool] = False  # so that its source searches
    witness: Mapping[str, Any]
    seed: int

    def test(
        self, source: CandidateSource, conduct: Conduct, *, epsilon: float, delta: float
    ) -> CountedAgain:
        """Draw the event on its pair of worlds; see `Tester`.

        Raises
        ------
        ParameterError
            If the source does not have that pair, or its views not the columns of the event.
        """
        candidate, worlds = self._worlds(source)
        swapped, before = bool(self.witness["swapped"]), int(self.witness["trials"])
        trials = -(-max(min(2 * before, _MORE), before) // 64) * 64
        hits = [0, 0]
        for number, begun in enumerate(range(0, trials, _BLOCK)):
            for side in (0, 1):
                seeds = SpawnKey.WITNESS.sequence(self.seed, number, side)
                sample = worlds.draw(swapped != bool(side), min(_BLOCK, trials - begun), seeds)
                try:
                    event = event_from_dict(self.witness["event"], sample.columns)
                except (LookupError, ValueError, TypeError) as error:
                    raise ParameterError(f"witness: its event is none of these outputs ({error})") from None
                hits[side] += int(event.holds(sample).sum())
            conduct.progress((begun + 1) / trials, "drawing the witness again")
        effort, counts = conduct.effort, (hits[0], trials, hits[1], trials, delta)
        strict = Union().epsilon_lower(*counts, effort.significance)
        return CountedAgain(
            candidate=candidate,
            worlds=worlds,
            swapped=swapped,
            event=event,
            hits=hits[0],
            hits_prime=hits[1],
            trials=trials,
            claim_epsilon=epsilon,
            claim_delta=delta,
            epsilon_lower=max(Union().epsilon_lower(*counts, 1.0 - effort.confidence), 0.0),
            confidence=effort.confidence,
            refuted=strict > epsilon + event.rounding,
            significance=effort.significance,
            samples=2 * trials,
            search_samples=0,
            seed=self.seed,
            interrupted=False,
            dependent=None,
        )

    def _worlds(self, source: CandidateSource) -> tuple[int, NeighbouringWorlds]:
        """Return the pair of the witness, and its number among the source's."""
        data, label = self.witness.get("data"), self.witness["label"]
        try:
            known = source.known_candidates([self.witness["data"]] if self.anytime else []).worlds
        except ValueError as error:
            raise ParameterError(f"witness: its data sets are no neighbours: {error}") from None
        for number, worlds in enumerate(known):
            if worlds.data == data and (self.anytime or worlds.pair_label == label):
                return number, worlds
        raise ParameterError(f"witness: its data sets did not come up again: {label}")


class PairAgain(EventAgain):
    """The tester of a witness with data sets in its file: without a search."""

    anytime: ClassVar[bool] = True


def tester_of_witness(witness: Mapping[str, Any], seed: int) -> EventAgain:
    """Return the tester of a witness: data sets that its file holds, but for runs, need no search."""
    searched = witness.get("data") is None or witness.get("rounds") is not None
    return (EventAgain if searched else PairAgain)(witness, seed)
