"""An append-only file of JSON lines; a state that is kept elsewhere says how much of it counts."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accountant.durable.whole_file import sync_folder

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


@dataclass(frozen=True, slots=True)
class _Content:
    """What a journal holds; replaced as a whole, so that no interruption finds one half of it changed."""

    size: int  # what a saved state counts
    hasher: hashlib.blake2b  # of those bytes; copied, never updated
    ahead: bytes  # what follows them, on the disk or not
    noted: Any

    def hashed(self, more: bytes) -> hashlib.blake2b:
        hasher = self.hasher.copy()
        hasher.update(more)
        return hasher


class Journal:
    """A growing sequence of rows, in memory until `create` gives it a file; `sync` brings it to the disk.

    The file's contents are always a beginning of one fixed sequence of bytes, but for what a crash tore at its end:
    what a save did not end is written again at the same place with the same bytes, and nothing is ever taken back. So
    whoever wrote down an earlier `Mark` can read what it marks, whatever happened since; what lies behind it does not
    count. Every method may be interrupted anywhere (Ctrl-C) and called again: it has had all of its effect or none.
    """

    def __init__(self) -> None:
        self._content = _Content(0, hashlib.blake2b(digest_size=32), b"", None)
        self._file: int | None = None
        self._path: Path | None = None
        self._close: weakref.finalize[..., Journal] | None = None

    @property
    def noted(self) -> Any:
        """What the writer of the rows remembers of them: `extend` was given it with the last ones."""
        return self._content.noted

    def extend(self, rows: Iterable[Any], noted: Any) -> None:
        """Add JSON-able rows, and what their writer is to remember, in one step."""
        lines = b"".join(json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n" for row in rows)
        self._content = replace(self._content, ahead=self._content.ahead + lines, noted=noted)

    def create(self, path: Path) -> None:
        """Begin a file of its own, mode 600; one that is there is replaced.

        Raises
        ------
        ValueError
            If a part of the journal is in another file for good.
        """
        if self._content.size:
            raise ValueError(f"{path}: this journal is kept in {self._path}")
        self.close()
        path.unlink(missing_ok=True)
        self._hold(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600), path)
        sync_folder(path.absolute().parent)

    def sync(self) -> Mark:
        """Bring all rows to the disk, and return the mark that counts them.

        They are held in memory, too, and written again by the next call, until `settle`.

        Raises
        ------
        OSError
            If the file cannot be written; the next call tries again.
        ValueError
            If the journal has no file, or somebody else deleted, replaced or cut it.
        """
        if self._file is None or self._path is None:
            raise ValueError("a journal that was not created or was closed has no file")
        content, mine = self._content, os.fstat(self._file)
        try:
            same = os.path.samestat(mine, os.stat(self._path))
        except FileNotFoundError:
            same = False
        if not same:
            raise ValueError(
                f"{self._path}: was deleted or replaced since it was opened, so nothing more can be saved; put back "
                "the file that was there, or go on from what was saved last"
            )
        if mine.st_size < content.size:
            raise ValueError(f"{self._path}: is shorter than it was: somebody else has written to it")
        if content.ahead:
            os.lseek(self._file, content.size, os.SEEK_SET)
            written = 0
            while written < len(content.ahead):
                written += os.write(self._file, content.ahead[written:])
            os.fsync(self._file)
        return Mark(content.size + len(content.ahead), content.hashed(content.ahead).hexdigest())

    def settle(self, mark: Mark) -> None:
        """Forget the bytes of rows that a state counts by this mark, now that it is on the disk."""
        content = self._content
        count = mark.size - content.size
        self._content = replace(
            content,
            size=mark.size,
            hasher=content.hashed(content.ahead[:count]),
            ahead=content.ahead[count:],
        )

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
        try:
            content = bytearray()
            while part := os.read(journal._file, mark.size - len(content)):
                content += part
            hasher = hashlib.blake2b(content, digest_size=32)
            if len(content) < mark.size or hasher.hexdigest() != mark.digest:
                raise ValueError(
                    f"{path}: does not begin with the {mark.size} bytes that the saved state counts: it was changed, "
                    "or it is the copy of another moment"
                )
            os.ftruncate(journal._file, mark.size)
        except BaseException:
            journal.close()
            raise
        journal._content = _Content(mark.size, hasher, b"", None)
        return journal, [json.loads(line) for line in content.splitlines()]

    def close(self) -> None:
        """Close the file; again does nothing."""
        if self._close is not None:
            self._close()
        self._file = None

    def _hold(self, file: int, path: Path) -> None:
        self._path = path
        self._close = weakref.finalize(self, os.close, file)
        self._file = file
