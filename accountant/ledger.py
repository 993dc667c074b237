"""The per-record ledger: who paid what, for which release, and where in the code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechanisms import Mechanism, Sensitivity

from .budget import Cost
from .composition import Composition
from .place import Place
from .provenance import RecordId
from .recorded import describe, recall


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
        What each of the records pays.
    records
        The records that pay.
    where
        The line that released.
    note
        The noise source, or the reason of a declassification.
    """

    mechanism: Mechanism | None
    sensitivity: Sensitivity | None
    charge: Cost
    records: tuple[RecordId, ...]
    where: Place
    note: str


_DECLASSIFIED = Cost(None, Fraction(0))


class Ledger:
    """Every charge, and every record's running total under one composition theorem.

    Totals are interned: records with the same history of charges share one exact rational, so a charge
    is one dictionary look-up whatever the number of records or earlier charges.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._entries: list[Entry] = []
        self._totals: dict[RecordId, Cost] = {}
        self._sums: dict[tuple[int, int], Cost] = {}
        self._kept: list[Cost] = []  # keeps the interned costs alive, so that their ids stay theirs
        self._zero = Cost(Fraction(0), Fraction(0))

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order."""
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return iter(self._totals)

    def spent(self, record: RecordId) -> Cost:
        """Return what `record` has spent in the theorem's currency."""
        return self._totals.get(record, self._zero)

    def after(self, record: RecordId, charge: Cost) -> Cost:
        """Return what `record` would have spent after one more `charge`; changes nothing."""
        spent = self._totals.get(record, self._zero)
        key = (id(spent), id(charge))
        total = self._sums.get(key)
        if total is None:
            total = self._composition.add(spent, charge)
            self._sums[key] = total
            self._kept += [spent, charge, total]
        return total

    def commit(self, entries: Sequence[Entry]) -> None:
        """Charge the entries' records."""
        for entry in entries:
            for record in entry.records:
                self._totals[record] = self.after(record, entry.charge)
        self._entries.extend(entries)

    def worst(self) -> tuple[RecordId | None, Cost]:
        """Return the record that has lost most, with its (epsilon, delta)."""
        worst_record: RecordId | None = None
        worst_cost = self._zero
        seen: set[int] = set()
        for record, total in self._totals.items():
            if id(total) in seen:
                continue
            seen.add(id(total))
            if worst_record is None or _exceeds(total, worst_cost):
                worst_record, worst_cost = record, total
        return worst_record, self._composition.guarantee(worst_cost)

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
            rows.append(
                {
                    "mechanism": None if entry.mechanism is None else index[entry.mechanism],
                    "sensitivity": None
                    if entry.sensitivity is None
                    else [entry.sensitivity.l1, entry.sensitivity.l2, entry.sensitivity.linf],
                    "charge": [
                        None if entry.charge.epsilon is None else str(entry.charge.epsilon),
                        str(entry.charge.delta),
                    ],
                    "records": list(entry.records),
                    "where": [entry.where.file, entry.where.line],
                    "note": entry.note,
                }
            )
        return {"mechanisms": list(map(json.loads, descriptions)), "entries": rows}

    @classmethod
    def from_dict(cls, saved: dict[str, Any], composition: Composition) -> Ledger:
        """Rebuild a ledger, with every total, from `to_dict`'s result."""
        ledger = cls(composition)
        mechanisms = [recall(description) for description in saved["mechanisms"]]
        charges: dict[tuple[str | None, str], Cost] = {}
        for row in saved["entries"]:
            epsilon, delta = row["charge"]
            charge = charges.setdefault(
                (epsilon, delta),
                Cost(None if epsilon is None else Fraction(epsilon), Fraction(delta)),
            )
            file, line = row["where"]
            ledger.commit(
                [
                    Entry(
                        None if row["mechanism"] is None else mechanisms[row["mechanism"]],
                        None if row["sensitivity"] is None else Sensitivity(*row["sensitivity"]),
                        charge,
                        tuple(row["records"]),
                        Place(file, line),
                        row["note"],
                    )
                ]
            )
        return ledger


def declassification(records: Sequence[RecordId], where: Place, reason: str) -> Entry:
    """Return the entry of data that left as they were: no finite epsilon covers it."""
    return Entry(None, None, _DECLASSIFIED, tuple(records), where, reason)


def _exceeds(cost: Cost, other: Cost) -> bool:
    """Whether `cost` is worse than `other`: by epsilon, then by delta."""
    if cost.epsilon is None or other.epsilon is None:
        return other.epsilon is not None or (cost.epsilon is None and cost.delta > other.delta)
    return (cost.epsilon, cost.delta) > (other.epsilon, other.delta)
