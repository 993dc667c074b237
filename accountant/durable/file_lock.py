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

_HOLDER = "process "
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
    ValueError
        If the file holds anything but the name of a holder: it is somebody else's, and stays as it is.
    OSError
        If the file cannot be opened, or its file system has no locks.
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
        try:
            self._take()
        except BaseException:
            self._close()
            raise
        _held.add(self)

    def _take(self) -> None:
        found = self._holder()
        if not found.startswith(_HOLDER) and not _HOLDER.startswith(found):
            raise ValueError(
                f"{self._path}: is no lock of this library: it holds {found[:40]!r}, and stays as it is"
            )
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUse(
                    f"{self._path} is held by {_described(self._holder())}: one at a time may go on. Close it there, "
                    "or end that process; the lock ends with it, and deleting the file does not help"
                ) from None
            except OSError as error:
                raise OSError(
                    error.errno,
                    f"{error.strerror}: its file system gives no locks (flock), so nothing would keep other processes "
                    "out; use a local disk, or mount it with locks",
                    str(self._path),
                ) from None
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, f"{_who()} since {since}\n".encode())

    def _holder(self) -> str:
        os.lseek(self._file, 0, os.SEEK_SET)
        return (
            os.read(self._file, 500).decode(errors="replace").strip("\0 \n")
        )  # zeros: what a power cut leaves

    @property
    def held(self) -> bool:
        """Whether this process took the lock and has not given it back."""
        return os.getpid() == self._process and self._close.alive

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


def _who() -> str:
    return f"{_HOLDER}{os.getpid()} on {socket.gethostname()}"


def _described(holder: str) -> str:
    if holder.startswith(f"{_who()} "):
        return f"this process, in another object ({holder})"
    return holder or "another process"


def _forget(*_: Any) -> None:
    """Close a child's copies: it would hold its parent's locks beyond the parent's end."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
