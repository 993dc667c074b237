"""Recognition of SQLite files that leaves this process its SQLite locks on them."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

Opened = tuple[int, int, int]
"""Device, inode, and the number of this opening of a file by this process."""

_BEGINNING = b"SQLite format 3\0"
_openings = itertools.count()
_opened: set[Opened] = set()  # added to and taken from in one step each: no lock that a fork could find taken


def note_opened(path: str | Path) -> Opened:
    """Note that this process has opened an SQLite file of a name; return the argument for `note_closed`."""
    opened = (*_device_and_inode(path), next(_openings))
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
    number = _device_and_inode(path)
    if any(opened[:2] == number for opened in list(_opened)):
        return True
    with Path(path).open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def _device_and_inode(path: str | Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
