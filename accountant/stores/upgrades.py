"""Stores of earlier versions of the tables, brought up to this one: a function for each version, in one transaction.

A table is changed where it stands; entries never are, and are only added to, so that a chain, and a head that was
written down, stay what they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name
from accountant.stores.chain import canonical, chained, label, row_digest
from accountant.stores.database import Database
from accountant.stores.folded import begun
from accountant.stores.names import named
from accountant.stores.schema import METADATA, RARE, READABLE, VERSION
from accountant.stores.store_refusals import StoreRefused
from accountant.stores.work import STORE_ROW, mass_of, rows_after, stored_bytes


def _index_rare(connection: Connection) -> None:
    """From 3 to 4, and to 5: the index of rare entries has those of folds, and of keys, too."""
    connection.exec_driver_sql("DROP INDEX rare")
    connection.exec_driver_sql(f"CREATE INDEX rare ON entry (position) WHERE {RARE}")


_COLUMNS = (
    "store ADD COLUMN drift BIGINT NOT NULL DEFAULT 0",
    "store ADD COLUMN witness TEXT",
    "request ADD COLUMN answered TEXT",
)


def _count_in_units(connection: Connection) -> None:
    """To 7: totals are whole numbers of a unit, recomputed from the entries; answers are entries, by their digests."""
    for column in _COLUMNS:
        connection.exec_driver_sql(f"ALTER TABLE {column}")
    METADATA.tables["tally"].create(connection)
    _append_answers(connection)
    replay = begun(connection)
    replay.feed_all(rows_after(connection, replay.position))
    mass, accounts = 0, connection.exec_driver_sql("SELECT number, label, salt FROM account").all()
    for number, name, salt in accounts:
        account = replay.account(number)
        counted = None if replay.limits is None else replay.limits.text(account.counted)
        row = int(number), name, stored_bytes(salt), replay.units.format_vector(account.spent), counted
        digest = row_digest(*row)
        mass += mass_of(digest)
        _run(
            connection,
            "UPDATE account SET spent = ?, counted = ?, digest = ? WHERE number = ?",
            *row[3:],
            digest,
            number,
        )
    for key, request in replay.requests.items():
        values = request.stamp, request.digest, label(key)
        _run(connection, "UPDATE request SET stamped = ?, answered = ? WHERE key = ?", *values)
    for kind, tally in {**replay.tallies, 0: (len(accounts), mass)}.items():
        _run(connection, "INSERT INTO tally (kind, releases, records) VALUES (?, ?, ?)", kind, *tally)
    _run(connection, "UPDATE store SET clock = ?, drift = ?", replay.clock, replay.drift)
    row = connection.exec_driver_sql(STORE_ROW).one()
    _run(connection, "UPDATE store SET digest = ?", row_digest(*row[:-1]))


def _append_answers(connection: Connection) -> None:
    last = "SELECT position, hash FROM entry ORDER BY position DESC LIMIT 1"
    position, digest = connection.exec_driver_sql(last).one()
    digest = stored_bytes(digest)
    answers = connection.exec_driver_sql(
        "SELECT position, answer FROM request WHERE answer IS NOT NULL ORDER BY position"
    ).all()
    for of, answer in answers:
        text = canonical({"answered": [int(of), hashlib.sha256(stored_bytes(answer)).hexdigest()]})
        position, digest = position + 1, chained(digest, text)
        _run(connection, "INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", position, text, digest)


def _run(connection: Connection, sql: str, *values: object) -> None:
    spelled = sql if connection.dialect.name == "sqlite" else sql.replace("?", "%s")
    connection.connection.cursor().execute(spelled, values)


_UPGRADES: dict[int, tuple[int, Callable[[Connection], None]]] = {
    3: (4, _index_rare),
    4: (5, _index_rare),
    5: (7, _count_in_units),
    6: (8, _count_in_units),
}
"""To which version, and how; in 5 and 7 a record may have several names."""


def upgraded(database: Database, version: int) -> bool:
    """Bring the tables of a store up to what can be read, if that is known how; return whether they are."""
    while version in _UPGRADES:
        after, upgrade = _UPGRADES[version]
        with database.writing() as connection:
            if connection.exec_driver_sql("SELECT version FROM store").scalar_one() == version:
                upgrade(connection)
                connection.exec_driver_sql(f"UPDATE store SET version = {after:d}")
        version = after
    return READABLE <= version <= VERSION


def check_names(database: Database, waiting: Iterable[RecordId] = ()) -> None:
    """Refuse to spend from a store whose records are called otherwise than they would be now, from 7 to 8.

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
    with database.writing() as connection:
        if connection.exec_driver_sql("SELECT version FROM store").scalar_one() >= VERSION:
            return
        for name in (
            *map(named, connection.exec_driver_sql("SELECT label FROM account").scalars()),
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
        connection.exec_driver_sql(f"UPDATE store SET version = {VERSION:d}")


def _has_one_form(name: RecordId) -> bool:
    try:
        found = canonical_name(name)
    except ValueError:
        return False
    return type(found) is type(name) and found == name
