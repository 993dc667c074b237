"""The replay of a chain of entries: amounts spent, reservations, and the limits in force.

Entries are, in the order of a store's life:

=======================================================  ========================================================
``{"begin": {...}}``                                     instance, terms and location of the store
``{"kind": {...}}``                                      a mechanism, sensitivity, charge, place and note
``{"paid": [[kind, [account, ...]], ...], "at": ...}``   a release; ``opened`` commits to new accounts, ``holder`` makes
                                                         it a reservation, ``until`` is its deadline, ``request`` its
                                                         key, ``source`` says that it was imported, ``for`` its purpose
                                                         and tenant
``{"drawn": position, "at": ...}``                       a reservation whose noise is drawn
``{"answered": [position, digest]}``                     a request that was answered, and the answer's SHA-256
``{"drawn again": position, "at": ...}``                 a request that was charged, never answered, and is drawn on a
                                                         later day
``{"rules": {...}}``                                     limits beside the budget, from here on; groups name accounts
``{"clock": {...}}``                                     an operator confirmed that so much time has passed
``{"returned": position}``                               a reservation that was given back
``{"assumed": [...]}``                                   unchecked assumptions
``{"closed": [...]}``                                    the gate was shut
``{"adopted": {...}, "at": ...}``                        an operator promoted this copy
``{"imported": {...}, "at": ...}``                       the charges that follow are another ledger's: its name,
                                                         the author, the reason, and its known history
``{"anchored": {...}, "at": ...}``                       it is spent from with its anchor only from here on, or
                                                         without one again, in an epoch of its own
``{"key": {...}}``                                       names are hashed under one more key from here on, in an
                                                         epoch of its own
``{"labelled": [[account, commitment], ...]}``           the commitments of accounts from here on
``{"erased": {...}, "at": ...}``                         an account's name was erased, and its new commitment
``{"fold": {...}}``                                      the entries up to one were removed, but for those that are
                                                         still needed; the next ``parts`` entries sum them up
``{"folded": {...}}``                                    such a part: ``opened`` accounts, amounts ``paid`` by
                                                         purpose and tenant, and the counts of rules, ``counted``;
                                                         of a run ``waiting`` records, and its last ``saved``
``{"saved": [count, digest, [...]], "at": ...}``         a run was saved, so often, with a state of this digest; and
                                                         the changes of the records in its sums (`Waiting`)
=======================================================  ========================================================

Entries with a time have a ``drift``, too, where the clock may have run ahead unseen.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Any, NamedTuple

from accountant.budget import asked_and_left
from accountant.filters.composition_theorem import BasicComposition, Composition, UnsupportedCharge
from accountant.filters.units import Limit, Units, Vector
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, amount_from_terms, amount_terms, entry_from_terms
from accountant.ledger.events import (
    Answered,
    Charged,
    ClockConfirmed,
    DrawnAgain,
    LedgerEvent,
    Now,
    Ruled,
    Settlement,
)
from accountant.ledger.ledger_state import State, apply, count_event, decide, repeated_command
from accountant.ledger.store import CannotPay, Settled, Tally
from accountant.place import Place
from accountant.recorded import RecordedMechanism
from accountant.rules.clock import ClockAhead
from accountant.rules.rule import Rule, checked_rules
from accountant.rules.scope import Scope
from accountant.stores.chain import FORMAT, START, bound_together, entry_hash, parse_entry
from accountant.stores.entry_bodies import RARE_WORDS, add_to_tally, charge_of
from accountant.stores.store_refusals import LedgerDamaged
from accountant.stores.waiting_sums import Waiting
from accountant.terms import Terms
from mechanisms import Assumption, AssumptionKind
from mechanisms.numerics.printed_numbers import counted_noun

EntryRow = tuple[int, str, bytes]
"""Position, text and hash of an entry."""

_Body = Mapping[str, Any]

History = Callable[[], Iterable[EntryRow]]
"""Function that reads entries from the first on: those that a fold left, and all after it."""

_ROUNDING = 1e-9
"""Relative tolerance of a charge below the one computed now: another version of SciPy rounds differently."""
_FOLDED = RecordedMechanism(json.dumps({"recorded": "entries that were folded"}))


class LedgerContent(NamedTuple):
    """A ledger that was read and verified.

    Attributes
    ----------
    terms
        The terms of its charges.
    charges
        All of them in order, without reservations that were given back.
    lacking
        A sentence on missing ones; "" if it lacks nothing.
    """

    terms: Terms
    charges: Sequence[Charged]
    lacking: str

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries of the charges."""
        return [entry for charged in self.charges for entry in charged.entries]


def _check_charge(entry: Entry, composition: Composition) -> bool:
    """Recompute a charge from its mechanism; return whether that can be done, or it is taken on trust.

    Raises
    ------
    LedgerDamaged
        If it is less than the mechanism's, or the mechanism is not calibrated for the sensitivity.
    """
    if entry.mechanism is None:
        least = composition.infinite_spend
    elif isinstance(entry.mechanism, RecordedMechanism) or entry.sensitivity is None:
        return False
    else:
        if not entry.mechanism.sensitivity.covers(entry.sensitivity):
            raise LedgerDamaged("its sensitivity is more than its mechanism is calibrated for")
        try:
            least = composition.charge(entry.mechanism, entry.sensitivity)
        except UnsupportedCharge:
            return False
    for stored, computed in zip(entry.charge.values, least.values, strict=True):
        if stored is not None and (computed is None or stored < computed * (1 - Fraction(_ROUNDING))):
            charged, needed = asked_and_left(entry.charge, least)
            raise LedgerDamaged(f"charges {charged}, less than the {needed} of its mechanism")
    return True


def rules_of(rules: Iterable[Mapping[str, Any]], composition: Composition) -> tuple[Rule, ...]:
    """Return rules as an entry has them: members of groups are numbers of accounts."""
    return checked_rules([Rule.from_dict(rule) for rule in rules], composition)


def _name_members(rules: Iterable[Rule], names: Mapping[int, RecordId]) -> tuple[Rule, ...]:
    """Return rules with the names of the members of groups; those without a name keep their number."""
    return tuple([rule.with_members(lambda number: names.get(number, number)) for rule in rules])


def _time(body: Mapping[str, Any]) -> tuple[int, int]:
    return body["at"], body.get("drift", 0)


def _parts_of(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: body[name] for name in names}


def chained_to(before: bytes, position: int, row: EntryRow) -> bytes:
    """Return the hash of an entry, a row of position, text and hash, that must be the one after another's hash.

    Raises
    ------
    LedgerDamaged
        If it is missing, or does not fit.
    """
    found, text, digest = row
    if found != position:
        raise LedgerDamaged("it is missing", position)
    if entry_hash(before, text) != digest:
        raise LedgerDamaged("its hash is not that of its text and of the entry before it", position)
    return digest


class ReplayedEntries(State):
    """The state after entries, one after the other; each is decided again, and must equal that decision.

    Accounts go by their numbers. Of charges it keeps the accounts' spent amounts, and the charges that later entries
    may name: reservations, and those of requests. Anything else about earlier charges, as for an entry that makes
    rules, is read again.

    Attributes
    ----------
    history
        Function that reads the fed entries again; entries that a fold removed are believed, and not among them.
    position
        The last entry that was fed, from 1; 0 before the first.
    hash
        Its hash.
    commitments
        The commitments of accounts in the entries.
    kinds
        Kinds of entries, by position.
    texts
        The texts of kinds, reservations and requests, by position.
    keys
        The keys of requests, by position.
    tallies
        The number of charges of each kind, and of records that it charged; without folded charges.
    saved
        The number of saves of a run, and the digest of its last state; None if there is none.
    waiting
        The records in its private sums.
    rules
        Where the rules in force stand; 0 without.
    later
        The events that are no charges, in order, each with where it stands.
    trusted
        Kinds whose mechanism cannot be rebuilt, or has no charge now: their charge is taken on trust. So are the sums
        of a fold; its kinds have negative numbers.
    rare
        The number of rare entries, which an index finds when a store is opened, and the sum of their positions.
    folds
        The headers of folds, in order.
    anchored
        True if it is spent from with its anchor only.
    names
        The store's check value of the key under which it names records; None if it holds plain names.
    erasures
        The entries on erased names, in order, those of imported ledgers included.
    adoptions
        The entries on promoted copies of the store or backups, in order, those of imported ledgers included.
    imports
        The entries on imports, in order: this store's, and before it that of the ledger it was made of.
    earlier_folds
        The headers of folds of imported ledgers, of which only the sums are here.
    """

    def __init__(self, history: History = tuple) -> None:
        super().__init__(Units(BasicComposition()))  # until the first entry has the terms
        self.history = history
        self.position = 0
        self.hash = START
        self.instance = ""
        self.epoch = 0
        self.location: Any = None
        self.closed: list[Any] | None = None
        self.anchored = False
        self.names: str | None = None
        self.erasures: list[Mapping[str, Any]] = []
        self.adoptions: list[Mapping[str, Any]] = []
        self.imports: list[Mapping[str, Any]] = []
        self.earlier_folds: list[Mapping[str, Any]] = []
        self.assumptions: tuple[Assumption, ...] = ()
        self.commitments: dict[int, str] = {}
        self.kinds: dict[int, Entry] = {}
        self.texts: dict[int, str] = {}
        self.keys: dict[int, str] = {}
        self.tallies: dict[int, tuple[int, int]] = {}
        self.saved: tuple[int, str] | None = None
        self.waiting = Waiting()
        self.trusted: list[int] = []
        self.rare = 0, 0
        self.folds: list[Mapping[str, Any]] = []
        self._left = False  # True for entries that a fold left, and has counted
        self._terms: Terms | None = None
        self._charges: dict[tuple[str | None, ...], Any] = {}
        self.next_position = 0  # that of the entry that is decided again
        self._folded: list[tuple[int, _Body]] = []  # the sums, as charges
        self._adopted = 0  # where: what was reserved before has no deadline
        self.rules = 0
        self.later: list[tuple[int, LedgerEvent]] = []

    @property
    def terms(self) -> Terms:
        """The terms of charges."""
        if self._terms is None:
            raise LedgerDamaged("there are no entries")
        return self._terms

    def feed_all(self, rows: Iterable[EntryRow]) -> None:
        """Go on with entries.

        Raises
        ------
        LedgerDamaged
            Naming the first that does not fit: to the chain, to its mechanism's charge, to the budget, or to itself.
        """
        for row in rows:
            position, text, digest = row
            chained_to(self.hash, self.position + 1, row)
            self._read_entry(position, text)
            self.position, self.hash = position, digest

    def _read_entry(self, position: int, text: str) -> None:
        self.next_position = position
        try:
            self._feed(position, parse_entry(text))
        except LedgerDamaged:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"damaged ({type(error).__name__}: {error})", position) from None
        if position in self.kinds or position in self.keys or position in self.reservations:
            self.texts[position] = text
        if text[2:9] in RARE_WORDS:
            self.rare = self.rare[0] + 1, self.rare[1] + position

    def feed_left(self, row: EntryRow) -> None:
        """Go on with an entry that a fold left: it is bound to none before it.

        Raises
        ------
        LedgerDamaged
            If it was changed after it was written.
        """
        position, text, digest = row
        if entry_hash(b"", text) != digest:
            raise LedgerDamaged("its hash is not that of its text, and a fold left it", position)
        self._left = True
        self._read_entry(position, text)
        self._left = False

    def begin_folded(
        self, position: int, fold: _Body, parts: Sequence[_Body], left: Sequence[EntryRow]
    ) -> None:
        """Begin where a fold ends.

        Parameters
        ----------
        position, fold
            Where the fold stands, and what it says.
        parts
            The entries after it that belong to it.
        left
            The entries that it left.

        Raises
        ------
        LedgerDamaged
            If they are not those that it left.
        """
        for part in parts:
            self.commitments.update((number, promise) for number, promise in part.get("opened", ()))
            self.waiting.feed(part.get("waiting", ()))
            if "saved" in part:
                count, digest = part["saved"]
                self.saved = count, digest
        if bound_together((found, text) for found, text, _ in left).hex() != fold["left"]:
            raise LedgerDamaged("the entries that it left are not there", position)
        for row in left[:1]:  # with the terms, in whose currency the sums are
            self.feed_left(row)
        paid = [each for part in parts for each in part.get("paid", ())]
        for i, (purpose, tenant, values, numbers) in enumerate(paid, start=-len(paid)):
            charge = amount_from_terms(values, self.terms.composition)
            self.kinds[i] = Entry(
                _FOLDED, None, charge, (), Place("folded", fold["after"]), "folded: see the ledger's fold"
            )
            body = {"paid": [(i, numbers)], "for": (purpose, tenant), "at": fold["clock"]}
            self._folded.append((i, body))
            apply(self, charge_of(i, body, self._entries(body["paid"])))
        for row in left[1:]:
            self.feed_left(row)
        if paid:
            self.trusted.append(-1)
        if self.limits is not None:
            for number, text in (each for part in parts for each in part.get("counted", ())):
                self.set_account(number, self.account(number)._replace(counted=self.limits.parse_row(text)))
        self.clock, self.drift = fold["clock"], fold.get("drift", 0)
        self.go_on(fold["after"], bytes.fromhex(fold["hash"]))

    def sum_payments(self, last: int, left: Collection[int]) -> list[list[Any]]:
        """Return the payments of accounts up to an entry, without some charges: purpose, tenant, amount, and payer.

        The summed charges are removed from the tallies.
        """
        totals: dict[Scope, dict[int, Vector]] = {}
        for position, body in self._read_charges():
            if position <= last and position not in left and self.reservation(position) != "returned":
                of = totals.setdefault(charge_of(position, body, ()).scope, {})
                if position > 0:
                    add_to_tally(self.tallies, body["paid"], -1)
                for kind, numbers in body["paid"]:
                    price = self.units.price(self.kinds[kind].charge)
                    for number in numbers:
                        of[number] = self.units.add(of.get(number, self.units.zero), price)
        found: dict[tuple[Any, ...], list[int]] = {}
        for scope, of in totals.items():
            for number in self.commitments:
                if number in of:
                    amount = amount_terms(self.units.amount(of[number]))
                    found.setdefault((scope.purpose, scope.tenant, *amount), []).append(number)
        return [[*key[:2], key[2:], numbers] for key, numbers in found.items()]

    def folded_tallies(self) -> list[Tally]:
        """Return the sums of folded charges, as charges."""
        paid = [each for _, body in self._folded for each in body["paid"]]
        return [Tally(self.kinds[kind], 1, len(numbers)) for kind, numbers in paid]

    @property
    def redrawn_positions(self) -> set[int]:
        """The positions of charges that were drawn again on a later day."""
        return {
            self.requests[each.request].position for _, each in self.later if isinstance(each, DrawnAgain)
        }

    def go_on(self, position: int, digest: bytes) -> None:
        """Leave out the entries up to a position, of this hash: they are believed."""
        self.position, self.hash = position, digest

    def _feed(self, position: int, body: dict[str, Any]) -> None:
        if position == 1:
            self._begin(body["begin"], body["at"])
        elif "paid" in body:
            if "opened" in body:
                self._open(position, body["opened"])
            paid = body["paid"]
            add_to_tally(self.tallies, paid, 1)
            for _, numbers in paid:
                for number in numbers:
                    if number not in self.commitments:
                        raise LedgerDamaged(f"charges account {number}, which was never opened", position)
            charged = charge_of(position, body, self._entries(paid))
            self._happen(position, charged, imported="source" in body)
        elif "saved" in body:
            self._save(position, *body["saved"])
            if "at" in body:
                self.clock, self.drift = max(self.clock, body["at"]), body.get("drift", 0)
        elif "kind" in body:
            self._kind(position, body["kind"])
        elif "drawn" in body or "returned" in body:
            returned = "returned" in body
            of = body["returned" if returned else "drawn"]
            self._happen(position, Settlement(of, returned, *_time(body)))
        elif "drawn again" in body:
            of = body["drawn again"]
            key = self.keys.get(of)
            if key is None or self.reservations.get(of, "drawn") != "drawn":
                raise LedgerDamaged(f"draws entry {of} again, which is no request's that was drawn", position)
            self._happen(position, DrawnAgain(key, *_time(body)))
        elif "answered" in body:
            of, digest = body["answered"]
            key = self.keys.get(of)
            if key is None or (self.requests[key].digest or digest) != digest:
                raise LedgerDamaged(f"answers entry {of}, which is no request's, or a second time", position)
            apply(self, Answered(key, digest))
        elif "rules" in body:
            said = body["rules"]
            self._open(position, said["opened"])
            self.rules = position
            rules = rules_of(said["rules"], self.terms.composition)
            apply(self, Ruled(rules, said["by"], said["reason"], *_time(said)))
        elif "clock" in body:
            apply(self, ClockConfirmed(**body["clock"]))
        elif "fold" in body:
            self.folds.append(body["fold"])
        elif "folded" in body:
            pass  # a replay that begins there has read it
        elif "assumed" in body:
            kind, message, where = body["assumed"]
            self.assumptions += (Assumption(AssumptionKind(kind), message, where),)
        elif "closed" in body:
            self.closed = body["closed"]
        elif "labelled" in body:
            self._relabel(position, body["labelled"])
        elif "erased" in body:
            self.erasures.append(body["erased"])
            self._relabel(position, [body["erased"]["account"]])
        elif "imported" in body:
            said = body["imported"]  # as `import_body` has it
            self.imports += [*said["imports"], said["source"]]
            self.adoptions += said["adoptions"]
            self.erasures += said["erasures"]
            self.earlier_folds += said["folds"]
        elif "anchored" in body:
            self._begin_epoch(position, body["anchored"]["epoch"])
            self.anchored = body["anchored"]["kept"]
        elif "key" in body:
            self._begin_epoch(position, body["key"]["epoch"])
            self.names = body["key"]["check"]
        else:
            self._begin_epoch(position, body["adopted"]["epoch"])
            self.location = body["adopted"]["location"]
            self.deadlines.clear()
            self._adopted = position
            self.adoptions.append(body["adopted"])

    def import_body(self, file: str, by: str, reason: str) -> dict[str, Any]:
        """Return the entry of an import of this ledger, read from a file of this digest, into another store."""
        last = {"store": self.instance, "epoch": self.epoch, "position": self.position}
        return {
            "source": {"file": file, **last, "hash": self.hash.hex(), "by": by, "reason": reason},
            "imports": self.imports,
            "adoptions": [_parts_of(each, "epoch", "reason", "missing") for each in self.adoptions],
            "erasures": [_parts_of(each, "by", "reason") for each in self.erasures],
            "folds": [
                _parts_of(each, "after", "by", "reason") for each in (*self.earlier_folds, *self.folds)
            ],
        }

    @property
    def missing_charges(self) -> str:
        """Return a sentence on charges to the same budgets that may not be here; "" if nothing can be."""
        said = []
        if self.adoptions:
            missing = sum(each["missing"] for each in self.adoptions)
            known = f", and lacks {counted_noun(missing, 'entry')} that its anchor knew" if missing else ""
            said.append(f"adopted {counted_noun(len(self.adoptions), 'time')}, as a copy or a backup{known}")
        if self.imports:
            said.append(f"imported {counted_noun(len(self.imports), 'time')}, from another ledger")
        words = "later charges elsewhere, on the same budgets, are not in it"
        return f"{'; '.join(said)}: {words}" if said else ""

    def _begin_epoch(self, position: int, epoch: int) -> None:
        if epoch <= self.epoch:
            raise LedgerDamaged(f"begins epoch {epoch} after epoch {self.epoch}", position)
        self.epoch = epoch

    def _relabel(self, position: int, labelled: Iterable[Sequence[Any]]) -> None:
        if self._left:
            return  # the fold has the commitments of accounts
        for number, promise in labelled:
            if number not in self.commitments:
                raise LedgerDamaged(f"names account {number}, which was never opened", position)
            self.commitments[number] = promise

    def _save(self, position: int, count: int, digest: str, waiting: list[Any]) -> None:
        if count != (0 if self.saved is None else self.saved[0]) + 1:
            raise LedgerDamaged(f"is save {count} of a run, out of order", position)
        self.waiting.feed(waiting)
        self.saved = count, digest

    def _begin(self, body: dict[str, Any], at: int) -> None:
        if body["format"] != FORMAT:
            raise LedgerDamaged(f"its format is {body['format']!r}, not {FORMAT!r}", 1)
        self._terms = Terms.from_dict(body["terms"])
        self.count_in(Units(self._terms.composition))
        self._limit = Limit(self.units, self._terms.budget)
        self.clock = at
        self.instance, self.location = body["instance"], body["location"]
        self.names = body.get("names")

    def _kind(self, position: int, body: dict[str, Any]) -> None:
        entry = entry_from_terms(body, (), self.terms.composition, self._charges)
        try:
            if not _check_charge(entry, self.terms.composition):
                self.trusted.append(position)
        except LedgerDamaged as error:
            raise LedgerDamaged(str(error), position) from None
        self.kinds[position] = entry

    def _happen(
        self, position: int, event: Charged | Settlement | DrawnAgain, *, imported: bool = False
    ) -> None:
        """Let an event happen, if it is decided so again; an imported one, or one that a fold left, is believed."""
        if self._left:  # the fold has counted it
            limits, self.limits = self.limits, None
            apply(self, event)
            self.limits = limits
            return
        if not imported:
            self._decide(position, event)
        apply(self, event)

    def _decide(self, position: int, event: Charged | Settlement | DrawnAgain) -> None:
        at = event.at or 0
        now = Now(at, at - self.clock - (event.drift - self.drift))
        try:
            found = decide(self, repeated_command(self, event, self._limit.holds), now).events
        except CannotPay as refused:
            over = "its budget" if refused.rule is None else str(refused.rule)
            raise LedgerDamaged(f"takes account {refused.record} over {over}", position) from None
        except Settled:
            of = event.position if isinstance(event, Settlement) else position
            raise LedgerDamaged(f"settles entry {of}, which is no open reservation", position) from None
        except ClockAhead as error:
            raise LedgerDamaged(str(error), position) from None
        if found != (event,):
            if at < self.clock:
                raise LedgerDamaged("goes back in time", position)
            raise LedgerDamaged("is not the event that its command leads to", position)

    def _open(self, position: int, opened: Iterable[Sequence[Any]]) -> None:
        for number, promise in opened:
            if number not in self.commitments:
                self.commitments[number] = promise
            elif not self._left:  # else the fold has its present commitment
                raise LedgerDamaged(f"opens account {number} a second time", position)

    def name(self, charged: Charged) -> None:
        """Keep the key of a request's charge; the rest is in the text of its entry."""
        if charged.request is not None:
            self.keys[charged.position] = charged.request

    def charge_at(self, position: int) -> Charged:
        """Return the charge of a reservation, or a request."""
        body = parse_entry(self.texts[position])
        charged = charge_of(position, body, self._entries(body["paid"]))
        return charged._replace(until=None) if position < self._adopted else charged

    def happens(self, event: LedgerEvent) -> None:
        """Keep an event that is no charge."""
        if isinstance(event, Charged):
            return
        self.later.append((self.next_position, event))
        if isinstance(event, Settlement) and event.returned:
            add_to_tally(self.tallies, parse_entry(self.texts[event.position])["paid"], -1)

    # --- rules -----------------------------------------------------------------------------------

    def set_rules(self, ruled: Ruled) -> None:
        """Put rules in force; they count charges from before they were made, too."""
        super().set_rules(ruled)
        for number, account in self.accounts.items():
            if account.counted:
                self.set_account(number, account._replace(counted=()))
        if self.limits is None or self._left:
            return
        for _, event in self.events({}):
            count_event(self, event)
        for number, account in self.accounts.items():
            if account.counted:
                self.set_account(
                    number,
                    account._replace(counted=self.limits.without_old_days(account.counted, self.clock)),
                )

    # --- charges ---------------------------------------------------------------------------------

    def _entries(self, paid: Sequence[tuple[int, Sequence[Any]]]) -> tuple[Entry, ...]:
        return tuple([self.kinds[kind].for_records(tuple(records)) for kind, records in paid])

    def _read_charges(self) -> Iterator[tuple[int, _Body]]:
        """Read the charges again, up to the entry that was read last; of those that were folded there are the sums."""
        yield from self._folded
        for position, text, _ in self.history():
            if position > self.next_position:
                break
            body = parse_entry(text)
            if "paid" in body:
                yield position, body

    def content(self, names: Mapping[int, RecordId]) -> LedgerContent:
        """Return the content of the ledger; accounts without a name keep their number."""
        return LedgerContent(self.terms, tuple(self.charge_events(names)), self.missing_charges)

    def charge_events(self, names: Mapping[int, RecordId], *, returned: bool = False) -> Iterator[Charged]:
        """Read charges that were made together again, by position; with `returned`, those that were given back, too."""
        deadlines = {position: until for until, position in self.deadlines}
        for position, body in self._read_charges():
            if returned or self.reservation(position) != "returned":
                paid = [(kind, [names.get(each, each) for each in numbers]) for kind, numbers in body["paid"]]
                yield charge_of(position, body, self._entries(paid))._replace(until=deadlines.get(position))

    def events(self, names: Mapping[int, RecordId]) -> Iterator[tuple[int, LedgerEvent]]:
        """Yield the events as a ledger in memory has them, and their positions, by which charges are numbered, too.

        Of answers to requests there are the digests. Of charges that were folded there are the sums.
        """
        charges = ((charged.position, charged) for charged in self.charge_events(names, returned=True))
        later = (
            (
                position,
                event._replace(rules=_name_members(event.rules, names))
                if isinstance(event, Ruled)
                else event,
            )
            for position, event in self.later
        )
        return heapq.merge(charges, later, key=itemgetter(0))

    @property
    def rule_changes(self) -> list[tuple[int, Ruled]]:
        """The changes of rules, each with its position."""
        return [(position, each) for position, each in self.later if isinstance(each, Ruled)]

    def named_rules(self, names: Mapping[int, RecordId]) -> tuple[Rule, ...]:
        """Return the rules in force, with the names of the members of groups."""
        return () if self.limits is None else _name_members(self.limits.rules, names)

    @property
    def closure(self) -> tuple[str, Place] | None:
        """The reason why, and the place where, the gate was shut."""
        return None if self.closed is None else (self.closed[0], Place(*self.closed[1:]))
