"""Count many events on one batch of draws, reading each number that they share once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.events.event import Event, HalfLine, Interval, Near
from verify.events.readings import BoolArray, Reading
from verify.events.view_sample import FloatArray, ViewSample

IntArray = npt.NDArray[np.int64]


def count_events(events: Sequence[Event], sample: ViewSample) -> IntArray:
    """How many draws lie in each event; shape (events,)."""
    return np.array([np.count_nonzero(held) for held in _held(events, sample)], dtype=np.int64)


def count_pairs(events: Sequence[Event], first: ViewSample, second: ViewSample) -> tuple[IntArray, IntArray]:
    """How many draws of two samples lie in each event, and how many pairs of rows (i, i) it splits.

    Returns
    -------
    tuple
        Hits, shape (2, events); and pairs of which exactly one draw lies in the event, shape (events,).

    Raises
    ------
    ValueError
        If the samples differ in size.
    """
    if len(first.values) != len(second.values):
        raise ValueError(
            f"samples must have one size, got {len(first.values)} and {len(second.values)} draws"
        )
    hits, split = np.zeros((2, len(events)), dtype=np.int64), np.zeros(len(events), dtype=np.int64)
    for i, both in enumerate(zip(_held(events, first), _held(events, second), strict=True)):
        hits[:, i] = [np.count_nonzero(held) for held in both]
        split[i] = np.count_nonzero(both[0] != both[1])
    return hits, split


def _held(events: Sequence[Event], sample: ViewSample) -> Iterator[BoolArray]:
    known: dict[int, FloatArray] = {}  # by identity: a score is long, and its hash as dear as a count
    for event in events:
        if isinstance(event, HalfLine | Interval | Near):
            reading = event.reading
            if id(reading) not in known:
                known[id(reading)] = np.ascontiguousarray(reading.of(sample))
            event = replace(event, reading=_Known(known[id(reading)]))
        yield event.holds(sample)


@dataclass(frozen=True)
class _Known(Reading):
    """A reading that has been taken already."""

    values: FloatArray

    def of(self, sample: ViewSample) -> FloatArray:
        return self.values

    @property
    def words(self) -> str:
        raise NotImplementedError("only counted, never shown")

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError("only counted, never shown")

    @classmethod
    def from_dict(cls, data: Any, columns: Any) -> Reading:
        raise NotImplementedError("only counted, never shown")
