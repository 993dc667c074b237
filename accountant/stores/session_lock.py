"""Sessions of PostgreSQL: their timeout without a client, and locks that end with a session."""

from __future__ import annotations

import os
import select
import weakref
from typing import Any

from accountant.stores.file_lock import this_process
from accountant.stores.store_refusals import InUse

WRITING = "relation = to_regclass('store') AND mode IN ('ExclusiveLock', 'RowExclusiveLock')"
"""Condition of the locks that writers to a store hold until the end of a transaction."""
_HOLDING = 0x64707769686F6C64  # the lock of a run that is open
_HELD = f"locktype = 'advisory' AND objsubid = 1 AND classid = {_HOLDING >> 32} AND objid = {_HOLDING & 0xFFFFFFFF}"
_HOLDER = """
SELECT pid, application_name, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE granted AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database
WHERE datname = current_database()) AND """

# A machine that died or was cut off is noticed on either side after 10 + 3 * 5 seconds.
CLIENT_SETTINGS = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""Settings of a connection, by libpq's names."""
_SESSION_SETTINGS = {
    "application_name": this_process,
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "10min",  # of a process that hangs, and keeps writers out
    "lock_timeout": "60s",  # as long as SQLite waits
    "synchronous_commit": "on",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
}
_connections: weakref.WeakSet[Any] = weakref.WeakSet()


def set_session(connection: Any) -> None:
    """Set the session's settings that stores rely on, over its role's and database's own; forks do not share it."""
    _connections.add(connection)
    calls = ", ".join("set_config(%s, %s, false)" for _ in _SESSION_SETTINGS)
    values = [(name, value() if callable(value) else value) for name, value in _SESSION_SETTINGS.items()]
    connection.execute(f"SELECT {calls}", [each for pair in values for each in pair])


def owner(connection: Any, lock: str) -> tuple[str, str]:
    """Return the first holder of a lock in the database of a driver's connection, and the way to end it."""
    found = connection.execute(f"{_HOLDER}{lock} ORDER BY xact_start").fetchone()
    if found is None:  # gone by now
        return "another process", "the lock ends with its session"
    pid, process, since = found
    ended = f"the lock ends with its session, at the latest by SELECT pg_terminate_backend({pid})"
    if since is None:  # another role's: the server tells no more of it
        return process or "another role's process", f"{ended}, by who may end that role's"
    holder = f"{process} since {since.isoformat(timespec='seconds')}"
    return f"this process, in another object ({holder})" if process == this_process() else holder, ended


class SessionLock:
    """A lock on a database from its making to `release`, or to the end of the process or its machine.

    It belongs to the session: if the server restarts, or ends the session, another may take it. So its holder leaves a
    mark of its own in the store, and checks it in each transaction. The mark keeps two holders apart; the lock names
    the process that has the run open. A row lock held for so long would keep the server from removing replaced rows:
    after 3,000 saves and a VACUUM the run's table took 5.0 MB instead of 0.07.

    Parameters
    ----------
    connection
        A connection of its own to the database.
    name
        The database's name in messages.

    Raises
    ------
    InUse
        If the lock is held; the message names the holder.
    """

    def __init__(self, connection: Any, name: str) -> None:
        self._process = os.getpid()
        self._connection = connection
        try:
            if not self._connection.execute(f"SELECT pg_try_advisory_lock({_HOLDING})").fetchone()[0]:
                holder, ended = owner(self._connection, _HELD)
                raise InUse(
                    f"{name} is held by {holder}: one at a time may go on. Close it there, or end that process; "
                    f"{ended}",
                    holder,
                )
        except BaseException:
            self._connection.close()
            raise

    @property
    def is_held(self) -> bool:
        """True if this process took the lock, has not given it back, and has no news of its loss."""
        return os.getpid() == self._process and alive(self._connection)

    def release(self) -> None:
        """Give the lock back; again does nothing, nor in a fork, which has no part in the connection."""
        if os.getpid() == self._process:
            self._connection.close()


def alive(connection: Any) -> bool:
    """True unless a session is closed or its server has sent its end: a server sends nothing else unasked."""
    return not connection.closed and not _readable(connection.fileno())


def _readable(file: int) -> bool:
    """Return True if bytes wait at a socket; ``select`` refuses numbers from 1024 on."""
    if not hasattr(select, "poll"):  # Windows, where ``select`` takes any
        return bool(select.select([file], [], [], 0)[0])
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))


def _forget_all() -> None:
    """Close a forked child's copies of sockets: they would hold its parent's locks beyond the parent's end."""
    for connection in list(_connections):
        if not connection.closed:
            os.close(connection.fileno())
    _connections.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
