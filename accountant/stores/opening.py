"""The creation, opening and adoption of stores."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from accountant.gates.lineage import RecordId
from accountant.ledger.store import Standing
from accountant.rules.rule import Rule
from accountant.stores.anchor import Anchor, Mark
from accountant.stores.chain import START, canonical, entry_hash, row_digest
from accountant.stores.database import Database
from accountant.stores.entry_bodies import begin_body
from accountant.stores.location import RUN_STORE, left_log, same_location
from accountant.stores.names import PLAIN, NameKey, Names, name_key, own_name
from accountant.stores.replayed_entries import LedgerContent, ReplayedEntries
from accountant.stores.schema import METADATA, RUN, VERSION
from accountant.stores.session import Session
from accountant.stores.sql_store import SQLStore, labelled
from accountant.stores.store_refusals import (
    InUse,
    LedgerDamaged,
    OtherTerms,
    OutcomeUnknown,
    RetryAlone,
    StoreMoved,
    StoreRefused,
)
from accountant.stores.store_verification import Verified, has_run, look_over, verify_database, verifying
from accountant.stores.transaction import Transaction, last_save
from accountant.terms import Terms
from mechanisms.parameters import ParameterError, quoted


def open_store(
    where: str | Path,
    terms: Terms | None = None,
    *,
    anchor: str | Path | None = None,
    rules: Sequence[Rule] | None = None,
    names: NameKey | str | Path | None = None,
) -> SQLStore:
    """Open a store to spend from, or make it.

    The parts that spending depends on are checked first (`look_over`), without reading all entries: terms, the end of
    the chain, the anchor, and accounts when they are read. `SQLStore.verify` checks everything.

    Parameters
    ----------
    where
        A file, or the URL of a database.
    terms
        The terms of its charges; None for those that it was made with.
    anchor
        A file outside, best on another disk, with the last position of the store, so that an older copy of it is
        noticed at any place. A store that was opened with one is spent from with it only, until `forget_anchor`
        declares it lost; objects that have the store open without it have to open it again.
    rules
        Limits beside the budget, if it is made now; else it must have these. None for those that it has.
    names
        The key under which it names records, or is to from the beginning: a `NameKey`, a file, or ``env:VARIABLE``.
        None if it holds names as they are, or if no name will be looked up.

    Raises
    ------
    KeyRefused
        If it names records under another key, or none.
    OtherTerms
        If it was made for other terms.
    StoreMoved
        If it is a copy, or older than its anchor, or somebody has anchored it meanwhile.
    StoreRefused
        If it has an anchor, and that is not given, or not there.
    LedgerDamaged
        If a checked part does not fit.
    ParameterError
        If there is no store and no terms are given.
    """
    key = name_key(names)
    pinned = None if anchor is None else Anchor.at_path(anchor)
    database = Database.from_location(where)
    try:
        if not holds_store(database):
            if terms is None:
                raise ParameterError(f"{database.name}: holds no ledger")
            if pinned is not None and pinned.read_mark() is not None:
                raise StoreMoved(
                    f"{database.name}: holds no ledger, but its anchor {pinned.path} names one: bring the store back, "
                    "or begin a new one with an anchor of its own"
                )
            _make(database, terms, names=Names(None if key is None else key.check))
        elif is_run(database):
            if terms is not None:
                raise StoreRefused(
                    f"{database.name}: is the ledger of a run: go on with it by DurableRun.load"
                )
            database.hold()
        else:
            database.check_place()
        replay, head = look_over(database, pinned)
        if terms is not None:
            _check_terms(database.name, terms, replay.terms)
        naming = Names.for_store(database.name, replay.names, key)
        _check_location(database, replay.location)
        _check_anchored(database.name, replay, pinned)
        if pinned is not None and pinned.read_mark() != head:
            # The head may be of a process that died before it was durable: no anchor may name it then.
            with database.writing() as session:
                database.sync(session)
            pinned.write(head)
        if database.holding:
            with database.writing() as session:
                _take_run(session, "")
    except BaseException:
        database.close()
        raise
    store = SQLStore(database, replay.terms, head, pinned, naming)
    store.assumptions, store.closed = replay.assumptions, replay.closure
    try:
        if rules is not None:
            _keep_rules(store, rules)
        if pinned is not None and not replay.anchored and not database.holding:
            store.insist_on_anchor(True, "whoever opened it", "it was opened with an anchor")
    except BaseException as error:
        store.close()
        if isinstance(error, StoreMoved) and pinned is not None:  # anchored meanwhile; else it is found again
            return open_store(where, terms, anchor=anchor, rules=rules, names=names)
        raise
    return store


def refuse_existing(where: str | Path) -> None:
    """Refuse a place that holds anything already; a database without tables holds nothing.

    Raises
    ------
    ParameterError
        If it does, or it is no place for a store.
    """
    with closing(Database.from_location(where)) as database:
        if holds_store(database) or (
            database.path is not None and database.path.exists() and not _is_empty(database)
        ):
            raise ParameterError(
                f"store = {database.name!r}: exists already; a ledger is imported into a store of its own"
            )


def _is_empty(database: Database) -> bool:
    """True if a database has no tables: one that was killed when it was made leaves none."""
    with database.reading() as session:
        return not session.tables()


def holds_ledger(where: str | Path) -> bool:
    """True if a place holds the store of a ledger."""
    with closing(Database.from_location(where)) as database:
        return holds_store(database)


def make_store(where: str | Path, terms: Terms, names: Names, fill: Callable[[Transaction], None]) -> None:
    """Make a new store with the additions of `fill`: all of it in one transaction, or nothing, at any interruption.

    Raises
    ------
    InUse
        If another process has made one meanwhile.
    ParameterError
        If there is one already, or it is no place for one.
    """
    refuse_existing(where)
    with closing(Database.from_location(where)) as database:
        try:
            if not _make(database, terms, names=names, fill=fill):
                raise InUse(f"{database.name}: another process has made a store here meanwhile")
        except BaseException as error:
            if (
                database.path is not None
                and not isinstance(error, OutcomeUnknown)
                and not holds_store(database)
            ):
                database.remove()
            raise


def _keep_rules(store: SQLStore, rules: Sequence[Rule]) -> None:
    """Make sure that a store has these rules: a new one is given them.

    Raises
    ------
    OtherTerms
        If it has others.
    """
    if rules:
        store.change_rules(rules, "whoever made it", "it was made with them", only_first=True)
    found = store.rules
    asked = {
        replace(rule, groups=tuple(tuple(map(store.names.display_name, group)) for group in rule.groups))
        for rule in rules
    }
    if set(found) != asked:
        raise OtherTerms(
            f"{store.name}: has other rules ({len(found)}, not these {len(rules)}): leave rules out to open it with "
            "its own, or change them with `dpwitness ledger amend --rules`"
        )


def begin_store(
    database: Database, terms: Terms, *, holder: str | None = None, at: int | None = None
) -> SQLStore:
    """Make a store in a database: of a run, if it has a holder.

    Parameters
    ----------
    database
        Where; one that is held, by a name of the holder's own, for a run.
    terms
        What its charges are to be held to.
    holder
        That name.
    at
        When it begins; now by default.

    Raises
    ------
    InUse
        If somebody else has made a store there meanwhile.
    """
    _make(database, terms, holder=holder, at=at)
    return SQLStore(database, terms, verify_database(database).head)


def unmake_run(database: Database, holder: str | None = None) -> bool:
    """Remove the store of a run in which no save has ended; return whether it was such a one.

    With `holder`, only one that this holder has made: the lock may have been lost, and another's run begun.
    """
    with database.writing() as session:
        saves, mark = last_save(session)
        entries = session.value("SELECT max(position) FROM entry")
        if saves or entries != 1 or (holder is not None and mark != holder):
            return False
        if database.path is None:
            for table in (*RUN.metadata.tables, *METADATA.tables):
                session.execute(f"DROP TABLE {table}")
    if database.path is not None:
        database.remove()
    return True


def open_run(where: str | Path, holder: str) -> tuple[SQLStore, ReplayedEntries]:
    """Open the store of a run, and hold it, by a name of one's own; return the content of its entries, too.

    Raises
    ------
    InUse
        If somebody has it open.
    StoreMoved, LedgerDamaged
        As `open_store`.
    ParameterError
        If it is of no run.
    """
    database = find_database(where)
    try:
        database.hold()
        if not is_run(database):
            raise ParameterError(f"{database.name}: holds a ledger, but no run")
        with database.reading() as session:
            place = session.value("SELECT location FROM store")
        _check_location(database, json.loads(place))  # before a copy is touched
        with database.writing() as session:
            _take_run(session, holder)
        found = verify_database(database)  # which no other process changes any more
        _check_location(database, found.replay.location)
        return SQLStore(database, found.replay.terms, found.head), found.replay
    except BaseException:
        database.close()
        raise


def _take_run(session: Session, holder: str) -> None:
    """Let only this holder save a run: an earlier one may have lost its lock unnoticed."""
    session.run("UPDATE run SET holder = ?", [(holder,)])


def is_run(database: Database) -> bool:
    """True if a store is one of a run."""
    with database.reading() as session:
        return has_run(session)


def open_given(
    store: object,
    terms: Terms,
    rules: Sequence[Rule] | None = None,
    names: NameKey | str | Path | None = None,
) -> SQLStore:
    """Return the store that an accountant was given, open, of its terms, with its rules, and its key at hand."""
    if isinstance(store, SQLStore):
        if names is not None:
            raise ParameterError(
                "names: the store is open already, and takes its key then: open_store(..., names=...)"
            )
        _check_terms(store.name, terms, store.terms)
        store.names.check_key(store.name)
        if rules is not None:
            _keep_rules(store, rules)
        return store
    if not isinstance(store, str | Path):
        raise ParameterError(
            f"store = {quoted(store)}: must be a file's name, a database's URL, or a store that was opened"
        )
    found = open_store(store, terms, rules=rules, names=names)
    try:
        found.names.check_key(found.name)
    except BaseException:
        found.close()
        raise
    return found


def verify_store(where: str | Path, anchor: str | Path | None = None) -> Verified:
    """Verify a store without spending from it: copies, too.

    Raises
    ------
    LedgerDamaged, StoreMoved, ValueError
        As `open_store`, or if there is no file at `anchor`.
    """
    pinned = None if anchor is None else Anchor.at_path(anchor)
    if pinned is not None and not pinned.path.exists():
        raise ParameterError(f"anchor = {str(anchor)!r}: must be the file of an anchor, and there is none")
    with closing(find_database(where)) as database:
        return verify_database(database, pinned)


def stored_content(where: str | Path) -> LedgerContent:
    """Return the content of a store, verified; it is for reading.

    Raises
    ------
    LedgerDamaged, ValueError
        As `verify_store`.
    """
    with closing(find_database(where)) as database, verifying(database) as (session, found):
        names = {number: own_name(name) for number, name in labelled(session).items()}
        return found.replay.content(names)


def spent_in(
    where: str | Path, records: Sequence[RecordId], names: NameKey | str | Path | None = None
) -> tuple[Terms, dict[RecordId, Standing]]:
    """Return the terms of a store, and the standing of records; names that are hashed are looked up under their key.

    Without records, of the one that has spent most.

    It only reads: the store may be a copy, or in use. All that it reads is checked as at the opening of a store.

    Raises
    ------
    LedgerDamaged, ValueError
        As `open_store`.
    """
    with closing(find_database(where)) as database:
        replay, head = look_over(database)
        naming = Names.for_store(database.name, replay.names, name_key(names))
        store = SQLStore(database, replay.terms, head, names=naming)
        if records:
            return store.terms, dict(zip(records, store.standings(records), strict=True))
        worst, _ = store.worst()
        return store.terms, {} if worst is None else {worst: store.standings([worst])[0]}


def find_database(where: str | Path) -> Database:
    """Return the database of a store that is there.

    Raises
    ------
    ParameterError
        If there is none.
    """
    if "://" not in str(where) and not any(path.is_file() for path in (Path(where), Path(where) / RUN_STORE)):
        what = "a folder, which holds no run" if Path(where).is_dir() else "no such file"
        raise ParameterError(f"{where}: {what}")
    database = Database.from_location(where)
    try:
        if not holds_store(database):
            raise ParameterError(f"{database.name}: holds no ledger")
    except BaseException:
        database.close()
        raise
    return database


def adopt(where: str | Path, reason: str, anchor: str | Path | None = None) -> Mark:
    """Say that this copy of a store goes on, and that no other will: the operator's word, kept in the chain.

    Raises
    ------
    LedgerDamaged
        If an entry or a table does not fit.
    ParameterError
        If there is no store, or no reason is given.
    """
    if not reason.strip():
        raise ParameterError(
            f"reason = {reason!r}: must say why this copy of the store is the one that goes on"
        )
    with closing(find_database(where)) as database:
        if is_run(database):
            database.hold()
        found = verify_database(database)
        pinned = None if anchor is None else Anchor.at_path(anchor)
        _check_anchored(database.name, found.replay, pinned)
        before = None if pinned is None else pinned.read_mark()
        missing = 0 if before is None else max(0, before.position - found.head.position)
        _check_log(database, found.replay.location)
        store = SQLStore(database, found.replay.terms, found.head, names=Names(found.replay.names))
        with store.working(()) as work:
            work.check_open()
            place = database.identify(work.session)
            work.adopt(place, reason, missing, 0 if before is None else before.epoch)
        mark = store.verify().head
        if pinned is not None:
            pinned.write(mark)
        return mark


def forget_anchor(where: str | Path, by: str, reason: str) -> Mark:
    """Let a store that has lost its anchor be spent from without one: the operator's word, kept in the chain.

    Raises
    ------
    LedgerDamaged
        If an entry or a table does not fit.
    ParameterError
        If there is no store, or it has no anchor, or a name or reason is missing.
    """
    with closing(find_database(where)) as database:
        found = verify_database(database)
        if not found.replay.anchored:
            raise ParameterError(f"{database.name}: has no anchor")
        store = SQLStore(database, found.replay.terms, found.head, names=Names(found.replay.names))
        return store.insist_on_anchor(False, by, reason)


def _check_anchored(name: str, replay: ReplayedEntries, pinned: Anchor | None) -> None:
    if replay.anchored and (pinned is None or pinned.read_mark() is None):
        missing = "that was not given" if pinned is None else f"there is none at {pinned.path}"
        raise StoreRefused(
            f"{name}: is spent from with its anchor only, and {missing}: without it nobody would notice that charges "
            "are missing. Give it (anchor=..., --anchor); if it is lost, say so with "
            f"`dpwitness ledger amend {name} --anchor none --author ... --reason ...`"
        )


def _check_log(database: Database, made: Any) -> None:
    """Refuse a file that cannot go on by its name: its log has another, or other names have logs of their own."""
    if database.path is None:
        return
    log = left_log(database.path, made)
    if log is not None:
        raise StoreMoved(
            f"{database.name}: was {made['name']} before, and {log} has what was charged last: give that its new name, "
            f"too ({database.path.name}-wal), or both their old ones"
        )
    names = database.path.stat().st_nlink
    if names > 1:
        raise StoreMoved(
            f"{database.name}: its file has {names} names (hard links), and would have a log by each: remove the other "
            "names, or copy the file"
        )


def _check_location(database: Database, made: Any) -> None:
    with database.reading() as session:
        now = database.identify(session)
    if not same_location(made, now):
        if {**made, **{key: now.get(key) for key in ("folder", "name") if key in made}} == now:
            _check_log(database, made)
            raise StoreMoved(
                f"{database.name}: was renamed, or moved to another folder (it was {made['name']}): what was charged "
                f"last may be in {made['name']}-wal, which has to be beside it under its new name. Give it its old "
                "name and folder, or say that nothing is missing with "
                f"`dpwitness ledger amend {database.name} --promote --author ... --reason ...`"
            )
        raise StoreMoved(
            f"{database.name}: is a copy, or was moved to another disk or machine: the original may spend the same "
            "budgets, and may have since. If the original is gone or will never be spent from again, say so with "
            f"`dpwitness ledger amend {database.name} --promote --author ... --reason ...`"
        )


def _check_terms(name: str, terms: Terms, made: Terms) -> None:
    stored, given = (  # in plain numbers: those of `to_dict` are hexadecimal
        {**each.to_dict(), "budget": each.budget, "composition": each.composition, "settings": None}
        for each in (made, terms)
    )
    differing = [key for key in stored if stored[key] != given[key]]
    if differing:
        words = ", ".join(f"{key}: {stored[key]!r}, not {given[key]!r}" for key in differing)
        raise OtherTerms(
            f"{name}: was made for other terms ({words}): open it with those, or begin a store of its own; a budget "
            "cannot be changed under charges that were made"
        )


def holds_store(database: Database) -> bool:
    """True if a database holds a store."""
    if database.path is not None and not database.path.exists():
        return False
    with database.reading() as session:
        if "store" not in session.tables():
            return False
        version = session.value("SELECT version FROM store")
    if version is None:
        return False
    if version != VERSION:
        raise StoreRefused(
            f"{database.name}: its tables are of version {version}, this dpwitness knows {VERSION} alone: go on "
            "with the version that made it"
        )
    return True


def _make(
    database: Database,
    terms: Terms,
    *,
    holder: str | None = None,
    names: Names = PLAIN,
    fill: Callable[[Transaction], None] | None = None,
    at: int | None = None,
) -> bool:
    """Make a store, and in the same transaction the content that `fill` adds; return True if there was none."""
    Terms.from_dict(terms.to_dict())  # a plan of mechanisms that cannot be rebuilt could not be opened again
    database.create()
    make = partial(_make_first, database, terms, holder, names, fill, at)
    with suppress(RetryAlone):  # another process makes one at the same time, and was faster
        return make()
    return make()


def _make_first(
    database: Database,
    terms: Terms,
    holder: str | None,
    names: Names,
    fill: Callable[[Transaction], None] | None,
    at: int | None,
) -> bool:
    with database.writing(lock=None) as session:
        if "store" in session.tables():
            if session.value("SELECT count(*) FROM store") == 0:
                raise LedgerDamaged(f"{database.name}: its table `store` is empty")
            if holder is not None:
                raise InUse(f"{database.name}: another process has begun here meanwhile")
            return False  # another process was faster
        database.make_tables(session, METADATA)
        if holder is not None:
            database.make_tables(session, RUN.metadata)
            first = [(0, holder, b"")]
            session.run("INSERT INTO run (id, saves, holder, state) VALUES (1, ?, ?, ?)", first)
        place, instance = database.identify(session), uuid.uuid4().hex
        begun = database.current_time(session) if at is None else at
        text = canonical(begin_body(instance, terms, place, begun, names.check))
        values = instance, 0, json.dumps(place)
        session.run(
            "INSERT INTO store (id, version, instance, epoch, location, rules, clock, drift, digest) "
            "VALUES (1, ?, ?, ?, ?, 0, 0, 0, ?)",
            [(VERSION, *values, row_digest(*values, None, 0, 0, 0, None))],
        )
        entry = [(1, text, entry_hash(START, text))]
        session.run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", entry)
        if fill is not None:
            head = Mark(instance, 0, 1, entry[0][2].hex())
            with SQLStore(database, terms, head, names=names).within(session) as work:
                fill(work)
    database.empty_log()  # a copy or another name of the file alone, without its log, is to be known for what it is
    return True
