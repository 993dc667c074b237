"""A lock on a PostgreSQL database; the server gives it back when the connection ends that took it, however it ends."""

from __future__ import annotations

import os
from typing import Any, cast

from sqlalchemy.engine import Engine

from accountant.stores.file_lock import this_process
from accountant.stores.refusals import InUse

_HOLDING = 0x64707769
_LOCK = f"{_HOLDING}, hashtext(current_schema())"  # each schema may have a store of its own
_HOLDER = f"""
SELECT pid, application_name, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = {_HOLDING}
AND objid = (hashtext(current_schema())::bigint & 4294967295)::oid
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
# A machine that died or was cut off is noticed after 10 + 3 * 5 seconds.
_ENDS_WITH_THE_MACHINE = (
    "SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '3', false), set_config('application_name', %s, false)"
)


class SessionLock:
    """A lock from its making to `release`, or to the end of the process or its machine.

    It is the connection's: if the server restarts, or ends the connection, another may take it, and this object does
    not know. So whoever holds it leaves a mark of its own in the store, and looks for it in each transaction.

    Parameters
    ----------
    engine
        Makes the connection.
    name
        What messages call the database.

    Raises
    ------
    InUse
        If the lock is held; the message names the holder.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._process = os.getpid()
        pooled = engine.raw_connection()
        self._connection = cast("Any", pooled.driver_connection)
        pooled.detach()  # from the pool: it stays open, and is nobody else's
        try:
            self._connection.autocommit = True
            self._connection.execute(_ENDS_WITH_THE_MACHINE, (this_process(),))
            if not self._connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})").fetchone()[0]:
                raise self._held_elsewhere(name)
        except BaseException:
            self._connection.close()
            raise

    def _held_elsewhere(self, name: str) -> InUse:
        found = self._connection.execute(_HOLDER).fetchone()
        if found is None or found[1] is None:  # gone by now, or another role's
            holder, ended = "another process", "the lock ends with its connection"
        else:
            pid, process, since = found
            holder = f"{process} since {since.isoformat(timespec='seconds')}"
            if process == this_process():
                holder = f"this process, in another object ({holder})"
            ended = f"the lock ends with its connection, at the latest by SELECT pg_terminate_backend({pid})"
        return InUse(
            f"{name} is held by {holder}: one at a time may go on. Close it there, or end that process; {ended}",
            holder,
        )

    @property
    def held(self) -> bool:
        """Whether this process took the lock and has not given it back."""
        return os.getpid() == self._process and not self._connection.closed

    def release(self) -> None:
        """Give the lock back; again does nothing, nor in a fork, whose connection it is not."""
        if os.getpid() == self._process:
            self._connection.close()
