"""Stores as they were before totals were whole numbers of a unit, and answers were entries."""

import json
import sqlite3
from fractions import Fraction

from accountant import BasicComposition
from accountant.filters.units import INFINITE, UNIT, Units


def as_earlier(connection: sqlite3.Connection) -> None:
    """Give the tables of a store the columns that they had in version 6; totals stay, answers and deadlines go."""
    for number, text in connection.execute("SELECT number, spent FROM account").fetchall():
        units = Units(BasicComposition()).parse_vector(text)
        spent = [None if each >= INFINITE else str(Fraction(each, UNIT)) for each in units]
        connection.execute("UPDATE account SET spent = ? WHERE number = ?", (json.dumps(spent), number))
    connection.execute("UPDATE request SET answer = NULL")
    connection.execute("DROP INDEX deadline")
    connection.execute("DROP INDEX outcome")
    connection.execute("ALTER TABLE reservation DROP COLUMN until")
    connection.execute("ALTER TABLE store DROP COLUMN drift")
    connection.execute("ALTER TABLE store DROP COLUMN witness")
    connection.execute("ALTER TABLE request DROP COLUMN answered")
    connection.execute("DROP TABLE tally")
    connection.execute("UPDATE store SET version = 6")
