"""The database of a store, SQLite or PostgreSQL: one writer at a time, durable transactions."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData
from sqlalchemy.engine import URL, Dialect, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from accountant.files.sqlite_file import file_number, is_sqlite, note_closed, note_opened
from accountant.rules import clock
from accountant.stores.file_lock import HAS_LOCKS, LONGEST_WAIT, FileLock, Turns, this_process
from accountant.stores.location import CHARGES, RUN_STORE, location_of, shared_file_system
from accountant.stores.schema import OUTCOME, OUTCOME_OF
from accountant.stores.session import Connections, Session, TableRow
from accountant.stores.session_lock import CLIENT_SETTINGS, WRITING, SessionLock, alive, owner, set_session
from accountant.stores.store_refusals import (
    InUse,
    LedgerDamaged,
    OutcomeUnknown,
    RetryAlone,
    StoreMoved,
    StoreRefused,
)
from mechanisms.parameters import ParameterError

_PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_DAMAGED = "XX", "23", "42P01", "42703"
"""Beginnings of codes of errors: corrupted, contradicting, without a table, without a column."""
_SECRETS = re.compile(r"(?<=://)([^:/?@]*:)[^?]*(?=@)|((?:ssl)?password=)[^&]*")
_PLACED = "system", "timeline", "database", "table"
# The timeline that is written, as the control file has an older one after a promotion, until a checkpoint has ended.
_TIMELINE = (
    "CASE WHEN pg_is_in_recovery() THEN timeline_id "
    "ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline"
)
# A row of the store's own would be in every copy of it.
_PLACE = (
    f"SELECT system_identifier, {_TIMELINE}, pg_database.oid AS database_oid, 'store'::regclass::oid AS table_oid "
    "FROM pg_control_system(), pg_control_checkpoint(), pg_database WHERE datname = current_database()"
)
# The next writer need not wait for the disk, and a pool may pass on the session's settings: see `Session.commit`.
_NO_WAIT = "SET LOCAL synchronous_commit = off"
ALONE, TOGETHER = "EXCLUSIVE", "ROW EXCLUSIVE"
"""Modes of the lock on the table `store`: for a single writer, and for writers beside each other.

Locks on a row (``FOR UPDATE`` and ``FOR SHARE``) do not queue: a single writer beside four others waited for 7.7 s,
until they ended; with this lock for 22 ms, at most 51.
"""
_RETRIED = "23505", "42P07", "40001", "40P01"
"""Codes of a transaction that met another: it wrote or made the same first, or each waits for the other."""
_FAILED = 3  # a transaction that can only be undone, as libpq has it
_NOW = "floor(extract(epoch FROM clock_timestamp()) * 1000)"

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_waited_for: list[Database] = []  # by a fork that is being made


class Database:
    """An SQLite file, or a PostgreSQL database.

    SQLite is used in WAL mode with ``synchronous=FULL``, so that a commit is on the disk when it returns; other
    settings lose charges whose outputs were seen when the power fails. A lock file is taken before SQLite's own lock,
    under which a thread may starve for seconds.

    Parameters
    ----------
    url
        As SQLAlchemy has it.

    Attributes
    ----------
    path
        The file, if it is one.
    name
        Its name in messages.
    driver
        The driver's module.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.sqlite = url.get_backend_name() == "sqlite"
        self.path = Path(url.database).absolute() if self.sqlite and url.database else None
        self.name = _masked(url.render_as_string(hide_password=True)) if self.path is None else str(self.path)
        if self.path is not None:
            _close_inherited()
        dialect = url.get_dialect()
        self._dialect = dialect()
        self.driver: Any = sqlite3 if self.sqlite else dialect.import_dbapi()
        connect = (
            partial(_connect_to_file, self.path)
            if self.sqlite
            else partial(_connect_to_server, self.driver, self._dialect, url)
        )
        self._connections = Connections(connect, _usable if self.sqlite else alive, self.name)
        self._in_memory = connect() if self.sqlite and self.path is None else None
        self._process = os.getpid()
        self._transaction = threading.RLock()  # held during one, and by a fork, which must not begin in one
        self._writer: int | None = None  # the thread in one
        _databases.add(self)
        self._lock: FileLock | SessionLock | None = None
        self._turns: Turns | None = None  # of a file, as soon as somebody writes
        self._file = None if self.path is None else file_number(self.name)
        self._log: dict[str, tuple[int, int] | None] = {}
        self.accounts_checked = -math.inf  # when
        # A forgotten store has to close its connections: Python 3.13 warns of open ones.
        weakref.finalize(self, _close_forgotten, self._connections, self._process).atexit = False

    @classmethod
    def from_location(cls, where: str | Path) -> Database:
        """Return the database of a file's name, an URL, or the folder of a run.

        Raises
        ------
        ParameterError
            If it is neither, or the file's folder does not exist.
        """
        text = str(where)
        if "://" in text:
            rule = "must be a file, or the URL of a PostgreSQL database, postgresql+psycopg://user@host/name"
            try:
                url = make_url(text)
                if url.get_backend_name() not in ("sqlite", "postgresql"):
                    raise ParameterError(f"store = {_masked(text)!r}: {rule}")
                url.get_dialect().import_dbapi()
            except ImportError as error:
                words = f"{error} (pip install 'dpwitness[postgresql]')"
                raise ParameterError(f"store = {_masked(text)!r}: {words}") from None
            except (SQLAlchemyError, ValueError):  # whose words may have a password
                raise ParameterError(f"store = {_masked(text)!r}: {rule}") from None
            if url.get_backend_name() == "sqlite" and url.database:
                return cls.from_location(Path(url.database))
            return cls(url)
        path = Path(text).absolute()
        if (path / RUN_STORE).is_file():
            path /= RUN_STORE
        if not path.parent.is_dir() or path.is_dir():
            raise ParameterError(
                f"store = {text!r}: must be a file in a folder that exists, or the URL of a database"
            )
        if path.exists() and path.stat().st_size and not is_sqlite(path):
            raise ParameterError(
                f"store = {text!r}: is no SQLite database; a ledger in JSON is for reading, and "
                "`dpwitness ledger create --from` makes a store of it"
            )
        return cls(URL.create("sqlite", database=str(path)))

    def create(self) -> None:
        """Make the file of a new database, which only its owner can read."""
        if self.path is not None and not self.path.exists():
            self.check_place()
            self._dispose()  # the open connections are to a file that is gone
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._file = file_number(self.name)

    def check_place(self) -> None:
        """Refuse to write to a file where a lock may be none.

        Raises
        ------
        StoreRefused
            If so.
        """
        if self.path is None:
            return
        instead = "use a local disk, or for several machines a PostgreSQL database (store='postgresql+psycopg://...')"
        if not HAS_LOCKS:
            raise StoreRefused(
                f"{self.path}: this system (Windows) gives no locks (flock), so nothing would keep other processes "
                f"out: {instead}"
            )
        shared = shared_file_system(self.path.resolve().parent)
        if shared is not None:
            raise StoreRefused(
                f"{self.path}: lies on a file system ({shared}) that other machines may have mounted: their locks may "
                f"be none here, and SQLite's log is in the memory of one machine: {instead}"
            )

    def hold(self) -> None:
        """Keep all other processes out, until `close` or the end of the process; again if that was lost.

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
            try:
                self._lock = SessionLock(self._connections.connect(), self.name)
            except self.driver.Error as error:
                raise self._trouble(error) from error

    @property
    def holding(self) -> bool:
        """True if this process holds it."""
        return self._lock is not None and self._lock.is_held

    def remove(self) -> None:
        """Remove the file of SQLite's, and the files beside it."""
        self._dispose()
        self._file = None
        for suffix in ("", "-wal", "-shm", CHARGES):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def check_file(self) -> None:
        """Refuse if another file, or none, has the name: writes would be lost.

        Raises
        ------
        StoreMoved
            If so.
        """
        if self.path is None:
            return
        now = file_number(self.name)
        before, self._file = self._file, self._file or now
        if before is not None and now != before:
            raise StoreMoved(
                f"{self.path}: was deleted, renamed or replaced since it was opened, so nothing more can be charged; "
                "put back the file that was there, or open what is there now"
            )

    def _dispose(self) -> None:
        self._connections.dispose()
        self._log = {}

    def _check_log(self) -> None:
        """Refuse if SQLite's log (-wal) or its index (-shm) was removed while it was open.

        The last process that closes a store removes both. It finds by locks on the file that it is the last, and a
        process loses its locks without an error when it closes any other handle of that file, for example after making
        a copy. Without the index a transaction does not see other writers' entries. Without the log it must not begin
        either: its pages would go to the removed log, and others, which share the index, would search the new one.

        Raises
        ------
        StoreMoved
            If it was.
        """
        if self.path is None:
            return
        if not self._log:
            real = self.path.resolve()
            self._log = {name: file_number(name) for name in (f"{real}-wal", f"{real}-shm")}
        for name, before in self._log.items():
            if before is None or before != file_number(name):
                raise StoreMoved(
                    f"{self.path}: SQLite's log beside it (-wal, -shm) was removed or replaced while it was open, so "
                    "nothing more can be charged here: close it, in all that this process has open of it, and open it "
                    "again"
                )

    @contextmanager
    def reading(self, *, alone: bool = False, wait: float | None = None) -> Iterator[Session]:
        """Yield a session for reading; the rows that one statement reads are of one moment.

        Parameters
        ----------
        alone
            Whether no other thread writes meanwhile, and no other process where a lock is not the database's own.
        wait
            Seconds to wait for them, if not as long as usual.

        Raises
        ------
        InUse
            If somebody else writes for so long.
        LedgerDamaged
            If the database says that its file is damaged.
        """
        if os.getpid() != self._process:
            raise StoreRefused(
                f"{self.name}: was opened by process {self._process}, of which this process ({os.getpid()}) is a fork: "
                "open it here again, with an Accountant of this process"
            )
        if alone and self._writer == threading.get_ident():
            # For example a garbage collection within a transaction that has not ended.
            raise InUse(f"{self.name}: this thread is writing to it already", this_process())
        ended = not alone
        try:
            if alone:
                self._begin_turn(LONGEST_WAIT if wait is None else wait)
            if self._in_memory is not None:
                yield Session(self, self._in_memory)
                return
            if not self._connections.any_open:
                self._log = {}  # closing the last connection may have removed it
            session = Session(self)
            try:
                self._connections.lend(session)
                if not self._log:
                    self._check_log()
                yield session
            except Exception:
                self._take_back(session)
                raise
            else:
                self._take_back(session)
            finally:
                if session.lent:  # it was interrupted, in a statement, perhaps
                    self._take_back(session, again=False)
                if alone:
                    self._end_turn()
                    ended = True
        except self.driver.Error as error:
            raise self._trouble(error) from error
        finally:
            if not ended:  # an interruption may fall on any line, and on that one
                self._end_turn()

    def _take_back(self, session: Session, *, again: bool = True) -> None:
        ended = session.driver is not None and session.end()
        if not ended:
            self._connections.dispose()  # a server that has ended one connection has ended the others, too
        self._connections.take_back(session, again=again and ended)

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """Yield a session for reading; all its statements read the database as it is at one moment."""
        with self.reading() as session:
            session.execute("BEGIN" if self.sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ")
            try:
                yield session
            finally:
                session.rollback()

    @contextmanager
    def writing(self, wait: float | None = None, lock: str | None = ALONE) -> Iterator[Session]:
        """Yield a session in a transaction that no other writer is in; it is durable when the block ends.

        Parameters
        ----------
        wait
            Seconds to wait for another writer, if not as long as usual.
        lock
            `TOGETHER` lets others of a server's write meanwhile; None locks nothing, where there may be no tables.

        Raises
        ------
        InUse
            If somebody else writes for so long.
        RetryAlone
            If it met another writer, and is not alone.
        OutcomeUnknown
            If the transaction could not be ended: it may be durable, or not.
        LedgerDamaged
            If the database says that its file is damaged.
        """
        with self.reading(alone=True, wait=wait) as session:
            self.check_file()
            ending = False
            try:
                with session.pipeline():
                    if self.sqlite:
                        self._begin(session, wait)
                    else:
                        session.execute("BEGIN")
                        session.execute(_NO_WAIT)
                        if wait is not None:
                            session.execute(f"SET LOCAL lock_timeout = '{round(1000 * wait):d}ms'")
                        if lock is not None:
                            session.execute(f"LOCK TABLE store IN {lock} MODE")
                        session.together = lock == TOGETHER
                    self._check_log()
                    try:
                        yield session
                    except BaseException:
                        with suppress(self.driver.Error):
                            session.rollback()  # before a pipeline ends, which raises for skipped statements
                        raise
                    ending = True
                    session.commit()
            except BaseException as error:
                # Behind a statement that has failed a server skips the commit.
                known = not ending or (not self.sqlite and session.driver.info.transaction_status == _FAILED)
                with suppress(self.driver.Error):  # the first error is raised, and none that follows from it
                    session.rollback()
                if not known and isinstance(error, self.driver.Error):
                    self._dispose()  # after an error of the disk nothing on this connection can be believed
                    raise OutcomeUnknown(f"{self.name}: {' '.join(str(error).split())}") from error
                code = getattr(error, "sqlstate", None)
                if code == "55P03":  # waited for too long
                    raise self._in_use(session, wait) from None
                if code in _RETRIED and lock != ALONE:
                    raise RetryAlone from error
                raise
            self._check_log()  # it may have gone since, and the charge with it

    def _begin(self, session: Session, wait: float | None) -> None:
        try:
            if wait is not None:
                session.execute(f"PRAGMA busy_timeout = {round(1_000 * wait):d}")
            session.execute("BEGIN IMMEDIATE")  # a deferred one may fail when it first writes
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            holder = _sqlite_writer(f"{self.path}-shm")
            raise InUse(
                f"{self.name}: is written to by {holder}, which is no dpwitness: end its transaction there",
                holder,
            ) from None
        finally:
            if wait is not None:
                session.execute(f"PRAGMA busy_timeout = {_PRAGMAS['busy_timeout']}")

    def _in_use(self, session: Session, wait: float | None) -> InUse:
        holder, ended = owner(session.driver, WRITING)
        longest = "a minute" if wait is None else f"{wait:g} s"
        return InUse(f"{self.name}: has been written to by {holder} for {longest}; {ended}", holder)

    def _begin_turn(self, longest: float) -> None:
        """Wait for this thread's turn to write, and this process's where a lock is not the database's own."""
        if not self._transaction.acquire(timeout=longest):
            raise InUse(
                f"{self.name}: another thread of this process has been writing to it for {longest:g} s",
                this_process(),
            )
        self._writer = threading.get_ident()
        if self.path is not None:
            if self._turns is None:
                self.check_place()
                self._turns = Turns(f"{self.path}.lock")
            self._turns.take(longest)

    def _end_turn(self) -> None:
        """End this thread's turn, as far as it has one."""
        if self._writer == threading.get_ident():
            if self._turns is not None:
                self._turns.give_back()
            self._writer = None
        try:
            self._transaction.release()
        except RuntimeError:
            return  # it is not this thread's

    def _trouble(self, error: Any) -> Exception:
        """Return the exception for an error of the driver: the file is damaged, or cannot be read or written."""
        words = f"{self.name}: {' '.join(str(error).split())}"
        if self.sqlite and "readonly" in words:
            words += (
                " (SQLite writes beside a file even to read it: who may not, can look at a copy of their own)"
            )
        damaged = not isinstance(error, self.driver.OperationalError) or "malformed" in words
        if getattr(error, "sqlstate", None) == "25006":
            words += " (a standby, or a role or database that may only read: charges need the primary)"
        if not self.sqlite:
            damaged = (getattr(error, "sqlstate", None) or "").startswith(_DAMAGED)
        return LedgerDamaged(words) if damaged else OSError(words)

    def sync(self, session: Session) -> None:
        """Make the end of a transaction that changes nothing flush the writes of others before it to the disk."""
        if self.sqlite:  # which writes no row that stays the same, and does not flush then
            session.execute(f"PRAGMA user_version = {(session.value('PRAGMA user_version') + 1) % 2**31:d}")

    def identify(self, session: Session) -> dict[str, Any]:
        """Return the identity of this database, with the tables of a store: no copy of it has the same."""
        if self.path is not None:
            return location_of(self.path)
        return {} if self.sqlite else _server_identity(session.rows(_PLACE)[0])

    def row_in_place(
        self, session: Session, sql: str, *parameters: Any
    ) -> tuple[TableRow, dict[str, Any] | None, int]:
        """Return the row that a statement finds, a server's identity (None for SQLite's, checked before), and the time.

        A server may be replaced by another, or its tables by those of a dump, while connections are made anew.
        """
        if self.sqlite:
            return session.rows(sql, *parameters)[0], None, clock.wall()
        found = session.rows(f"SELECT *, {_NOW} FROM ({sql}) AS found, ({_PLACE}) AS place", *parameters)[0]
        return found[: -len(_PLACED) - 1], _server_identity(found[-len(_PLACED) - 1 : -1]), int(found[-1])

    def current_time(self, session: Session) -> int:
        """Return milliseconds since 1970, by the clock that all writers of this database share."""
        return clock.wall() if self.sqlite else int(session.value(f"SELECT {_NOW}"))

    def damage(self, session: Session, table: str | None = None) -> str | None:
        """Return SQLite's report of damage to its file or a table, indexes that contradict it included."""
        if not self.sqlite:
            return None
        found = session.value(f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check")
        return None if found == "ok" else str(found)

    def make_tables(self, session: Session, metadata: MetaData) -> None:
        """Make the tables of a store and their indexes; outcomes of charges are found by these."""
        for table in metadata.sorted_tables:
            session.execute(str(CreateTable(table).compile(dialect=self._dialect)))
            for index in table.indexes:
                session.execute(str(CreateIndex(index).compile(dialect=self._dialect)))
            if table.name == "entry":
                session.execute(f"CREATE INDEX outcome ON entry (({self.outcome_of})) WHERE {OUTCOME}")

    @property
    def outcome_of(self) -> str:
        """The expression of `OUTCOME_OF` in this database's dialect."""
        return OUTCOME_OF[self._dialect.name]

    def compact(self) -> None:
        """Give the room of rows that are gone back to the system, and leave nothing of them in the files; SQLite."""
        if self.sqlite:
            with self.reading(alone=True) as session:
                session.execute("VACUUM")
                session.rows(_EMPTY_LOG)

    def empty_log(self) -> None:
        """Write the content of SQLite's log into the file."""
        if self.path is not None:
            with self.reading(alone=True) as session:
                session.rows(_EMPTY_LOG)

    def close(self) -> None:
        """Close all connections."""
        _close_forgotten(self._connections, self._process)
        if self._in_memory is not None:
            self._in_memory.close()
        # Else a thread is in its turn.
        if self._turns is not None and self._transaction.acquire(blocking=False):
            try:
                self._turns.close()
            finally:
                self._transaction.release()
        if self._lock is not None:
            self._lock.release()


def _close_forgotten(connections: Connections, process: int) -> None:
    if os.getpid() == process:  # a fork's copies are `_close_inherited`'s
        connections.dispose()


def _close_inherited() -> None:
    """Close a fork's copies of its parent's SQLite files: SQLite would believe that it has its parent's locks."""
    for database in list(_databases):
        if database._process != os.getpid() and database.path is not None:
            database._connections.dispose()
            _databases.discard(database)


def _wait_for_transactions() -> None:
    """Wait for the end of all transactions, before a fork: its locks would be the child's, too, and for ever."""
    for database in list(_databases):
        database._transaction.acquire()
        _waited_for.append(database)


def _go_on() -> None:
    while _waited_for:
        _waited_for.pop()._transaction.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_transactions, after_in_parent=_go_on, after_in_child=_go_on)


def _server_identity(place: Sequence[Any]) -> dict[str, Any]:
    return {name: int(value) for name, value in zip(_PLACED, place, strict=True)}


def _connect_to_server(driver: Any, dialect: Dialect, url: URL) -> Any:
    """Return a connection to a server that acknowledges nothing unwritten; no role's setting asks it to.

    Raises
    ------
    StoreRefused
        If it does.
    """
    _, options = dialect.create_connect_args(url)
    connection = driver.connect(**{**options, **CLIENT_SETTINGS}, autocommit=True)
    try:
        set_session(connection)
        found = connection.execute("SHOW fsync").fetchone()[0]
        if found != "on":
            raise StoreRefused(
                f"the server runs with fsync={found}: a power cut would take back charges; it must be on"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _masked(text: str) -> str:
    """Return the text of a URL, its passwords masked."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}***", text)


def _sqlite_writer(index: str) -> str:
    """Return the holder of SQLite's lock for writing, a byte of the index of its log, as far as Linux shows it."""
    with suppress(OSError):
        held = f":{os.stat(index).st_ino} 120 120"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            if line.endswith(held) and " -> " not in line:
                return f"process {line.split()[4]}"
    return "another program"


def _usable(connection: sqlite3.Connection) -> bool:
    return not connection.in_transaction


class _File(sqlite3.Connection):
    """A connection to SQLite's file, which is noted as open (`accountant.files.sqlite_file`) until it is closed."""

    note_closed: Callable[[], object] = staticmethod(lambda: None)

    def close(self) -> None:
        """Close it."""
        super().close()
        self.note_closed()


def _connect_to_file(path: Path | None) -> sqlite3.Connection:
    """Return a durable connection; its settings are read back, since network files refuse them silently.

    Raises
    ------
    StoreRefused
        If it was refused.
    """
    file = ":memory:" if path is None else str(path)
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, factory=_File)
    try:
        for name, value in _PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")
            found = connection.execute(f"PRAGMA {name}").fetchone()[0]
            if found != value and not (name == "journal_mode" and found == "memory"):
                raise StoreRefused(
                    f"SQLite refuses {name}={value} (it is {found}): a store must be a file on a local disk that can "
                    "be written"
                )
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
        name = connection.execute("PRAGMA database_list").fetchone()[2]
        if name:  # closed, or thrown away unclosed: else a later file of its number would be taken for it
            connection.note_closed = weakref.finalize(connection, note_closed, note_opened(name))
    except BaseException:
        connection.close()
        raise
    return connection
