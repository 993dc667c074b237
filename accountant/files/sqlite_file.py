"""Whether a file is SQLite's, without taking SQLite's locks on it away from this process."""

from __future__ import annotations

import os
from pathlib import Path

_BEGINNING = b"SQLite format 3\0"
_opened: set[tuple[int, int]] = set()


def note_opened(path: str | Path) -> None:
    """Note that this process has SQLite's file of a name open."""
    _opened.add(_number(path))


def is_sqlite(path: str | Path) -> bool:
    """Whether a file begins as an SQLite database does.

    One that this process has had open is not read: a process that closes any handle of a file loses all locks that it
    has on it, SQLite's, too, and another one would remove its log.
    """
    if _number(path) in _opened:
        return True
    with Path(path).open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def _number(path: str | Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
