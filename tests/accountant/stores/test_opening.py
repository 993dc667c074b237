"""Opening a store: what is checked, however many entries there are, and what is left to its verification."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, GateClosed, Place
from accountant.stores.opening import open_store, verify_store
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved, StoreRefused
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
NOISE = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1))


@pytest.fixture(autouse=True)
def short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accountant.stores.store_verification._TAIL", 3)


def account(path: Any, **settings: Any) -> Accountant:
    return Accountant(Budget(5.0), noise=np.random.default_rng(0), store=path, **settings)


def charge(accountant: Accountant, record: str, noise: Laplace = NOISE) -> None:
    accountant.release(noise, accountant.private([0.5], UNIT, record))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store of an assumption, an account each of ann and bob, and ten charges."""
    path = tmp_path / "ledger.db"
    accountant = account(path)
    accountant.private([0.5], UNIT, "ann").map(lambda values: values * 0.3, stability=0.3)
    for _ in range(5):
        charge(accountant, "ann")
        charge(accountant, "bob")
    accountant.ledger.close()  # type: ignore[attr-defined]
    return path


def change(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql)
    connection.close()


def test_an_old_entry_is_left_to_verification(path: Path) -> None:
    before = account(path)
    assumptions = before.assumptions
    assert len(assumptions) >= 2  # they stand far from the end, and are known all the same
    change(path, "UPDATE entry SET body = replace(body, '\"at\"', '\"AT\"') WHERE position = 7")
    after = account(path)
    assert after.assumptions == assumptions
    assert after.spent("ann") == before.spent("ann")
    charge(after, "ann")
    with pytest.raises(LedgerDamaged, match="entry 7: its hash"):
        verify_store(path)
    with pytest.raises(LedgerDamaged, match="entry 7: its hash"):
        after.ledger.entries  # noqa: B018


LAST = "(SELECT max(position) FROM entry)"
DAMAGE = {
    "the terms": (
        "UPDATE entry SET body = replace(body, 'basic', 'Basic') WHERE position = 1",
        "entry 1: its hash",
    ),
    "an assumption": (
        "UPDATE entry SET body = replace(body, 'stability 0.3', 'stability 0.2') WHERE body LIKE '{\"assumed%'",
        r"entry \d+: its hash",
    ),
    "one of the last": (
        f"UPDATE entry SET body = body || ' ' WHERE position = {LAST} - 1",
        r"entry \d+: its hash",
    ),
    "one of the last is gone": (
        f"DELETE FROM entry WHERE position = {LAST} - 1",
        r"entry \d+: it is missing",
    ),
    "the epoch": ("UPDATE store SET epoch = 3", "`store` does not fit"),
    "the gate": ('UPDATE store SET closed = \'["why", "f", 1]\'', "has another state of the gate"),
    "the row of the store": ("UPDATE store SET digest = x'00'", "`store` is not what was written"),
}


@pytest.mark.parametrize(("sql", "words"), DAMAGE.values(), ids=DAMAGE)
def test_what_spending_rests_on_is_refused_when_it_is_opened(path: Path, sql: str, words: str) -> None:
    change(path, sql)
    with pytest.raises(LedgerDamaged, match=words) as refusal:
        open_store(path)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize(
    "column", ['spent = \'["0","0"]\'', "number = 9", "salt = x'00'", "label = '\"anna\"'"]
)
def test_a_damaged_account_is_refused_when_it_is_read(path: Path, column: str) -> None:
    accountant = account(path)
    charge(accountant, "bob")
    change(path, f"UPDATE account SET {column} WHERE label = '\"ann\"'")
    name = "anna" if "label" in column else "ann"
    for ask in (lambda: accountant.spent(name), lambda: charge(accountant, name)):
        with pytest.raises(LedgerDamaged, match=r"account \d is not what was written"):
            ask()
    charge(accountant, "bob")
    with pytest.raises(LedgerDamaged, match="account"):
        verify_store(path)


def hidden(path: Path, name: str) -> Path:
    """Damage a store's index, so that it hides an account that is there."""
    whole, counted = path.read_bytes(), "SELECT count(*) FROM account {} WHERE label = ?"
    for found in re.finditer(name.encode(), whole):
        path.write_bytes(whole[: found.start()] + b"!" * len(name) + whole[found.end() :])
        connection = sqlite3.connect(path)
        seen = [connection.execute(counted.format(how), (name,)).fetchone()[0] for how in ("", "NOT INDEXED")]
        connection.close()
        if seen == [0, 1]:
            return path
    raise AssertionError("no index names it")


def test_nobody_is_new_whom_a_damaged_index_hides(path: Path) -> None:
    hidden(path, '"ann"')
    accountant = account(path)  # however many accounts there are, opening looks at none
    charge(accountant, "bob")
    for ask in (
        lambda: accountant.spent("ann"),
        lambda: accountant.ledger.standings(["ann"]),
        lambda: charge(accountant, "ann"),
    ):
        with pytest.raises(LedgerDamaged, match="SQLite finds"):
            ask()


def test_a_gate_that_was_shut_long_ago_is_shut(path: Path) -> None:
    first = account(path)
    first.close("it told", Place("learner.py", 3))
    second = account(path)
    with pytest.raises(GateClosed, match="it told"):
        charge(second, "ann")


def test_an_anchor_s_entry_is_compared_however_old_it_is(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor"
    store = open_store(path, anchor=anchor)
    store._anchor = None  # its process dies before it is written
    accountant = account(store)
    for _ in range(9):
        charge(accountant, "bob")
    open_store(path, anchor=anchor).close()  # behind is well
    text = anchor.read_text()
    anchor.write_text(re.sub('"hash": "[0-9a-f]{8}', '"hash": "00000000', text))
    with pytest.raises(StoreMoved, match="is not the one that its anchor"):
        open_store(path, anchor=anchor)


def test_a_kind_is_read_from_the_entry_that_holds_it(path: Path) -> None:
    """The table says where it stands; believed without a look, another kind's charge would be booked."""
    accountant = account(path)
    other = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
    charge(accountant, "ann", other)
    change(path, "UPDATE kind SET position = (SELECT min(position) FROM kind)")
    again = account(path)
    with pytest.raises(LedgerDamaged, match="is not the kind of the table `kind`"):
        charge(again, "ann", other)


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        *(
            (kind, "/")
            for kind in ("nfs4", "cifs", "fuse.sshfs", "ext4", "fuse.fuse-overlayfs", "9p", "virtiofs")
        ),
        *((kind, "/mnt") for kind in ("9p", "virtiofs")),
    ],
)
def test_a_file_system_that_other_machines_may_have_mounted_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, at: str
) -> None:
    """Two machines that write to one file by SQLite's log lose charges in silence."""
    account(path).ledger.close()  # type: ignore[attr-defined]
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 27 0:0 / /proc rw,relatime - nfs proc rw\n"
        f"29 1 {os.major(device)}:{os.minor(device)} / {at} rw shared:1 - {kind} server:/share rw\n"
    )
    monkeypatch.setattr("accountant.stores.location._MOUNTS", mounts)
    verify_store(path)  # a copy may be read
    if kind in ("ext4", "fuse.fuse-overlayfs") or (at == "/" and kind in ("9p", "virtiofs")):
        charge(account(path), "bob")
        return
    for make in (path, tmp_path / "new.db"):
        with pytest.raises(
            StoreRefused, match=rf"file system \({kind}\).*use a local disk, or .* PostgreSQL"
        ):
            account(make)
    assert not (tmp_path / "new.db").exists()


def test_a_system_without_locks_is_refused_with_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accountant.stores.database.HAS_LOCKS", False)
    with pytest.raises(StoreRefused, match=r"gives no locks .* a PostgreSQL database"):
        account(path)
