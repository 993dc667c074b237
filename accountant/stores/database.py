"""A database behind a store: one writer at a time, durable when a transaction ends."""

from __future__ import annotations

import math
import os
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import StaticPool

from accountant.files.sqlite_file import is_sqlite, note_closed, note_opened
from accountant.rules import clock
from accountant.stores.file_lock import LONGEST_WAIT, FileLock, one_at_a_time
from accountant.stores.location import CHARGES, RUN_STORE, location_of
from accountant.stores.session_lock import CLIENT_SETTINGS, WRITING, SessionLock, set_session, writer
from accountant.stores.store_refusals import InUse, LedgerDamaged, OutcomeUnknown, StoreMoved, StoreRefused

_PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000}
_DAMAGED = (
    "XX",
    "23",
    "42P01",
    "42703",
)  # how codes of errors begin: corrupted, contradicting, without a table or column
_SECRETS = re.compile(r"(?<=://)([^:/?@]*:)[^?]*(?=@)|((?:ssl)?password=)[^&]*")
_PLACED = "system", "timeline", "database", "table"
# The timeline that is written, as the control file has an older one after a promotion, until a checkpoint has ended.
_TIMELINE = (
    "CASE WHEN pg_is_in_recovery() THEN timeline_id "
    "ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline"
)
_PLACE = (
    f"SELECT system_identifier, {_TIMELINE}, pg_database.oid AS database_oid, 'store'::regclass::oid AS table_oid "
    "FROM pg_control_system(), pg_control_checkpoint(), pg_database WHERE datname = current_database()"
)
_FILE = "file"  # of a connection's information
_CHUNK = 500  # parameters of one statement; SQLite's own limit was 999 for long

DatabaseRow = Sequence[Any]
_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_waited_for: list[Database] = []  # by a fork that is being made


class Database:
    """An SQLite file, or a PostgreSQL database.

    SQLite is used in WAL mode with ``synchronous=FULL``, so that a commit is on the disk when it returns; other
    settings lose charges whose outputs were seen when the power fails. A lock file stands in front of SQLite's own
    lock, under which a thread may starve for seconds.

    Parameters
    ----------
    url
        As SQLAlchemy has it.

    Attributes
    ----------
    path
        The file, if it is one.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.sqlite = url.get_backend_name() == "sqlite"
        self.path = Path(url.database).absolute() if self.sqlite and url.database else None
        if self.path is not None:
            _close_inherited()
        options: dict[str, Any] = {"pool_pre_ping": True, "connect_args": dict(CLIENT_SETTINGS)}
        if self.sqlite:
            options = {"connect_args": {"check_same_thread": False}}
        if self.sqlite and self.path is None:
            options["poolclass"] = StaticPool
        self._engine: Engine = create_engine(url, **options)
        self._process = os.getpid()
        self._transaction = threading.RLock()  # held during one, and by a fork, which must not begin in one
        _databases.add(self)
        self._lock: FileLock | SessionLock | None = None
        self._file = None if self.path is None else _found(self.path)
        self._log: tuple[str, list[int | None]] | None = None
        self.accounts_checked = -math.inf  # when
        if self.sqlite:
            event.listen(self._engine, "close", _note_closed)
        event.listen(self._engine, "connect", _prepare if self.sqlite else _prepare_postgresql)
        # Who forgets a store leaves its connections to nobody: Python 3.13 warns of those that are not closed.
        weakref.finalize(self, _close_forgotten, self._engine, self._process).atexit = False

    @classmethod
    def at(cls, where: str | Path) -> Database:
        """Return the database of a file's name, an URL, or the folder of a run.

        Raises
        ------
        ValueError
            If it is neither, or the file's folder does not exist.
        """
        text = str(where)
        if "://" in text:
            rule = "must be a file, or the URL of a PostgreSQL database, postgresql+psycopg://user@host/name"
            try:
                url = make_url(text)
                if url.get_backend_name() not in ("sqlite", "postgresql"):
                    raise ValueError(f"store={_masked(text)!r}: {rule}")
                url.get_dialect().import_dbapi()
            except ImportError as error:
                words = f"{error} (pip install 'dpwitness[postgresql]')"
                raise ValueError(f"store={_masked(text)!r}: {words}") from None
            except (SQLAlchemyError, ValueError):  # whose words may have a password
                raise ValueError(f"store={_masked(text)!r}: {rule}") from None
            if url.get_backend_name() == "sqlite" and url.database:
                return cls.at(Path(url.database))
            return cls(url)
        path = Path(text).absolute()
        if (path / RUN_STORE).is_file():
            path /= RUN_STORE
        if not path.parent.is_dir() or path.is_dir():
            raise ValueError(
                f"store={text!r}: must be a file in a folder that exists, or the URL of a database"
            )
        if path.exists() and path.stat().st_size and not is_sqlite(path):
            raise ValueError(
                f"store={text!r}: is no SQLite database; a ledger in JSON is for reading, and "
                "`dpwitness ledger create --from` makes a store of it"
            )
        return cls(URL.create("sqlite", database=str(path)))

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path) if self.path else _masked(self.url.render_as_string(hide_password=True))

    def create(self) -> None:
        """Make the file of a new database, which only its owner can read."""
        if self.path is not None and not self.path.exists():
            self._dispose()  # what was open is of a file that is gone
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._file = _found(self.path)

    def hold(self) -> None:
        """Keep everybody else who holds it out, until `close` or the end of the process; again if that was lost.

        Raises
        ------
        InUse
            If somebody else holds it; the message names them.
        """
        if self.holding:
            return
        if self._lock is not None:
            self._lock.release()
        if self.path is not None:
            self._lock = FileLock(f"{self.path}.held")
        elif not self.sqlite:
            with self._named_trouble():
                self._lock = SessionLock(self._engine, self.name)

    @property
    def holding(self) -> bool:
        """Whether this process holds it."""
        return self._lock is not None and self._lock.held

    def remove(self) -> None:
        """Remove the file of SQLite's, and what lies beside it."""
        self._dispose()
        self._file = None
        for suffix in ("", "-wal", "-shm", CHARGES):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def check_file(self) -> None:
        """Refuse if another file, or none, has the name: what is written now would be lost.

        Raises
        ------
        StoreMoved
            If so.
        """
        if self.path is None:
            return
        now = _found(self.path)
        before, self._file = self._file, self._file or now
        if before is not None and (now is None or not os.path.samestat(before, now)):
            raise StoreMoved(
                f"{self.path}: was deleted, renamed or replaced since it was opened, so nothing more can be charged; "
                "put back the file that was there, or open what is there now"
            )

    def _dispose(self) -> None:
        self._engine.dispose()
        self._log = None

    def _check_log(self) -> None:
        """Refuse if SQLite's log was removed while it was open: what is written now would be lost with it.

        Whoever closes a store last removes its log. Who is last is told by locks on the file, and a process loses its
        own without a word when it closes any other handle of that file, after making a copy of it, say.

        Raises
        ------
        StoreMoved
            If it was.
        """
        if self.path is None:
            return
        if self._log is None:
            real = str(self.path.resolve())
            self._log = real, _beside(real)
        real, before = self._log
        if None in before or _beside(real) != before:
            raise StoreMoved(
                f"{self.path}: SQLite's log beside it (-wal, -shm) was removed or replaced while it was open, so "
                "nothing more can be charged here: close it, in all that this process has open of it, and open it again"
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading; what each statement reads is of one moment.

        Raises
        ------
        LedgerDamaged
            If the database says that its file is damaged.
        """
        self._check_process()
        with self._named_trouble(), self._engine.connect() as connection:
            if self._log is None:
                self._check_log()
            yield connection

    @contextmanager
    def _named_trouble(self) -> Iterator[None]:
        driver: Any = self._engine.dialect.loaded_dbapi
        try:
            yield
        except DBAPIError as error:
            raise self._trouble(error.orig, driver) from error
        except driver.Error as error:
            raise self._trouble(error, driver) from error
        except PoolTimeout as error:
            raise OSError(
                f"{self.name}: no connection became free, as all wait for the database: {error}"
            ) from error

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Yield a connection whose statements all read the same moment."""
        with self.reading() as connection:
            begin = "BEGIN" if self.sqlite else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
            connection.exec_driver_sql(begin)
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[Connection]:
        """Yield a connection in a transaction that no other writer is in; it is durable when the block ends.

        Parameters
        ----------
        wait
            How many seconds to wait for another writer, if not as long as usual.

        Raises
        ------
        InUse
            If somebody else writes for so long.
        OutcomeUnknown
            If the transaction could not be ended: it may be durable, or not.
        LedgerDamaged
            If the database says that its file is damaged.
        """
        with self._transaction, self._alone(wait), self.reading() as connection:
            self.check_file()
            connection.begin()
            if self.sqlite:
                self.cursor(connection, "BEGIN IMMEDIATE")  # a deferred one may fail when it first writes
            else:
                self._wait_to_write(connection, wait)
            try:
                self._check_log()
                yield connection
            except BaseException:
                with suppress(SQLAlchemyError):  # what went wrong is raised, and not what follows from it
                    connection.rollback()
                raise
            try:
                connection.commit()
            except SQLAlchemyError as error:
                self._dispose()  # after an error of the disk nothing on this connection can be believed
                words = " ".join(str(getattr(error, "orig", None) or error).split())
                raise OutcomeUnknown(f"{self.name}: {words}") from error
            self._check_log()  # it may have gone since, and the charge with it

    def _wait_to_write(self, connection: Connection, wait: float | None) -> None:
        try:
            connection.exec_driver_sql(
                "SET LOCAL synchronous_commit = on"
            )  # a pool may give away the session's
            if wait is not None:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{round(1000 * wait):d}ms'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITING})")
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != "55P03":  # waited for too long
                raise
            connection.rollback()
            holder, ended = writer(connection.connection.driver_connection)
            raise InUse(
                f"{self.name}: has been written to by {holder} for {'a minute' if wait is None else f'{wait:g} s'}; "
                f"{ended}",
                holder,
            ) from None

    def _alone(self, wait: float | None = None) -> AbstractContextManager[None]:
        if self.path is None:
            return nullcontext()
        return one_at_a_time(f"{self.path}.lock", LONGEST_WAIT if wait is None else wait)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreRefused(
                f"{self.name}: was opened by process {self._process}, of which this process ({os.getpid()}) is a fork: "
                "open it here again, with an Accountant of this process"
            )

    def _trouble(self, error: Any, driver: Any) -> Exception:
        """Return what an error of the driver means: the file is damaged, or it cannot be read or written."""
        words = f"{self.name}: {' '.join(str(error).split())}"
        if self.sqlite and "readonly" in words:
            words += (
                " (SQLite writes beside a file even to read it: who may not, can look at a copy of their own)"
            )
        damaged = not isinstance(error, driver.OperationalError) or "malformed" in words
        if getattr(error, "sqlstate", None) == "25006":
            words += " (a standby, or a role or database that may only read: charges need the primary)"
        if not self.sqlite:
            damaged = (getattr(error, "sqlstate", None) or "").startswith(_DAMAGED)
        return LedgerDamaged(words) if damaged else OSError(words)

    def sync(self, connection: Connection) -> None:
        """Let the end of a transaction that changes nothing make durable what others have written before it."""
        if self.sqlite:  # which writes no row that stays the same
            known = self.cursor(connection, "PRAGMA user_version").fetchone()[0]
            self.cursor(connection, f"PRAGMA user_version = {(known + 1) % 2**31:d}")
        else:
            self.cursor(connection, "UPDATE store SET version = version")

    def place(self, connection: Connection) -> dict[str, Any]:
        """Return what tells this database, with the tables of a store, from its copies."""
        if self.path is not None:
            return location_of(self.path)
        return {} if self.sqlite else _named(self.cursor(connection, _PLACE).fetchone())

    def row_in_place(self, connection: Connection, sql: str) -> tuple[DatabaseRow, dict[str, Any] | None]:
        """Return the row that a statement finds, and what `place` does; None of SQLite, whose file is looked at before.

        A server may be replaced by another, or its tables by those of a dump, while connections are made anew.
        """
        if self.sqlite:
            return self.cursor(connection, sql).fetchone(), None
        found = self.cursor(connection, f"SELECT * FROM ({sql}) AS found, ({_PLACE}) AS place").fetchone()
        return found[: -len(_PLACED)], _named(found[-len(_PLACED) :])

    def now(self, connection: Connection) -> int:
        """Return milliseconds since 1970, by the clock that all who write here share."""
        if self.sqlite:
            return clock.wall()
        found = self.cursor(connection, "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)")
        return int(found.fetchone()[0])

    def select(self, connection: Connection, sql: str, keys: Sequence[Any]) -> list[DatabaseRow]:
        """Return the rows that a statement with a list of keys, ``IN (...)``, finds."""
        found: list[DatabaseRow] = []
        for start in range(0, len(keys), _CHUNK):
            part = tuple(keys[start : start + _CHUNK])
            marks = ",".join("?" * len(part))
            found += self.cursor(connection, sql.replace("...", marks), part).fetchall()
        return found

    def one(self, connection: Connection, sql: str, parameter: object) -> DatabaseRow | None:
        """Return the first row that a statement with one parameter finds."""
        found: DatabaseRow | None = self.cursor(connection, sql, (parameter,)).fetchone()
        return found

    def cursor(self, connection: Connection, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the driver's cursor after a statement: SQLAlchemy's own layers cost four times the statement."""
        cursor = connection.connection.cursor()
        cursor.execute(self._spelled(sql), parameters)
        return cursor

    def run(self, connection: Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with each of some rows of parameters."""
        if rows:
            connection.connection.cursor().executemany(self._spelled(sql), rows)

    def _spelled(self, sql: str) -> str:
        return sql if self.sqlite else sql.replace("?", "%s")

    def damage(self, connection: Connection, table: str | None = None) -> str | None:
        """Return what SQLite finds wrong with the file, or a table, indexes against tables included."""
        if not self.sqlite:
            return None
        check = f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check"
        found = connection.exec_driver_sql(check).scalars().all()
        return None if found == ["ok"] else str(found[0])

    def compact(self) -> None:
        """Give the room of rows that are gone back to the system, and leave nothing of them in the files; SQLite."""
        if self.sqlite:
            with self._alone(), self.reading() as connection:
                connection.exec_driver_sql("VACUUM")
                self._empty_log(connection)

    def empty_log(self) -> None:
        """Write what stands in SQLite's log into the file."""
        if self.path is not None:
            with self._alone(), self.reading() as connection:
                self._empty_log(connection)

    @staticmethod
    def _empty_log(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose(close=os.getpid() == self._process)
        if self._lock is not None:
            self._lock.release()


def _close_forgotten(engine: Engine, process: int) -> None:
    if os.getpid() == process:  # a fork's copies are `_close_inherited`'s
        engine.dispose()


def _close_inherited() -> None:
    """Close what a fork has of its parent's SQLite files: SQLite would believe that it has its parent's locks."""
    for database in list(_databases):
        if database._process != os.getpid() and database.path is not None:
            database._engine.dispose()
            _databases.discard(database)


def _wait_for_transactions() -> None:
    """Let no fork begin in a transaction: the child would have its locks, and nobody to end it."""
    for database in list(_databases):
        database._transaction.acquire()
        _waited_for.append(database)


def _go_on() -> None:
    while _waited_for:
        _waited_for.pop()._transaction.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_transactions, after_in_parent=_go_on, after_in_child=_go_on)


def _named(place: Sequence[Any]) -> dict[str, Any]:
    return {name: int(value) for name, value in zip(_PLACED, place, strict=True)}


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    """Refuse a server that acknowledges what it has not written, and let no role's setting ask for that."""
    with connection.cursor() as cursor:
        set_session(connection, cursor)
        found = cursor.execute("SHOW fsync").fetchone()[0]
    connection.commit()
    if found != "on":
        raise StoreRefused(
            f"the server runs with fsync={found}: a power cut would take back charges; it must be on"
        )


def _masked(text: str) -> str:
    """Return the text of a URL without what may be a password."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}***", text)


def _found(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _beside(file: str) -> list[int | None]:
    """Return the numbers of the files of SQLite's log; None for one that is not there."""
    found = (_found(f"{file}{suffix}") for suffix in ("-wal", "-shm"))
    return [None if each is None else each.st_ino for each in found]


def _prepare(connection: Any, record: Any) -> None:
    """Make a connection durable; read back what was set, since network files refuse it without a word."""
    connection.isolation_level = None  # the driver must not begin by itself
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name}={value}")
        found = connection.execute(f"PRAGMA {name}").fetchone()[0]
        if found != value and not (name == "journal_mode" and found == "memory"):
            raise StoreRefused(
                f"SQLite refuses {name}={value} (it is {found}): a store must be a file on a local disk that can be "
                "written"
            )
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
    file = connection.execute("PRAGMA database_list").fetchone()[2]
    if file:  # closed, or thrown away unclosed: else a later file of its number would be taken for it
        record.info[_FILE] = weakref.finalize(record, note_closed, note_opened(file))


def _note_closed(_: Any, record: Any) -> None:
    close = record.info.pop(_FILE, None)
    if close is not None:
        close()
