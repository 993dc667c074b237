"""Records that wait in private sums, in the entries of a run's store: a log of their changes.

A row is one of

========================================  ==============================================================
``{"influence": [...]}``                  a record's effect on a value; they are numbered from 0
``{"bounds": [...]}``                     public bounds on its numbers; they are numbered from 0
``{"sums": n, "state": {...}}``           private sums, met for the first time
``{"sums": n, "changes": [...]}``         later additions and clearings, in the form of `TracedSums.changes`
========================================  ==============================================================

Rows hold names of records and public numbers, no data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from accountant.gates.lineage import Influence, TracedSums
from mechanisms.domains.float_bounds import FloatBounds


class Waiting:
    """Private sums in the order of their rows.

    Attributes
    ----------
    sums
        The private sums, by their numbers.
    """

    def __init__(self) -> None:
        self.sums: dict[int, TracedSums] = {}
        self._influences: list[Influence] = []
        self._bounds: list[FloatBounds] = []

    def feed(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Go on with rows."""
        for row in rows:
            if "influence" in row:
                self._influences.append(Influence.from_list(row["influence"]))
            elif "bounds" in row:
                self._bounds.append(FloatBounds.from_list(row["bounds"]))
            elif "state" in row:
                self.sums[row["sums"]] = TracedSums.from_dict(row["state"])
            else:
                for coordinates, *added in row["changes"]:
                    if added:
                        record, influence, numbers = added
                        self.sums[row["sums"]].add_record(
                            record, self._influences[influence], self._bounds[numbers], coordinates
                        )
                    else:
                        self.sums[row["sums"]].clear(coordinates)

    def rows(self) -> list[dict[str, Any]]:
        """Return rows that say all of it."""
        return [
            *({"influence": moved.to_list()} for moved in self._influences),
            *({"bounds": numbers.to_list()} for numbers in self._bounds),
            *({"sums": number, "state": held.to_dict()} for number, held in self.sums.items()),
        ]


@dataclass
class Noted:
    """The written state of private sums, and their numbers."""

    sums: WeakKeyDictionary[TracedSums, int] = field(default_factory=WeakKeyDictionary)
    influences: dict[Influence, int] = field(default_factory=dict)
    bounds: dict[FloatBounds, int] = field(default_factory=dict)
    met: int = 0  # sums that were given a number

    @classmethod
    def from_waiting(cls, waiting: Waiting) -> Noted:
        """Return the written state of sums that were read, from which their changes are collected."""
        for held in waiting.sums.values():
            held.changes = []
        return cls(
            WeakKeyDictionary({held: number for number, held in waiting.sums.items()}),
            {moved: i for i, moved in enumerate(waiting._influences)},
            {numbers: i for i, numbers in enumerate(waiting._bounds)},
            1 + max(waiting.sums, default=-1),
        )


class Notes:
    """The changes of private sums: read now, noted by `settle` once they are written.

    Until then nothing has changed that another sheet would rest on, so one that was begun and left costs nothing.

    Attributes
    ----------
    rows
        The rows to be written.
    """

    def __init__(self, noted: Noted) -> None:
        self._noted = noted
        self.rows: list[dict[str, Any]] = []
        self._influences: dict[Influence, int] = {}
        self._bounds: dict[FloatBounds, int] = {}
        self._changed: dict[TracedSums, tuple[int, int]] = {}
        self._met = noted.met

    def sums(self, sums: TracedSums) -> int:
        """Take down the changes of private sums; return their number."""
        if sums in self._changed:
            return self._changed[sums][0]
        number = self._noted.sums.get(sums)
        if number is None:
            number = self._met
            self._met += 1
            if sums.changes is None:
                sums.changes = []
            self.rows.append({"sums": number, "state": sums.to_dict()})
        elif sums.changes:
            rows = [
                [coordinates]
                if added is None
                else [coordinates, added[0], self._influence(added[1]), self._numbers(added[2])]
                for _, coordinates, added in sums.changes
            ]
            self.rows.append({"sums": number, "changes": rows})
        self._changed[sums] = number, sums.last_change
        return number

    def settle(self) -> None:
        """Note that all of it is written; again does nothing."""
        self._noted.influences |= self._influences
        self._noted.bounds |= self._bounds
        self._noted.met = self._met
        for sums, (number, last) in self._changed.items():
            self._noted.sums[sums] = number
            sums.forget_changes(last)

    def _influence(self, moved: Influence) -> int:
        return self._number_of(moved, "influence", self._noted.influences, self._influences)

    def _numbers(self, bounds: FloatBounds) -> int:
        return self._number_of(bounds, "bounds", self._noted.bounds, self._bounds)

    def _number_of(self, value: Any, kind: str, known: Mapping[Any, int], new: dict[Any, int]) -> int:
        number = known.get(value, new.get(value))
        if number is None:
            number = new[value] = len(known) + len(new)
            self.rows.append({kind: value.to_list()})
        return int(number)
