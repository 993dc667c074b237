"""The per-record ledger in memory: who paid what, for which release, and where in the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from accountant.budget import Amount
from accountant.entry import Entry
from accountant.filters.composition_theorem import Composition
from accountant.gates.provenance import RecordId
from accountant.place import Place
from accountant.store import CannotPay, Fits, Receipt, Settled
from accountant.totals import Totals
from mechanisms import Assumption, Neighbouring


class Ledger:
    """Every charge, and every record's running total under one composition theorem; a `Store` of one process.

    It lasts as long as its process. Whoever calls it from several threads holds a lock of their own.
    """

    def __init__(self, composition: Composition) -> None:
        self._entries: list[Entry] = []
        self._withdrawals: list[tuple[int, ...]] = []
        self._totals = Totals(composition)
        self._reserved: dict[int, Sequence[Entry]] = {}
        self._requests: dict[str, tuple[Receipt, tuple[Entry, ...], bytes | None]] = {}
        self._charges = 0

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
        """Of each reservation that was given back, where its entries stood."""
        return self._withdrawals

    def __len__(self) -> int:
        return len(self._entries)

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return self._totals.records()

    def spent(self, record: RecordId) -> Any:
        """Return what `record` has spent in the theorem's currency."""
        return self._totals.spent(record)

    def after(self, record: RecordId, charge: Amount) -> Any:
        """Return what `record` would have spent after one more `charge`; changes nothing."""
        return self._totals.after(record, charge)

    def first_refused(self, entries: Sequence[Entry], fits: Fits) -> CannotPay | None:
        """Return what `charge` would raise; see `Store`."""
        for entry in entries:
            for record in entry.records:
                if not self._totals.affordable(record, entry.charge, fits):
                    return CannotPay(record, entry.charge, self.spent(record))
        return None

    def charge(
        self, entries: Sequence[Entry], fits: Fits, *, hold: bool = False, request: str | None = None
    ) -> Receipt:
        """Check every record and charge all, or none; see `Store`."""
        if request is not None and request in self._requests:
            receipt, paid, answer = self._requests[request]
            check_same_request(request, _release(paid) == _release(entries))
            return Receipt(receipt.position, True, answer)
        refused = self.first_refused(entries, fits)
        if refused is not None:
            raise refused
        self._charges += 1
        receipt = Receipt(self._charges)
        if hold:
            self._reserved[receipt.position] = entries
        if request is not None:
            self._requests[request] = receipt, tuple(entries), None
        self.commit(entries)
        return receipt

    def releases(self) -> Iterator[tuple[Sequence[Entry], bool]]:
        """Yield what was charged together, and whether it is a reservation that may be given back."""
        reserved = {id(entry) for entries in self._reserved.values() for entry in entries}
        for entries in self._reserved.values():
            yield entries, True
        for entry in self._entries:
            if id(entry) not in reserved:
                yield (entry,), False

    def answered(self, request: str, answer: bytes) -> bytes:
        """Keep the answer to a request, or return the one that is kept; see `Store`."""
        receipt, paid, kept = self._requests[request]
        if kept is None:
            self._requests[request] = receipt, paid, answer
        return answer if kept is None else kept

    def commit(self, entries: Sequence[Entry]) -> None:
        """Charge the entries' records, whatever they have left."""
        for entry in entries:
            for record in entry.records:
                self._totals.add(record, entry.charge)
        self._entries.extend(entries)

    def draw(self, position: int) -> None:
        """Make a reservation final; see `Store`."""
        if self._reserved.pop(position, None) is None:
            raise already_settled(position)

    def give_back(self, position: int) -> None:
        """Give a reservation's charge back; see `Store`."""
        entries = self._reserved.get(position)
        if entries is None:
            raise already_settled(position)
        self._take_out(entries)
        del self._reserved[position]

    def _take_out(self, entries: Sequence[Entry]) -> None:
        """Take back charges for which nothing was drawn; their records' totals are added up afresh."""
        gone = {id(entry) for entry in entries}
        places = tuple(i for i, entry in enumerate(self._entries) if id(entry) in gone)
        kept = [entry for entry in self._entries if id(entry) not in gone]
        affected = {record for entry in entries for record in entry.records}
        withdrawals = [*self._withdrawals, places]
        # Together: an interruption (Ctrl-C) between them would leave a withdrawal of entries that are there.
        self._withdrawals, self._entries = withdrawals, kept
        paid = ((record, entry) for entry in kept for record in affected.intersection(entry.records))
        self._totals.recount(affected, ((record, entry.charge) for record, entry in paid))

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent."""
        return self._totals.worst()

    def charges(self, record: RecordId) -> list[Entry]:
        """List what `record` was charged for."""
        return [entry for entry in self._entries if record in entry.records]

    def declassifications(self) -> list[Entry]:
        """List the places where data left unprotected."""
        return [entry for entry in self._entries if entry.mechanism is None]

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Do nothing: the accountant keeps them as long as this ledger lasts."""

    def note_closed(self, why: str, where: Place) -> None:
        """Do nothing: the accountant keeps it as long as this ledger lasts."""


def _release(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return what makes two charges the same release: a retry may come from another line."""
    return [(entry.mechanism, entry.sensitivity, entry.charge, entry.records) for entry in entries]


def already_settled(position: int) -> Settled:
    """Return the refusal to settle a reservation twice."""
    return Settled(f"reservation {position} was drawn or given back before, or never made")


def check_same_request(request: str, same: bool) -> None:
    """Raise `ValueError` unless a request's key stands for the same charge as before."""
    if not same:
        raise ValueError(
            f"request={request!r}: this key was used for another release; a retry must be of the same mechanism and "
            "records, and another release needs a key of its own"
        )
