"""Standard output and error of the command: writes never raise, and no file takes their descriptors."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any, BinaryIO, cast


class _Outlet(io.RawIOBase):
    """A raw stream that accepts every write: after the first error it discards all data.

    A reader that has gone (``| head``) has read enough, and a full disk is reported once, at the end: neither ends a
    program in the middle, with an exit code of another meaning.

    Attributes
    ----------
    error
        The first error, if there was one.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.error: OSError | None = None

    @property
    def write_error(self) -> str:
        """The reason for which output was lost that a reader waits for, "" if none was."""
        if self.error is None or self.error.errno == errno.EPIPE:
            return ""
        return str(self.error.strerror)

    def write(self, data: Any) -> int:
        """Write some of the data, or forget all of it; return how many bytes that were."""
        while self.error is None:
            try:
                written = self._raw.write(data)
            except OSError as error:
                self.error = error
            else:
                if written is not None:
                    return int(written)
                select.select([], [self._raw], [])  # a terminal that another program has made non-blocking
        return len(data)

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the number of the file below."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Return True if a terminal is below."""
        return bool(self._raw.isatty())


def guard_standard_streams() -> _Outlet | None:
    """Let standard output and error be outlets; return that of standard output, None if it is not the process's own.

    Standard streams that were closed (``>&-``) are opened on nothing, so that no file gets their numbers.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    outlet = None
    for name in ("stderr", "stdout"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for other characters
        if stream is getattr(sys, f"__{name}__"):  # not a test's or a notebook's
            outlet = _Outlet(getattr(stream.buffer, "raw", stream.buffer))
            buffered = io.BufferedWriter(cast("io.RawIOBase", outlet))
            guarded = io.TextIOWrapper(
                cast("BinaryIO", buffered),
                encoding=stream.encoding,
                errors="replace",
                line_buffering=stream.line_buffering or name == "stderr",
            )
            setattr(sys, name, guarded)
    return outlet
