"""What happens to an accountant's records, row by row: a journal that grows with what happens, never with what is.

A row is one of

=====================================  ==================================================================
``{"kind": {...}}``                    a mechanism, sensitivity, charge, place and note; they are counted from 0
``[kind, record, ...]``                a ledger entry: these records paid a charge of this kind
``{"withdrawn": [position, ...]}``     entries that were taken back, by their places in the ledger before
``{"influence": [...]}``               how far a record moves a value; they are counted from 0
``{"sums": n, "state": {...}}``        private sums, met for the first time
``{"sums": n, "changes": [...]}``      what was added to them and cleared since, as `TracedSums.changes` has it
=====================================  ==================================================================

Rows hold names of records and public numbers, no data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from mechanisms import Mechanism, Sensitivity

from .budget import Amount
from .composition import Composition
from .journal import Journal
from .ledger import Entry, Ledger, entry_from_terms, entry_terms
from .place import Place
from .provenance import Influence, TracedSums
from .recorded import describe, recall

_Kind = tuple[Mechanism | None, Sensitivity | None, Amount, Place, str]


class History:
    """Notes in a journal what the ledger and the private sums went through since the last time.

    Parameters
    ----------
    journal
        Where rows go.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._entries = 0  # of the ledger as the journal has it
        self._withdrawals = 0
        self._kinds: dict[_Kind, int] = {}
        self._influences: dict[Influence, int] = {}
        self._sums: WeakKeyDictionary[TracedSums, int] = WeakKeyDictionary()
        self._next_sums = 0

    def note_ledger(self, ledger: Ledger) -> None:
        """Note the charges and withdrawals that are new."""
        for positions in ledger.withdrawals[self._withdrawals :]:
            known = [position for position in positions if position < self._entries]
            if known:
                self.journal.note({"withdrawn": known})
                self._entries -= len(known)
        self._withdrawals = len(ledger.withdrawals)
        for entry in ledger.entries_from(self._entries):
            self.journal.note([self._kind(entry), *entry.records])
            self._entries += 1

    def note_sums(self, sums: TracedSums) -> int:
        """Note what happened to private sums; return their number."""
        number = self._sums.get(sums)
        if number is None:
            number = self._sums[sums] = self._next_sums
            self._next_sums += 1
            self.journal.note({"sums": number, "state": sums.to_dict()})
            sums.changes = []
        elif sums.changes:
            rows = [
                [coordinates] if added is None else [coordinates, added[0], self._influence(added[1])]
                for coordinates, added in sums.changes
            ]
            self.journal.note({"sums": number, "changes": rows})
            sums.changes = []
        return number

    def _kind(self, entry: Entry) -> int:
        kind = (entry.mechanism, entry.sensitivity, entry.charge, entry.where, entry.note)
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            described = None if entry.mechanism is None else json.loads(describe(entry.mechanism))
            self.journal.note({"kind": {"mechanism": described, **entry_terms(entry)}})
        return number

    def _influence(self, moved: Influence) -> int:
        number = self._influences.get(moved)
        if number is None:
            number = self._influences[moved] = len(self._influences)
            self.journal.note({"influence": moved.to_list()})
        return number

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
        for row in rows:
            if isinstance(row, list):
                ledger.commit([kinds[row[0]].of(tuple(row[1:]))])
            elif "kind" in row:
                described = row["kind"]["mechanism"]
                mechanism = None if described is None else recall(described)
                kinds.append(entry_from_terms(row["kind"], mechanism, (), composition, charges))
            elif "withdrawn" in row:
                gone = set(row["withdrawn"])
                ledger.withdraw([entry for i, entry in enumerate(ledger.entries) if i in gone])
            elif "influence" in row:
                influences.append(Influence.from_list(row["influence"]))
            elif "state" in row:
                sums[row["sums"]] = TracedSums.from_dict(row["state"])
            else:
                for coordinates, *added in row["changes"]:
                    if added:
                        sums[row["sums"]].put(added[0], influences[added[1]], coordinates)
                    else:
                        sums[row["sums"]].empty(coordinates)
        history = cls(journal)
        history._entries, history._withdrawals = len(ledger), len(ledger.withdrawals)
        history._kinds = {
            (kind.mechanism, kind.sensitivity, kind.charge, kind.where, kind.note): i
            for i, kind in enumerate(kinds)
        }
        history._influences = {moved: i for i, moved in enumerate(influences)}
        history._next_sums = len(sums)
        for number, held in sums.items():
            history._sums[held] = number
            held.changes = []
        return history, ledger, sums
