"""Answers are durable, and in the anchor, before they are shown; forks wait for commits; files are known by birth."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.stores import location
from accountant.stores.folding import fold
from accountant.stores.location import location_of, same_location
from accountant.stores.opening import adopt, forget_anchor, open_store, verify_store
from accountant.stores.sql_store import SQLStore
from accountant.stores.store_refusals import OutcomeUnknown, StoreMoved, StoreRefused
from mechanisms import Interval, Laplace, ParameterError

NOISE = Laplace(scale=1000.0)


def opened(path: Path, anchor: Path | None = None) -> Accountant:
    store = open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor)
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=store)


def charge(accountant: Accountant, record: str, request: str | None = None) -> None:
    accountant.release(NOISE, accountant.private([0.5], Interval(0, 1), record), request=request)


def test_an_answer_that_another_process_kept_is_synced_before_it_is_shown(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    one, other = opened(path, anchor), opened(path, anchor)
    one.ledger._anchor = None  # type: ignore[attr-defined]  # it dies before its anchor knows
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
    one, _ = opened(path, anchor), opened(path, anchor)
    one.ledger._anchor = None  # type: ignore[attr-defined]
    charge(one, "ann")  # who dies before that is durable
    log, before = (tmp_path / "ledger.db-wal").read_bytes(), anchor.read_bytes()
    opened(path, anchor)
    assert anchor.read_bytes() != before
    assert (tmp_path / "ledger.db-wal").read_bytes() != log


def test_a_store_that_was_anchored_is_spent_from_with_its_anchor_only(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    before = opened(path)
    charge(before, "ann")
    charge(opened(path, anchor), "ann")
    with pytest.raises(StoreMoved, match=r"was adopted or anchored.* since this process opened it"):
        charge(before, "ann")
    for missing, words in ((None, "that was not given"), (tmp_path / "other", "there is none at")):
        for open_it in (opened, lambda path, anchor: adopt(path, "why", anchor)):
            with pytest.raises(StoreRefused, match=f"with its anchor only, and {words}"):
                open_it(path, missing)
    assert not (tmp_path / "other").exists()
    with pytest.raises(StoreRefused, match="--anchor none"):
        Accountant(Budget(1.0), store=path)
    verify_store(path)  # to read it takes none
    after = opened(path, anchor)
    fold(after.ledger, 2**52, "ann", "room")  # type: ignore[arg-type]
    with pytest.raises(StoreRefused, match="with its anchor only"):
        opened(path)
    anchor.unlink()
    forget_anchor(path, "ann", "its disk is broken")
    with pytest.raises(StoreMoved):
        charge(after, "ann")
    again = opened(path)
    charge(again, "ann")
    assert verify_store(path).replay.epoch == 2
    with pytest.raises(ValueError, match="has no anchor"):
        forget_anchor(path, "ann", "twice")
    charge(opened(path, anchor), "ann")


def test_an_anchor_that_is_gone_or_cannot_be_written_is_noticed_by_the_next_charge_and_the_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    accountant = opened(path, anchor)
    store: Any = accountant.ledger
    store.check()

    def full(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("accountant.stores.anchor.whole_file", full)
        for act in (store.check, lambda: charge(accountant, "bob"), lambda: opened(path, anchor)):
            with pytest.raises(OutcomeUnknown, match=r"the anchor could not be written .no space"):
                act()
    assert accountant.spent("bob").epsilon > 0  # in the store, and nothing was drawn for it
    assert opened(path, anchor).spent("bob").epsilon > 0
    anchor.unlink()
    for act in (store.check, lambda: charge(accountant, "ann")):
        with pytest.raises(StoreMoved, match=r"its anchor .* is gone"):
            act()
    assert not anchor.exists()


def test_who_anchors_a_store_at_once_with_others_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    opened(path)
    insist = SQLStore.insist_on_anchor

    def later(store: SQLStore, *said: Any) -> Any:
        monkeypatch.setattr(SQLStore, "insist_on_anchor", insist)
        opened(path, anchor)  # another process is faster
        return insist(store, *said)

    monkeypatch.setattr(SQLStore, "insist_on_anchor", later)
    charge(opened(path, anchor), "ann")
    assert verify_store(path, anchor).replay.epoch == 1


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
    monkeypatch.setattr(location, "_birth_time", lambda _: None)
    path = tmp_path / "ledger.db"
    path.write_bytes(b"x")
    made = location_of(path)
    assert "born" not in made
    assert not same_location(made, {**made, "device": made["device"] + 1})


@pytest.mark.parametrize("name", ["", "none/anchor"])
def test_an_anchor_that_can_be_no_file_is_refused_before_a_store_is_made(tmp_path: Path, name: str) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / name
    with pytest.raises(ParameterError, match=r"anchor = '.*': must be a file in a folder that exists"):
        opened(path, anchor)
    assert not path.exists()
    opened(path)
    with pytest.raises(ParameterError, match="must be a file in a folder that exists"):
        adopt(path, "a test", anchor)
    with pytest.raises(ParameterError, match="must be a file in a folder that exists"):
        verify_store(path, anchor)


def test_nothing_is_verified_against_an_anchor_that_is_not_there(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    opened(path, anchor)
    verify_store(path, anchor)
    with pytest.raises(ParameterError, match="must be the file of an anchor, and there is none"):
        verify_store(path, tmp_path / "achnor")
