"""One transaction of a store: the rows that it reads, the entries that it adds, the rows that it writes at its end."""

from __future__ import annotations

import functools
import heapq
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accountant.filters.units import Units
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_from_terms, entry_terms
from accountant.ledger.events import (
    Answered,
    Charged,
    ClockConfirmed,
    DrawnAgain,
    LedgerCommand,
    LedgerEvent,
    Now,
    Ruled,
    Settlement,
)
from accountant.ledger.ledger_state import Account, Request, State, apply, decide, expire
from accountant.ledger.store import Receipt
from accountant.place import Place, calling_place
from accountant.refusals import GateClosed
from accountant.rules.clock import RunningClock
from accountant.rules.limits import Limits
from accountant.rules.rule import Rule
from accountant.stores.anchor import Mark
from accountant.stores.chain import canonical, commitment, encode_name, entry_hash, row_digest
from accountant.stores.entry_bodies import (
    RARE_WORDS,
    add_time,
    add_to_tally,
    charge_body,
    charge_of,
    outcome_body,
)
from accountant.stores.location import same_location
from accountant.stores.replayed_entries import rules_of
from accountant.stores.schema import OPEN_WITH_DEADLINE, OUTCOME
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged, RetryAlone, StoreMoved
from mechanisms import Assumption
from mechanisms.parameters import ParameterError


@dataclass(slots=True)
class _AccountRow:
    """A row of the table of accounts in one transaction; without a number it is not there, and begins with a charge."""

    number: int | None
    name: str
    salt: bytes
    spent: str = ""
    counted: str | None = None
    digest: bytes = b""  # of a new one


Kinds = dict[tuple[Any, ...], tuple[Entry, int]]
"""Committed kinds of entries with their positions, by ids of objects that the entry keeps alive."""


class Transaction(State):
    """One transaction: the state is filled with the rows that are needed, and written at its end.

    Accounts go by their numbers, and by their labels before they have any. Nothing is written before `finish`, but
    every task sees the changes of those before it. A task checks first and changes then: one that refuses has changed
    nothing, and others go on.

    Beside other writers (`Session.together`) all accounts and requests that it decides on are read at once and locked
    to its end, in the order of their names. The positions of its entries are known when it ends, and takes its turn at
    the end of the chain; until then they are numbered on from the last entry at its beginning. So a later decision on
    an account is later in the chain, as if all transactions had come one after the other. A task that needs more than
    that raises `RetryAlone`.
    """

    def __init__(
        self,
        session: Session,
        units: Units,
        kinds: Kinds,
        opened: Mark,
        known_limits: dict[int, Limits],
        label: Callable[[RecordId], str],
        witness: RunningClock,
        numbers: Iterator[int],
    ) -> None:
        super().__init__(units)
        self.label = label  # of a record
        self._known_limits = known_limits
        self._database = session.database
        self._kinds = kinds
        self._opened = opened  # which store, the epoch, and the last entry that this process has seen
        self._witness = witness
        self.session = session
        row, self._place, self.time = self._database.row_in_place(session, _HEAD, opened.position + 1)
        self._row = store_row(self._database.name, row[:-5])
        # The earliest deadline of an open reservation; the entry behind the last one that this process has seen.
        self._deadline, *self._next, position, digest = row[-5:]
        self.instance, self.epoch, self._location, self._closed, self._rules = self._row[:5]
        self.clock, self.drift, self._noted = self._row[5:]
        self._now: Now | None = None
        self.position, self._hash = int(position), stored_bytes(digest)
        self._written = self.last = self.position
        # Whose last entry this process has seen, as far as that is known.
        self.is_the_one = self._hash.hex() == opened.hash
        self._rows: dict[str, _AccountRow] = {}
        self._numbered: dict[int, _AccountRow] = {}
        self._changed: set[int] = set()
        self._relabelled: set[int] = set()
        self._entries: list[tuple[int, str, bytes]] = []
        self.numbers = iter(()) if self._database.sqlite and not self.is_the_one else numbers
        """Numbers for new accounts that no other process uses."""
        self._looked_up = False
        self._known: set[str] = set()  # requests that were looked up
        self._stored: set[str] = set()  # and found
        self.new_kinds: Kinds = {}
        self._kind_rows: dict[str, int] = {}
        self._tally: dict[int, tuple[int, int]] = {}
        self._recounted = False  # the counts in the rows are of other rules than those in force
        self._settled: set[int] = set()
        self._asked: set[str] = set()  # requests that were made or changed
        self.limits = self._limits_now()

    # --- reading ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse if the store was replaced, restored or adopted elsewhere since it was opened, or shut.

        Raises
        ------
        StoreMoved, GateClosed
            With the reason.
        """
        if self._place is not None and not same_location(json.loads(self._location), self._place):
            raise StoreMoved(
                f"{self._database.name}: was restored from a dump, or moved to another server, since this process "
                "opened it: what was charged since may be missing; open it again"
            )
        self._place = None  # where it stays until the transaction ends
        self.check_open()

    def check_open(self) -> None:
        """Refuse as `check` does, wherever the store is.

        Raises
        ------
        StoreMoved, GateClosed
            With the reason.
        """
        if self.instance != self._opened.instance:
            raise StoreMoved(
                f"{self._database.name}: another store has taken its place since this process opened it: bring it "
                "back, or open what is there now"
            )
        self.check_epoch()
        self._check_seen()
        if self._rules < max(self._known_limits, default=0):
            raise LedgerDamaged(
                f"{self._database.name}: the table `store` has other rules than this process has seen in force: an "
                "older row was put in its place"
            )
        if self._closed is not None:
            why, *place = json.loads(self._closed)
            raise GateClosed(f"the gate is closed since {Place(*place)}: {why}", calling_place())

    def check_epoch(self) -> None:
        """Refuse to look up names under a key that may have changed: everybody would seem to have spent nothing."""
        if self.epoch != self._opened.epoch:
            raise StoreMoved(
                f"{self._database.name}: was adopted or anchored, or its key of names changed, since this process "
                f"opened it (epoch {self.epoch}, not {self._opened.epoch}): open it again"
            )

    def _check_seen(self) -> None:
        """Refuse a store that does not hold the last entry that this process has seen: an older one was put back."""
        if self.is_the_one:
            return
        seen, (body, digest) = self._opened, self._next
        if body is None or entry_hash(bytes.fromhex(seen.hash), body) != stored_bytes(digest):
            raise StoreMoved(
                f"{self._database.name}: ends at entry {self._written}, and does not hold entry {seen.position} that "
                "this process has seen there: an older copy was put in its place, or old entries were folded. What was "
                "charged since may be missing; open it again if it is the right one"
            )
        self.is_the_one = True

    def look_up(self, names: Sequence[str], keys: Sequence[str]) -> None:
        """Read accounts and requests, all at once."""
        wanted = self._missing(names)
        if keys:
            asked = {encode_name(key): key for key in keys if key not in self._known}
            self.session.ask(BY_LABEL[self.session.together], wanted)
            self.session.ask(_REQUESTS[self.session.together], sorted(asked))
            self._load_requests(asked)
        self._load_missing(wanted)
        self._looked_up = True

    def payers_of(self, reserved: Sequence[int]) -> list[str]:
        """Return the labels of the accounts that pay for reservations, as they are now."""
        held = self.session.select("SELECT position FROM reservation WHERE position IN (...)", reserved)
        bodies = [self.body(int(position)) for (position,) in held if position <= self._written]
        numbers = sorted({each for body in bodies for _, payers in body["paid"] for each in payers})
        found = self.session.select("SELECT label FROM account WHERE number IN (...)", numbers)
        return [name for (name,) in found if name is not None]

    def load(self, names: Iterable[str]) -> None:
        """Read accounts, all at once."""
        self._load_missing(self._missing(names))

    def _missing(self, names: Iterable[str]) -> list[str]:
        return sorted({name for name in names if name not in self._rows})

    def _load_missing(self, wanted: Sequence[str]) -> None:
        if not wanted:
            return
        self._read_accounts(BY_LABEL, wanted)
        new = [name for name in wanted if name not in self._rows]
        if new:
            if not self._database.accounts_checked > -math.inf:
                self._need_to_be_alone()
            check_accounts(self.session)
            salts = os.urandom(16 * len(new))
            for i, name in enumerate(new):
                self._rows[name] = _AccountRow(None, name, salts[16 * i : 16 * i + 16])

    def load_numbers(self, numbers: Iterable[Any]) -> None:
        """Read accounts that entries name, all at once."""
        self._read_accounts(_BY_NUMBER, sorted({each for each in numbers if each not in self._numbered}))

    def _read_accounts(self, accounts: tuple[str, str], keys: Sequence[Any]) -> None:
        if keys and self._looked_up:
            self._need_to_be_alone()  # locks out of order could lead to a deadlock
        for row in self.session.select(accounts[self.session.together], keys):
            number, name, *_ = row
            if number not in self._numbered:
                self._rows[name] = self._numbered[number] = account_row(self._database.name, row)

    def _need_to_be_alone(self) -> None:
        if self.session.together:
            raise RetryAlone

    def row(self, name: str) -> _AccountRow:
        """Return the row of an account; one that is not there is new, and opened by the first charge."""
        if name not in self._rows:
            self.load((name,))
        return self._rows[name]

    def row_numbered(self, number: int) -> _AccountRow:
        """Return the row of an account that an entry names.

        Raises
        ------
        LedgerDamaged
            If there is none.
        """
        if number not in self._numbered:
            self.load_numbers((number,))
        if number not in self._numbered:
            raise LedgerDamaged(f"{self._database.name}: there is no account {number}")
        return self._numbered[number]

    def key(self, name: str) -> int | str:
        """Return the state's key of an account: its number, and its label before it has one."""
        number = self.row(name).number
        return name if number is None else number

    def account(self, record: RecordId) -> Account:
        """Return an account, by its number, or of a new one, by its label."""
        found = self.accounts.get(record)
        if found is None:
            row = self.row_numbered(record) if isinstance(record, int) else self.row(record)
            limits = None if self._recounted else self.limits
            counted = () if limits is None or row.counted is None else limits.parse_row(row.counted)
            spent = self.units.parse_vector(row.spent) if row.spent else self.units.zero
            found = self.accounts[record] = Account(spent, 0, counted)
        return found

    def set_account(self, record: RecordId, account: Account) -> None:
        """Change an account."""
        assert isinstance(record, int)
        self.accounts[record] = account
        self._changed.add(record)

    def current_time(self) -> Now:
        """Return the time, and how much of it since the last entry was seen to pass; it stays the same."""
        if self._now is None:
            if self.limits is not None and self.limits.windows:
                self._need_to_be_alone()  # a charge is stamped not before the last one
                self._witness.note_entry(self._noted, self.clock)
                self._now = Now(self.time, self._witness.elapsed_since(self.clock))
            else:
                self._now = Now(self.time)
        return self._now

    def _limits_now(self) -> Limits | None:
        """Return the rules in force; accounts are called by their numbers, and by their names before they have any."""
        found = self._known_limits.get(self._rules)
        if found is None and self._rules:
            rules = rules_of(self.body(self._rules)["rules"]["rules"], self.units.composition)
            if not rules:
                return None
            found = Limits(rules, self.units)
            if self._rules <= self._written:  # another transaction may put other rules there
                self._known_limits[self._rules] = found
        return found

    def body(self, position: int) -> Any:
        """Return an entry."""
        if position > self._written:  # of this transaction: there is none between them that is missing
            index = position - self._written - 1
            if index >= len(self._entries):
                raise LedgerDamaged("it is missing", position)
            return json.loads(self._entries[index][1])
        sql = "SELECT entry.body, entry.hash, before.hash FROM entry LEFT JOIN entry AS before ON "
        sql += "before.position = entry.position - 1 WHERE entry.position = ?"
        found = self.session.row(sql, position)
        if found is None:
            raise LedgerDamaged("it is missing", position)
        before = b"" if found[2] is None else stored_bytes(found[2])
        # Without one before it, it was left by a fold.
        if stored_bytes(found[1]) not in (entry_hash(before, found[0]), entry_hash(b"", found[0])):
            raise LedgerDamaged("its hash is not that of its text and of the entry before it", position)
        return json.loads(found[0])

    def reservation(self, position: int) -> str | None:
        """Return the outcome of a reservation."""
        if position not in self.reservations:
            locked = " FOR UPDATE" * self.session.together
            found = self.session.row(f"SELECT state FROM reservation WHERE position = ?{locked}", position)
            if found is None:
                return None
            if position > self._written:
                self._need_to_be_alone()
            if found[0] == "reserved":
                self._check_outcome(position, "drawn", "returned")
            self.reservations[position] = str(found[0])
        return self.reservations[position]

    def due(self, at: int) -> int | None:
        """Return an open reservation with a deadline that has passed; of the tables' a thousand in a transaction."""
        if self._deadline is not None and self._deadline <= at:
            self._need_to_be_alone()
            self._deadline = None
            sql = f"SELECT until, position FROM reservation {OPEN_WITH_DEADLINE} AND until <= ? "
            for until, position in self.session.rows(f"{sql}ORDER BY until LIMIT {_AT_ONCE}", at):
                if self.charge_at(int(position)).until != until:
                    raise LedgerDamaged("the table `reservation` does not have its deadline", int(position))
                heapq.heappush(self.deadlines, (until, int(position)))
        return super().due(at)

    def request(self, key: str) -> Request | None:
        """Return a request."""
        if key not in self._known:
            self._load_requests({encode_name(key): key})
        return self.requests.get(key)

    def _load_requests(self, keys: Mapping[str, str]) -> None:
        """Read requests by their keys, given by label."""
        for found, position, stamped, digest, answer in self.session.select(
            _REQUESTS[self.session.together], sorted(keys)
        ):
            if position > self._written:
                self._need_to_be_alone()  # made since this one began, where its own entries are numbered
            key, answer = keys[found], None if answer is None else stored_bytes(answer)
            self.requests[key] = Request(int(position), int(stamped), digest, answer)
            self._stored.add(key)
        self._known.update(keys.values())

    def check_unanswered(self, request: Request) -> None:
        """Refuse if an entry answers a request, or gives its charge back, and the rows say that none does."""
        self._check_outcome(request.position, "answered", "returned")

    def _check_outcome(self, position: int, *outcomes: str) -> None:
        """Refuse if there is such an outcome of a charge, and its row does not have it: it is an older one."""
        if position > self._written:
            return
        sql = f"SELECT position, body FROM entry WHERE {self._database.outcome_of} = ? AND {OUTCOME}"
        for at, body in self.session.rows(sql, position):
            if any(each in json.loads(body) for each in outcomes):
                raise LedgerDamaged(
                    f"{self._database.name}: a table does not have the outcome of entry {position}, which entry {at} "
                    "has: an older row was put in its place"
                )

    def charge_at(self, position: int) -> Charged:
        """Return the charge of a reservation, or a request, from its entry."""
        if position not in self.named:
            self.named[position] = self._charge(position, self.body(position))
        return self.named[position]

    def _charge(self, position: int, body: Mapping[str, Any]) -> Charged:
        entries = [self.kind_at(kind).for_records(tuple(numbers)) for kind, numbers in body["paid"]]
        self.load_numbers(number for entry in entries for number in entry.records)
        return charge_of(position, body, tuple(entries))

    def kind_at(self, position: int) -> Entry:
        """Return a kind of entry, of no records."""
        return entry_from_terms(self.body(position)["kind"], (), self.units.composition, {})

    # --- events ---------------------------------------------------------------------------------

    def do(self, command: LedgerCommand) -> Receipt:
        """Decide on a command, and let it happen."""
        if self._deadline is not None or self.deadlines:
            expire(self, self.current_time(), self.happen)
        found = decide(self, command, self.current_time())
        for event in found.events:
            position = self.happen(event)
            if isinstance(event, Charged):
                return Receipt(position, *found[1:])
        return found

    def happen(self, event: LedgerEvent, source: str | None = None) -> int:
        """Write an event down, and apply it; return its position.

        Parameters
        ----------
        event
            The event, with accounts by the state's names.
        source
            The digest of the ledger that it was imported from, if it was.
        """
        if isinstance(event, Charged):
            if event.reserved and self.limits is not None:
                self._need_to_be_alone()  # rules count it by its position
            entries = event.entries
            kinds = [*map(self.kind, entries)]  # first: an entry that cannot be written changes nothing
            names = dict.fromkeys(itertools.chain.from_iterable([entry.records for entry in entries]))
            opened = [self.open_account(name) for name in names if isinstance(name, str)]
            if opened:
                entries = tuple(
                    [entry.for_records(tuple(map(self.number_of, entry.records))) for entry in entries]
                )
            paid = [(kind, entry.records) for kind, entry in zip(kinds, entries, strict=True)]
            position = self.append(charge_body(event, event.at, paid, opened, source))
            add_to_tally(self._tally, paid, 1)
            apply(self, Charged(position, entries, *event[2:]))
            return position
        if not isinstance(event, Answered | Settlement):
            self._need_to_be_alone()
        if isinstance(event, Settlement):
            if event.position > self._written:
                self._need_to_be_alone()
            if event.returned:
                add_to_tally(self._tally, self.body(event.position)["paid"], -1)
            position = self.append(outcome_body(event, event.position))
        elif isinstance(event, ClockConfirmed):
            position = self.append({"clock": event._asdict()})
        else:
            assert isinstance(event, DrawnAgain | Answered)
            request = self.request(event.request)
            assert request is not None
            if request.position > self._written:
                self._need_to_be_alone()
            position = self.append(outcome_body(event, request.position))
        apply(self, event)
        return position

    def number_of(self, key: int | str) -> int:
        """Return the number of an account that has one, by the state's key of it."""
        number = key if isinstance(key, int) else self._rows[key].number
        assert number is not None
        return number

    def set_reservation(self, position: int, state: str) -> None:
        """Change a reservation, or make it."""
        super().set_reservation(position, state)
        self._settled.add(position)

    def set_request(self, key: str, request: Request) -> None:
        """Change a request, or make it."""
        super().set_request(key, request)
        self._asked.add(key)
        self._known.add(key)

    def append(self, body: dict[str, Any]) -> int:
        """Add an entry to the chain; return its position."""
        return self._add(canonical(body))

    def _add(self, text: str) -> int:
        self.position += 1
        self._hash = entry_hash(self._hash, text)
        self._entries.append((self.position, text, self._hash))
        return self.position

    def later(self, at: int | None) -> int:
        """Return the time of events elsewhere: now if none was noted, and here it never goes back."""
        if at is None:
            return self.current_time().at
        return max(at, self.clock) if self.limits is not None and self.limits.windows else at

    def append_save(self, saved: Sequence[Any], at: int | None, drift: int) -> None:
        """Add the entry of a run that is saved."""
        self.clock, self.drift = max(self.clock, self.later(at)), drift
        self.append(add_time({"saved": saved}, self.later(at), drift))

    def put_rules(self, rules: Sequence[Rule], body: dict[str, Any]) -> None:
        """Put rules in force, with groups of accounts by their numbers; counts of accounts follow by `set_account`."""
        self._rules = self.append({"rules": body})
        self._recounted = True
        for record, account in self.accounts.items():
            self.accounts[record] = account._replace(counted=())
        apply(self, Ruled(tuple(rules), body["by"], body["reason"], body["at"], body.get("drift", 0)))

    def open_account(self, name: str) -> list[Any]:
        """Open the account of a new record; return its content in the entry that does it."""
        row = self.row(name)
        row.number = self._fresh_number()
        self._numbered[row.number] = row
        if name in self.accounts:
            self.accounts[row.number] = self.accounts.pop(name)
        self._changed.add(row.number)
        return [row.number, commitment(row.salt, name)]

    def relabel(self, row: _AccountRow, name: str) -> list[Any]:
        """Give an account another label from now on; return its content in the entry that does it."""
        assert row.number is not None
        row.name, row.salt = name, os.urandom(16)
        self._relabelled.add(row.number)
        return [row.number, commitment(row.salt, name)]

    def begin_epoch(self, epoch: int = 0) -> int:
        """Begin an epoch, later than another that is known: earlier users of the store spend no more."""
        self.epoch = max(self.epoch, epoch) + 1
        return self.epoch

    def kind(self, entry: Entry) -> int:
        """Return the position of a kind of entry: mechanism, sensitivity, charge, place and note."""
        key = entry.kind_key()
        known = self._kinds.get(key) or self.new_kinds.get(key)
        if known is None:
            body = {"kind": entry_terms(entry)}
            digest = entry_hash(b"", canonical(body)).hex()
            position = self._kind_rows.get(digest)
            if position is None:
                found = self.session.row("SELECT position FROM kind WHERE digest = ?", digest)
                if found is None:
                    self._need_to_be_alone()
                    position = self._kind_rows[digest] = self.append(body)
                elif self.body(position := int(found[0])) != body:
                    raise LedgerDamaged("is not the kind of the table `kind`", position)
            known = self.new_kinds[key] = entry.for_records(()), position
        return known[1]

    def assume(self, assumption: Assumption) -> None:
        """Keep the unchecked assumptions of releases."""
        self.append({"assumed": [assumption.kind.value, assumption.message, assumption.where]})

    def save_run(self, count: int, holder: str, state: bytes) -> None:
        """Put a run's state in the place of the last one."""
        self.session.run(
            "INSERT INTO run (id, saves, holder, state) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
            "SET saves = excluded.saves, holder = excluded.holder, state = excluded.state",
            [(count, holder, state)],
        )

    def keep(self, kept: Mapping[str, bytes]) -> None:
        """Keep values beside a run's state.

        Raises
        ------
        ParameterError
            If something is kept by one of the names already.
        """
        sql = "SELECT name FROM kept WHERE name IN (...)"
        if found := self.session.select(sql, list(kept)):
            raise ParameterError(f"keep = {found[0][0]!r}: must be a name by which nothing is kept yet")
        rows = [(name, value, row_digest(name, value)) for name, value in kept.items()]
        self.session.run("INSERT INTO kept (name, value, digest) VALUES (?, ?, ?)", rows)

    def rows(self, position: int) -> Iterator[tuple[int, str, bytes]]:
        """Yield the entries after a position, those of this transaction included."""
        yield from rows_after(self.session, position)
        yield from (row for row in self._entries if row[0] > position)

    def shut_gate(self, why: str, where: Place) -> None:
        """Let nothing more be charged; the first reason stays."""
        if self._closed is None:
            self._closed = canonical([why, *where])
            self.append({"closed": [why, *where]})

    def adopt(self, location: dict[str, Any], reason: str, missing: int, epoch: int) -> None:
        """Let this copy go on: other users of the store, or of a copy with the same anchor, spend no more."""
        body = {"epoch": self.begin_epoch(epoch), "location": location, "reason": reason, "missing": missing}
        self.append({"adopted": body, "at": self.clock or self.time})
        self._location = canonical(location)
        # An open reservation may be drawn in the missing entries: no deadline gives it back.
        self.session.run("UPDATE reservation SET until = NULL", [()])

    def remove(
        self,
        last: int,
        left: Sequence[tuple[int, str]],
        forgotten: Iterable[int],
        settled: Iterable[int],
        tallies: Mapping[int, Sequence[int]],
    ) -> int:
        """Remove the entries up to the last one of a fold; return their number.

        Parameters
        ----------
        last
            The last of them.
        left
            Position and text of those that stay, each with a hash of its own.
        forgotten
            The positions of the charges of forgotten requests.
        settled
            Reservations that are.
        tallies
            The number of charges of each kind among those that stay.
        """
        removed: int = self.session.value("SELECT count(*) FROM entry WHERE position <= ?", last)
        self.session.run("DELETE FROM entry WHERE position <= ?", [(last,)])
        self.session.run("DELETE FROM tally WHERE kind > 0", [()])
        self._write_accounts()
        self.session.run(
            "INSERT INTO tally (kind, releases, records) VALUES (?, ?, ?)",
            [(kind, *counted) for kind, counted in tallies.items()],
        )
        rows = [(position, text, entry_hash(b"", text)) for position, text in left]
        self.session.run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", rows)
        self.session.run("DELETE FROM request WHERE position = ?", [(each,) for each in forgotten])
        self.session.run("DELETE FROM reservation WHERE position = ?", [(each,) for each in settled])
        return removed - len(rows)

    def _fresh_number(self) -> int:
        number = next(self.numbers, None)
        if number is None:
            self._need_to_be_alone()
            most = self.session.value("SELECT max(number) FROM account") or 0
            if self._database.sqlite:
                self.numbers = itertools.count(most + 1)
            else:
                given = self.session.value("SELECT releases FROM tally WHERE kind = ?", _GIVEN) or 0
                most = max(most, given)
                self._tally[_GIVEN] = most + _AT_ONCE - given, 0
                self.numbers = iter(range(most + 1, most + 1 + _AT_ONCE))
            number = next(self.numbers)
        return number

    def _take_turn(self) -> None:
        """Let its entries follow the last one of those that others have written meanwhile; none writes from here on."""
        self.session.execute("SELECT id FROM store FOR UPDATE")
        [(self.last, digest)] = self.session.rows(_LAST)
        self.position, self._hash = self.last, stored_bytes(digest)
        entries, self._entries = self._entries, []
        for _, text, _ in entries:
            self._add(text)

    def place_of(self, position: int) -> int:
        """Return the position of an entry, by the one that it had before the turn."""
        return position + (self.last - self._written if position > self._written else 0)

    def result_in_place(self, found: object) -> object:
        """Return the result of a task, with the place of its charge."""
        return found._replace(position=self.place_of(found.position)) if isinstance(found, Receipt) else found

    def finish(self) -> Mark:
        """Write all of it, and return the new head."""
        self._write_accounts()
        if self.session.together:
            self._take_turn()
        self.session.run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", self._entries)
        if rare := [position for position, text, _ in self._entries if text[2:9] in RARE_WORDS]:
            self._tally[RARE_TALLY] = len(rare), sum(rare)
        if self._kind_rows:
            self.session.run("INSERT INTO kind (digest, position) VALUES (?, ?)", [*self._kind_rows.items()])
        self.session.run(
            "INSERT INTO tally (kind, releases, records) VALUES (?, ?, ?) ON CONFLICT (kind) DO UPDATE "
            "SET releases = tally.releases + excluded.releases, records = tally.records + excluded.records",
            [(kind, *counted) for kind, counted in self._tally.items()],
        )
        windows = self.limits is not None and self.limits.windows
        time = self._row[5:8]
        if (windows or self._recounted) and (self.clock, self.drift) != time[:2]:
            self._witness.note_entry(self._noted, self.clock)
            time = self.clock, self.drift, self._witness.text()
        store = self.instance, self.epoch, self._location, self._closed, self._rules, *time
        if store != self._row:
            self.session.run(
                "UPDATE store SET epoch = ?, location = ?, closed = ?, rules = ?, clock = ?, drift = ?, witness = ?, "
                "digest = ?",
                [(*store[1:], row_digest(*store))],
            )
        if self._settled:
            self._write_reservations()
        if self._asked:
            self._write_requests()
        return Mark(self.instance, self.epoch, self.position, self._hash.hex())

    def _write_reservations(self) -> None:
        rows: list[tuple[Any, ...]] = []
        for position in self._settled:
            state = self.reservations[position]
            until = self.named[position].until if state == "reserved" else None
            rows.append((self.place_of(position), state, until))
        self.session.run(
            "INSERT INTO reservation (position, state, until) VALUES (?, ?, ?) "
            "ON CONFLICT (position) DO UPDATE SET state = excluded.state, until = excluded.until",
            rows,
        )

    def _write_requests(self) -> None:
        insert = "INSERT INTO request (key, position, stamped, answered, answer) VALUES (?, ?, ?, ?, ?)"
        update = "SET stamped = excluded.stamped, answered = excluded.answered, answer = excluded.answer"
        for keys, sql in (
            (self._asked - self._stored, insert),  # another writer may have used one since it was looked up
            (self._asked & self._stored, f"{insert} ON CONFLICT (key) DO UPDATE {update}"),
        ):
            asked = [(key, self.requests[key]) for key in sorted(keys)]
            self.session.run(
                sql, [(encode_name(key), self.place_of(each[0]), *each[1:]) for key, each in asked]
            )

    def _write_accounts(self) -> None:
        mass = 0
        fresh: list[tuple[Any, ...]] = []
        changed: list[tuple[Any, ...]] = []
        rows = [self._numbered[number] for number in self._changed | self._relabelled]
        rows.sort(key=lambda row: row.name)  # so that no two transactions wait for each other
        for row in rows:
            number = row.number
            assert number is not None
            if number in self._changed:
                account = self.account(number)
                row.spent = self.units.format_vector(account.spent)
                row.counted = None if self.limits is None else self.limits.text(account.counted)
            values = number, row.name, row.salt, row.spent, row.counted
            digest = row_digest(*values)
            (changed if row.digest else fresh).append((*values, digest))
            mass += mass_of(digest) - (mass_of(row.digest) if row.digest else 0)
            row.digest = digest
        if fresh or changed:
            self._tally[0] = len(fresh), mass
        sql = "INSERT INTO account (number, label, salt, spent, counted, digest) VALUES (?, ?, ?, ?, ?, ?)"
        self.session.run(sql, fresh)
        if changed:
            columns = (*("label", "salt") * bool(self._relabelled), "spent", "counted", "digest")
            said = ", ".join(f"{column} = excluded.{column}" for column in columns)
            self.session.run(f"{sql} ON CONFLICT (number) DO UPDATE SET {said}", changed)

    @property
    def unchanged(self) -> bool:
        """True if there is nothing to write."""
        return not self._entries


def mass_of(digest: bytes) -> int:
    """Return the mass of a row in the sum of its table: 32 bits, so that a column holds the sum of 2^31 of them."""
    return int.from_bytes(digest[:4], "big")


_AT_ONCE = 1_000  # rows of a statement
_STORE = "SELECT instance, epoch, location, closed, rules, clock, drift, witness, digest"
STORE_ROW = f"{_STORE} FROM store"
_DEADLINE = f"(SELECT min(until) FROM reservation {OPEN_WITH_DEADLINE})"
_LAST = "SELECT position, hash FROM entry ORDER BY position DESC LIMIT 1"
# Not FROM the last entry as a subquery: SQLite would make a table of it, in each transaction.
_HEAD = (
    f"{_STORE}, {_DEADLINE}, next.body, next.hash AS next_hash, last.position, last.hash FROM store, entry AS last "
    "LEFT JOIN entry AS next ON next.position = ? WHERE last.position = (SELECT max(position) FROM entry)"
)
_GIVEN = -2
"""The kind in the table of tallies for the last account number that was given to a process."""
RARE_TALLY = -3
"""The kind in the table of tallies for the number of rare entries, and the sum of their positions."""
ACCOUNT_ROW = "SELECT number, label, salt, spent, counted, digest FROM account"
_REQUEST_ROW = "SELECT key, position, stamped, answered, answer FROM request"


def _with_locked(rows: str, column: str, key: str) -> tuple[str, str]:
    """Return a statement with a list of keys for a writer alone, and one that locks its rows, ordered by a key."""
    alone = f"{rows} WHERE {column} IN (...)"
    return alone, f'{alone} ORDER BY {key} COLLATE "C" FOR UPDATE'


BY_LABEL, _BY_NUMBER = (_with_locked(ACCOUNT_ROW, column, "label") for column in ("label", "number"))
_REQUESTS = _with_locked(_REQUEST_ROW, "key", "key")


def store_row(
    name: str, row: Sequence[Any]
) -> tuple[str, int, str, str | None, int, int, int, str | None]:  # fmt: skip
    """Return the row of a name in the table of stores, without its digest, as `STORE_ROW` found it.

    Raises
    ------
    LedgerDamaged
        If the row does not match its digest.
    """
    if not _is_whole(tuple(row)):
        raise LedgerDamaged(f"{name}: the table `store` is not what was written")
    return row[:-1]  # type: ignore[return-value]


@functools.lru_cache(maxsize=16)
def _is_whole(row: tuple[Any, ...]) -> bool:
    *values, digest = row
    return row_digest(*values) == stored_bytes(digest)


def account_row(name: str, row: Sequence[Any]) -> _AccountRow:
    """Return the row of an account of a store, as `ACCOUNT_ROW` found it.

    Raises
    ------
    LedgerDamaged
        If the row does not match its digest.
    """
    number, label, salt, spent, counted, digest = row
    values = int(number), label, stored_bytes(salt), spent, counted
    digest = stored_bytes(digest)
    if row_digest(*values) != digest:
        raise LedgerDamaged(f"{name}: account {number} is not what was written")
    return _AccountRow(*values, digest)


def check_accounts(session: Session, within: float = math.inf) -> None:
    """Refuse if an account is damaged, was renamed, is gone, or is an older one; unless that was found lately.

    A record that is not found is new and has spent nothing, unless its account was renamed or is gone. The check reads
    all accounts, so it waits for the first record that is not found.

    Parameters
    ----------
    session
        A session of the database.
    within
        The age in seconds up to which an earlier check counts.

    Raises
    ------
    LedgerDamaged
        If one is; the message has the damage.
    """
    database = session.database
    if time.monotonic() - database.accounts_checked < within:
        return
    damage = database.damage(session, "account")
    if damage is not None:
        raise LedgerDamaged(f"{database.name}: SQLite finds: {damage}")
    count, mass = 0, 0
    for row in session.each(ACCOUNT_ROW):
        mass += mass_of(account_row(database.name, row).digest)
        count += 1
    check_mass(database.name, session, count, mass)
    database.accounts_checked = time.monotonic()


def check_mass(name: str, session: Session, count: int, mass: int) -> None:
    """Refuse unless these are the number of accounts that were written, and the sum of their digests.

    Raises
    ------
    LedgerDamaged
        If they differ; the message has the difference.
    """
    found = session.row("SELECT releases, records FROM tally WHERE kind = 0")
    opened, written = (0, 0) if found is None else found
    if count != opened:
        raise LedgerDamaged(f"{name}: {opened} accounts were opened, and {count} are there")
    if mass != written:
        raise LedgerDamaged(
            f"{name}: an account is not what was written last: an older one was put in its place"
        )


def last_save(session: Session) -> tuple[int, str]:
    """Return the number of times a run was saved, and the holder that may save it."""
    found = session.row("SELECT saves, holder FROM run")
    return (0, "") if found is None else (int(found[0]), found[1])


def stored_bytes(value: object) -> bytes:
    """Return the bytes of a table's cell; one changed bit of SQLite's makes a text or a number of them."""
    if type(value) is bytes:  # SQLite's; a server's driver may have it in a view
        return value
    if not isinstance(value, bytes | memoryview):
        raise LedgerDamaged(f"a table holds a {type(value).__name__} where bytes were written")
    return bytes(value)


def rows_after(
    session: Session, position: int, which: str = "position > 0"
) -> Iterator[tuple[int, str, bytes]]:
    """Yield position, text and hash of the entries after a position, or of some of them."""
    more = True
    while more:
        rows = session.rows(
            f"SELECT position, body, hash FROM entry WHERE position > {position:d} AND ({which}) "
            f"ORDER BY position LIMIT {_AT_ONCE:d}"
        )
        more = len(rows) == _AT_ONCE
        for position, body, digest in rows:
            if not isinstance(body, str):
                raise LedgerDamaged(f"its body is a {type(body).__name__} where text was written", position)
            yield position, body, stored_bytes(digest)
