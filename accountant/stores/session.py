"""A connection to a database while it is used, and those that are kept open for the next use."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accountant.stores.database import Database

TableRow = tuple[Any, ...]
_CHUNK = 500  # parameters of one statement; SQLite's own limit was 999 for long
_MOST, _KEPT = 15, 5
"""So many connections of a database are in use at once, and so many of them stay open."""


class Session:
    """A connection of a database's driver; statements have ``?`` where a parameter goes.

    Attributes
    ----------
    database
        The database.
    driver
        The driver's connection.
    """

    __slots__ = ("_streams", "database", "driver")

    def __init__(self, database: Database, driver: Any) -> None:
        self.database = database
        self.driver = driver
        self._streams: list[Any] = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run a statement; return the driver's cursor."""
        return self.driver.execute(sql if self.database.sqlite else sql.replace("?", "%s"), tuple(parameters))

    def row(self, sql: str, *parameters: Any) -> TableRow | None:
        """Return the first row that a statement finds."""
        found: TableRow | None = self.execute(sql, parameters).fetchone()
        return found

    def value(self, sql: str, *parameters: Any) -> Any:
        """Return what stands first in the first row that a statement finds; None if there is none."""
        found = self.row(sql, *parameters)
        return None if found is None else found[0]

    def rows(self, sql: str, *parameters: Any) -> list[TableRow]:
        """Return the rows that a statement finds."""
        found: list[TableRow] = self.execute(sql, parameters).fetchall()
        return found

    def each(self, sql: str) -> Iterator[Any]:
        """Iterate over the rows that a statement finds; it is closed with the session at the latest."""
        cursor = self.execute(sql)
        self._streams.append(cursor)
        return iter(cursor)

    def select(self, sql: str, keys: Sequence[Any]) -> list[TableRow]:
        """Return the rows that a statement with a list of keys, ``IN (...)``, finds."""
        found: list[TableRow] = []
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            found += self.rows(sql.replace("...", ",".join("?" * len(part))), *part)
        return found

    def run(self, sql: str, rows: Sequence[TableRow]) -> None:
        """Run a statement with each of some rows of parameters."""
        if rows:
            spelled = sql if self.database.sqlite else sql.replace("?", "%s")
            self.driver.cursor().executemany(spelled, rows)

    def tables(self) -> set[str]:
        """Return the names of the tables."""
        if self.database.sqlite:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        else:
            sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {name for (name,) in self.rows(sql)}

    def commit(self) -> None:
        """End the transaction; what it has written is durable then."""
        self.driver.commit()

    def rollback(self) -> None:
        """End the transaction; it has written nothing."""
        self.driver.rollback()

    def close(self) -> None:
        """End what was not ended, so that the connection can be used again.

        What `each` has not read to its end is closed: in the frames of an exception it would keep SQLite's file open,
        and its log with it, after `Database.close`.
        """
        for cursor in self._streams:
            cursor.close()
        if not self.database.sqlite or self.driver.in_transaction:
            self.driver.rollback()


class Connections:
    """A driver's connections to a database, at most 15 in use at once, of which some stay open.

    Parameters
    ----------
    connect
        Makes one.
    lives
        Whether one can be used again.

    Attributes
    ----------
    connect
        Makes one that is its caller's.
    longest_wait
        Seconds after which somebody who waits for one is told so.
    """

    def __init__(self, connect: Callable[[], Any], lives: Callable[[Any], bool]) -> None:
        self.connect = connect
        self._lives = lives
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_MOST):
            self._free.put(None)
        self._idle: list[Any] = []
        self.longest_wait = 30.0

    def take(self) -> tuple[Any, list[Any]]:
        """Return one, and where it goes afterwards.

        Raises
        ------
        TimeoutError
            If all were in use for longer than `longest_wait` seconds.
        """
        try:
            self._free.get(timeout=self.longest_wait)
        except queue.Empty:
            raise TimeoutError(f"{_MOST} are in use for {self.longest_wait:g} s") from None
        try:
            idle = self._idle
            while idle:
                with suppress(IndexError):  # another thread was faster
                    found = idle.pop()
                    if self._lives(found):
                        return found, idle
                    found.close()
            return self.connect(), idle
        except BaseException:
            self._free.put(None)
            raise

    def give_back(self, connection: Any, idle: list[Any]) -> None:
        """Keep one for the next, or close it."""
        try:
            if idle is self._idle and len(idle) < _KEPT:
                idle.append(connection)
            else:
                connection.close()
        finally:
            self._free.put(None)

    def dispose(self) -> None:
        """Close them; those that are in use are closed afterwards."""
        idle, self._idle = self._idle, []
        while idle:
            idle.pop().close()
