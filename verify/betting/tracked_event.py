"""The event of the bets: the most promising one by the past, with its joint counts in both worlds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechanisms.arrays import BoolArray
from verify.betting.e_process import joint_counts, promised_epsilon
from verify.events.event import Event, HalfLine, RowTable
from verify.events.predicted_bound import ComingTest
from verify.events.readings import ColumnValue
from verify.events.search import search_events
from verify.events.view_sample import Column, WorldSamples

FEW = 64
"""Draws a side below which events are plain ones: a value of a column, or a side of a cut."""
_PLAIN_COLUMNS, _PLAIN_CUTS = 12, 16  # of few draws, that are tried
_CAUTION = 1.5  # standard errors by which events are compared
_FEWEST_HELD = 8  # counted draws below which an event is not compared with a new one


@dataclass(frozen=True)
class TrackedEvent:
    """An event to bet on, and its counts.

    Attributes
    ----------
    event
        The event.
    swapped
        True if D′ is the world in which it is meant to be likelier.
    joint
        Numbers of pairs of draws in which it occurred in both worlds, only in the likelier, only in the other, in none.
    """

    event: Event
    swapped: bool
    joint: tuple[int, int, int, int]

    def count_marks(self, marks: tuple[BoolArray, BoolArray]) -> tuple[int, int, int, int]:
        """Count such pairs by where the event occurred in both worlds."""
        return joint_counts(*(marks[::-1] if self.swapped else marks))

    def count(self, worlds: WorldSamples) -> tuple[int, int, int, int]:
        """Count such pairs among other draws."""
        return self.count_marks((self.event.holds(worlds[0]), self.event.holds(worlds[1])))

    def with_counts(self, counts: Sequence[int]) -> TrackedEvent:
        """The same with more pairs of draws counted."""
        both, first, second, neither = (a + b for a, b in zip(self.joint, counts, strict=True))
        return replace(self, joint=(both, first, second, neither))

    def promise(self, test: ComingTest, caution: float = 1.0) -> float:
        """The ε that bets on it may be expected to reject, see `promised_epsilon`."""
        return float(promised_epsilon(self.joint, test, caution=caution)[0])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data, from which `from_dict` makes it again."""
        return {"swapped": self.swapped, "event": self.event.to_dict(), "joint": list(self.joint)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], columns: Sequence[Column]) -> TrackedEvent | None:
        """Rebuild the event of an earlier run; None if the view's columns or the data's form are others now."""
        try:
            both, first, second, neither = (int(count) for count in saved["joint"])
            event, swapped = Event.rebuild(saved["event"], tuple(columns)), bool(saved["swapped"])
        except (ValueError, KeyError, TypeError):
            return None
        if min(both, first, second, neither) < 0:
            return None
        return cls(event, swapped, (both, first, second, neither))


def best_event(past: WorldSamples, test: ComingTest, held: TrackedEvent | None) -> TrackedEvent:
    """Return the event that promises most: of few draws a plain one; else chosen on a half, and compared on the other.

    The event so far is compared with the new one: all its counts are of draws after it was chosen.
    """
    n = len(past[0].values)
    if n < FEW:
        found = [TrackedEvent(event, False, (0, 0, 0, 0)) for event in _plain_events(past)]
        late = past
    else:
        late = past[0].rows(n // 2), past[1].rows(n // 2)
        late = late[0].rows(0, n - n // 2), late[1].rows(0, n - n // 2)
        searched = search_events(
            (past[0].rows(0, n // 2), past[1].rows(0, n // 2)),
            late,
            replace(test, draws=max(int(test.draws), FEW)),
        )
        found = [TrackedEvent(one.event, one.swapped, (0, 0, 0, 0)) for one in searched.best]
    counted = [one.with_counts(one.count(late)) for one in found]
    if n < FEW:  # either world may be the likelier one
        for one in tuple(counted):
            both, first, second, neither = one.joint
            counted.append(TrackedEvent(one.event, True, (both, second, first, neither)))
    joints = np.array([one.joint for one in counted])
    promises = promised_epsilon(joints, test, caution=_CAUTION)
    new = counted[int(np.argmax(promises))]
    if held is None or sum(held.joint[:3]) == 0 or sum(held.joint) < _FEWEST_HELD:
        return new
    return max((held, new), key=lambda one: one.promise(test, _CAUTION))


def _plain_events(past: WorldSamples) -> Iterator[Event]:
    """Values of single columns, and sides of cuts halfway between two values that follow each other."""
    columns = past[0].columns[:_PLAIN_COLUMNS]
    for at, column in enumerate(columns):
        reading = ColumnValue(column)
        values = np.concatenate([world.values[:, at] for world in past])
        present = np.unique(values[~np.isnan(values)])
        few = [*present.tolist(), *([float("nan")] if np.isnan(values).any() else [])]
        if len(few) <= _PLAIN_CUTS:
            yield from (RowTable((reading,), ((value + 0.0,),)) for value in few)
        finite = present[np.isfinite(present)]
        if column.kind == "real" and finite.size > 1:
            cuts = finite[:-1] + np.diff(finite) / 2.0
            if cuts.size > _PLAIN_CUTS:
                cuts = np.quantile(cuts, np.linspace(0.0, 1.0, _PLAIN_CUTS), method="nearest")
            yield from (HalfLine(reading, float(cut), above) for cut in cuts for above in (False, True))
