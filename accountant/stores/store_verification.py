"""Verification of a store: its tables against its entries, and the chain of these."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from accountant.stores.anchor import Anchor, Mark
from accountant.stores.beginning import Fold, begin_replay, last_fold
from accountant.stores.chain import START, commitment, entry_hash
from accountant.stores.database import Database
from accountant.stores.replayed_entries import ReplayedEntries, chained_to
from accountant.stores.schema import RARE
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved, damage_in
from accountant.stores.transaction import (
    ACCOUNT_ROW,
    RARE_TALLY,
    STORE_ROW,
    account_row,
    check_mass,
    mass_of,
    rows_after,
    store_row,
    stored_bytes,
)

_TAIL = 1_000
"""The number of last entries that are checked when a store is opened."""


@dataclass(frozen=True)
class Verified:
    """The result of a verification.

    Attributes
    ----------
    entries, accounts
        The numbers of entries and of accounts.
    head
        The last entry: to be written down elsewhere.
    trusted
        Descriptions of mechanisms that cannot be rebuilt: their charges are taken on trust.
    reserved
        Positions of open reservations.
    replay
        The state after all entries.
    """

    entries: int
    accounts: int
    head: Mark
    trusted: tuple[str, ...]
    reserved: tuple[int, ...]
    replay: ReplayedEntries


def verify_database(database: Database, anchor: Anchor | None = None) -> Verified:
    """Recompute chain, charges, budgets and tables of a store from its entries.

    Raises
    ------
    LedgerDamaged
        Naming the first entry that does not fit, or the table.
    StoreMoved
        If the store does not have the entry that its anchor names.
    """
    with verifying(database, anchor) as (_, found):
        return found


@contextmanager
def verifying(database: Database, anchor: Anchor | None = None) -> Iterator[tuple[Session, Verified]]:
    """Verify a store, as `verify_database`; yield the transaction in which its charges can be read again, too."""
    with database.reading() as reading:
        damage = database.damage(reading)
    if damage is not None:
        raise LedgerDamaged(f"{database.name}: SQLite finds: {damage}")
    mark = None if anchor is None else anchor.read_mark()
    with database.snapshot() as session, damage_in(database.name, "a table is damaged"):
        _check_schema(session)
        replay = begin_replay(session)
        replay.feed_all(rows_after(session, replay.position))
        if mark is not None:
            _check_marked(session, mark, replay, replay.position)
        accounts = compare_tables(replay, session)
        yield session, verification_result(replay, accounts)


def look_over(database: Database, anchor: Anchor | None = None) -> tuple[ReplayedEntries, Mark]:
    """Check the parts of a store that spending rests on, however many entries it has; `verify_database` checks all.

    That is: terms, location, assumptions and closing, the chain of the last entries, and the anchor's entry. Accounts
    are checked when they are read, and when one is not found, that none is hidden behind a damaged index.

    Returns
    -------
    tuple
        A replay of the entries that concern the store as a whole, and its head.

    Raises
    ------
    LedgerDamaged, StoreMoved
        As `verify_database`.
    """
    replay = ReplayedEntries()
    mark = None if anchor is None else anchor.read_mark()
    with database.snapshot() as session, damage_in(database.name, "a table is damaged"):
        _check_schema(session)
        fold = last_fold(session)
        head = _last_entries(session, fold)
        for row in (*rows_after(session, 0, "position = 1"), *rows_after(session, 1, RARE)):
            if fold is not None and row[0] <= fold.after:
                replay.feed_left(row)
                continue
            replay.go_on(row[0] - 1, _hash(session, row[0] - 1, fold))
            replay.feed_all((row,))
        _compare_store(replay, session)
        if mark is not None:
            _check_marked(session, mark, replay, head[0])
    return replay, Mark(replay.instance, replay.epoch, head[0], head[1].hex())


_OWN_SCHEMA = {
    True: "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')",
    False: """
SELECT 'trigger', tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
UNION ALL SELECT 'rule', rulename FROM pg_rules WHERE schemaname = current_schema()
UNION ALL SELECT 'policy', policyname FROM pg_policies WHERE schemaname = current_schema()
UNION ALL SELECT 'view', viewname FROM pg_views WHERE schemaname = current_schema()""",
}
"""Queries for triggers, views and the like, foreign to a store, that may change reads or writes, by dialect."""


def _check_schema(session: Session) -> None:
    found = session.row(_OWN_SCHEMA[session.database.sqlite])
    if found is not None:
        raise LedgerDamaged(
            f"there is a {found[0]} {found[1]!r}, which no ledger has: what is charged may not be kept"
        )


def _check_marked(session: Session, mark: Mark, replay: ReplayedEntries, position: int) -> None:
    """Refuse a store with its last entry at this position, unless it holds the entry that its anchor names."""
    check_anchor(session.database.name, mark, replay.instance, replay.epoch, position)
    fold = last_fold(session)
    if fold is not None and mark.position < fold.after:
        raise StoreMoved(
            f"{session.database.name}: entry {mark.position}, which its anchor names, was folded since, without the "
            "anchor: whether it was that one cannot be seen any more"
        )
    if _hash(session, mark.position, fold).hex() != mark.hash:
        raise StoreMoved(
            f"{session.database.name}: entry {mark.position} is not the one that its anchor names"
        )


def _last_entries(session: Session, fold: Fold | None) -> tuple[int, bytes]:
    """Return position and hash of the last entry; the chain of the last ones is checked."""
    last = session.value("SELECT max(position) FROM entry") or 0
    position = max(0 if fold is None else fold.after, last - _TAIL)
    before = _hash(session, position, fold)
    for found, text, digest in rows_after(session, position):
        position += 1
        before = chained_to(before, position, (found, text, digest))
    return position, before


def _hash(session: Session, position: int, fold: Fold | None) -> bytes:
    """Return the hash of an entry, of the last one in a fold, or of nothing before the first."""
    if fold is not None and position == fold.after:
        return fold.hash
    if not position:
        return START
    found = session.row("SELECT hash FROM entry WHERE position = ?", position)
    if found is None:
        raise LedgerDamaged("it is missing", position)
    return stored_bytes(found[0])


def verification_result(replay: ReplayedEntries, accounts: int) -> Verified:
    """Return the result of a replay in which everything fits."""
    trusted = tuple(repr(replay.kinds[position].mechanism) for position in replay.trusted)
    reserved = tuple(position for position, state in replay.reservations.items() if state == "reserved")
    head = Mark(replay.instance, replay.epoch, replay.position, replay.hash.hex())
    return Verified(replay.position, accounts, head, trusted, reserved, replay)


def check_anchor(name: str, mark: Mark, instance: str, epoch: int, position: int) -> None:
    """Refuse a store that is not the one of its anchor, or behind it.

    Raises
    ------
    StoreMoved
        If it is; the message has the missing entries.
    """
    if mark.instance != instance:
        raise StoreMoved(f"{name}: is another store than its anchor's")
    if mark.epoch > epoch:
        raise StoreMoved(f"{name}: was adopted elsewhere (epoch {mark.epoch}); here is epoch {epoch}")
    if mark.position > position:
        raise StoreMoved(
            f"{name}: ends at entry {position}, but its anchor names entry {mark.position}: it was rolled back "
            f"to a backup, and {mark.position - position} entries are missing, whose outputs were seen. Bring the "
            "newer store back; if it is lost, `dpwitness ledger amend --promote` goes on without them"
        )


def compare_tables(replay: ReplayedEntries, session: Session) -> int:
    """Compare all tables with the state that the entries lead to; return the number of accounts.

    Raises
    ------
    LedgerDamaged
        If a table differs; the message names it.
    """
    _compare_store(replay, session)
    count, mass = 0, 0
    for row in session.each(f"{ACCOUNT_ROW} ORDER BY number"):
        number, name, salt, spent, counted, _ = row
        if commitment(stored_bytes(salt), name) != replay.commitments.get(number):
            raise LedgerDamaged(f"account {number} is not of the record that its entries commit it to")
        account = replay.account(number)
        if spent != replay.units.format_vector(account.spent):
            raise LedgerDamaged(f"account {number} has another spent amount than in the entries")
        if counted != (None if replay.limits is None else replay.limits.text(account.counted)):
            raise LedgerDamaged(f"rules do not count of account {number} what the entries say")
        count, mass = count + 1, mass + mass_of(account_row("the table `account`", row).digest)
    if count != len(replay.commitments):
        raise LedgerDamaged(f"{len(replay.commitments)} accounts were opened, and {count} are there")
    check_mass("the table `account`", session, count, mass)
    deadlines = {position: until for until, position in replay.deadlines}
    reservations = {
        position: (state, deadlines.get(position) if state == "reserved" else None)
        for position, state in replay.reservations.items()
    }
    if not _holds(session, "SELECT position, state, until FROM reservation", reservations):
        raise LedgerDamaged("the table `reservation` does not fit to the entries")
    _compare_requests(replay, session)
    windows = replay.limits is not None and replay.limits.windows
    if windows and session.row("SELECT clock, drift FROM store") != (replay.clock, replay.drift):
        raise LedgerDamaged("the table `store` does not have the time of the last charge")
    kinds = {entry_hash(b"", replay.texts[each]).hex(): (each,) for each in replay.kinds if each > 0}
    if not _holds(session, "SELECT digest, position FROM kind", kinds):
        raise LedgerDamaged("the table `kind` does not fit to the entries")
    tallies = {kind: counted for kind, counted in replay.tallies.items() if any(counted)}
    sql = "SELECT kind, releases, records FROM tally WHERE kind > 0 AND releases <> 0"
    if not _holds(session, sql, tallies):
        raise LedgerDamaged("the table `tally` does not fit to the entries")
    _compare_run(replay, session)
    return count


def _compare_requests(replay: ReplayedEntries, session: Session) -> None:
    """Compare requests with the entries; an answer may be gone, and another may not be in its place."""
    left = dict(replay.requests)
    for key, position, stamped, digest, answer in session.each(
        "SELECT key, position, stamped, answered, answer FROM request"
    ):
        request = left.pop(json.loads(key), None)
        if request is None or (request.position, request.digest) != (position, digest):
            raise LedgerDamaged("the table `request` does not fit to the entries")
        if request.stamp != stamped:
            raise LedgerDamaged("the table `request` has another time for a request than the entries")
        if answer is not None and hashlib.sha256(stored_bytes(answer)).hexdigest() != digest:
            raise LedgerDamaged(f"the answer to request {json.loads(key)!r} is not the one that was given")
    if left:
        raise LedgerDamaged("the table `request` does not fit to the entries")


def _compare_store(replay: ReplayedEntries, session: Session) -> None:
    [row] = session.rows(STORE_ROW)
    instance, epoch, location, closed, rules, *_ = row
    held = replay.instance, replay.epoch, replay.location, replay.rules
    if (instance, epoch, json.loads(location), rules) != held:
        raise LedgerDamaged("the table `store` does not fit to the entries")
    if (None if closed is None else json.loads(closed)) != replay.closed:
        raise LedgerDamaged("the table `store` has another state of the gate than the entries")
    store_row("the row", row)
    # An index finds them when a store is opened: one changed bit of it hides one, names another entry, or one twice.
    found = session.row("SELECT releases, records FROM tally WHERE kind = ?", RARE_TALLY)
    if (found or (0, 0)) != replay.rare:
        raise LedgerDamaged(
            "the entries that concern the store as a whole are not those that were written: the index `rare` finds "
            f"{replay.rare[0]}, the table `tally` has {found[0] if found else 0}"
        )


def _compare_run(replay: ReplayedEntries, session: Session) -> None:
    """Compare the state of a run with the digest in its last save."""
    rows = session.rows("SELECT saves, state FROM run") if has_run(session) else []
    found = [(int(saves), hashlib.sha256(stored_bytes(state)).hexdigest()) for saves, state in rows if saves]
    if found != ([] if replay.saved is None else [replay.saved]):
        raise LedgerDamaged("the table `run` does not hold the state that was saved last")


def has_run(session: Session) -> bool:
    """True if a store is one of a run."""
    return "run" in session.tables()


def _holds(session: Session, sql: str, expected: Mapping[Any, Any]) -> bool:
    """Return whether the rows of a table are these pairs of key and values, each once."""
    left = set(expected)
    for key, *values in session.each(sql):
        if key not in left or expected[key] != tuple(values):
            return False
        left.discard(key)
    return not left
