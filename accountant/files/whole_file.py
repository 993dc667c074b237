"""Atomic writes of files that only their owner can read: after a crash a file is complete or absent."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from accountant.files.sqlite_file import is_sqlite
from mechanisms.parameters import ParameterError

_BINARY = getattr(os, "O_BINARY", 0)  # Windows translates line ends without it


@contextmanager
def whole_file(path: str | Path, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of `path` when the block ends without an error.

    It is written under a name of its own, with this mode or what the process's umask leaves of it, and is on the disk
    before it is renamed; of several writers the last one wins, and no reader ever sees half a file. Of a link, the
    target is replaced, and the link stays. Nothing takes the place of a device or a pipe: it is written to. So is the
    target of standard output or error, as in ``-o /dev/stdout >> file``: after the text printed before.

    Raises
    ------
    ParameterError
        If the path is a folder or an SQLite database, such as a ledger, or its own folder does not exist.
    OSError
        If the file cannot be written; the earlier file stays.
    """
    try:
        with _open_target(Path(path), mode) as file:
            yield file
    except OSError as error:
        if error.errno is not None and error.filename is None:  # the disk is full
            error.filename = str(path)
        raise


@contextmanager
def _open_target(path: Path, mode: int) -> Iterator[IO[bytes]]:
    number = _standard_stream(path)
    if number is not None:
        (sys.stdout if number == 1 else sys.stderr).flush()
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
        return
    if path.exists() and not (path.is_file() or path.is_dir()):
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir() or not folder.is_dir():
        raise ParameterError(f"path = {str(path)!r}: must be a file in a folder that exists")
    if target.is_file() and is_sqlite(target):
        raise ParameterError(f"path = {str(path)!r}: must not be an SQLite database: a ledger would be lost")
    partial = folder / f"{target.name}.{secrets.token_hex(8)}.partial"
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # the contents must be on the disk before the name is
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(folder)


def _standard_stream(path: Path) -> int | None:
    """Return the descriptor, 1 or 2, of the standard stream that writes to a path's file; None if neither does."""
    for number in (1, 2):
        try:
            if os.path.samestat(path.stat(), os.fstat(number)):
                return number
        except OSError:  # there is no such file, or the stream was closed
            continue
    return None


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, so that a renamed file survives a crash."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
