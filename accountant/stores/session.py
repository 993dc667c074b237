"""Connections to a database: the one in use, and a pool for the next use."""

from __future__ import annotations

import queue
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accountant.stores.database import Database

TableRow = tuple[Any, ...]
_CHUNK = 500  # parameters or rows of one statement; SQLite's own limit was 999 for long
_FLUSH = (  # on a standby there is nothing that is not on the disk of its primary
    "SELECT set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, '', '') "
    "WHERE NOT pg_is_in_recovery()"
)
_VALUES = re.compile(r"VALUES \([?, ]+\)")
_TYPES = {int: "bigint", str: "text", bytes: "bytea"}
_MOST, _KEPT = 15, 5
"""The largest numbers of connections of a database that are in use at once, and that stay open."""


class Session:
    """A connection of a database's driver; statements have ``?`` where a parameter goes.

    Attributes
    ----------
    database
        The database.
    driver
        The driver's connection, while the session lasts.
    kept
        The list in which the connection is kept for the next use.
    lent
        Whether it is one of `Connections` that was not given back.
    flushes
        Whether the end of a server's transaction waits for the disk.
    together
        Whether others write to a server meanwhile: rows that are read to be changed are locked then.
    """

    __slots__ = ("_asked", "_streams", "database", "driver", "flushes", "kept", "lent", "together")

    def __init__(self, database: Database, driver: Any = None) -> None:
        self.database = database
        self.driver = driver
        self.kept: list[Any] = []
        self.lent = False
        self.flushes = True
        self.together = False
        self._asked: dict[tuple[Any, ...], list[Any]] = {}
        self._streams: list[Any] = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run a statement; return the driver's cursor."""
        return self.driver.execute(sql if self.database.sqlite else sql.replace("?", "%s"), parameters)

    def row(self, sql: str, *parameters: Any) -> TableRow | None:
        """Return the first row that a statement finds."""
        found: TableRow | None = self.execute(sql, parameters).fetchone()
        return found

    def value(self, sql: str, *parameters: Any) -> Any:
        """Return the first value of the first row that a statement finds; None if it finds none."""
        found = self.row(sql, *parameters)
        return None if found is None else found[0]

    def rows(self, sql: str, *parameters: Any) -> list[TableRow]:
        """Return the rows that a statement finds."""
        found: list[TableRow] = self.execute(sql, parameters).fetchall()
        return found

    def each(self, sql: str) -> Iterator[Any]:
        """Iterate over the rows that a statement finds; it is closed with the session at the latest."""
        cursor = self.driver.cursor()
        self._streams.append(cursor)  # before it begins: an interruption may fall on any line
        return iter(cursor.execute(sql))

    def select(self, sql: str, keys: Sequence[Any]) -> list[TableRow]:
        """Return the rows that a statement with a list of keys, ``IN (...)``, finds."""
        cursors = self._asked.pop((sql, *keys), None) if self._asked else None
        return [row for cursor in cursors or self._send(sql, keys) for row in cursor.fetchall()]

    def ask(self, sql: str, keys: Sequence[Any]) -> None:
        """Send a server a statement ahead that `select` is going to return the rows of, unless it was sent."""
        if keys and not self.database.sqlite and (sql, *keys) not in self._asked:
            self._asked[sql, *keys] = self._send(sql, keys)

    def _send(self, sql: str, keys: Sequence[Any]) -> list[Any]:
        found = []
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            found.append(self.execute(sql.replace("...", ",".join("?" * len(part))), part))
        return found

    def run(self, sql: str, rows: Sequence[TableRow]) -> None:
        """Run a statement with each of some rows of parameters; rows for a server's table go there as its columns."""
        if len(rows) == 1:
            self.execute(sql, rows[0])
        elif rows and not self.database.sqlite and _VALUES.search(sql):
            for start in range(0, len(rows), _CHUNK):
                columns = [list(column) for column in zip(*rows[start : start + _CHUNK], strict=True)]
                types = [next((_TYPES[type(e)] for e in each if e is not None), "") for each in columns]
                row = ", ".join(f"c{i}" if type_ else "NULL" for i, type_ in enumerate(types))
                arrays = ", ".join(f"%b::{type_ or 'text'}[]" for type_ in types)
                names = ", ".join(f"c{i}" for i, _ in enumerate(types))
                found = f"SELECT {row} FROM unnest({arrays}) AS t ({names})"
                self.driver.execute(_VALUES.sub(found, sql), columns)
        elif rows and self.database.sqlite:
            self.driver.executemany(sql, rows)
        else:
            for parameters in rows:
                self.execute(sql, parameters)

    def pipeline(self) -> AbstractContextManager[object]:
        """Return a context in which a server is not waited for after each statement, but once at its end."""
        one_by_one = self.database.sqlite or not self.database.driver.Pipeline.is_supported()
        return nullcontext() if one_by_one else self.driver.pipeline()

    def tables(self) -> set[str]:
        """Return the names of the tables."""
        if self.database.sqlite:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        else:
            sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {name for (name,) in self.rows(sql)}

    def commit(self) -> None:
        """End the transaction and make its writes, and all that it has read, durable: in a pipeline when that ends.

        By default a server keeps other writers out until a transaction is on the disk. Here it lets them in first, and
        an empty transaction then flushes its log: transactions that have read this one come later in the log.
        """
        if self.database.sqlite:
            self.driver.commit()
        else:
            self.execute("COMMIT")
            if self.flushes:
                self.execute(_FLUSH)

    def rollback(self) -> None:
        """End the transaction and undo its writes."""
        self.driver.rollback()

    def end(self) -> bool:
        """End the cursors and the transaction that are open; return True if the connection can be used again.

        Unfinished cursors of `each` are closed: in the frames of an exception one would keep SQLite's file open, and
        its log with it, after `Database.close`.
        """
        try:
            for cursor in self._streams:
                cursor.close()
            self.driver.rollback()
        except self.database.driver.Error:
            return False
        return True


class Connections:
    """A driver's connections to a database, at most 15 in use at once, of which some stay open.

    Parameters
    ----------
    connect
        Function that makes a connection.
    lives
        Test of a connection: True if it can be used again.
    name
        The database's name in messages.

    Attributes
    ----------
    connect
        Function that makes a connection of its caller's own.
    longest_wait
        Seconds to wait for a connection, before an error.
    """

    def __init__(self, connect: Callable[[], Any], lives: Callable[[Any], bool], name: str) -> None:
        self.connect = connect
        self._lives = lives
        self._name = name
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_MOST):
            self._free.put(None)
        self._idle: list[Any] = []
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self.longest_wait = 30.0

    @property
    def any_open(self) -> bool:
        """True if a connection is open, idle or in use."""
        return bool(self._idle) or len(self._open) > 0

    def lend(self, session: Session) -> None:
        """Give a session its connection; an interruption may fall on any line, and `take_back` knows how far this came.

        Raises
        ------
        OSError
            If all were in use for longer than `longest_wait` seconds.
        """
        try:
            self._free.get(timeout=self.longest_wait)
        except queue.Empty:
            raise OSError(
                f"{self._name}: no connection became free, as all wait for the database: {_MOST} are in use for "
                f"{self.longest_wait:g} s"
            ) from None
        session.lent = True
        session.kept = self._idle
        while session.kept:
            try:
                session.driver = session.kept.pop()
            except IndexError:  # another thread was faster
                break
            if self._lives(session.driver):
                return
            self._close(session.driver)
        session.driver = self.connect()
        self._open.add(session.driver)

    def take_back(self, session: Session, *, again: bool) -> None:
        """Keep the connection of a session for the next, or close it; a second time nothing."""
        driver, session.driver = session.driver, None
        try:
            if driver is not None and again and session.kept is self._idle and len(self._idle) < _KEPT:
                session.kept.append(driver)
            elif driver is not None:
                self._close(driver)
        finally:
            if session.lent:
                session.lent = False
                self._free.put(None)

    def dispose(self) -> None:
        """Close them; those that are in use are closed afterwards."""
        idle, self._idle = self._idle, []
        while idle:
            self._close(idle.pop())

    def _close(self, connection: Any) -> None:
        self._open.discard(connection)
        connection.close()
