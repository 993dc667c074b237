"""Stores of earlier versions of the tables, brought up to this one: a function for each version, in one transaction.

A table is changed where it stands; entries never are, so that a chain, and a head that was written down, stay what they
were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name
from accountant.stores.database import Database
from accountant.stores.names import named
from accountant.stores.schema import RARE, READABLE, VERSION
from accountant.stores.store_refusals import StoreRefused


def _index_rare(connection: Connection) -> None:
    """From 3 to 4, and to 5: the index of rare entries has those of folds, and of keys, too."""
    connection.exec_driver_sql("DROP INDEX rare")
    connection.exec_driver_sql(f"CREATE INDEX rare ON entry (position) WHERE {RARE}")


_UPGRADES: dict[int, Callable[[Connection], None]] = {3: _index_rare, 4: _index_rare}


def upgraded(database: Database, version: int) -> bool:
    """Bring the tables of a store up to what can be read, if that is known how; return whether they are."""
    while version in _UPGRADES:
        with database.writing() as connection:
            if connection.exec_driver_sql("SELECT version FROM store").scalar_one() == version:
                _UPGRADES[version](connection)
                connection.exec_driver_sql(f"UPDATE store SET version = {version + 1:d}")
        version += 1
    return READABLE <= version <= VERSION


def check_names(database: Database, waiting: Iterable[RecordId] = ()) -> None:
    """Refuse to spend from a store whose records are called otherwise than they would be now, from 5 to 6.

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
                    "which is not its name now: it would have a whole budget again. `dpwitness ledger export` and "
                    "`dpwitness ledger import` make a store where what was spent by all names of a record is added up"
                )
        connection.exec_driver_sql(f"UPDATE store SET version = {VERSION:d}")


def _has_one_form(name: RecordId) -> bool:
    try:
        found = canonical_name(name)
    except ValueError:
        return False
    return type(found) is type(name) and found == name
