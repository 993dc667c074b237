"""Count many events on one batch of draws, reading each number that they share once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.events.event import Event, HalfLine, Interval, Near
from verify.events.readings import Reading
from verify.events.view_sample import FloatArray, ViewSample

IntArray = npt.NDArray[np.int64]


def count_events(events: Sequence[Event], sample: ViewSample) -> IntArray:
    """How many draws lie in each event; shape (events,)."""
    known: dict[Reading, FloatArray] = {}
    counts = np.empty(len(events), dtype=np.int64)
    for i, event in enumerate(events):
        if isinstance(event, HalfLine | Interval | Near):
            reading = event.reading
            if reading not in known:
                known[reading] = np.ascontiguousarray(reading.of(sample))
            event = replace(event, reading=_Known(known[reading]))
        counts[i] = np.count_nonzero(event.holds(sample))
    return counts


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
