"""An append-only file of JSON lines; a state that is kept elsewhere says how much of it counts."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .whole_file import sync_folder

_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0)  # Windows would change line ends


@dataclass(frozen=True, slots=True)
class Mark:
    """How much of a journal counts.

    Attributes
    ----------
    size
        So many bytes from the beginning.
    digest
        Their BLAKE2b digest, in hexadecimal.
    """

    size: int
    digest: str


class Journal:
    """A growing sequence of rows, in memory until `create` gives it a file; `sync` brings it to the disk.

    The file's contents are always a beginning of one fixed sequence of bytes, but for what a crash tore at its end:
    a write that failed is repeated at the same place with the same bytes, and nothing is ever taken back. So whoever
    wrote down an earlier `Mark` can read what it marks, whatever happened since; what lies behind it does not count.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._size = 0  # what is on the disk for sure
        self._hasher = hashlib.blake2b(digest_size=32)
        self._file: int | None = None
        self._path: Path | None = None
        self._close: weakref.finalize[..., Journal] | None = None

    def note(self, row: Any) -> None:
        """Add one JSON-able row."""
        line = json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"
        self._pending += line
        self._hasher.update(line)

    def create(self, path: Path) -> None:
        """Begin a file of its own, mode 600; one that is there is replaced."""
        path.unlink(missing_ok=True)
        self._hold(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600), path)
        sync_folder(path.absolute().parent)

    def sync(self) -> Mark:
        """Bring all rows to the disk, and return the mark that counts them.

        Raises
        ------
        OSError
            If the file cannot be written; the next call tries again.
        ValueError
            If the journal has no file, or somebody else cut it.
        """
        if self._file is None:
            raise ValueError("a journal that was not created or was closed has no file")
        if os.fstat(self._file).st_size < self._size:
            raise ValueError(f"{self._path}: is shorter than it was: somebody else has written to it")
        if self._pending:
            os.lseek(self._file, self._size, os.SEEK_SET)
            written = 0
            while written < len(self._pending):
                written += os.write(self._file, self._pending[written:])
            os.fsync(self._file)
            self._size += len(self._pending)
            self._pending.clear()
        return Mark(self._size, self._hasher.hexdigest())

    @classmethod
    def read(cls, path: Path, mark: Mark) -> tuple[Journal, list[Any]]:
        """Return the journal in a file and the rows that `mark` counts; what lies behind them is cut off.

        Raises
        ------
        OSError
            If the file cannot be opened.
        ValueError
            If it does not begin with what was marked.
        """
        journal = cls()
        journal._hold(os.open(path, _FLAGS), path)
        assert journal._file is not None
        content = bytearray()
        while part := os.read(journal._file, mark.size - len(content)):
            content += part
        journal._hasher.update(content)
        if len(content) < mark.size or journal._hasher.hexdigest() != mark.digest:
            journal.close()
            raise ValueError(
                f"{path}: does not begin with the {mark.size} bytes that the saved state counts: it was changed, or "
                "it is the copy of another moment"
            )
        os.ftruncate(journal._file, mark.size)
        journal._size = mark.size
        return journal, [json.loads(line) for line in content.splitlines()]

    def close(self) -> None:
        """Close the file."""
        if self._close is not None:
            self._close()
        self._file = None

    def _hold(self, file: int, path: Path) -> None:
        self._file, self._path = file, path
        self._close = weakref.finalize(self, os.close, file)
