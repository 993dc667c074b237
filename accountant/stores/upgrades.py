"""Stores of earlier versions of the tables, brought up to this one: a function for each version, in one transaction.

A table is changed where it stands; entries never are, and are only added to, so that a chain, and a head that was
written down, stay what they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name
from accountant.stores.chain import canonical, encode_name, entry_hash, row_digest
from accountant.stores.database import TOGETHER, Database
from accountant.stores.folded import begin_replay
from accountant.stores.names import record_of_label
from accountant.stores.schema import METADATA, OPEN_WITH_DEADLINE, RARE, READABLE, VERSION
from accountant.stores.session import Session
from accountant.stores.store_refusals import StoreRefused
from accountant.stores.work import STORE_ROW, mass_of, rows_after, stored_bytes


def _index_rare(session: Session) -> None:
    """From 3 to 4, to 5 and to 9: the index of rare entries has those of folds, keys and anchors, too."""
    session.execute("DROP INDEX rare")
    session.execute(f"CREATE INDEX rare ON entry (position) WHERE {RARE}")


_COLUMNS = (
    "store ADD COLUMN drift BIGINT NOT NULL DEFAULT 0",
    "store ADD COLUMN witness TEXT",
    "request ADD COLUMN answered TEXT",
)


def _count_in_units(session: Session) -> None:
    """To 7: totals are whole numbers of a unit, recomputed from the entries; answers are entries, by their digests."""
    for column in _COLUMNS:
        session.execute(f"ALTER TABLE {column}")
    session.database.make_tables(session, METADATA, but=session.tables())
    _append_answers(session)
    replay = begin_replay(session)
    replay.feed_all(rows_after(session, replay.position))
    mass, accounts = 0, session.rows("SELECT number, label, salt FROM account")
    for number, name, salt in accounts:
        account = replay.account(number)
        counted = None if replay.limits is None else replay.limits.text(account.counted)
        row = int(number), name, stored_bytes(salt), replay.units.format_vector(account.spent), counted
        digest = row_digest(*row)
        mass += mass_of(digest)
        session.run(
            "UPDATE account SET spent = ?, counted = ?, digest = ? WHERE number = ?",
            [(*row[3:], digest, number)],
        )
    for key, request in replay.requests.items():
        values = request.stamp, request.digest, encode_name(key)
        session.run("UPDATE request SET stamped = ?, answered = ? WHERE key = ?", [values])
    for kind, tally in {**replay.tallies, 0: (len(accounts), mass)}.items():
        session.run("INSERT INTO tally (kind, releases, records) VALUES (?, ?, ?)", [(kind, *tally)])
    session.run("UPDATE store SET clock = ?, drift = ?", [(replay.clock, replay.drift)])
    [store] = session.rows(STORE_ROW)
    session.run("UPDATE store SET digest = ?", [(row_digest(*store[:-1]),)])


def _append_answers(session: Session) -> None:
    last = "SELECT position, hash FROM entry ORDER BY position DESC LIMIT 1"
    [(position, digest)] = session.rows(last)
    digest = stored_bytes(digest)
    answers = session.rows("SELECT position, answer FROM request WHERE answer IS NOT NULL ORDER BY position")
    for of, answer in answers:
        text = canonical({"answered": [int(of), hashlib.sha256(stored_bytes(answer)).hexdigest()]})
        position, digest = position + 1, entry_hash(digest, text)
        session.run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", [(position, text, digest)])


def _add_deadlines(session: Session) -> None:
    """To 9: reservations may have deadlines."""
    _index_rare(session)
    session.execute("ALTER TABLE reservation ADD COLUMN until BIGINT")
    session.execute(f"CREATE INDEX deadline ON reservation (until) {OPEN_WITH_DEADLINE}")


def _index_outcomes(session: Session) -> None:
    """To 11 and 12: outcomes are found by their charges."""
    session.database.index_outcomes(session)


_UPGRADES: dict[int, tuple[int, Callable[[Session], None]]] = {
    3: (4, _index_rare),
    4: (5, _index_rare),
    5: (7, _count_in_units),
    6: (8, _count_in_units),
    7: (9, _add_deadlines),
    8: (10, _add_deadlines),
    9: (11, _index_outcomes),
    10: (12, _index_outcomes),
}
"""To which version, and how; in 5, 7, 9 and 11 a record may have several names."""


def upgraded(database: Database, version: int) -> bool:
    """Bring the tables of a store to the present version, if an upgrade is known; return True if they are."""
    while version in _UPGRADES:
        after, upgrade = _UPGRADES[version]
        with database.writing() as session:
            if session.value("SELECT version FROM store") == version:
                upgrade(session)
                session.execute(f"UPDATE store SET version = {after:d}")
        version = after
    return READABLE <= version <= VERSION


def check_names(database: Database, waiting: Iterable[RecordId] = ()) -> None:
    """Refuse to spend from a store with other names of records than the present version gives, from 7 to 8.

    Parameters
    ----------
    database
        The store.
    waiting
        Records of a run that wait in its sums.

    Raises
    ------
    StoreRefused
        If a name has another form now, or is hashed, so that nobody sees which it has.
    """
    with database.writing(lock=TOGETHER) as session:  # a standby gives no other lock
        if session.value("SELECT version FROM store") >= VERSION:
            return
        for name in (
            *(record_of_label(label) for (label,) in session.rows("SELECT label FROM account")),
            *waiting,
        ):
            if isinstance(name, Pseudonym) and name.startswith("erased:"):
                continue
            if isinstance(name, Pseudonym):
                raise StoreRefused(
                    f"{database.name}: was made when one record could have several names (7 and '7'), and holds hashes "
                    "of them, of which nobody sees that they are one's: go on with the version that made it, or begin "
                    "a new store"
                )
            if not _has_one_form(name):
                raise StoreRefused(
                    f"{database.name}: was made when one record could have several names, and calls one {name!r}, "
                    "which is not its name now: it would have a whole budget again. `dpwitness ledger show -o` and "
                    "`dpwitness ledger create --from` make a store where what all names of a record spent is added up"
                )
        session.execute(f"UPDATE store SET version = {VERSION:d}")


def _has_one_form(name: RecordId) -> bool:
    try:
        found = canonical_name(name)
    except ValueError:
        return False
    return type(found) is type(name) and found == name
