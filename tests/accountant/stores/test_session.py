"""Connections of a store while they are used: interrupted, abandoned, nested, or their files taken away."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.stores import database, file_lock, session
from accountant.stores.database import Database
from accountant.stores.file_lock import Turns, one_at_a_time
from accountant.stores.store_refusals import InUse
from mechanisms import Interval, Laplace

UNIT = Interval(0, 1)
FILES = {module.__file__ for module in (database, file_lock, session)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def opened(path: Path) -> Accountant:
    return Accountant(Budget(1000), noise=np.random.default_rng(0), store=path)


def pay(accountant: Accountant, record: str = "ann") -> None:
    accountant.release(
        Laplace.for_epsilon(1.0, sensitivity=UNIT.sensitivity), accountant.private([0.5], UNIT, record)
    )


def interrupted_write(store: Database, at: int) -> KeyboardInterrupt | None:
    """Interrupt a transaction at one of the steps where a signal's handler can run: a call, or the end of one of C."""
    left = at

    def stop(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if frame.f_code.co_filename in FILES and event in ("call", "c_return"):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(stop)
    try:
        with store.writing() as writing:
            writing.execute("UPDATE store SET clock = clock")
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


def test_an_interruption_at_any_step_leaves_neither_a_transaction_nor_a_lock(path: Path) -> None:
    """A notebook keeps the last exception, and its frames: they kept the lock, and others waited for ever."""
    with closing(opened(path).ledger) as ledger:  # type: ignore[type-var]
        store: Database = ledger.database  # type: ignore[attr-defined]
        store._connections.longest_wait = 0.0
        steps = 0
        while (kept := interrupted_write(store, steps)) is not None:
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
            with one_at_a_time(f"{path}.lock", wait=0.0):
                pass
            with store.writing():
                pass
            steps += 1
            del kept
        assert steps > 40
        # One that was taken from the queue of those that are free in the step that was interrupted may be lost.
        assert store._connections._free.qsize() >= 14


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_who_abandons_the_only_connection_does_not_stop_later_charges(
    path: Path, error: type[BaseException]
) -> None:
    """It is closed, and SQLite's log is removed with the last: it was taken for lost, and no charge was possible."""
    accountant = opened(path)
    pay(accountant)
    store: Database = accountant.ledger.database  # type: ignore[attr-defined]
    with pytest.raises(error), store.reading():
        raise error
    for number in range(9):  # they take the numbers of those that are gone
        Path(f"{path}.{number}").touch()
    pay(accountant)
    assert sum(tally.releases for tally in accountant.ledger.tallies()) == 2  # type: ignore[attr-defined]
    store.close()


def test_a_time_out_of_whoever_reads_is_its_own(path: Path) -> None:
    """Network files have one, too; it was said that all connections were in use."""
    store: Database = opened(path).ledger.database  # type: ignore[attr-defined]
    with pytest.raises(TimeoutError, match="of the network's"), store.reading():
        raise TimeoutError("of the network's")
    store.close()


def test_a_connection_that_cannot_be_made_is_told(path: Path) -> None:
    store: Database = opened(path).ledger.database  # type: ignore[attr-defined]
    store.close()
    path.unlink()
    path.mkdir()
    for _ in range(20):  # none of them counts as one in use
        with pytest.raises(OSError, match="unable to open database file"), store.reading():
            pass


def test_who_writes_in_a_transaction_is_refused_at_once_and_does_not_end_its_turn(path: Path) -> None:
    """A callback of the garbage collector, for example, runs in the same thread and may write, too."""
    store: Database = opened(path).ledger.database  # type: ignore[attr-defined]
    with store.writing() as outer:
        with pytest.raises(InUse, match="this thread is writing to it already"), store.writing():
            pass
        with pytest.raises(InUse), one_at_a_time(f"{path}.lock", wait=0.0):
            pass
        outer.execute("UPDATE store SET clock = clock")
    with one_at_a_time(f"{path}.lock", wait=0.0):
        pass
    store.close()


@pytest.mark.parametrize("how", ["deleted", "renamed", "replaced", "linked"])
def test_a_turn_is_taken_of_the_file_that_has_the_name(tmp_path: Path, how: str) -> None:
    """An open file that has lost its name keeps nobody out who opens the one that has it."""
    path = tmp_path / "lock"
    turns = Turns(str(path))
    turns.take(wait=0.0)
    turns.give_back()
    if how == "linked":
        os.link(path, tmp_path / "another")
    if how == "renamed":
        path.rename(tmp_path / "elsewhere")
    elif how == "replaced":
        (tmp_path / "new").touch()
        (tmp_path / "new").rename(path)
    else:
        path.unlink()
    turns.take(wait=0.0)
    with pytest.raises(InUse, match="this process, in another object"), one_at_a_time(str(path), wait=0.0):
        pass
    turns.close()
    with one_at_a_time(str(path), wait=0.0):
        pass


def test_who_closes_a_store_ends_no_turn_of_another_thread(path: Path) -> None:
    """The number of its closed file might have been that of another file already when the turn was written down."""
    store: Database = opened(path).ledger.database  # type: ignore[attr-defined]
    with store.writing() as writing:
        closer = threading.Thread(target=store.close)
        closer.start()
        closer.join()
        with pytest.raises(InUse), one_at_a_time(f"{path}.lock", wait=0.0):
            pass
        writing.execute("UPDATE store SET clock = clock")
    with one_at_a_time(f"{path}.lock", wait=0.0):
        pass
    store.close()


def test_a_thread_that_hangs_in_a_transaction_is_told_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others of its process waited for ever, and so did the health of a service."""
    monkeypatch.setattr("accountant.stores.database.LONGEST_WAIT", 0.1)
    monkeypatch.setattr("accountant.stores.group_commit.LONGEST_WAIT", 0.3)
    accountant = opened(path)
    pay(accountant)
    store: Any = accountant.ledger
    begun, go_on = threading.Event(), threading.Event()

    def hang(work: Any) -> None:
        begun.set()
        assert go_on.wait(20)

    hanging = threading.Thread(target=lambda: store._queue.do(hang))
    hanging.start()
    try:
        assert begun.wait(10)
        with pytest.raises(InUse, match=r"another thread of this process has been writing to it for 0\.1 s"):
            store.database.empty_log()
        with pytest.raises(InUse, match="another thread of this process has been committing"):
            pay(accountant)
        monkeypatch.setattr("accountant.stores.database.LONGEST_WAIT", 30.0)
        with pytest.raises(InUse, match="for 1 s"):
            store.check()
    finally:
        go_on.set()
        hanging.join()
    pay(accountant)
    assert sum(tally.releases for tally in store.tallies()) == 2
    store.close()


def test_another_program_that_writes_to_the_file_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database._PRAGMAS, "busy_timeout", 100)
    accountant = opened(path)
    pay(accountant)
    script = (
        "import sqlite3, sys\n"
        f"connection = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "print('begun', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(InUse, match=f"is written to by (process {other.pid}|another program), which"):
            pay(accountant)
        with pytest.raises(InUse, match="is written to by"):
            accountant.ledger.check()  # type: ignore[attr-defined]
        other.communicate("")
    pay(accountant)
    accountant.ledger.close()  # type: ignore[attr-defined]
