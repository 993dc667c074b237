"""One transaction of a store: what is read in it, what it adds, and what it writes at its end."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_terms
from accountant.place import Place, calling_place
from accountant.recorded import describe
from accountant.refusals import GateClosed
from accountant.rules import clock
from accountant.rules.limits import Limits, Row
from accountant.stores.amounts import Amounts
from accountant.stores.anchor import Mark
from accountant.stores.chain import canonical, chained, commitment, row_digest
from accountant.stores.database import Database
from accountant.stores.location import same_location
from accountant.stores.replayed_entries import limits_of
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from mechanisms import Assumption


class Account:
    """A record's account in one transaction."""

    __slots__ = ("changed", "counted", "fresh", "name", "number", "relabelled", "salt", "spent")

    def __init__(
        self, number: int | None, name: str, spent: Any, salt: bytes = b"", counted: str | None = None
    ) -> None:
        self.number = number
        self.name = name
        self.spent = spent
        self.counted = counted
        self.salt = salt
        self.fresh = number is None
        self.changed = False
        self.relabelled = False


Kinds = dict[tuple[Any, ...], int]
"""Where kinds of entries stand, as far as they are known to be in the store for good."""


class Work:
    """What one transaction does; nothing is written before `finish`, but everything in it sees what went before.

    Whoever works checks first and changes then: a task that refuses has changed nothing, and others go on.
    """

    def __init__(
        self,
        database: Database,
        connection: Connection,
        amounts: Amounts,
        zero: Any,
        kinds: Kinds,
        opened: Mark,
        known_limits: dict[int, Limits],
        composition: Composition,
        label: Callable[[RecordId], str],
    ) -> None:
        self.label = label  # of a record
        self._composition = composition
        self._known_limits = known_limits
        self._database = database
        self._kinds = kinds
        self._opened = opened  # which store, the epoch, and the last entry that this process has seen
        self.connection = connection
        self._amounts = amounts
        self._zero = zero
        row, self._place = database.row_in_place(connection, STORE_ROW)
        self._row = store_row(database.name, row)
        self.instance, self.epoch, self._location, self._closed, self._rules, self._clock = self._row
        self._now: int | None = None
        last = "SELECT position, hash FROM entry ORDER BY position DESC LIMIT 1"
        head = database.cursor(connection, last).fetchone()
        self.position, self._hash = int(head[0]), stored_bytes(head[1])
        self._written = self.position
        self._head = self._hash.hex()
        self.is_the_one = False  # whose last entry this process has seen, as far as that is known
        self._accounts: dict[str, Account] = {}
        self._numbered: dict[int, Account] = {}
        self._entries: list[tuple[int, str, bytes]] = []
        self._next_account: int | None = None
        self.new_kinds: Kinds = {}
        self._kind_rows: list[tuple[str, int]] = []
        self._reservations: dict[int, str] = {}
        self._requests: dict[str, int] = {}
        self._stamps: dict[str, int] = {}
        self._answers: dict[str, bytes] = {}
        # By ids of what stands beside them, which keeps it alive.
        self._sums: dict[tuple[int, int], tuple[Any, Amount, Any]] = {}
        self._seen: dict[tuple[int, int, int, Place, str], tuple[Entry, int]] = {}

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
        self.check_open()

    def check_open(self) -> None:
        """Refuse as `check` does, wherever the store is.

        Raises
        ------
        StoreMoved, GateClosed
            With the reason.
        """
        epoch = self._opened.epoch
        if self.instance != self._opened.instance:
            raise StoreMoved(
                f"{self._database.name}: another store has taken its place since this process opened it: bring it "
                "back, or open what is there now"
            )
        if self.epoch != epoch:
            raise StoreMoved(
                f"{self._database.name}: was adopted, or its key of names changed, since this process opened it "
                f"(epoch {self.epoch}, not {epoch}): open it again"
            )
        self._check_seen()
        if self._closed is not None:
            why, *place = json.loads(self._closed)
            raise GateClosed(f"the gate is closed since {Place(*place)}: {why}", calling_place())

    def _check_seen(self) -> None:
        """Refuse a store that does not hold the last entry that this process has seen: an older one was put back."""
        if self.is_the_one:
            return
        seen, there = self._opened, self._head == self._opened.hash
        if seen.position < self._written:  # others have written since: the next entry is bound to it
            row = self._one("SELECT body, hash FROM entry WHERE position = ?", seen.position + 1)
            there = row is not None and chained(bytes.fromhex(seen.hash), row[0]) == stored_bytes(row[1])
        if not there:
            raise StoreMoved(
                f"{self._database.name}: ends at entry {self._written}, and does not hold entry {seen.position} that "
                "this process has seen there: an older copy was put in its place, or old entries were folded. What was "
                "charged since may be missing; open it again if it is the right one"
            )
        self.is_the_one = True

    def load(self, names: Iterable[str]) -> None:
        """Read accounts, all at once."""
        wanted = sorted({name for name in names if name not in self._accounts})
        if not wanted:
            return
        self._read("label", wanted)
        for name in wanted:
            if name not in self._accounts:
                check_accounts(self._database, self.connection)
                self._accounts[name] = Account(None, name, self._zero)

    def load_numbers(self, numbers: Iterable[int]) -> None:
        """Read accounts that entries name, all at once."""
        self._read("number", sorted({each for each in numbers if each not in self._numbered}))

    def _read(self, column: str, keys: Sequence[Any]) -> None:
        sql = f"{ACCOUNT_ROW} WHERE {column} IN (...)"
        for row in self._database.select(self.connection, sql, keys):
            number, name, salt, spent, counted = account_row(self._database.name, row)
            if number not in self._numbered:
                found = Account(number, name, self._amounts.of(spent), salt, counted)
                self._accounts[name] = self._numbered[number] = found

    def account(self, name: str) -> Account:
        """Return an account; one that is not there is new, and opened by the first charge."""
        if name not in self._accounts:
            self.load((name,))
        return self._accounts[name]

    def by_number(self, number: int) -> Account:
        """Return an account that an entry names.

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

    def now(self) -> int:
        """Return the time; where a rule looks at it, it never goes back.

        Raises
        ------
        ClockAhead
            If a rule looks at it, and it is far ahead of the last charge.
        """
        if self._now is None:
            limits = self.limits
            if limits is not None and limits.windows:
                now = self.time()
                limits.check_clock(now, self._clock)
                self._now = max(now, self._clock)
            else:
                self._now = clock.wall()  # a server's own takes one more trip
        return self._now

    def stamp(self, at: int | None = None) -> int:
        """Return the time of a charge, which is the store's clock from here on; of one that is copied, its own."""
        now = self.now() if at is None else at
        limits = self.limits
        if limits is not None and limits.windows:
            now = self._clock = max(now, self._clock)
        return now

    def set_clock(self, now: int) -> None:
        """Let it be this time, or later if it was."""
        self._now = self._clock = max(now, self._clock)

    @property
    def clock(self) -> int:
        """The time of the last charge, if a rule looks at the time."""
        return self._clock

    def time(self) -> int:
        """Return what the clock says."""
        return self._database.now(self.connection)

    def confirm_clock(self, by: str, reason: str, now: int | None = None) -> None:
        """Let it be the time that the clock says, however far ahead that is."""
        self.set_clock(self.time() if now is None else now)
        self.append({"clock": {"at": self._clock, "by": by, "reason": reason}})

    def key(self, name: str) -> int | str:
        """Return what rules call an account: its number, and its name before it has one."""
        number = self.account(name).number
        return name if number is None else number

    @property
    def composition(self) -> Composition:
        """The theorem."""
        return self._composition

    @property
    def rules(self) -> int:
        """Where the rules in force stand; 0 without."""
        return self._rules

    @property
    def limits(self) -> Limits | None:
        """The rules in force; accounts are called by their numbers, and by their names before they have any."""
        if not self._rules:
            return None
        found = self._known_limits.get(self._rules)
        if found is None:
            rules = self.body(self._rules)["rules"]["rules"]
            if not rules:
                return None
            found = limits_of(rules, self._composition)
            if self._rules <= self._written:  # what another transaction may put there is not known yet
                self._known_limits[self._rules] = found
        return found

    def row_of(self, key: int | str) -> Row:
        """Return what rules count of an account, by its number, or of a new one, by its name."""
        account = self.by_number(key) if isinstance(key, int) else self.account(key)
        limits = self.limits
        assert limits is not None
        return limits.read(account.counted)

    def body(self, position: int) -> Any:
        """Return an entry."""
        if position > self._written:  # of this transaction: there is none between them that is missing
            index = position - self._written - 1
            if index >= len(self._entries):
                raise LedgerDamaged("it is missing", position)
            return json.loads(self._entries[index][1])
        sql = "SELECT entry.body, entry.hash, before.hash FROM entry LEFT JOIN entry AS before ON "
        sql += "before.position = entry.position - 1 WHERE entry.position = ?"
        found = self._one(sql, position)
        if found is None:
            raise LedgerDamaged("it is missing", position)
        before = b"" if found[2] is None else stored_bytes(found[2])
        if stored_bytes(found[1]) not in (
            chained(before, found[0]),
            chained(b"", found[0]),
        ):  # left by a fold
            raise LedgerDamaged("its hash is not that of what it says and of what stands before it", position)
        return json.loads(found[0])

    def reservation(self, position: int) -> str | None:
        """Return the state of a reservation."""
        if position in self._reservations:
            return self._reservations[position]
        found = self._one("SELECT state FROM reservation WHERE position = ?", position)
        return None if found is None else str(found[0])

    def request(self, key: str) -> tuple[int, bytes | None] | None:
        """Return where the charge of a request stands, and its answer."""
        if key in self._requests:
            return self._requests[key], self._answers.get(key)
        found = self._one("SELECT position, answer FROM request WHERE key = ?", key)
        if found is None:
            return None
        return int(found[0]), self._answers.get(key) if found[1] is None else stored_bytes(found[1])

    def _one(self, sql: str, parameter: object) -> Any:
        return self._database.one(self.connection, sql, parameter)

    # --- changing --------------------------------------------------------------------------------

    def append(self, body: dict[str, Any]) -> int:
        """Add an entry to the chain; return its position."""
        text = canonical(body)
        self.position += 1
        self._hash = chained(self._hash, text)
        self._entries.append((self.position, text, self._hash))
        return self.position

    def plus(self, spent: Any, charge: Amount) -> Any:
        """Return the sum of two amounts; of the same ones the same object."""
        key = id(spent), id(charge)
        known = self._sums.get(key)
        if known is None:
            known = self._sums[key] = spent, charge, spent + charge
        return known[2]

    def paid(
        self,
        entries: Sequence[Entry],
        payers: Sequence[Sequence[str]],
        totals: dict[str, Any],
        at: int | None = None,
    ) -> dict[str, Any]:
        """Charge accounts, which is checked already, and return what the entry says of it.

        Parameters
        ----------
        entries
            Who pays what.
        payers
            The labels of each entry's records.
        totals
            What each of them will have spent.
        at
            When, if not now.
        """
        kinds = [self.kind(entry) for entry in entries]  # first: what cannot be written down changes nothing
        opened: list[list[Any]] = []
        for name, total in totals.items():
            account = self.account(name)
            if account.number is None:
                account.number = self._fresh_number()
                account.salt = secrets.token_bytes(16)
                opened.append([account.number, commitment(account.salt, name)])
                self._numbered[account.number] = account
            self.set_spent(account, total)
        paid = [
            [kind, [self._accounts[name].number for name in names]]
            for kind, names in zip(kinds, payers, strict=True)
        ]
        body: dict[str, Any] = {"paid": paid, "at": self.stamp(at)}
        if opened:
            body["opened"] = opened
        return body

    def set_spent(self, account: Account, total: Any) -> None:
        """Set what an account has spent."""
        account.spent = total
        account.changed = True

    def set_row(self, number: int, row: Row) -> None:
        """Set what rules count of an account."""
        limits = self.limits
        account, text = self.by_number(number), None if limits is None else limits.text(row)
        account.changed |= account.counted != text
        account.counted = text

    def set_rules(self, body: dict[str, Any]) -> None:
        """Put rules in force; rows of accounts follow by `set_row`."""
        self._rules = self.append({"rules": body})

    def open_account(self, name: str) -> list[Any]:
        """Open the account of a new record; return what the entry that does it says of it."""
        account = self.account(name)
        account.number, account.salt = self._fresh_number(), secrets.token_bytes(16)
        self._numbered[account.number] = account
        account.changed = True
        return [account.number, commitment(account.salt, name)]

    def relabel(self, account: Account, name: str) -> list[Any]:
        """Call an account otherwise from now on; return what the entry that does it says of it."""
        account.name, account.salt = name, secrets.token_bytes(16)
        account.relabelled = True
        return [account.number, commitment(account.salt, name)]

    def begin_epoch(self, epoch: int = 0) -> int:
        """Begin an epoch, later than another that is known: whoever has the store open spends no more."""
        self.epoch = max(self.epoch, epoch) + 1
        return self.epoch

    def kind(self, entry: Entry) -> int:
        """Return where a kind of entry stands: mechanism, sensitivity, charge, place and note."""
        alike = id(entry.mechanism), id(entry.sensitivity), id(entry.charge), entry.where, entry.note
        seen = self._seen.get(alike)
        if seen is not None:
            return seen[1]
        key = (entry.mechanism, entry.sensitivity, entry.charge, entry.where, entry.note)
        position = self._kinds.get(key) or self.new_kinds.get(key)
        if position is None:
            body = {"kind": self.described(entry)}
            digest = chained(b"", canonical(body)).hex()
            found = self._one("SELECT position FROM kind WHERE digest = ?", digest)
            if found is None:
                position = self.append(body)
                self._kind_rows.append((digest, position))
            else:
                position = int(found[0])
                if self.body(position) != body:
                    raise LedgerDamaged("is not the kind that the table `kind` says", position)
            self.new_kinds[key] = position
        self._seen[alike] = entry, position
        return position

    @staticmethod
    def described(entry: Entry) -> dict[str, Any]:
        """Return a kind of entry as JSON-able data."""
        mechanism = None if entry.mechanism is None else json.loads(describe(entry.mechanism))
        return {"mechanism": mechanism, **entry_terms(entry)}

    def answer(self, key: str, answer: bytes) -> bytes:
        """Keep the answer of a request, unless another is kept; return the one that is."""
        known = self.request(key)
        assert known is not None
        kept = known[1]
        if kept is None:
            kept = self._answers[key] = answer
        return kept

    def assume(self, assumption: Assumption) -> None:
        """Keep what releases rest on and nobody checked."""
        self.append({"assumed": [assumption.kind.value, assumption.message, assumption.where]})

    def save_run(self, count: int, holder: str, state: bytes) -> None:
        """Put a run's state in the place of the last one."""
        self._run(
            "INSERT INTO run (id, saves, holder, state) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
            "SET saves = excluded.saves, holder = excluded.holder, state = excluded.state",
            [(count, holder, state)],
        )

    def keep(self, kept: Mapping[str, bytes]) -> None:
        """Keep values beside a run's state.

        Raises
        ------
        ValueError
            If something is kept by one of the names already.
        """
        sql = "SELECT name FROM kept WHERE name IN (...)"
        if found := self._database.select(self.connection, sql, list(kept)):
            raise ValueError(f"keep={found[0][0]!r}: must be a name by which nothing is kept yet")
        rows = [(name, value, row_digest(name, value)) for name, value in kept.items()]
        self._run("INSERT INTO kept (name, value, digest) VALUES (?, ?, ?)", rows)

    def rows(self, position: int) -> Iterator[tuple[int, str, bytes]]:
        """Yield the entries after a position, those of this transaction included."""
        yield from rows_after(self.connection, position)
        yield from (row for row in self._entries if row[0] > position)

    def set_reservation(self, position: int, state: str) -> None:
        """Set the state of a reservation."""
        self._reservations[position] = state

    def set_request(self, key: str, position: int, stamped: int) -> None:
        """Keep where the charge of a request stands, and when it was made."""
        self._requests[key] = position
        self._stamps[key] = stamped

    def stamped(self, key: str) -> int:
        """Return when what a request is answered was charged, or drawn."""
        if key in self._stamps:
            return self._stamps[key]
        found = self._one("SELECT stamped FROM request WHERE key = ?", key)
        return 0 if found is None else int(found[0])

    def set_stamped(self, key: str, stamped: int) -> None:
        """Set when what a request is answered was drawn."""
        self._stamps[key] = stamped

    def shut(self, why: str, where: Place) -> None:
        """Let nothing more be charged; the first reason stays."""
        if self._closed is None:
            self._closed = canonical([why, *where])
            self.append({"closed": [why, *where]})

    def adopt(self, location: dict[str, Any], reason: str, missing: int, epoch: int) -> None:
        """Let this copy go on: whoever has the store open, or a copy with the same anchor, spends no more."""
        body = {"epoch": self.begin_epoch(epoch), "location": location, "reason": reason, "missing": missing}
        self.append({"adopted": body, "at": self._clock or self._database.now(self.connection)})
        self._location = canonical(location)

    def remove(
        self,
        last: int,
        left: Sequence[tuple[int, str]],
        forgotten: Iterable[int],
        settled: Iterable[int],
    ) -> int:
        """Remove the entries up to one that a fold stands for; return how many.

        Parameters
        ----------
        last
            The last of them.
        left
            Position and text of those that stay, each with a hash of its own.
        forgotten
            Where the requests were charged that are forgotten.
        settled
            Reservations that are.
        """
        removed: int = self._database.cursor(
            self.connection, "DELETE FROM entry WHERE position <= ?", (last,)
        ).rowcount
        rows = [(position, text, chained(b"", text)) for position, text in left]
        self._run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", rows)
        self._run("DELETE FROM request WHERE position = ?", [(each,) for each in forgotten])
        self._run("DELETE FROM reservation WHERE position = ?", [(each,) for each in settled])
        return removed - len(rows)

    def _fresh_number(self) -> int:
        if self._next_account is None:
            most = self._database.cursor(self.connection, "SELECT max(number) FROM account").fetchone()[0]
            self._next_account = 1 + (most or 0)
        self._next_account += 1
        return self._next_account - 1

    def finish(self) -> Mark:
        """Write all of it, and return the new head."""
        self._run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", self._entries)
        self._run("INSERT INTO kind (digest, position) VALUES (?, ?)", self._kind_rows)
        spent = {
            id(each.spent): each.spent for each in self._accounts.values() if each.changed or each.relabelled
        }
        texts = {key: self._amounts.text(amount) for key, amount in spent.items()}
        changed = [
            (each, (each.number, each.name, each.salt, texts[id(each.spent)], each.counted))
            for each in self._accounts.values()
            if each.changed or each.relabelled
        ]
        self._run(
            "INSERT INTO account (number, label, salt, spent, counted, digest) VALUES (?, ?, ?, ?, ?, ?)",
            [(*row, row_digest(*row)) for each, row in changed if each.fresh],
        )
        self._run(
            "UPDATE account SET spent = ?, counted = ?, digest = ? WHERE number = ?",
            [(*row[3:], row_digest(*row), row[0]) for each, row in changed if not each.fresh],
        )
        self._run(
            "UPDATE account SET label = ?, salt = ?, digest = ? WHERE number = ?",
            [(*row[1:3], row_digest(*row), row[0]) for each, row in changed if each.relabelled],
        )
        store = self.instance, self.epoch, self._location, self._closed, self._rules, self._clock
        if store != self._row:
            self._run(
                "UPDATE store SET epoch = ?, location = ?, closed = ?, rules = ?, clock = ?, digest = ?",
                [(*store[1:], row_digest(*store))],
            )
        self._run(
            "INSERT INTO reservation (position, state) VALUES (?, ?) "
            "ON CONFLICT (position) DO UPDATE SET state = excluded.state",
            list(self._reservations.items()),
        )
        self._run(
            "INSERT INTO request (key, position, stamped) VALUES (?, ?, ?)",
            [(key, position, self._stamps[key]) for key, position in self._requests.items()],
        )
        self._run(
            "UPDATE request SET stamped = ? WHERE key = ?",
            [(stamped, key) for key, stamped in self._stamps.items() if key not in self._requests],
        )
        self._run(
            "UPDATE request SET answer = ? WHERE key = ? AND answer IS NULL",
            [(answer, key) for key, answer in self._answers.items()],
        )
        return Mark(self.instance, self.epoch, self.position, self._hash.hex())

    @property
    def unchanged(self) -> bool:
        """Whether there is nothing to write."""
        return not self._entries

    def _run(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._database.run(self.connection, sql, rows)


_AT_ONCE = 1_000  # rows of a statement
STORE_ROW = "SELECT instance, epoch, location, closed, rules, clock, digest FROM store"
ACCOUNT_ROW = "SELECT number, label, salt, spent, counted, digest FROM account"


def store_row(name: str, row: Sequence[Any]) -> tuple[str, int, str, str | None, int, int]:
    """Return instance, epoch, location, closing, rules and clock of the store of a name, as `STORE_ROW` found them.

    Raises
    ------
    LedgerDamaged
        If the row is not what its digest says.
    """
    *values, digest = row
    if row_digest(*values) != stored_bytes(digest):
        raise LedgerDamaged(f"{name}: the table `store` is not what was written")
    instance, epoch, location, closed, rules, at = values
    return instance, epoch, location, closed, rules, at


def account_row(name: str, row: Sequence[Any]) -> tuple[int, str, bytes, str, str | None]:
    """Return number, label, salt, spending and counts of an account of a store, as `ACCOUNT_ROW` found them.

    Raises
    ------
    LedgerDamaged
        If the row is not what its digest says.
    """
    number, label, salt, spent, counted, digest = row
    values = int(number), label, stored_bytes(salt), spent, counted
    if row_digest(*values) != stored_bytes(digest):
        raise LedgerDamaged(f"{name}: account {number} is not what was written")
    return values


def check_accounts(database: Database, connection: Connection) -> None:
    """Refuse, at the first call, if an account is damaged, was renamed or is gone.

    Who is not found is new and has spent nothing, unless there is an account that has another name, or none. To look is
    in proportion to their number, so it waits for the first who is not found.

    Raises
    ------
    LedgerDamaged
        With what is found.
    """
    if database.accounts_checked:
        return
    damage = database.damage(connection, "account")
    if damage is not None:
        raise LedgerDamaged(f"{database.name}: SQLite finds: {damage}")
    count = 0
    for row in connection.exec_driver_sql(ACCOUNT_ROW):
        account_row(database.name, row)
        count += 1
    opened = _last_opened(database, connection)
    if count != opened:
        raise LedgerDamaged(f"{database.name}: {opened} accounts were opened, and {count} are there")
    database.accounts_checked = True


def _last_opened(database: Database, connection: Connection) -> int:
    """Return the number of the account that was opened last: they are opened in order."""
    last = "SELECT body FROM entry WHERE body LIKE ? ORDER BY position DESC LIMIT 1"
    found = database.one(connection, last, '%"opened":[[%')
    body = {} if found is None else json.loads(found[0])
    said = next((body[each] for each in ("rules", "folded") if each in body), body)
    return max((int(number) for number, _ in said.get("opened", ())), default=0)


def last_save(database: Database, connection: Connection) -> tuple[int, str]:
    """Return how often a run was saved, and who may save it."""
    found = database.cursor(connection, "SELECT saves, holder FROM run").fetchone()
    return (0, "") if found is None else (int(found[0]), found[1])


def stored_bytes(value: object) -> bytes:
    """Return the bytes of a table's cell; one changed bit of SQLite's makes a text or a number of them."""
    if not isinstance(value, bytes | memoryview):
        raise LedgerDamaged(f"a table holds a {type(value).__name__} where bytes were written")
    return bytes(value)


def rows_after(
    connection: Connection, position: int, which: str = "position > 0"
) -> Iterator[tuple[int, str, bytes]]:
    """Yield position, text and hash of the entries after a position, or of some of them.

    Every statement is read to its end: one that is left open in the frames of an exception would keep SQLite's
    connection open, and its log with it, after `Database.close`.
    """
    more = True
    while more:
        rows = connection.exec_driver_sql(
            f"SELECT position, body, hash FROM entry WHERE position > {position:d} AND ({which}) "
            f"ORDER BY position LIMIT {_AT_ONCE:d}"
        ).all()
        more = len(rows) == _AT_ONCE
        for found, body, digest in rows:
            position = int(found)
            if not isinstance(body, str):
                raise LedgerDamaged(f"its body is a {type(body).__name__} where text was written", position)
            yield position, body, stored_bytes(digest)
