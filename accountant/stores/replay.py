"""What a chain of entries says: who has spent what, what is reserved, and what it was held to.

Entries are, in the order of a store's life:

=======================================================  ========================================================
``{"begin": {...}}``                                     instance, terms and location of the store
``{"kind": {...}}``                                      a mechanism, sensitivity, charge, place and note
``{"paid": [[kind, [account, ...]], ...], "at": ...}``   a release; ``opened`` commits to new accounts, ``holder`` makes
                                                         it a reservation, ``request`` is its key, ``source`` says that
                                                         it was imported
``{"drawn": position}``                                  a reservation whose noise is drawn
``{"returned": position}``                               a reservation that was given back
``{"assumed": [...]}``                                   something that nobody checked
``{"closed": [...]}``                                    the gate was shut
``{"adopted": {...}, "at": ...}``                        an operator said that this copy goes on
``{"saved": [count, digest, [...]]}``                    a run was saved, so often, with a state of this digest; and
                                                         what is new of who waits in its sums (`Waiting`)
=======================================================  ========================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from accountant.entry import Entry, entry_from_terms
from accountant.gates.provenance import RecordId
from accountant.place import Place
from accountant.recorded import recall
from accountant.stores.chain import FORMAT, START, chained, label
from accountant.stores.charges import check_charge
from accountant.stores.refusals import LedgerDamaged
from accountant.stores.waiting import Waiting
from accountant.totals import Totals
from accountant.written_terms import Terms
from mechanisms import Assumption, AssumptionKind

_Paid = list[tuple[int, tuple[int, ...]]]


def chained_to(before: bytes, position: int, row: tuple[int, str, bytes]) -> bytes:
    """Return the hash of an entry, a row of position, text and hash, that must be the one after another's hash.

    Raises
    ------
    LedgerDamaged
        If it is missing, or does not fit.
    """
    found, text, digest = row
    if found != position:
        raise LedgerDamaged("it is missing", position)
    if chained(before, text) != digest:
        raise LedgerDamaged("its hash is not that of what it says and of what stands before it", position)
    return digest


class Replay:
    """The state that entries lead to, one after the other.

    Attributes
    ----------
    position
        The last entry that was fed, from 1; 0 before the first.
    hash
        Its hash.
    totals
        What accounts, by their numbers, have spent.
    commitments
        What entries commit accounts to.
    reservations
        Their states, by position.
    requests
        Positions of requests' charges, by key.
    kinds
        Kinds of entries, by position.
    saved
        How often a run was saved, and the digest of its last state; None if there is none.
    waiting
        Who waits in its sums.
    trusted
        Kinds whose mechanism cannot be rebuilt, or has no charge now: theirs is taken on trust.
    """

    def __init__(self) -> None:
        self.position = 0
        self.hash = START
        self.instance = ""
        self.epoch = 0
        self.location: Any = None
        self.closed: list[Any] | None = None
        self.assumptions: tuple[Assumption, ...] = ()
        self.commitments: dict[int, str] = {}
        self.reservations: dict[int, str] = {}
        self.requests: dict[str, int] = {}
        self.kinds: dict[int, Entry] = {}
        self.texts: dict[int, str] = {}
        self.saved: tuple[int, str] | None = None
        self.waiting = Waiting()
        self.trusted: list[int] = []
        self._terms: Terms | None = None
        self._totals: Totals | None = None
        self._charges: dict[tuple[str | None, ...], Any] = {}
        self._paid: dict[int, _Paid] = {}
        self._gone: set[int] = set()

    @property
    def terms(self) -> Terms:
        """What charges are held to."""
        if self._terms is None:
            raise LedgerDamaged("there are no entries")
        return self._terms

    @property
    def totals(self) -> Totals:
        """What accounts have spent."""
        if self._totals is None:
            raise LedgerDamaged("there are no entries")
        return self._totals

    def feed_all(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        """Go on with entries.

        Raises
        ------
        LedgerDamaged
            Naming the first that does not fit: to the chain, to its mechanism's charge, to the budget, or to itself.
        """
        for position, text, digest in rows:
            chained_to(self.hash, self.position + 1, (position, text, digest))
            try:
                self._feed(position, json.loads(text))
            except LedgerDamaged:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise LedgerDamaged(f"damaged ({type(error).__name__}: {error})", position) from None
            if "kind" in text[:8]:
                self.texts[position] = text
            self.position, self.hash = position, digest

    def go_on(self, position: int, digest: bytes) -> None:
        """Leave out the entries up to a position, of this hash: they are believed."""
        self.position, self.hash = position, digest

    def _feed(self, position: int, body: dict[str, Any]) -> None:
        if position == 1:
            self._begin(body["begin"])
        elif "paid" in body:
            self._pay(position, body)
        elif "saved" in body:
            self._save(position, *body["saved"])
        elif "kind" in body:
            self._kind(position, body["kind"])
        elif "drawn" in body or "returned" in body:
            state = "drawn" if "drawn" in body else "returned"
            of = body[state]
            if self.reservations.get(of) != "reserved":
                raise LedgerDamaged(f"settles entry {of}, which is no open reservation", position)
            self.reservations[of] = state
            if state == "returned":
                self.give_back(of)
        elif "assumed" in body:
            kind, message, where = body["assumed"]
            self.assumptions += (Assumption(AssumptionKind(kind), message, where),)
        elif "closed" in body:
            self.closed = body["closed"]
        else:
            adopted = body["adopted"]
            if adopted["epoch"] <= self.epoch:
                raise LedgerDamaged(f"begins epoch {adopted['epoch']} after epoch {self.epoch}", position)
            self.epoch, self.location = adopted["epoch"], adopted["location"]

    def _save(self, position: int, count: int, digest: str, waiting: list[Any]) -> None:
        if count != (0 if self.saved is None else self.saved[0]) + 1:
            raise LedgerDamaged(f"is save {count} of a run, out of order", position)
        self.waiting.feed(waiting)
        self.saved = count, digest

    def _begin(self, body: dict[str, Any]) -> None:
        if body["format"] != FORMAT:
            raise LedgerDamaged(f"its format is {body['format']!r}, not {FORMAT!r}", 1)
        self._terms = Terms.from_dict(body["terms"])
        self._totals = Totals(self._terms.composition)
        self.instance, self.location = body["instance"], body["location"]

    def _kind(self, position: int, body: dict[str, Any]) -> None:
        mechanism = None if body["mechanism"] is None else recall(body["mechanism"])
        entry = entry_from_terms(body, mechanism, (), self.terms.composition, self._charges)
        try:
            if not check_charge(entry, self.terms.composition):
                self.trusted.append(position)
        except LedgerDamaged as error:
            raise LedgerDamaged(str(error), position) from None
        self.kinds[position] = entry

    def _pay(self, position: int, body: dict[str, Any]) -> None:
        for number, promise in body.get("opened", ()):
            if number in self.commitments:
                raise LedgerDamaged(f"opens account {number} a second time", position)
            self.commitments[number] = promise
        paid: _Paid = [(kind, tuple(numbers)) for kind, numbers in body["paid"]]
        for kind, numbers in paid:
            charge = self.kinds[kind].charge
            for number in numbers:
                if number not in self.commitments:
                    raise LedgerDamaged(f"charges account {number}, which was never opened", position)
                if "source" not in body and not self.totals.affordable(number, charge, self.terms.fits):
                    raise LedgerDamaged(f"takes account {number} over its budget", position)
                self.totals.add(number, charge)
        self._paid[position] = paid
        if "holder" in body:
            self.reservations[position] = "reserved"
        if "request" in body:
            self.requests[label(body["request"])] = position

    def give_back(self, position: int) -> None:
        """Take a reservation out of the totals."""
        self._gone.add(position)
        affected = {number for _, numbers in self._paid[position] for number in numbers}
        charged = (
            (number, self.kinds[kind].charge)
            for other, paid in self._paid.items()
            if other not in self._gone
            for kind, numbers in paid
            for number in affected.intersection(numbers)
        )
        self.totals.recount(affected, charged)

    def entries(self, names: Mapping[int, RecordId]) -> Sequence[Entry]:
        """Return the entries as a ledger has them; accounts without a name keep their number."""
        return tuple(entry for _, entries in self.charged(names) for entry in entries)

    def charged(
        self, names: Mapping[int, RecordId], *, returned: bool = False
    ) -> Iterator[tuple[int, list[Entry]]]:
        """Yield what was charged together, and where it stands; with `returned`, what was given back, too."""
        for position, paid in self._paid.items():
            if returned or position not in self._gone:
                yield (
                    position,
                    [
                        self.kinds[kind].of(tuple(names.get(number, number) for number in numbers))
                        for kind, numbers in paid
                    ],
                )

    @property
    def shut(self) -> tuple[str, Place] | None:
        """Why and where the gate was shut."""
        return None if self.closed is None else (self.closed[0], Place(*self.closed[1:]))
