"""What is shown is durable, and the anchor knows of it; a fork waits for a commit; a file is known by its birth."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.stores import location
from accountant.stores.location import location_of, same_location
from accountant.stores.opening import open_store
from mechanisms import Interval, Laplace

NOISE = Laplace(scale=1000.0)


def opened(path: Path, anchor: Path | None = None) -> Accountant:
    store = open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor)
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=store)


def charge(accountant: Accountant, record: str, request: str | None = None) -> None:
    accountant.release(NOISE, accountant.private([0.5], Interval(0, 1), record), request=request)


def test_an_answer_that_another_process_kept_is_synced_before_it_is_shown(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    one, other = opened(path), opened(path, anchor)
    charge(other, "ann")
    charge(one, "bob", "key")  # who dies before that is durable, or its anchor knows
    before = anchor.read_bytes()
    log = (tmp_path / "ledger.db-wal").read_bytes()
    charge(other, "bob", "key")  # shows the same answer
    assert (tmp_path / "ledger.db-wal").read_bytes() != log  # a commit that changes nothing else syncs it
    assert anchor.read_bytes() != before
    log = (tmp_path / "ledger.db-wal").read_bytes()
    charge(other, "bob", "key")  # now it is known to be durable
    assert (tmp_path / "ledger.db-wal").read_bytes() == log


def test_what_an_anchor_is_told_when_a_store_is_opened_is_synced_first(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    one, _ = opened(path), opened(path, anchor)
    charge(one, "ann")  # who dies before that is durable
    log, before = (tmp_path / "ledger.db-wal").read_bytes(), anchor.read_bytes()
    opened(path, anchor)
    assert anchor.read_bytes() != before
    assert (tmp_path / "ledger.db-wal").read_bytes() != log


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_waits_for_the_end_of_a_commit(tmp_path: Path) -> None:
    accountant = opened(tmp_path / "ledger.db")
    inside, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with accountant.ledger.working(()):  # type: ignore[attr-defined]
            inside.set()
            time.sleep(0.3)
            ended.set()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if not child:
        os._exit(0 if ended.is_set() else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    charge(accountant, "ann")


def test_a_file_is_known_by_its_birth_and_not_by_its_device(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"x")
    made = location_of(path)
    if "born" not in made:
        pytest.skip("no time of birth is known here")
    assert same_location(made, {**made, "device": made["device"] + 1})  # mounted again
    shutil.copy2(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    assert not same_location(made, location_of(path))
    assert not same_location(made, {**made, "born": "0"})


def test_without_a_time_of_birth_the_device_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "_born", lambda _: None)
    path = tmp_path / "ledger.db"
    path.write_bytes(b"x")
    made = location_of(path)
    assert "born" not in made
    assert not same_location(made, {**made, "device": made["device"] + 1})
