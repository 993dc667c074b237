"""A lock between processes, for as long as the process lives that took it."""

from __future__ import annotations

import os
import socket
import warnings
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


class InUse(ValueError):
    """Another process, or another object of this one, holds the lock."""


class FileLock:
    """An exclusive lock on a file, from its making to `release`, to the end of the process, or until it is forgotten.

    The operating system holds it (``flock``), not the file: however a process ends, its lock goes with it, and the
    file that stays behind locks nothing. A forked child does not share it. On a system without ``flock`` there is no
    lock, and a warning says so.

    Parameters
    ----------
    path
        The file, made if it does not exist; it says who holds the lock.

    Raises
    ------
    InUse
        If the lock is held; the message names the file and the holder.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._close = weakref.finalize(self, os.close, self._file)
        if fcntl is None:
            warnings.warn(
                f"{path}: this system has no flock, so nothing keeps other processes out", stacklevel=2
            )
        else:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(self._file, 500).decode(errors="replace").strip() or "another process"
                self._close()
                raise InUse(
                    f"{path} is held by {holder}: one at a time may go on. Close it there, or end that process; the "
                    "lock ends with it, and deleting the file does not help"
                ) from None
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(self._file, 0)
        os.write(self._file, f"process {self._process} on {socket.gethostname()} since {since}\n".encode())
        _held.add(self)

    def check(self) -> None:
        """Refuse unless this process still holds the lock on the file of this name.

        Raises
        ------
        InUse
            In a forked child, after `release`, or if the file was deleted or replaced.
        """
        if os.getpid() != self._process:
            raise InUse(
                f"{self._path} is held by process {self._process}, of which this process ({os.getpid()}) is a fork"
            )
        if not self._close.alive:
            raise InUse(f"{self._path}: the lock was given back")
        try:
            same = os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            same = False
        if not same:
            raise InUse(f"{self._path}: was deleted or replaced since it was locked")

    def release(self) -> None:
        """Give the lock back; again does nothing."""
        self._close()


def _forget(*_: Any) -> None:
    """Close a child's copies: it would hold its parent's locks beyond the parent's end."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
