"""Ledger entries: one release for all records that move it alike, and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from accountant.budget import Amount, Cost
from accountant.filters.composition_theorem import Composition
from accountant.gates.derivation import Derivation
from accountant.gates.lineage import RecordId
from accountant.place import Place
from accountant.recorded import describe, recall
from mechanisms import Mechanism, Sensitivity


class Entry(NamedTuple):
    """One release, as the records that move it alike see it.

    Attributes
    ----------
    mechanism
        None for a declassification; a `RecordedMechanism` if it was loaded and cannot be rebuilt.
    sensitivity
        The sensitivity of the released value to each of the records; None for a declassification.
    charge
        The price that each of the records pays, in the currency of the ledger's composition theorem.
    records
        The records that pay.
    where
        The line that released.
    note
        The noise source, or the reason of a declassification.
    derivation
        The derivation of the records' parts of the released value, where a gate knows it; no file keeps it.
    """

    mechanism: Mechanism | None
    sensitivity: Sensitivity | None
    charge: Amount
    records: tuple[RecordId, ...]
    where: Place
    note: str
    derivation: Derivation | None = None

    def for_records(self, records: tuple[RecordId, ...]) -> Entry:
        """Return the same release as other records see it."""
        mechanism, sensitivity, charge, _, where, note, derivation = self
        return Entry(mechanism, sensitivity, charge, records, where, note, derivation)

    def kind_key(self) -> tuple[object, ...]:
        """Return a key of the release without its records; no other has it while this entry's objects are kept."""
        mechanism, moved, charge, _, where, note, _ = self
        return id(mechanism), moved and (moved.l1, moved.l2, moved.linf), id(charge), where, note


_DECLASSIFIED = Cost(None, Fraction(0))


def entries_to_dict(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return entries as JSON-able data, exact to the last bit; each mechanism is described once.

    A mechanism that cannot be written down (a user's, an OpenDP measurement) is recorded by its ``repr``;
    its charges are as exact as any.
    """
    numbers: dict[str, int] = {}
    rows = []
    for entry in entries:
        terms = {**entry_terms(entry), "records": list(entry.records)}
        if entry.mechanism is not None:
            terms["mechanism"] = numbers.setdefault(json.dumps(terms["mechanism"]), len(numbers))
        rows.append(terms)
    return {"mechanisms": list(map(json.loads, numbers)), "entries": rows}


def entry_terms(entry: Entry) -> dict[str, Any]:
    """Return an entry without its records, as JSON-able data, exact to the last bit."""
    moved = entry.sensitivity
    return {
        "mechanism": None if entry.mechanism is None else json.loads(describe(entry.mechanism)),
        "sensitivity": None if moved is None else [moved.l1, moved.l2, moved.linf],
        "charge": amount_terms(entry.charge),
        "where": [entry.where.file, entry.where.line],
        "note": entry.note,
    }


def entry_from_terms(
    terms: Mapping[str, Any],
    records: tuple[RecordId, ...],
    composition: Composition,
    charges: dict[tuple[str | None, ...], Amount],
) -> Entry:
    """Return the entry that `entry_terms` described; equal charges become one, which is kept in `charges`."""
    written = tuple(terms["charge"])
    charge = charges.get(written)
    if charge is None:
        charge = charges[written] = amount_from_terms(written, composition)
    file, line = terms["where"]
    mechanism, moved = terms["mechanism"], terms["sensitivity"]
    sensitivity = None if moved is None else Sensitivity(*moved)
    known = None if mechanism is None else recall(mechanism)
    return Entry(known, sensitivity, charge, records, Place(file, line), terms["note"])


def amount_terms(amount: Amount) -> list[str | None]:
    """Return an amount as JSON-able data, exact."""
    return [None if value is None else str(value) for value in amount.values]


def amount_from_terms(values: Sequence[str | None], composition: Composition) -> Any:
    """Return the amount that `amount_terms` described."""
    return composition.amount(tuple([None if value is None else Fraction(value) for value in values]))


def declassification(
    records: Sequence[RecordId], where: Place, reason: str, charge: Amount = _DECLASSIFIED
) -> Entry:
    """Return the entry of data that left as they were: no finite epsilon covers it."""
    return Entry(None, None, charge, tuple(records), where, reason)
