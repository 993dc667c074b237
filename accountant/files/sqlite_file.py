"""Identity of files, and recognition of SQLite files without loss of this process's SQLite locks on them."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

Opened = tuple[tuple[int, int] | None, int]
"""The file's `file_number`, and the number of this opening of it by this process."""

_BEGINNING = b"SQLite format 3\0"
_openings = itertools.count()
_opened: set[Opened] = set()  # added to and taken from in one step each: no lock that a fork could find taken


def note_opened(path: str | Path) -> Opened:
    """Note that this process has opened an SQLite file of a name; return the argument for `note_closed`."""
    opened = file_number(path), next(_openings)
    _opened.add(opened)
    return opened


def note_closed(opened: Opened) -> None:
    """Note that this process has closed that opening."""
    _opened.discard(opened)


def is_sqlite(path: str | Path) -> bool:
    """Return True if a file begins as an SQLite database does.

    One that this process has open is not read: a process that closes any handle of a file loses all locks that it
    has on it, SQLite's, too, and another one would remove its log.
    """
    number = file_number(path)
    if number is not None and any(opened[0] == number for opened in list(_opened)):
        return True
    with Path(path).open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def file_number(path: str | Path | int, *, follow_symlinks: bool = True) -> tuple[int, int] | None:
    """Return the device and number of a file, by name or handle: no other has the same; None if it is gone."""
    try:
        found = os.stat(path, follow_symlinks=follow_symlinks)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
