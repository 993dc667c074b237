"""The test of a witness: its event is counted in fresh draws of its two data sets.

The data sets and the event come from a file, so they were fixed before any of these draws: there is one look, and it
has the whole error. The author of the file gains nothing by a choice of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mechanisms.arrays import BoolArray
from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.spawn_keys import SpawnKey
from verify.events.event import Event
from verify.events.float_lattice import LatticeReading
from verify.events.view_sample import ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, LowerBound
from verify.findings.sentences import Sentence
from verify.sampling.binomial_bounds import Union
from verify.sampling.counted_event import CountedEvent
from verify.sampling.detection_floor import detection_floor
from verify.sampling.independence import dependence
from verify.sampling.tester import CandidateSource

# Up to this number, twice as many draws are made as were counted before: a narrow refutation needs them.
_MORE = 1 << 19
_MOST = 10**9  # draws of a side that a file may say were counted
_BLOCK = 8_192  # draws at once, a multiple of 64


@dataclass(frozen=True)
class CountedAgain(CountedEvent):
    """The counts of a witness's event in fresh draws; attributes as of `CountedEvent`."""

    kind: ClassVar[str] = "drawn_again"

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
        return self._lower_bound("witness drawn again", self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries of a report, as JSON-able data."""
        neighbours = dict(zip(("data", "data_prime"), self.likelier_first, strict=True))
        return {**super().to_dict(), "neighbours": neighbours}


@dataclass(frozen=True)
class EventAgain:
    """The tester of a witness, on data sets that only the same search with the same seed finds again.

    Attributes
    ----------
    witness
        `Witness.details`.
    seed
        The seed of the draws: a fresh one.
    floating_point
        True if an event that only floating-point arithmetic shows counts against the claim.

    Raises
    ------
    ParameterError
        If the file's number of trials is out of range, or `swapped` no Boolean.
    """

    anytime: ClassVar[bool] = False  # so that its source searches
    witness: Mapping[str, Any]
    seed: int
    floating_point: bool

    def __post_init__(self) -> None:
        swapped, trials = self.witness.get("swapped"), self.witness.get("trials")
        if not isinstance(swapped, bool):
            raise ParameterError(f"witness: swapped = {swapped!r}: must be true or false")
        if type(trials) is not int or not 1 <= trials <= _MOST:
            raise ParameterError(f"witness: trials = {trials!r}: must be a whole number from 1 to {_MOST:,}")

    def test(
        self, source: CandidateSource, conduct: Conduct, *, epsilon: float, delta: float
    ) -> CountedAgain:
        """Draw the event on its pair of worlds; see `Tester`.

        Raises
        ------
        ParameterError
            If the source does not have that pair, or its views not the columns of the event, or the event does not
            count.
        """
        candidate, worlds = self._worlds(source)
        swapped, before = self.witness["swapped"], self.witness["trials"]
        trials = -(-max(min(2 * before, _MORE), before) // 64) * 64
        marks: tuple[list[BoolArray], list[BoolArray]] = ([], [])
        for number, begun in enumerate(range(0, trials, _BLOCK)):
            for side in (0, 1):
                seeds = SpawnKey.WITNESS.sequence(self.seed, number, side)
                sample = worlds.draw(swapped != bool(side), min(_BLOCK, trials - begun), seeds)
                event, inside = self._event(sample)
                marks[side].append(inside)
            conduct.progress((begun + 1) / trials, "drawing the witness again")
        hits = [sum(int(np.count_nonzero(inside)) for inside in side) for side in marks]
        dependent = dependence(marks)
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
            refuted=strict > epsilon + event.rounding and dependent is None,
            significance=effort.significance,
            samples=2 * trials,
            search_samples=0,
            seed=self.seed,
            interrupted=False,
            dependent=dependent,
        )

    def _event(self, sample: ViewSample) -> tuple[Event, BoolArray]:
        """Return the event, and True for each of these draws that lies in it."""
        try:
            event = Event.rebuild(self.witness["event"], sample.columns)
            words, inside = event.description, event.holds(sample)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise ParameterError(f"witness: its event is none of these outputs ({error})") from None
        if not self.floating_point and _reads_lattice(event.to_dict()):
            raise ParameterError(
                f"witness: its event is of floating-point arithmetic ({words}): the claim is about real arithmetic; "
                "must be one that counts, or of a function with --floating-point"
            )
        return event, inside

    def _worlds(self, source: CandidateSource) -> tuple[int, NeighbouringWorlds]:
        """Return the pair of the witness, and its number among the source's."""
        data, label = self.witness.get("data"), self.witness.get("label")
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


def _reads_lattice(written: Any) -> bool:
    """Return True if a written event has a reading, however deep, of how numbers lie in floating point."""
    if isinstance(written, Mapping):
        return written.get("kind") == LatticeReading.kind or any(map(_reads_lattice, written.values()))
    return isinstance(written, list | tuple) and any(map(_reads_lattice, written))


def tester_of_witness(witness: Mapping[str, Any], seed: int, *, floating_point: bool) -> EventAgain:
    """Return the tester of a witness: data sets that its file holds, but for runs, need no search."""
    searched = witness.get("data") is None or witness.get("rounds") is not None
    return (EventAgain if searched else PairAgain)(witness, seed, floating_point)
