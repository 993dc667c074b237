"""Lock files between processes; the system releases a lock whenever the process that holds it ends."""

from __future__ import annotations

import errno
import functools
import os
import socket
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

from accountant.files.sqlite_file import file_number
from accountant.stores.store_refusals import InUse

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
"""True if this system gives locks between processes."""
_held: weakref.WeakSet[_Lock] = weakref.WeakSet()


LONGEST_WAIT = 30.0
"""Seconds to wait for a lock, before an error that names its holder."""
_FIRST_LOOK, _LAST_LOOK = 0.0002, 0.005  # seconds between two looks


class _Lock:
    """A lock on a file, until `release` or until it is forgotten: an interruption may fall on any line."""

    def __init__(self, path: str) -> None:
        if fcntl is None:
            raise OSError(
                errno.ENOLCK,
                "this system gives no locks (flock), so nothing would keep other processes out",
                path,
            )
        self.path = path
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._number = file_number(self.file)
        self._process = os.getpid()
        self._close = weakref.finalize(self, os.close, self.file)
        self._close.atexit = False  # a thread may be in a turn still
        _held.add(self)  # before it is taken: a fork may fall on any line, too

    def take(self, wait: float) -> None:
        """Take the lock, within `wait` seconds."""
        until, pause = 0.0, _FIRST_LOOK
        while not _try_lock(self.file, self.path):
            until = until or time.monotonic() + wait
            if time.monotonic() >= until:
                raise _in_use(self.file, self.path)
            time.sleep(pause)
            pause = min(2.0 * pause, _LAST_LOOK)

    @property
    def is_in_place(self) -> bool:
        """True if the name still refers to the file; else others would lock another one."""
        return file_number(self.path, follow_symlinks=False) == self._number

    @property
    def is_held(self) -> bool:
        """True if this process took the lock and has not given it back."""
        return self._close.alive

    def give_back(self) -> None:
        """Give the lock back, and keep the file open."""
        try:
            fcntl.flock(self.file, fcntl.LOCK_UN)
        except OSError:
            return  # its file system has no locks

    def release(self) -> None:
        """Give the lock back; again does nothing. A fork, which shares it with its parent, only closes the file."""
        if self.is_held and os.getpid() == self._process:
            self.give_back()  # a fork may have the file, too: to close it is not enough
        self._close()


class Turns:
    """One process at a time, and one object of it, takes a turn; the file of the lock stays open from turn to turn.

    Parameters
    ----------
    path
        A file, made if it does not exist; it says whose turn it is.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock: _Lock | None = None
        self._taken = False

    def take(self, wait: float) -> None:
        """Wait for a turn, which lasts until `give_back`.

        Parameters
        ----------
        wait
            The longest time to wait, in seconds. The lock of a process that hangs is never taken from it: it may be in
            the middle of a write.

        Raises
        ------
        InUse
            If another holder keeps it for so long; the message names the file and the process.
        OSError
            If the file cannot be opened, or the system or its file system has no locks.
        """
        if self._lock is None or not self._lock.is_held or not self._lock.is_in_place:
            self._lock = _Lock(self._path)
        self._taken = True  # soon
        self._lock.take(wait)
        own = _turn_of(os.getpid())
        if os.pread(self._lock.file, len(own), 0) != own:  # to read it is cheaper, and leaves the disk alone
            os.pwrite(self._lock.file, own, 0)

    def give_back(self) -> None:
        """End the turn; again does nothing."""
        if self._taken and self._lock is not None and self._lock.is_held:
            self._lock.give_back()
        self._taken = False

    def close(self) -> None:
        """End the turn, and close the file."""
        if self._lock is not None:
            self._lock.release()


@functools.lru_cache(maxsize=1)
def _turn_of(_process: int) -> bytes:
    return f"{this_process():<99}\n".encode()


@contextmanager
def one_at_a_time(path: str, wait: float = LONGEST_WAIT) -> Iterator[None]:
    """Take one of `Turns` in the block."""
    with closing(Turns(path)) as turns:
        turns.take(wait)
        yield


class FileLock(_Lock):
    """A lock from its making to `release`, to the end of the process, or until it is forgotten.

    The operating system holds it (``flock``), not the file: a file that stays behind locks nothing. A forked child does
    not share it.

    Parameters
    ----------
    path
        The file, made if it does not exist; its content names the holder of the lock.

    Raises
    ------
    InUse
        If the lock is held; the message names the file and the holder.
    OSError
        If the file cannot be opened, or the system or its file system has no locks.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.take(wait=0.0)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, f"{this_process()} since {since}\n".encode(), 0)


def _try_lock(file: int, path: str) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror}: its file system gives no locks (flock), so nothing would keep other processes out; use "
            "a local disk, or mount it with locks",
            path,
        ) from None
    return True


def _in_use(file: int, path: str) -> InUse:
    holder = _described(os.pread(file, 500, 0))
    return InUse(
        f"{path} is held by {holder}: one at a time may go on. Close it there, or end that process; the lock ends "
        "with it, and deleting the file does not help",
        holder,
    )


def this_process() -> str:
    """Return the name of this process for others."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _described(written: bytes) -> str:
    holder = written.decode(errors="replace").strip("\0 \n")  # zeros, as after a power cut
    if f"{holder} ".startswith(f"{this_process()} "):
        return f"this process, in another object ({holder})"
    return holder or "another process"


def _forget(*_: Any) -> None:
    """Close a child's copies: it would hold its parent's locks beyond the parent's end."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
