"""A ledger in a database: durable before anything is drawn, shared by threads and processes."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cmp_to_key, partial
from typing import Any

from sqlalchemy import Connection

from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.ledger import (
    Answered,
    Charged,
    DrawnAgain,
    LedgerEvent,
    Ruled,
    already_settled,
    check_same_request,
    settles,
)
from accountant.ledger.store import ANY, CannotPay, Fits, Receipt, RuleStanding, Standing
from accountant.place import Place
from accountant.rules.clock import ClockAhead
from accountant.rules.limits import Limits
from accountant.rules.rule import Rule, checked_rules
from accountant.rules.scope import Scope
from accountant.stores.amounts import Amounts, read
from accountant.stores.anchor import Anchor, Mark
from accountant.stores.chain import label
from accountant.stores.database import Database
from accountant.stores.file_lock import this_process
from accountant.stores.folded import begun
from accountant.stores.group_commit import GroupCommit
from accountant.stores.names import PLAIN, Names, named
from accountant.stores.store_refusals import StoreMoved
from accountant.stores.store_verification import Verified, check_anchor, verify_database
from accountant.stores.work import ACCOUNT_ROW, Work, account_row, check_accounts, rows_after
from accountant.written_terms import Terms
from mechanisms import Assumption, Neighbouring

_Task = Callable[[Work], Any]
"""Something to do in a transaction; it checks first and changes then."""


class SQLStore:
    """A `Store` in a database; `accountant.stores.opening` opens it.

    Every charge is one transaction with its check, on the disk when it returns: a crash at any moment leaves it.
    Callers of one process share transactions (`GroupCommit`). Entries are only ever added, each bound to all before it
    by a hash.

    Parameters
    ----------
    database
        Where it lives.
    terms
        Those that it was made for.
    opened
        Its head when it was opened: it is spent from in that epoch only.
    anchor
        Where its head is kept besides, if anywhere.
    names
        How it names records.
    """

    def __init__(
        self,
        database: Database,
        terms: Terms,
        opened: Mark,
        anchor: Anchor | None = None,
        names: Names = PLAIN,
    ) -> None:
        self.database = database
        self.terms = terms
        self.names = names
        self._seen = opened
        self._synced: Mark | None = (
            None  # the last head that this process has made durable, and told the anchor
        )
        self.instance = opened.instance
        self._anchor = anchor
        self._zero = terms.composition.zero
        self._amounts = Amounts(terms.composition)
        self._kinds: dict[tuple[Any, ...], int] = {}
        self._limits: dict[int, Limits] = {}
        self._queue: GroupCommit[_Task] = GroupCommit(self._commit)
        self.assumptions: tuple[Assumption, ...] = ()
        self.closed: tuple[str, Place] | None = None

    @property
    def name(self) -> str:
        """The file or URL."""
        return self.database.name

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every entry."""
        return Neighbouring.REPLACE_ONE

    # --- one transaction -------------------------------------------------------------------------

    def _commit(self, batches: Iterator[Sequence[_Task]]) -> list[Any]:
        results: list[Any] = []
        with self.working(()) as work:
            for tasks in batches:  # not before the transaction has begun: whoever comes meanwhile is in it
                work.load(name for task in tasks for name in getattr(task, "names", ()))
                results += [_result(task, work) for task in tasks]
        return results

    @contextmanager
    def working(self, names: Iterable[str]) -> Iterator[Work]:
        """Yield one transaction's work; it is durable when the block ends, or none of it is.

        Parameters
        ----------
        names
            Labels of accounts to be read at once.
        """
        with self.database.writing() as connection:
            work = self._work(connection)
            work.load(names)
            self._check_anchor(work)
            yield work
            mark = work.finish()
            new = mark != self._synced
            if (
                new and work.unchanged
            ):  # what was read, and may be shown, may be of one who died before it was durable
                self.database.sync(connection)
        if work.is_the_one and mark.epoch == self._seen.epoch:  # else it has to be opened again
            self._seen = mark
        self._kinds.update(work.new_kinds)
        if new and self._anchor is not None:
            self._anchor.write(mark)
        self._synced = mark

    @contextmanager
    def within(self, connection: Connection) -> Iterator[Work]:
        """Yield work in a transaction that somebody else begins and ends; it is written when the block ends."""
        work = self._work(connection)
        yield work
        work.finish()

    def _work(self, connection: Connection) -> Work:
        return Work(
            self.database,
            connection,
            self._amounts,
            self._zero,
            self._kinds,
            self._seen,
            self._limits,
            self.terms.composition,
            self.names.label,
        )

    def check(self) -> None:
        """Refuse if nothing can be charged now: a transaction is begun, and writes nothing.

        Raises
        ------
        InUse
            If somebody else is in one for longer than a second.
        StoreMoved, GateClosed, LedgerDamaged, StoreRefused, OSError
            With the reason, as a charge would.
        """
        self.database.check_file()
        with self.database.snapshot() as connection:
            work = self._work(connection)
            self._check_anchor(work)
            work.check()
            self.database.check_writable(connection)
        with self.database.writing(wait=1.0):
            pass

    def _check_anchor(self, work: Work) -> None:
        """Refuse if the anchor knows more of this store than it says itself."""
        mark = None if self._anchor is None else self._anchor.read()
        if mark is not None:
            check_anchor(self.name, mark, self.instance, work.epoch, work.position)

    def charge(
        self,
        entries: Sequence[Entry],
        fits: Fits,
        *,
        hold: bool = False,
        request: str | None = None,
        scope: Scope = ANY,
    ) -> Receipt:
        """Check every record and charge all, or none; see `Store`."""
        receipt: Receipt = self._queue.do(Charge(self.names.label, entries, fits, hold, request, scope))
        return receipt

    def answered(self, request: str, answer: bytes) -> bytes:
        """Keep the answer to a request, or return the one that is kept; see `Store`."""

        def keep(work: Work) -> bytes:
            return work.answer(label(request), answer)

        kept: bytes = self._queue.do(keep)
        return kept

    def draw(self, position: int) -> None:
        """Make a reservation final; see `Store`."""
        self._queue.do(lambda work: _draw_in(work, position))

    def give_back(self, position: int) -> None:
        """Give a reservation's charge back; see `Store`."""
        self._queue.do(lambda work: self.return_in(work, position))

    def return_in(self, work: Work, position: int, at: int | None = None) -> None:
        """Give a reservation's charge back, in a transaction."""
        _check_reserved(work, position)
        less = self._without(work, position)
        rows = {number: work.row_of(number) for number in less} if work.limits is not None else {}
        work.append({"returned": position, "at": work.stamp(at)})
        work.set_reservation(position, "returned")
        for number, total in less.items():
            work.set_spent(work.by_number(number), total)
        if work.limits is not None:
            for number, row in rows.items():
                work.set_row(number, work.limits.returned(row, position))

    def _without(self, work: Work, position: int) -> dict[int, Any]:
        """Return what the accounts of a reservation will have spent without it."""
        totals: dict[int, list[Any]] = {}
        work.load_numbers(_payers(work, position))
        for kind, numbers in work.body(position)["paid"]:
            charge = read(work.body(kind)["kind"]["charge"], self.terms.composition)
            for number in numbers:
                before = totals.get(number) or list(work.by_number(number).spent.values)
                totals[number] = [
                    None if one is None or other is None else one - other
                    for one, other in zip(before, charge.values, strict=True)
                ]
        endless = {number for number, values in totals.items() if None in values}
        found = {
            number: self.terms.composition.amount(tuple(values))
            for number, values in totals.items()
            if number not in endless
        }
        if endless:  # infinity less infinity: what is left is added up
            replay = begun(work.connection, partial(work.rows, 0))
            replay.feed_all(work.rows(replay.position))
            replay.give_back(position)
            found |= {number: replay.totals.spent(number) for number in endless}
        return found

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Keep what releases rest on and nobody checked; see `Store`."""
        new = [each for each in assumptions if each not in self.assumptions]

        def note(work: Work) -> None:
            for each in new:
                work.assume(each)

        if new:
            self._queue.do(note)
            self.assumptions += tuple(new)

    def note_closed(self, why: str, where: Place) -> None:
        """Let nothing more be charged; see `Store`."""
        self._queue.do(lambda work: work.shut(why, where))

    # --- rules -----------------------------------------------------------------------------------

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget, now."""
        with self.database.snapshot() as connection:
            work = self._work(connection)
            return self._named(work, work.limits)

    @staticmethod
    def _named(work: Work, limits: Limits | None) -> tuple[Rule, ...]:
        """Return rules with the names of the members of their groups."""
        if limits is None:
            return ()
        work.load_numbers(number for rule in limits.rules for group in rule.groups for number in group)  # type: ignore[misc]
        return tuple(
            replace(
                rule,
                groups=tuple(
                    tuple(named(work.by_number(number).name) for number in group)  # type: ignore[arg-type]
                    for group in rule.groups
                ),
            )
            for rule in limits.rules
        )

    def change_rules(
        self, rules: Sequence[Rule], by: str, reason: str, *, at: int | None = None, only_first: bool = False
    ) -> None:
        """Put other limits in force beside the budget, for all who have the store open; an entry says so for good.

        They count what was charged before, too, so that nobody begins anew; with all of its entries, they take as long
        as `verify`. A rule may be loosened: that it was, and by whom, stays in the ledger.

        Parameters
        ----------
        rules
            All that are to be in force.
        by, reason
            Who changes them, and why.
        at
            When, if not now.
        only_first
            Whether to do so only if there is nothing but the beginning in the store.

        Raises
        ------
        ClockAhead
            If a rule in force looks at the time, and the clock is far ahead of the last charge.
        ValueError
            If the rules do not go together or with the store's theorem, a name or reason is missing, or it is too late.
        """
        found = checked_rules(rules, self.terms.composition)
        check_said(by, reason)

        def change(work: Work) -> None:
            if not (only_first and work.position > 1):
                put_rules_in(work, found, by, reason, at)

        self._queue.do(change)

    def confirm_clock(self, by: str, reason: str) -> int:
        """Say that the clock is right, although it is far ahead of the last charge; return the time that it says.

        Raises
        ------
        ValueError
            If a name or reason is missing.
        """
        check_said(by, reason)

        def confirm(work: Work) -> int:
            work.confirm_clock(by, reason)
            return work.clock

        confirmed: int = self._queue.do(confirm)
        return confirmed

    def together(self, records: Sequence[RecordId], waiting: Sequence[Collection[RecordId]]) -> set[RecordId]:
        """Return those who wait and are in a group of these records; see `Store`."""
        names = [self.names.label(record) for record in records]
        with self.database.snapshot() as connection:
            self._check_names(connection)
            work = self._work(connection)
            limits = work.limits
            if limits is None or not any(rule.groups for rule in limits.rules):
                return set()
            work.load(names)
            numbers = limits.together(map(work.key, names))
            work.load_numbers(numbers)
            mates = {work.by_number(number).name for number in numbers}
        if self.names.check is None:
            return {mate for mate in map(named, mates) if any(mate in each for each in waiting)}
        return {record for each in waiting for record in each if self.names.label(record) in mates}

    def standings(self, records: Sequence[RecordId]) -> list[Standing]:
        """Return how records stand; see `Store`."""
        names = [self.names.label(record) for record in records]
        with self.database.snapshot() as connection:
            self._check_names(connection)
            work = self._work(connection)
            work.load(names)
            limits = work.limits
            if limits is None:
                return [Standing(work.account(name).spent, ()) for name in names]
            keys = [work.key(name) for name in names]
            work.load_numbers(each for each in limits.together(keys) if isinstance(each, int))
            rules = dict(zip(limits.rules, self._named(work, limits), strict=True))
            now = max(work.time(), work.clock)
            return [
                Standing(
                    work.account(name).spent,
                    [(rules[rule], spent) for rule, spent in limits.counts(key, work.row_of, now)],
                )
                for name, key in zip(names, keys, strict=True)
            ]

    def rule_standings(self) -> list[RuleStanding]:
        """Return how near each rule's limit is; see `Store`."""
        sql = "SELECT min(number), counted, count(*) FROM account WHERE counted IS NOT NULL GROUP BY counted"
        with self.database.snapshot() as connection:
            work = self._work(connection)
            limits = work.limits
            if limits is None:
                return []
            rules = self._named(work, limits)
            texts = ((number, text, count) for number, text, count in connection.exec_driver_sql(sql))
            found = limits.nearest(texts, work.row_of, max(work.time(), work.clock))
            work.load_numbers(number for nearest in found for number in nearest.keys)
            return [
                RuleStanding(rule, tuple(named(work.by_number(key).name) for key in keys), spent, nearly)
                for rule, (keys, spent, nearly) in zip(rules, found, strict=True)
            ]

    # --- reading ---------------------------------------------------------------------------------

    def first_refused(self, entries: Sequence[Entry], fits: Fits, scope: Scope = ANY) -> CannotPay | None:
        """Return the `CannotPay` that `charge` would raise; see `Store`."""
        label = self.names.label
        spent = self._spent([label(record) for entry in entries for record in entry.records])
        for entry in entries:
            for record in entry.records:
                before = spent.get(label(record), self._zero)
                if not fits(before + entry.charge):
                    return CannotPay(record, entry.charge, before)
        with self.database.snapshot() as connection:
            work = self._work(connection)
            return None if work.limits is None else _no_room(work, work.limits, entries, scope)

    def spent(self, record: RecordId) -> Any:
        """Return what `record` has spent, what is reserved included."""
        name = self.names.label(record)
        return self._spent([name]).get(name, self._zero)

    def _spent(self, names: Sequence[str]) -> dict[str, Any]:
        with self.database.reading() as connection:
            rows = self.database.select(connection, f"{ACCOUNT_ROW} WHERE label IN (...)", names)
            self._check_names(connection)  # afterwards: a key that changed between the two is seen
            if len(rows) < len(set(names)):
                check_accounts(self.database, connection)
        found = (account_row(self.name, row) for row in rows)
        return {name: self._amounts.of(text) for _, name, _, text, _ in found}

    def _check_names(self, connection: Connection) -> None:
        """Refuse to look up names if the key may have changed: everybody would seem to have spent nothing."""
        epoch = self.database.cursor(connection, "SELECT epoch FROM store").fetchone()[0]
        if epoch != self._seen.epoch:
            raise StoreMoved(
                f"{self.name}: was adopted, or its key of names changed, since this process opened it: open it again"
            )

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent."""
        return next(iter(self.most_spent(1)), (None, self._zero))

    def most_spent(self, count: int) -> list[tuple[RecordId, Any]]:
        """Return the records that have spent most, at most so many, and what they have spent; the most first."""
        exceeds = self.terms.composition.exceeds
        order = cmp_to_key(lambda one, other: exceeds(one, other) - exceeds(other, one))
        found: list[tuple[RecordId, Any]] = []
        with self.database.reading() as connection:
            totals = connection.exec_driver_sql("SELECT DISTINCT spent FROM account").scalars()
            for spent in heapq.nlargest(count, map(self._amounts.of, totals), key=order):
                sql = f"{ACCOUNT_ROW} WHERE spent = ? ORDER BY number LIMIT {count - len(found):d}"
                for row in self.database.cursor(connection, sql, (Amounts.text(spent),)).fetchall():
                    found.append((named(account_row(self.name, row)[1]), spent))
                if len(found) == count:
                    break
        return found

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        with self.database.reading() as connection:
            names = connection.exec_driver_sql("SELECT label FROM account ORDER BY number").scalars().all()
        return iter([named(name) for name in names])

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back; of those that were folded, the sums.

        The entries are verified first: to read them takes as long as `verify`.
        """
        with self.database.snapshot() as connection:
            replay = begun(connection)
            replay.feed_all(rows_after(connection, replay.position))
            return replay.entries(labelled(connection))

    def __len__(self) -> int:
        return len(self.entries)

    def charges(self, record: RecordId) -> list[Entry]:
        """List what `record` was charged for."""
        shown = self.names.shown(record)
        return [entry for entry in self.entries if shown in entry.records]

    def declassifications(self) -> list[Entry]:
        """List the places where data left unprotected."""
        return [entry for entry in self.entries if entry.mechanism is None]

    def requested(self, request: str) -> tuple[int, str | None] | None:
        """Return where a request's charge stands, and what became of it if it is a reservation; None if there is none.

        A reservation is ``"reserved"``, ``"drawn"`` or ``"returned"``; a charge that is none has no state.
        """
        sql = (
            "SELECT request.position, state FROM request LEFT JOIN reservation "
            "ON reservation.position = request.position WHERE key = ?"
        )
        with self.database.reading() as connection:
            found = self.database.one(connection, sql, label(request))
        return None if found is None else (int(found[0]), found[1])

    def reservations(self) -> dict[int, str]:
        """Return the reservations that are neither drawn nor given back, by position, and who holds them."""
        with self.database.reading() as connection:
            sql = (
                "SELECT entry.position, body FROM entry JOIN reservation ON entry.position = reservation.position "
                "WHERE state = 'reserved' ORDER BY entry.position"
            )
            rows = connection.exec_driver_sql(sql).all()
        return {int(position): json.loads(body)["holder"] for position, body in rows}

    def adopt(self, location: dict[str, Any], reason: str, missing: int, epoch: int) -> Mark:
        """Begin an epoch of its own, later than an `epoch` that is known elsewhere; see `accountant.stores.opening`."""
        with self.working(()) as work:
            work.check_open()
            work.adopt(location, reason, missing, epoch)
        return self.verify().head

    # --- verification ----------------------------------------------------------------------------

    def verify(self) -> Verified:
        """Recompute the chain, every charge, every total and every table from the entries.

        Raises
        ------
        LedgerDamaged
            Naming the first entry that does not fit.
        """
        return verify_database(self.database, self._anchor)

    def close(self) -> None:
        """Close the database; nothing can be charged any more."""
        self.database.close()


def labelled(connection: Connection) -> dict[int, RecordId]:
    """Return what accounts are called, by their numbers."""
    rows = connection.exec_driver_sql("SELECT number, label FROM account").all()
    return {int(number): named(label) for number, label in rows}


def import_charges_in(work: Work, charges: Sequence[tuple[Scope, Sequence[Entry]]], source: str) -> None:
    """Charge in a transaction what another ledger, of this digest, had charged: whatever its records have left."""
    work.load({work.label(record) for _, entries in charges for entry in entries for record in entry.records})
    for scope, entries in charges:
        for entry in entries:
            payers = [work.label(record) for record in entry.records]
            totals = {name: work.plus(work.account(name).spent, entry.charge) for name in payers}
            work.append({**work.paid((entry,), (payers,), totals), **_words(scope), "source": source})


def check_said(by: str, reason: str) -> None:
    """Refuse to change what a ledger is held to, or keeps, without saying who does so, and why.

    Raises
    ------
    ValueError
        If a word is missing.
    """
    for name, word in (("by", by), ("reason", reason)):
        if not word.strip():
            raise ValueError(f"{name}={word!r}: must be said, and is kept in the ledger")


class Charge:
    """A charge that waits for its transaction."""

    def __init__(
        self,
        label_of: Callable[[RecordId], str],
        entries: Sequence[Entry],
        fits: Fits,
        hold: bool,
        request: str | None,
        scope: Scope = ANY,
        at: int | None = None,
    ) -> None:
        self._scope = scope
        self._at = at
        self._entries = entries
        self._fits = fits
        self._hold = hold
        self._request = None if request is None else label(request)
        self._payers = [[label_of(record) for record in entry.records] for entry in entries]
        self.names = set(itertools.chain.from_iterable(self._payers))

    def __call__(self, work: Work) -> Receipt:
        """Check and charge."""
        if self._request is not None:
            earlier = work.request(self._request)
            if earlier is not None:
                position, answer = earlier
                request = json.loads(self._request)
                check_same_request(request, self._is(work, position))
                if settles(request, position, work.reservation(position), self._hold):
                    _draw_in(work, position)
                elif answer is None and not self._hold:
                    self._draw_again(work, position)
                return Receipt(position, True, answer)
        totals: dict[str, Any] = {}
        for entry, names in zip(self._entries, self._payers, strict=True):
            for record, name in zip(entry.records, names, strict=True):
                before = totals[name] if name in totals else work.account(name).spent
                total = work.plus(before, entry.charge)
                if not self._fits(total):
                    raise CannotPay(record, entry.charge, before)
                totals[name] = total
        limits = work.limits
        if limits is not None and self._at is None:
            refused = _no_room(work, limits, self._entries, self._scope)
            if refused is not None:
                raise refused
        body = {**work.paid(self._entries, self._payers, totals, self._at), **_words(self._scope)}
        if self._hold:
            body["holder"] = this_process()
        if self._request is not None:
            body["request"] = json.loads(self._request)
        position = work.append(body)
        if self._hold:
            work.set_reservation(position, "reserved")
        if self._request is not None:
            work.set_request(self._request, position, body["at"])
        if limits is not None:
            counting = limits.counting(self._scope)
            for entry, names in zip(self._entries, self._payers, strict=True):
                for name in names:
                    number = work.account(name).number
                    assert number is not None
                    row = work.row_of(number)
                    work.set_row(
                        number,
                        limits.reserved(number, row, entry.charge, counting, position)
                        if self._hold
                        else limits.charged(number, row, entry.charge, counting, body["at"]),
                    )
        return Receipt(position)

    def _draw_again(self, work: Work, position: int) -> None:
        """Stamp a charge anew whose outputs were never shown and are drawn now, if that is on another day.

        Raises
        ------
        CannotPay
            If a window has no room for it today.
        """
        limits = work.limits
        assert self._request is not None
        if limits is None or not limits.windows or not limits.stale(work.stamped(self._request), work.now()):
            return
        refused = _no_room(work, limits, self._entries, self._scope, windows_only=True)
        if refused is not None:
            raise refused
        _draw_again_in(work, position, self._request, limits.counting(self._scope, windows_only=True))

    def _is(self, work: Work, position: int) -> bool:
        """Whether this charge is the one at a position: of the same mechanisms, sensitivities, charges and records."""

        def terms(kind: dict[str, Any]) -> Any:
            return [kind["mechanism"], kind["sensitivity"], kind["charge"]]

        if work.body(position).get("for") != _words(self._scope).get("for"):
            return False
        before = [
            (terms(work.body(kind)["kind"]), sorted(numbers)) for kind, numbers in work.body(position)["paid"]
        ]
        now = [
            (
                terms(work.described(entry)),
                sorted(work.account(name).number or 0 for name in names),
            )
            for entry, names in zip(self._entries, self._payers, strict=True)
        ]
        return before == now


def _no_room(
    work: Work, limits: Limits, entries: Sequence[Entry], scope: Scope, *, windows_only: bool = False
) -> CannotPay | None:
    """Return why a rule has no room for a charge.

    Raises
    ------
    NotPermitted, ClockAhead
        As `Store.charge`.
    """
    counting = limits.counting(scope, windows_only=windows_only)
    names = [(record, work.label(record), entry.charge) for entry in entries for record in entry.records]
    work.load(name for _, name, _ in names)
    asked = [(work.key(name), charge) for _, name, charge in names]
    work.load_numbers(limits.together(key for key, _ in asked))
    refused = limits.refused(asked, work.row_of, counting, work.now())
    if refused is None:
        return None
    record, _, charge = names[refused.which]
    return CannotPay(record, charge, refused.spent, refused.rule, refused.again)


def _draw_in(work: Work, position: int, at: int | None = None) -> None:
    """Make a reservation final, in a transaction: what windows count of it is of now."""
    _check_reserved(work, position)
    now, limits = work.stamp(at), work.limits
    work.append({"drawn": position, "at": now})
    work.set_reservation(position, "drawn")
    if limits is not None:
        payers = _payers(work, position)
        work.load_numbers(payers)
        for number in payers:
            work.set_row(number, limits.drawn(work.row_of(number), position, now))
        request = work.body(position).get("request")
        if request is not None:
            work.set_stamped(label(request), now)


def put_rules_in(work: Work, rules: Sequence[Rule], by: str, reason: str, at: int | None = None) -> None:
    """Put rules in force, in a transaction; what they count of earlier charges is found in the entries.

    Raises
    ------
    ClockAhead
        If a rule in force looks at the time, and the clock is far ahead of the last charge: nobody has said that it is
        right, and it would be the store's from here on.
    """
    now = work.time() if at is None else at
    if at is None and work.limits is not None:
        work.limits.check_clock(now, work.clock)
    replay = begun(work.connection, partial(work.rows, 0))
    replay.feed_all(work.rows(replay.position))
    members = {work.label(each) for rule in rules for group in rule.groups for each in group}
    work.load(members)
    opened = [work.open_account(name) for name in sorted(members) if work.account(name).number is None]
    numbered = [
        {
            **rule.to_dict(),
            "groups": [[work.account(work.label(each)).number for each in group] for group in rule.groups],
        }
        for rule in rules
    ]
    now = max(now, replay.clock)
    work.set_rules({"rules": numbered, "by": by, "reason": reason, "opened": opened, "at": now})
    before = replay.rows.keys()
    replay.feed_all(work.rows(replay.position))
    work.load_numbers({*before, *replay.rows})
    work.set_clock(now)
    for number in {*before, *replay.rows}:
        work.set_row(number, () if replay.limits is None else replay.rows.get(number, replay.limits.zero))


def _draw_again_in(
    work: Work, position: int, request: str, counting: Sequence[int], at: int | None = None
) -> None:
    """Stamp a charge anew, in a transaction: windows count it on the day of the first draw, and of this."""
    now, limits = work.stamp(at), work.limits
    work.append({"drawn again": position, "at": now})
    for kind, numbers in () if limits is None else work.body(position)["paid"]:
        charge = read(work.body(kind)["kind"]["charge"], work.composition)
        work.load_numbers(numbers)
        for number in numbers:
            row = limits.charged(number, work.row_of(number), charge, counting, now)  # type: ignore[union-attr]
            work.set_row(number, row)
    work.set_stamped(request, now)


def happened(store: SQLStore, work: Work, event: LedgerEvent, reserved: dict[int, int]) -> None:
    """Write down what happened in a ledger in memory, in a transaction.

    Parameters
    ----------
    store, work
        Where.
    event
        What.
    reserved
        Where reservations that are open stand in the store, by their positions in the ledger; it is kept up.
    """
    if isinstance(event, Answered):
        work.answer(label(event.request), event.answer)
        return
    let_pass(work, event.at)
    if isinstance(event, Ruled):
        put_rules_in(work, event.rules, event.by, event.reason, event.at)
        return
    if isinstance(event, Charged):
        charge = Charge(
            work.label, event.entries, store.terms.fits, event.reserved, event.request, event.scope, event.at
        )
        receipt = charge(work)
        if event.reserved:
            reserved[event.position] = receipt.position
    elif isinstance(event, DrawnAgain):
        key = label(event.request)
        known, limits = work.request(key), work.limits
        assert known is not None
        scope = Scope(*work.body(known[0]).get("for", (None, None)))
        counting = () if limits is None else limits.counting(scope, windows_only=True, strict=False)
        _draw_again_in(work, known[0], key, counting, event.at)
    elif event.returned:
        store.return_in(work, reserved.pop(event.position), event.at)
    else:
        _draw_in(work, reserved.pop(event.position), event.at)


def let_pass(work: Work, at: int | None) -> None:
    """Let time have passed that a process has seen pass."""
    if at is None or work.limits is None:
        return
    try:
        work.limits.check_clock(at, work.clock)
    except ClockAhead:
        work.confirm_clock("the process itself", "it saw so much time pass", at)


def _payers(work: Work, position: int) -> set[int]:
    return {number for _, numbers in work.body(position)["paid"] for number in numbers}


def _words(scope: Scope) -> dict[str, Any]:
    """Return what an entry says of what a charge is for."""
    return {} if scope == ANY else {"for": [scope.purpose, scope.tenant]}


def _result(task: _Task, work: Work) -> Any:
    try:
        work.check()
        return task(work)
    except (CannotPay, ValueError) as refusal:  # of this caller's own; it has changed nothing
        return refusal


def _check_reserved(work: Work, position: int) -> None:
    state = work.reservation(position)
    if state != "reserved":
        raise already_settled(position, returned=state == "returned")
