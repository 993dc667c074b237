"""What happens to an accountant's records, row by row: a journal that grows with what happens, never with what is.

A row is one of

=====================================  ==================================================================
``{"kind": {...}}``                    a mechanism, sensitivity, charge, place and note; they are counted from 0
``[kind, record, ...]``                a ledger entry: these records paid a charge of this kind
``{"withdrawn": [position, ...]}``     entries that were taken back, by their places in the ledger before
``{"influence": [...]}``               how far a record moves a value; they are counted from 0
``{"bounds": [...]}``                  what is known in public of its numbers; they are counted from 0
``{"sums": n, "state": {...}}``        private sums, met for the first time
``{"sums": n, "changes": [...]}``      what was added to them and cleared since, as `TracedSums.changes` has it
=====================================  ==================================================================

Rows hold names of records and public numbers, no data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from accountant.budget import Amount
from accountant.durable.journal import Journal
from accountant.entry import Entry, entry_from_terms, entry_terms
from accountant.filters.composition_theorem import Composition
from accountant.gates.provenance import Influence, TracedSums
from accountant.ledger import Ledger
from accountant.place import Place
from accountant.recorded import describe, recall
from mechanisms import Mechanism, Sensitivity
from mechanisms.float_bounds import FloatBounds

_Kind = tuple[Mechanism | None, Sensitivity | None, Amount, Place, str]


@dataclass(frozen=True)
class _Noted:
    """How far the rows have come, and what the last of them named for the first time."""

    entries: int = 0  # of the ledger as the journal has it
    withdrawals: int = 0
    sums: int = 0  # numbers that were given
    kinds: Mapping[_Kind, int] = field(default_factory=dict)
    influences: Mapping[Influence, int] = field(default_factory=dict)
    bounds: Mapping[FloatBounds, int] = field(default_factory=dict)
    changed: tuple[
        tuple[TracedSums, int, int], ...
    ] = ()  # sums, their number, and their last change that was noted


class History:
    """Knows what a journal says of the ledger and the private sums, so that only what is new is noted.

    Parameters
    ----------
    journal
        Where rows go.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._kinds: dict[_Kind, int] = {}
        self._influences: dict[Influence, int] = {}
        self._bounds: dict[FloatBounds, int] = {}
        self._sums: WeakKeyDictionary[TracedSums, int] = WeakKeyDictionary()
        journal.extend((), _Noted())

    def begin(self) -> Notes:
        """Return an empty sheet for what is new; nothing is noted before its `commit`."""
        noted = self.journal.noted
        self._kinds.update(noted.kinds)  # all of this may have been done, or half: then it is done again
        self._influences.update(noted.influences)
        self._bounds.update(noted.bounds)
        for sums, number, last in noted.changed:
            self._sums[sums] = number
            sums.forget_changes(last)
        return Notes(self, noted)

    @classmethod
    def replay(
        cls, journal: Journal, rows: Iterable[Any], composition: Composition
    ) -> tuple[History, Ledger, dict[int, TracedSums]]:
        """Return the history that a journal holds, to be gone on with, and what came of it.

        Returns
        -------
        tuple
            The history, the ledger with every total, and the private sums by their numbers.
        """
        ledger, sums = Ledger(composition), dict[int, TracedSums]()
        kinds: list[Entry] = []
        charges: dict[tuple[str | None, ...], Amount] = {}
        influences: list[Influence] = []
        bounds: list[FloatBounds] = []
        for row in rows:
            if isinstance(row, list):
                ledger.commit([kinds[row[0]].of(tuple(row[1:]))])
            elif "kind" in row:
                described = row["kind"]["mechanism"]
                mechanism = None if described is None else recall(described)
                kinds.append(entry_from_terms(row["kind"], mechanism, (), composition, charges))
            elif "withdrawn" in row:
                gone = set(row["withdrawn"])
                ledger._take_out([entry for i, entry in enumerate(ledger.entries) if i in gone])
            elif "influence" in row:
                influences.append(Influence.from_list(row["influence"]))
            elif "bounds" in row:
                bounds.append(FloatBounds.from_list(row["bounds"]))
            elif "state" in row:
                sums[row["sums"]] = TracedSums.from_dict(row["state"])
            else:
                for coordinates, *added in row["changes"]:
                    if added:
                        record, influence, numbers = added
                        sums[row["sums"]].put(record, influences[influence], bounds[numbers], coordinates)
                    else:
                        sums[row["sums"]].empty(coordinates)
        history = cls(journal)
        history._kinds = {
            (kind.mechanism, kind.sensitivity, kind.charge, kind.where, kind.note): i
            for i, kind in enumerate(kinds)
        }
        history._influences = {moved: i for i, moved in enumerate(influences)}
        history._bounds = {numbers: i for i, numbers in enumerate(bounds)}
        for number, held in sums.items():
            history._sums[held] = number
            held.changes = []
        journal.extend((), _Noted(len(ledger), len(ledger.withdrawals), len(sums)))
        return history, ledger, sums


class Notes:
    """What is new in the ledger and the private sums: read now, noted by `commit` all at once.

    Until then nothing has changed that another sheet would rest on, so one that was begun and left costs nothing.
    """

    def __init__(self, history: History, noted: _Noted) -> None:
        self._history = history
        self._before = noted
        self._entries, self._withdrawals = noted.entries, noted.withdrawals
        self._rows: list[Any] = []
        self._kinds: dict[_Kind, int] = {}
        self._influences: dict[Influence, int] = {}
        self._bounds: dict[FloatBounds, int] = {}
        self._changed: dict[TracedSums, tuple[int, int]] = {}
        self._met = 0

    def ledger(self, ledger: Ledger) -> None:
        """Take down the charges and withdrawals that are new."""
        for positions in ledger.withdrawals[self._withdrawals :]:
            known = [position for position in positions if position < self._entries]
            if known:
                self._rows.append({"withdrawn": known})
                self._entries -= len(known)
        self._withdrawals = len(ledger.withdrawals)
        for entry in ledger.entries_from(self._entries):
            kind = self._kind(entry)
            self._rows.append([kind, *entry.records])
            self._entries += 1

    def sums(self, sums: TracedSums) -> int:
        """Take down what happened to private sums; return their number."""
        if sums in self._changed:
            return self._changed[sums][0]
        number = self._history._sums.get(sums)
        if number is None:
            number = self._before.sums + self._met
            self._met += 1
            if sums.changes is None:
                sums.changes = []
            self._rows.append({"sums": number, "state": sums.to_dict()})
        elif sums.changes:
            rows = [
                [coordinates]
                if added is None
                else [coordinates, added[0], self._influence(added[1]), self._numbers(added[2])]
                for _, coordinates, added in sums.changes
            ]
            self._rows.append({"sums": number, "changes": rows})
        self._changed[sums] = number, sums.last_change
        return number

    def commit(self) -> None:
        """Note all of it in the journal, in one step."""
        noted = _Noted(
            self._entries,
            self._withdrawals,
            self._before.sums + self._met,
            self._kinds,
            self._influences,
            self._bounds,
            tuple((sums, number, last) for sums, (number, last) in self._changed.items()),
        )
        self._history.journal.extend(self._rows, noted)

    def _kind(self, entry: Entry) -> int:
        kind = (entry.mechanism, entry.sensitivity, entry.charge, entry.where, entry.note)
        number = self._history._kinds.get(kind, self._kinds.get(kind))
        if number is None:
            number = self._kinds[kind] = len(self._history._kinds) + len(self._kinds)
            described = None if entry.mechanism is None else json.loads(describe(entry.mechanism))
            self._rows.append({"kind": {"mechanism": described, **entry_terms(entry)}})
        return number

    def _numbers(self, bounds: FloatBounds) -> int:
        number = self._history._bounds.get(bounds, self._bounds.get(bounds))
        if number is None:
            number = self._bounds[bounds] = len(self._history._bounds) + len(self._bounds)
            self._rows.append({"bounds": bounds.to_list()})
        return number

    def _influence(self, moved: Influence) -> int:
        number = self._history._influences.get(moved, self._influences.get(moved))
        if number is None:
            number = self._influences[moved] = len(self._history._influences) + len(self._influences)
            self._rows.append({"influence": moved.to_list()})
        return number
