"""A ledger in a database: charges are durable before noise is drawn, shared by threads and processes."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cmp_to_key, partial
from itertools import chain
from typing import Any, NamedTuple

from accountant.filters.units import Units
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.events import (
    Charge,
    Charged,
    ClockConfirmed,
    DrawnAgain,
    LedgerCommand,
    LedgerEvent,
    Ruled,
    Settle,
    Settlement,
)
from accountant.ledger.ledger_state import expire, first_refused, stamp
from accountant.ledger.store import CannotPay, Holds, Receipt, RuleStanding, Standing, Store, Tally
from accountant.place import Place
from accountant.rules.clock import RunningClock
from accountant.rules.limits import Limits
from accountant.rules.reach import check_reach
from accountant.rules.rule import Rule, checked_rules
from accountant.rules.scope import ANY, Scope
from accountant.stores.anchor import Anchor, Mark
from accountant.stores.beginning import begin_replay
from accountant.stores.chain import encode_name
from accountant.stores.database import ALONE, TOGETHER, Database
from accountant.stores.entry_bodies import add_time
from accountant.stores.group_commit import GroupCommit
from accountant.stores.names import PLAIN, Names, record_of_label
from accountant.stores.session import Session
from accountant.stores.store_refusals import RetryAlone, StoreMoved
from accountant.stores.store_verification import Verified, check_anchor, verify_database
from accountant.stores.transaction import (
    ACCOUNT_ROW,
    BY_LABEL,
    Kinds,
    Transaction,
    account_row,
    check_accounts,
    rows_after,
)
from accountant.terms import Terms
from mechanisms import Assumption
from mechanisms.parameters import ParameterError

_KEPT = 4_096
"""The largest number of kinds of charges with positions in memory: endless mechanisms would fill it."""
_Task = Callable[[Transaction], Any]
"""Something to do in a transaction; it checks first and changes then."""


class SQLStore(Store):
    """A `Store` in a database; `accountant.stores.opening` opens it.

    Every charge is one transaction with its check, on the disk when it returns: a crash at any moment leaves it.
    Callers of one process share transactions (`GroupCommit`). Entries are only ever added, each bound to all before it
    by a hash.

    Parameters
    ----------
    database
        Its database.
    terms
        Those that it was made for.
    opened
        Its head when it was opened: it is spent from in that epoch only.
    anchor
        The anchor of its head, if it has one.
    names
        Its names of records.
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
        self._synced: Mark | None = None
        """The last head that this process has made durable, and written to the anchor."""
        self.instance = opened.instance
        self._anchor = anchor
        self._units = Units(terms.composition)
        self._witness = RunningClock()
        self._kinds: Kinds = {}
        self._limits: dict[int, Limits] = {}
        self._numbers: Iterator[int] = iter(())  # of new accounts
        self._alone = database.sqlite  # as rules may look at more than the records that a charge names
        self._queue: GroupCommit[_Task] = GroupCommit(self._commit)
        self.assumptions: tuple[Assumption, ...] = ()
        self.closed: tuple[str, Place] | None = None

    @property
    def name(self) -> str:
        """The file or URL."""
        return self.database.name

    # --- one transaction -------------------------------------------------------------------------

    def _commit(self, batches: Iterator[Sequence[_Task]]) -> list[Any]:
        waiting = () if self.database.sqlite else self._queue.waiting
        first: list[Sequence[_Task]] = []
        if not self._alone and _name_all(waiting):
            with suppress(RetryAlone):
                with self.working((), together=True) as work:  # callers that come before it begins are in it
                    first.append(tasks := next(batches, ()))
                    if not _name_all(tasks):
                        raise RetryAlone
                    payers = work.payers_of(_list_needs(tasks, "reserved"))
                    work.look_up(_list_needs(tasks, "names") + payers, _list_needs(tasks, "keys"))
                    results = [_result(task, work) for task in tasks]
                return [work.result_in_place(result) for result in results]
        results = []
        ahead = first[0] if first else waiting  # the rows that a server is asked for at once
        with self.working(_list_needs(ahead, "names")) as work:
            for tasks in chain(first, batches):  # callers that come meanwhile are in it
                work.look_up(_list_needs(tasks, "names"), _list_needs(tasks, "keys"))
                results += [_result(task, work) for task in tasks]
        return results

    @contextmanager
    def working(self, names: Iterable[str], *, together: bool = False) -> Iterator[Transaction]:
        """Yield one transaction's work; it is durable when the block ends, or none of it is.

        Parameters
        ----------
        names
            Labels of accounts to be read at once.
        together
            True if others may write to the server meanwhile; then its tasks concern only rows that are looked up at
            once.

        Raises
        ------
        RetryAlone
            If a task needs other rows, or another transaction was faster.
        """
        with self.database.writing(lock=TOGETHER if together else ALONE) as session:
            session.ask(BY_LABEL[together], wanted := sorted({*names}))
            work = self._work(session)
            work.load(wanted)
            if not together:
                self._check_anchor(work)
            yield work
            mark = work.finish()
            if together:  # an anchor names entries that came since it began
                self._check_anchor(work)
            session.flushes = new = mark != self._synced
            if new and work.unchanged:
                # The rows read, which may be shown, may be of a process that died before they were durable.
                self.database.sync(session)
        if work.is_the_one and mark.epoch == self._seen.epoch:  # else it has to be opened again
            self._seen = mark
        self._numbers, limits = work.numbers, work.limits
        self._alone = self.database.sqlite or (limits is not None and bool(limits.windows or limits.grouped))
        if len(self._kinds) >= _KEPT:
            self._kinds.clear()
        self._kinds.update(work.new_kinds)
        if new and self._anchor is not None:
            self._anchor.write(mark)
        self._synced = mark

    @contextmanager
    def within(self, session: Session) -> Iterator[Transaction]:
        """Yield work in a transaction that the caller begins and ends; the work is written when the block ends."""
        work = self._work(session)
        yield work
        work.finish()

    def _work(self, session: Session) -> Transaction:
        return Transaction(
            session,
            self._units,
            self._kinds,
            self._seen,
            self._limits,
            self.names.label_of,
            self._witness,
            self._numbers,
        )

    def check(self) -> None:
        """Refuse if nothing can be charged now: a transaction writes a row and takes it back, durably.

        Raises
        ------
        InUse
            If somebody else is in one for longer than a second.
        StoreMoved, GateClosed, LedgerDamaged, StoreRefused, OSError
            With the reason, as a charge would.
        """
        self.database.check_file()
        with self.database.snapshot() as session:
            work = self._work(session)
            self._check_anchor(work)
            work.check()
            check_accounts(session, within=60.0)
        with self.database.writing(wait=1.0) as session:
            session.execute("INSERT INTO tally (kind, releases, records) VALUES (-1, 0, 0)")
            session.execute("DELETE FROM tally WHERE kind = -1")
        if self._anchor is not None and (mark := self._anchor.read_mark()) is not None:
            self._anchor.write(mark)

    def _check_anchor(self, work: Transaction) -> None:
        """Refuse if the anchor names a later entry than the last one of this store."""
        if self._anchor is None:
            return
        mark = self._anchor.read_mark()
        if mark is None:
            raise StoreMoved(
                f"{self.name}: its anchor {self._anchor.path} is gone: put it back, and open it again"
            )
        check_anchor(self.name, mark, self.instance, work.epoch, work.last)

    def do(self, command: LedgerCommand) -> Receipt:
        """Carry out a command in a transaction that others may share; see `Store`."""
        receipt: Receipt = self._queue.do(_Command(command, self.names.label_of))
        return receipt

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Keep the unchecked assumptions of releases; see `Store`."""
        new = [each for each in assumptions if each not in self.assumptions]

        def note(work: Transaction) -> None:
            for each in new:
                work.assume(each)

        if new:
            self._queue.do(note)
            self.assumptions += tuple(new)

    def note_closed(self, why: str, where: Place) -> None:
        """Let nothing more be charged; see `Store`."""
        self._queue.do(lambda work: work.shut_gate(why, where))

    # --- rules -----------------------------------------------------------------------------------

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget, now."""
        with self.database.snapshot() as session:
            work = self._work(session)
            return self._name_members(work, work.limits)

    @staticmethod
    def _name_members(work: Transaction, limits: Limits | None) -> tuple[Rule, ...]:
        """Return rules with the names of the members of their groups."""
        if limits is None:
            return ()
        work.load_numbers(number for rule in limits.rules for group in rule.groups for number in group)
        return tuple(
            [
                rule.with_members(lambda number: record_of_label(work.row_numbered(number).name))
                for rule in limits.rules
            ]
        )

    def change_rules(self, rules: Sequence[Rule], by: str, reason: str, *, only_first: bool = False) -> None:
        """Put other limits in force beside the budget, for all users of the store; an entry records it for good.

        They count earlier charges, too, so that no record begins anew; as all entries are read, this takes as long as
        `verify`. A rule may be loosened: the ledger keeps the change and its author.

        Parameters
        ----------
        rules
            All rules that are to be in force.
        by, reason
            The author and the reason of the change.
        only_first
            True to change them only in a store without entries after the first.

        Raises
        ------
        ClockAhead
            If a rule in force depends on time, and the clock is far ahead of the last charge.
        ParameterError
            If the rules do not go together or with the store's theorem, a name or reason is missing, or it is too late.
        """
        found = checked_rules(rules, self.terms.composition)
        check_reach(found, self.terms.composition, self.terms.budget)
        check_said(by, reason)

        def change(work: Transaction) -> None:
            if work.position > 1 and any(rule.reached_by is not None for rule in found):
                raise ParameterError(
                    "rules: reached_by: what a tenant learns is bounded by such rules in a ledger that has them before "
                    "anything is charged: make a new one with them"
                )
            if not (only_first and work.position > 1):
                put_rules_in(work, found, by, reason)

        self._queue.do(change)

    def confirm_clock(self, by: str, reason: str) -> int:
        """Confirm that the clock is right, although it is far ahead of the last charge; return its time.

        Raises
        ------
        ParameterError
            If a name or reason is missing.
        """
        check_said(by, reason)

        def confirm(work: Transaction) -> int:
            work.happen(ClockConfirmed(max(work.time, work.clock), by, reason))
            return work.clock

        confirmed: int = self._queue.do(confirm)
        return confirmed

    def group_mates(
        self, records: Sequence[RecordId], waiting: Sequence[Collection[RecordId]]
    ) -> set[RecordId]:
        """Return the waiting records that are in a group of these records; see `Store`."""
        names = [self.names.label_of(record) for record in records]
        with self.database.snapshot() as session:
            work = self._work(session)
            work.check_epoch()
            limits = work.limits
            if limits is None or not any(rule.groups for rule in limits.rules):
                return set()
            work.load(names)
            numbers = limits.group_members(map(work.key, names))
            work.load_numbers(numbers)
            mates = {work.row_numbered(number).name for number in numbers}
        if self.names.check is None:
            return {mate for mate in map(record_of_label, mates) if any(mate in each for each in waiting)}
        return {record for each in waiting for record in each if self.names.label_of(record) in mates}

    def standings(self, records: Sequence[RecordId]) -> list[Standing]:
        """Return the standing of each record; see `Store`."""
        names = [self.names.label_of(record) for record in records]
        with self.database.snapshot() as session:
            work = self._work(session)
            work.check_epoch()
            work.load(names)
            expire(work, work.current_time(), work.happen)  # here only: it is written by whoever charges next
            limits, keys, rules = work.limits, [work.key(name) for name in names], dict[Rule, Rule]()
            if limits is not None:
                work.load_numbers(each for each in limits.group_members(keys) if isinstance(each, int))
                rules = dict(zip(limits.rules, self._name_members(work, limits), strict=True))
            found = [work.standing(key, max(work.time, work.clock)) for key in keys]
            return [
                Standing(each.spent, [(rules[of], spent) for of, spent in each.counted]) for each in found
            ]

    def rule_standings(self) -> list[RuleStanding]:
        """Return how near each rule's limit is; see `Store`."""
        sql = "SELECT min(number), counted, count(*) FROM account WHERE counted IS NOT NULL GROUP BY counted"
        with self.database.snapshot() as session:
            work = self._work(session)
            limits = work.limits
            if limits is None:
                return []
            rules = self._name_members(work, limits)
            found = limits.nearest(session.each(sql), work.rule_counts, max(work.time, work.clock))
            work.load_numbers(number for nearest in found for number in nearest.keys)
            return [
                RuleStanding(
                    rule, tuple(record_of_label(work.row_numbered(key).name) for key in keys), spent, nearly
                )
                for rule, (keys, spent, nearly) in zip(rules, found, strict=True)
            ]

    # --- reading ---------------------------------------------------------------------------------

    @contextmanager
    def refusals(
        self, holds: Holds, scope: Scope = ANY
    ) -> Iterator[Callable[[Sequence[Entry]], CannotPay | None]]:
        """Yield the function from entries to the `CannotPay` that a charge would raise; see `Store`."""
        label_of = self.names.label_of
        with self.database.snapshot() as session:
            work = self._work(session)
            work.check_epoch()
            yield lambda entries: _Command(Charge(entries, holds, scope=scope), label_of).refused(work)

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and its total."""
        return next(iter(self.most_spent(1)), (None, self.terms.composition.zero_spend))

    def most_spent(self, count: int) -> list[tuple[RecordId, Any]]:
        """Return the records that have spent most, at most `count`, and their totals; the most first."""
        exceeds = self.terms.composition.exceeds
        order = cmp_to_key(lambda one, other: exceeds(one, other) - exceeds(other, one))
        found: list[tuple[RecordId, Any]] = []
        with self.database.reading() as session:
            totals = (text for (text,) in session.rows("SELECT DISTINCT spent FROM account"))
            amounts = ((self._units.amount(self._units.parse_vector(text)), text) for text in totals)
            for spent, text in heapq.nlargest(count, amounts, key=lambda each: order(each[0])):
                sql = f"{ACCOUNT_ROW} WHERE spent = ? ORDER BY number LIMIT {count - len(found):d}"
                for row in session.rows(sql, text):
                    found.append((record_of_label(account_row(self.name, row).name), spent))
                if len(found) == count:
                    break
        return found

    def count_records(self) -> int:
        """Return how many records have paid for anything."""
        with self.database.reading() as session:
            counted = session.value("SELECT releases FROM tally WHERE kind = 0")
        return counted or 0

    def tallies(self) -> Iterable[Tally]:
        """Return the number of charges of each kind, as it is kept; of folded charges, the sums."""
        sql = "SELECT kind, releases, records FROM tally WHERE kind > 0 AND releases <> 0 ORDER BY kind"
        with self.database.snapshot() as session:
            work = self._work(session)
            folded = begin_replay(session).folded_tallies()
            found = session.rows(sql)
            return [*folded, *(Tally(work.kind_at(int(kind)), *counted) for kind, *counted in found)]

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        with self.database.reading() as session:
            names = session.rows("SELECT label FROM account ORDER BY number")
        return iter([record_of_label(name) for (name,) in names])

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back; of those that were folded, the sums.

        The entries are verified first: to read them takes as long as `verify`.
        """
        with self.database.snapshot() as session:
            replay = begin_replay(session)
            replay.feed_all(rows_after(session, replay.position))
            return replay.content(labelled(session)).entries

    def __len__(self) -> int:
        return len(self.entries)

    def charges(self, record: RecordId) -> list[Entry]:
        """List the charges of `record`."""
        shown = self.names.display_name(record)
        return [entry for entry in self.entries if shown in entry.records]

    def find_request(self, request: str) -> tuple[int, str | None] | None:
        """Return the position of a request's charge, and its outcome if it is a reservation; None if there is none.

        A reservation is ``"reserved"``, ``"drawn"`` or ``"returned"``; a charge that is none has no state.
        """
        sql = (
            "SELECT request.position, state FROM request LEFT JOIN reservation "
            "ON reservation.position = request.position WHERE key = ?"
        )
        with self.database.reading() as session:
            found = session.row(sql, encode_name(request))
        return None if found is None else (int(found[0]), found[1])

    def reservations(self) -> dict[int, OpenReservation]:
        """Return the open reservations, which are neither drawn nor given back, by position."""
        return open_reservations(self.database)

    def insist_on_anchor(self, kept: bool, by: str, reason: str) -> Mark:
        """Let it be spent from with its anchor only, or without one again, in an epoch of its own, here, too."""
        check_said(by, reason)
        with self.working(()) as work:
            work.check_open()
            body = {"epoch": work.begin_epoch(), "kept": kept, "by": by, "reason": reason}
            work.append({"anchored": body, "at": work.time})
        assert self._synced is not None
        self._seen = self._synced
        return self._seen

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


def labelled(session: Session) -> dict[int, RecordId]:
    """Return the records that accounts are of, by the numbers of the accounts."""
    rows = session.rows("SELECT number, label FROM account")
    return {int(number): record_of_label(label) for number, label in rows}


def import_charges_in(
    work: Transaction, charges: Sequence[tuple[Scope, Sequence[Entry]]], source: str
) -> None:
    """Charge in a transaction all charges of another ledger, of this digest, however much its records have left."""
    work.load({work.label(record) for _, entries in charges for entry in entries for record in entry.records})
    for scope, entries in charges:
        for entry in entries:
            keys = tuple(work.key(work.label(record)) for record in entry.records)
            at = stamp(work, work.current_time())
            work.happen(Charged(0, (entry.for_records(keys),), False, None, scope, *at), source)


def check_said(by: str, reason: str) -> None:
    """Refuse to change the terms of a ledger, or its entries, without an author and a reason.

    Raises
    ------
    ParameterError
        If a word is missing.
    """
    for name, word in (("by", by), ("reason", reason)):
        if not word.strip():
            raise ParameterError(f"{name} = {word!r}: must not be empty; the ledger keeps it")


class _Command:
    """A command that waits for its transaction, its records by the labels of their accounts.

    It is about the accounts of `names`, the requests of `keys` and the reservations of `reserved`.
    """

    def __init__(self, command: LedgerCommand, label_of: Callable[[RecordId], str]) -> None:
        entries = command.entries if isinstance(command, Charge) else ()
        request = None if isinstance(command, Settle) else command.request
        self._command = command
        self._labels = [[label_of(record) for record in entry.records] for entry in entries]
        self.names = list(chain.from_iterable(self._labels))
        self.keys = [] if request is None else [request]
        self.reserved = [command.position] if isinstance(command, Settle) else []
        for key in self.keys:
            encode_name(key)  # refused if it is too long

    def __call__(self, work: Transaction) -> Receipt:
        """Carry it out.

        Raises
        ------
        CannotPay
            With the name of the record.
        """
        command = self._command
        try:
            return work.do(self._numbered(work, command) if isinstance(command, Charge) else command)
        except CannotPay as refused:
            raise self._name_record(work, refused) from None

    def refused(self, work: Transaction) -> CannotPay | None:
        """Return why a charge would be refused."""
        assert isinstance(self._command, Charge)
        work.load(self.names)
        command = self._numbered(work, self._command)
        expire(work, work.current_time(), work.happen)
        refused = first_refused(work, command, work.current_time())
        return None if refused is None else self._name_record(work, refused)

    def _numbered(self, work: Transaction, command: Charge) -> Charge:
        """Return a charge with the keys of its accounts in the state."""
        entries = [
            entry.for_records(tuple(map(work.key, labels)))
            for entry, labels in zip(command.entries, self._labels, strict=True)
        ]
        if work.limits is not None and work.limits.grouped:
            work.load_numbers(work.limits.group_members(key for entry in entries for key in entry.records))
        return Charge(entries, *command[1:])

    def _name_record(self, work: Transaction, refused: CannotPay) -> CannotPay:
        assert isinstance(self._command, Charge)
        records = chain.from_iterable(entry.records for entry in self._command.entries)
        refused.record = dict(zip(map(work.key, self.names), records, strict=True))[refused.record]
        return refused


def put_rules_in(
    work: Transaction, rules: Sequence[Rule], by: str, reason: str, at: int | None = None
) -> None:
    """Put rules in force, in a transaction; their counts of earlier charges are found in the entries.

    Raises
    ------
    ClockAhead
        If a rule in force depends on time, and the clock is far ahead of the last charge: no operator has confirmed it,
        and it would be the store's clock from here on.
    """
    drift = work.drift
    if at is None:
        if work.limits is not None and work.limits.windows:
            _, drift = stamp(work, work.current_time())
        at = work.time
    replay = begin_replay(work.session, partial(work.rows, 0))
    replay.feed_all(work.rows(replay.position))
    members = {work.label(each) for rule in rules for group in rule.groups for each in group}
    work.load(members)
    opened = [work.open_account(name) for name in sorted(members) if work.row(name).number is None]
    numbered = [rule.with_members(lambda each: work.number_of(work.label(each))) for rule in rules]
    body = {"rules": [rule.to_dict() for rule in numbered], "by": by, "reason": reason, "opened": opened}
    add_time(body, max(at, replay.clock), drift)
    before = [number for number, account in replay.accounts.items() if account.counted]
    work.put_rules(numbered, body)
    replay.feed_all(work.rows(replay.position))
    after = [number for number, account in replay.accounts.items() if account.counted]
    work.load_numbers({*before, *after})
    for number in {*before, *after}:
        row = replay.account(number).counted
        work.set_account(number, work.account(number)._replace(counted=row))


def write_events(work: Transaction, events: Sequence[LedgerEvent], reserved: dict[int, int]) -> None:
    """Write down the events of a ledger in memory, in a transaction.

    Parameters
    ----------
    work, events
        The transaction, and the events.
    reserved
        Positions of open reservations in the store, by their positions in the ledger; it is updated.
    """
    charges = [event for event in events if isinstance(event, Charged)]
    entries = chain.from_iterable(charged.entries for charged in charges)
    work.load({work.label(record) for entry in entries for record in entry.records})
    for event in events:
        _write_event(work, event, reserved)


def _write_event(work: Transaction, event: LedgerEvent, reserved: dict[int, int]) -> None:
    if isinstance(event, Ruled):
        put_rules_in(work, event.rules, event.by, event.reason, event.at)
    elif isinstance(event, Charged):
        entries = tuple(
            entry.for_records(tuple(work.key(work.label(record)) for record in entry.records))
            for entry in event.entries
        )
        position = work.happen(event._replace(entries=entries, at=work.later(event.at)))
        if event.reserved:
            reserved[event.position] = position
    elif isinstance(event, Settlement):
        at = work.later(event.at)
        work.happen(event._replace(position=reserved.pop(event.position), at=at))
    elif isinstance(event, DrawnAgain):
        work.happen(event._replace(at=work.later(event.at)))
    else:
        work.happen(event)


def _list_needs(tasks: Iterable[_Task], what: str) -> list[Any]:
    """List the names of accounts, keys or reservations that tasks are going to read."""
    return [each for task in tasks for each in getattr(task, what, ())]


def _name_all(tasks: Iterable[_Task]) -> bool:
    """Return whether tasks say all accounts and requests that they are about."""
    return all(isinstance(task, _Command) for task in tasks)


def _result(task: _Task, work: Transaction) -> Any:
    try:
        work.check()
        return task(work)
    except (CannotPay, ValueError) as refusal:  # of this caller's own; it has changed nothing
        return refusal


class OpenReservation(NamedTuple):
    """The holder of an open reservation, and its deadline in ISO 8601; None without."""

    held_by: str
    until: str | None


def open_reservations(database: Database) -> dict[int, OpenReservation]:
    """Return the open reservations of a store, which are neither drawn nor given back, by position."""
    sql = (
        "SELECT entry.position, body, until FROM entry JOIN reservation ON entry.position = reservation.position "
        "WHERE state = 'reserved' ORDER BY entry.position"
    )
    with database.reading() as session:
        rows = session.rows(sql)
    return {
        int(position): OpenReservation(
            json.loads(body)["holder"],
            None if until is None else datetime.fromtimestamp(until / 1_000, UTC).isoformat(),
        )
        for position, body, until in rows
    }
