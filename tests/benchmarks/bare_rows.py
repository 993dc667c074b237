"""A bare table of SQLite, as durable as a store: the peer that a charge is measured beside."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def open_bare_table(path: Path) -> sqlite3.Connection:
    """Open a new database with one table, whose commits are on the disk when they return."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=wal")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE entry (position INTEGER PRIMARY KEY, body TEXT)")
    return connection


def insert_row(connection: sqlite3.Connection, position: int) -> None:
    """Insert a row of an entry's size, in a transaction of its own."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entry VALUES (?, ?)", (position, "x" * 100))
    connection.execute("COMMIT")
