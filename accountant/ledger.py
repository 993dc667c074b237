"""The per-record ledger: who paid what, for which release, and where in the code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.budget import Amount, Cost
from accountant.filters.composition_theorem import Composition
from accountant.gates.provenance import RecordId
from accountant.place import Place
from accountant.recorded import describe, recall
from mechanisms import Mechanism, Neighbouring, Sensitivity


@dataclass(frozen=True, slots=True)
class Entry:
    """One release, as the records that move it alike see it.

    Attributes
    ----------
    mechanism
        None for a declassification; a `RecordedMechanism` if it was loaded and cannot be rebuilt.
    sensitivity
        How far each of the records can move the released value; None for a declassification.
    charge
        What each of the records pays, in the currency of the ledger's composition theorem.
    records
        The records that pay.
    where
        The line that released.
    note
        The noise source, or the reason of a declassification.
    """

    mechanism: Mechanism | None
    sensitivity: Sensitivity | None
    charge: Amount
    records: tuple[RecordId, ...]
    where: Place
    note: str

    def of(self, records: tuple[RecordId, ...]) -> Entry:
        """Return the same release as other records see it."""
        return Entry(self.mechanism, self.sensitivity, self.charge, records, self.where, self.note)


_DECLASSIFIED = Cost(None, Fraction(0))


class Ledger:
    """Every charge, and every record's running total under one composition theorem.

    Totals are interned: records with the same history of charges share one exact rational, so a charge
    is one dictionary look-up whatever the number of records or earlier charges.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._entries: list[Entry] = []
        self._withdrawals: list[tuple[int, ...]] = []
        self._totals: dict[RecordId, Any] = {}
        self._sums: dict[tuple[int, int], Any] = {}
        self._kept: list[Any] = []  # keeps the interned amounts alive, so that their ids stay theirs
        self._zero = composition.zero
        self._worst: tuple[RecordId | None, Any] = (None, self._zero)

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every entry: one record is replaced, as movements are found for that."""
        return Neighbouring.REPLACE_ONE

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order."""
        return tuple(self._entries)

    def entries_from(self, first: int) -> list[Entry]:
        """Return the charges from this place on: what is new, in time in proportion to it."""
        return self._entries[first:]

    @property
    def withdrawals(self) -> Sequence[tuple[int, ...]]:
        """Of each withdrawal, where the entries stood that it took back."""
        return self._withdrawals

    def __len__(self) -> int:
        return len(self._entries)

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return iter(self._totals)

    def spent(self, record: RecordId) -> Any:
        """Return what `record` has spent in the theorem's currency."""
        return self._totals.get(record, self._zero)

    def after(self, record: RecordId, charge: Amount) -> Any:
        """Return what `record` would have spent after one more `charge`; changes nothing."""
        return self._plus(self._totals.get(record, self._zero), charge)

    def _plus(self, spent: Any, charge: Amount) -> Any:
        key = (id(spent), id(charge))
        total = self._sums.get(key)
        if total is None:
            total = spent + charge
            self._sums[key] = total
            self._kept += [spent, charge, total]
        return total

    def commit(self, entries: Sequence[Entry]) -> None:
        """Charge the entries' records."""
        for entry in entries:
            for record in entry.records:
                total = self._totals[record] = self.after(record, entry.charge)
                if total is not self._worst[1] and self._is_worse(total):
                    self._worst = (record, total)
        self._entries.extend(entries)

    def _is_worse(self, total: Any) -> bool:
        return self._worst[0] is None or self._composition.exceeds(total, self._worst[1])

    def withdraw(self, entries: Sequence[Entry]) -> None:
        """Take back charges for which nothing was sampled; their records' totals are added up afresh."""
        gone = {id(entry) for entry in entries}
        places = tuple(i for i, entry in enumerate(self._entries) if id(entry) in gone)
        kept = [entry for entry in self._entries if id(entry) not in gone]
        affected = {record for entry in entries for record in entry.records}
        totals = {record: total for record, total in self._totals.items() if record not in affected}
        for entry in kept:
            for record in affected.intersection(entry.records):
                totals[record] = self._plus(totals.get(record, self._zero), entry.charge)
        worst: tuple[RecordId | None, Any] = (None, self._zero)
        for record, total in totals.items():
            if worst[0] is None or self._composition.exceeds(total, worst[1]):
                worst = (record, total)
        withdrawals = [*self._withdrawals, places]
        # Together: an interruption (Ctrl-C) between them would leave a withdrawal of entries that are there.
        self._withdrawals, self._entries, self._totals, self._worst = withdrawals, kept, totals, worst

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent."""
        return self._worst

    def charges(self, record: RecordId) -> list[Entry]:
        """List what `record` was charged for."""
        return [entry for entry in self._entries if record in entry.records]

    def declassifications(self) -> list[Entry]:
        """List the places where data left unprotected."""
        return [entry for entry in self._entries if entry.mechanism is None]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able description, exact to the last bit.

        A mechanism that cannot be written down (a user's, an OpenDP measurement) is recorded by its ``repr``;
        its charges are as exact as any.
        """
        descriptions: dict[str, int] = {}
        index: dict[Mechanism, int] = {}
        rows = []
        for entry in self._entries:
            if entry.mechanism is not None and entry.mechanism not in index:
                index[entry.mechanism] = descriptions.setdefault(describe(entry.mechanism), len(descriptions))
            number = None if entry.mechanism is None else index[entry.mechanism]
            rows.append({"mechanism": number, **entry_terms(entry), "records": list(entry.records)})
        return {"mechanisms": list(map(json.loads, descriptions)), "entries": rows}

    @classmethod
    def from_dict(cls, saved: dict[str, Any], composition: Composition) -> Ledger:
        """Rebuild a ledger, with every total, from `to_dict`'s result."""
        ledger = cls(composition)
        mechanisms = [recall(description) for description in saved["mechanisms"]]
        charges: dict[tuple[str | None, ...], Amount] = {}
        for row in saved["entries"]:
            mechanism = None if row["mechanism"] is None else mechanisms[row["mechanism"]]
            ledger.commit([entry_from_terms(row, mechanism, tuple(row["records"]), composition, charges)])
        return ledger


def entry_terms(entry: Entry) -> dict[str, Any]:
    """Return an entry without its mechanism and records, as JSON-able data, exact to the last bit."""
    moved = entry.sensitivity
    return {
        "sensitivity": None if moved is None else [moved.l1, moved.l2, moved.linf],
        "charge": [None if value is None else str(value) for value in entry.charge.values],
        "where": [entry.where.file, entry.where.line],
        "note": entry.note,
    }


def entry_from_terms(
    terms: dict[str, Any],
    mechanism: Mechanism | None,
    records: tuple[RecordId, ...],
    composition: Composition,
    charges: dict[tuple[str | None, ...], Amount],
) -> Entry:
    """Return the entry that `entry_terms` described; equal charges become one, which is kept in `charges`."""
    written = tuple(terms["charge"])
    charge = charges.get(written)
    if charge is None:
        values = tuple(None if value is None else Fraction(value) for value in written)
        charge = charges[written] = composition.amount(values)
    file, line = terms["where"]
    moved = terms["sensitivity"]
    sensitivity = None if moved is None else Sensitivity(*moved)
    return Entry(mechanism, sensitivity, charge, records, Place(file, line), terms["note"])


def declassification(
    records: Sequence[RecordId], where: Place, reason: str, charge: Amount = _DECLASSIFIED
) -> Entry:
    """Return the entry of data that left as they were: no finite epsilon covers it."""
    return Entry(None, None, charge, tuple(records), where, reason)
