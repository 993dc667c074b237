"""The per-record ledger in memory: who paid what, for which release, and where in the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from accountant.budget import Amount
from accountant.entry import Entry
from accountant.filters.composition_theorem import Composition
from accountant.gates.provenance import RecordId
from accountant.place import Place
from accountant.store import CannotPay, Fits, KeyUsed, Receipt, Settled
from accountant.totals import Totals
from mechanisms import Assumption, Neighbouring


class Charged(NamedTuple):
    """Entries that were charged together.

    Attributes
    ----------
    position
        The number of this charge, from 1.
    entries
        Who paid what.
    reserved
        Whether they were a reservation when they were charged.
    request
        The key of the caller's, if there is one.
    """

    position: int
    entries: tuple[Entry, ...]
    reserved: bool = False
    request: str | None = None


class Settlement(NamedTuple):
    """A reservation that was drawn, or given back."""

    position: int
    returned: bool


class Answered(NamedTuple):
    """What a request was answered."""

    request: str
    answer: bytes


Event = Charged | Settlement | Answered


class Ledger:
    """Every charge, and every record's running total under one composition theorem; a `Store` of one process.

    It lasts as long as its process. Whoever calls it from several threads holds a lock of their own.

    Attributes
    ----------
    events
        All that happened, in order: it is only added to.
    """

    def __init__(self, composition: Composition) -> None:
        self.events: list[Event] = []
        self._totals = Totals(composition)
        self._reserved: dict[int, tuple[Entry, ...]] = {}
        self._returned: set[int] = set()
        self._requests: dict[str, Charged] = {}
        self._answers: dict[str, bytes] = {}
        self._charges = 0

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every entry: one record is replaced, as movements are found for that."""
        return Neighbouring.REPLACE_ONE

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back."""
        return tuple(entry for charged in self.charged() for entry in charged.entries)

    def charged(self) -> Iterator[Charged]:
        """Yield what was charged together, but for reservations that were given back."""
        for event in self.events:
            if isinstance(event, Charged) and event.position not in self._returned:
                yield event

    def is_reserved(self, position: int) -> bool:
        """Whether a charge is a reservation that is neither drawn nor given back."""
        return position in self._reserved

    def __len__(self) -> int:
        return sum(len(charged.entries) for charged in self.charged())

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
            earlier = self._requests[request]
            check_same_request(request, _release(earlier.entries) == _release(entries))
            position = earlier.position
            state = (
                "returned"
                if position in self._returned
                else "reserved"
                if self.is_reserved(position)
                else "drawn"
            )
            if settles(request, position, state if earlier.reserved else None, hold):
                self.draw(position)
            return Receipt(earlier.position, True, self._answers.get(request))
        refused = self.first_refused(entries, fits)
        if refused is not None:
            raise refused
        return Receipt(self.commit(entries, hold=hold, request=request))

    def commit(self, entries: Sequence[Entry], *, hold: bool = False, request: str | None = None) -> int:
        """Charge the entries' records, whatever they have left; return the number of the charge."""
        self._charges += 1
        charged = Charged(self._charges, tuple(entries), hold, request)
        for entry in entries:
            for record in entry.records:
                self._totals.add(record, entry.charge, held=hold)
        self.events.append(charged)  # interrupted before (Ctrl-C), totals are too high, never too low
        if hold:
            self._reserved[charged.position] = charged.entries
        if request is not None:
            self._requests[request] = charged
        return charged.position

    def answered(self, request: str, answer: bytes) -> bytes:
        """Keep the answer to a request, or return the one that is kept; see `Store`."""
        if request not in self._answers:
            self._answers[request] = answer
            self.events.append(Answered(request, answer))
        return self._answers[request]

    def draw(self, position: int) -> None:
        """Make a reservation final; see `Store`."""
        if self._reserved.pop(position, None) is None:
            raise already_settled(position)
        self.events.append(Settlement(position, returned=False))

    def give_back(self, position: int) -> None:
        """Give a reservation's charge back; see `Store`."""
        entries = self._reserved.get(position)
        if entries is None:
            raise already_settled(position)
        self.events.append(Settlement(position, returned=True))
        self._returned.add(position)
        paid = [(record, entry.charge) for entry in entries for record in entry.records]
        if any(None in self.spent(record).values for record, _ in paid):
            # What is infinite hides what else was paid.
            affected = {record for record, _ in paid}
            left = (
                (record, entry) for entry in self.entries for record in affected.intersection(entry.records)
            )
            self._totals.recount(affected, ((record, entry.charge) for record, entry in left))
        else:
            for record, charge in paid:
                self._totals.take_back(record, charge)
        del self._reserved[position]

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent."""
        return self._totals.worst()

    def charges(self, record: RecordId) -> list[Entry]:
        """List what `record` was charged for."""
        return [entry for entry in self.entries if record in entry.records]

    def declassifications(self) -> list[Entry]:
        """List the places where data left unprotected."""
        return [entry for entry in self.entries if entry.mechanism is None]

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


def settles(request: str, position: int, state: str | None, hold: bool) -> bool:
    """Return whether a charge that repeats a request's makes its reservation final.

    Parameters
    ----------
    request, position
        The key, and where its charge stands.
    state
        What became of the reservation; None if it is none.
    hold
        Whether the charge that repeats it is a reservation.

    Raises
    ------
    Settled
        If it was given back.
    KeyUsed
        If only the new one is a reservation.
    """
    if state == "returned":
        raise Settled(
            f"request={request!r}: reservation {position} was given back; another one needs a key of its own"
        )
    if hold and state is None:
        raise KeyUsed(
            f"request={request!r}: this key was used for a release; a reservation needs a key of its own"
        )
    return state == "reserved" and not hold


def check_same_request(request: str, same: bool) -> None:
    """Raise `KeyUsed` unless a request's key stands for the same charge as before."""
    if not same:
        raise KeyUsed(
            f"request={request!r}: this key was used for another release; a retry must be of the same mechanism and "
            "records, and another release needs a key of its own"
        )
