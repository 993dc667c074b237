"""Stores of earlier versions of the tables, brought up to this one: a function for each version, in one transaction.

A table is changed where it stands; entries never are, so that a chain, and a head that was written down, stay what they
were.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from accountant.stores.database import Database
from accountant.stores.schema import RARE, VERSION


def _index_rare(connection: Connection) -> None:
    """From 3 to 4, and to 5: the index of rare entries has those of folds, and of keys, too."""
    connection.exec_driver_sql("DROP INDEX rare")
    connection.exec_driver_sql(f"CREATE INDEX rare ON entry (position) WHERE {RARE}")


_UPGRADES: dict[int, Callable[[Connection], None]] = {3: _index_rare, 4: _index_rare}


def upgraded(database: Database, version: int) -> bool:
    """Bring the tables of a store up to this version, if that is known how; return whether they are."""
    while version in _UPGRADES:
        with database.writing() as connection:
            if connection.exec_driver_sql("SELECT version FROM store").scalar_one() == version:
                _UPGRADES[version](connection)
                connection.exec_driver_sql(f"UPDATE store SET version = {version + 1:d}")
        version += 1
    return version == VERSION
