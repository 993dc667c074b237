"""A lock file between processes, waited for; the system gives it back when a process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


@contextmanager
def one_at_a_time(path: str) -> Iterator[None]:
    """Let one process, and one thread of it, at a time into the block; on a system without ``flock`` all of them."""
    if fcntl is None:
        yield
        return
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
