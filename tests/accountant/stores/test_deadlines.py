"""Deadlines of reservations in stores: whatever clocks, copies and tables say, what may be drawn stays charged."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Rule
from accountant.ledger.events import Settlement
from accountant.ledger.quote import Reservation
from accountant.rules import clock
from accountant.rules.clock import DAY, ClockAhead
from accountant.stores.export import export_store
from accountant.stores.folding import fold
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.store_refusals import LedgerDamaged
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
FIRST = 20_000 * DAY
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [FIRST]
    monkeypatch.setattr(clock, "wall", lambda: now[0])
    monkeypatch.setattr(clock, "running", lambda: now[0])
    return now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def opened(path: Path | str, **terms: Any) -> Accountant:
    return Accountant(Budget(terms.pop("epsilon", 1.0)), noise=np.random.default_rng(0), store=path, **terms)


def reserve(
    accountant: Accountant, record: str = "ann", seconds: float | None = 3_600, **key: Any
) -> Reservation:
    value = accountant.private([0.5], UNIT, record)
    return accountant.reserve(accountant.price(HALF, value), seconds=seconds, **key)


def release(accountant: Accountant, record: str = "ann", **key: Any) -> None:
    accountant.release(HALF, accountant.private([0.5], UNIT, record), **key)


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


def test_whoever_charges_next_gives_back_what_has_ended(path: Path, now: list[int]) -> None:
    accountant = opened(path)
    reserved = reserve(accountant)
    now[0] += HOUR
    assert accountant.spent("ann").epsilon == 0
    assert verify_store(path).reserved == (reserved.position,)  # nothing is written by who reads
    release(accountant, "bob")
    found = verify_store(path)
    assert found.reserved == ()
    assert [entry.records for entry in accountant.ledger.entries] == [("bob",)]


def test_many_end_in_the_turns_of_those_who_come(path: Path, now: list[int]) -> None:
    accountant = opened(path)
    for record in range(1_050):
        reserve(accountant, f"{record}", seconds=1 + record % 7)
    now[0] += HOUR
    for left in (50, 0):
        release(accountant, "bob")
        assert len(verify_store(path).reserved) == left


def test_a_clock_that_rules_do_not_believe_ends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accountant = opened(path, rules=[Rule(Budget(1.0), days=30)])
    reserved = reserve(accountant)
    monkeypatch.setattr(clock, "wall", lambda: FIRST + 40 * DAY)  # and no running clock has seen it
    assert accountant.spent("ann").epsilon == Fraction(1, 2)
    for charge in (reserved.release, lambda: release(accountant)):
        with pytest.raises(ClockAhead):
            charge()
    assert verify_store(path).reserved == (reserved.position,)
    accountant.ledger.confirm_clock("ann", "it was off")  # type: ignore[attr-defined]
    assert accountant.left_by_rule("ann").popitem()[1].epsilon == 1
    release(accountant)
    release(accountant)
    assert verify_store(path).reserved == ()


def test_a_draw_behind_a_deadline_does_not_verify(path: Path) -> None:
    accountant = opened(path)
    reserved = reserve(accountant)
    with accountant.ledger.working(()) as work:  # type: ignore[attr-defined]
        work.happen(Settlement(reserved.position, False, FIRST + HOUR))
    with pytest.raises(
        LedgerDamaged, match=f"settles entry {reserved.position}, which is no open reservation"
    ):
        verify_store(path)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE reservation SET until = until - 3600000", "does not have its deadline"),
        ("UPDATE reservation SET until = NULL", None),
        ("UPDATE reservation SET state = 'returned'", None),
    ],
)
def test_a_deadline_in_the_table_that_is_not_the_entry_s(
    path: Path, now: list[int], sql: str, words: str | None
) -> None:
    accountant = opened(path)
    reserve(accountant)
    change(path, sql)
    now[0] += HOUR // 2
    with pytest.raises(LedgerDamaged, match="the table `reservation` does not fit"):
        verify_store(path)
    if words is not None:
        with pytest.raises(LedgerDamaged, match=words):
            release(accountant, "bob")


def test_what_is_open_in_a_copy_that_goes_on_stays_charged(
    tmp_path: Path, path: Path, now: list[int]
) -> None:
    """Whether it was drawn in what is missing is not known: by hand it can be given back."""
    accountant = opened(path)
    lost = reserve(accountant)
    shutil.copy(path, tmp_path / "copy.db")
    shutil.copy(f"{path}-wal", tmp_path / "copy.db-wal")
    lost.release()
    adopt(tmp_path / "copy.db", "the disk is broken")
    other = opened(tmp_path / "copy.db")
    kept = reserve(other, "bob")
    now[0] += HOUR
    release(other, "cid")
    assert verify_store(tmp_path / "copy.db").reserved == (lost.position,)
    assert kept.position != lost.position
    assert other.spent("ann").epsilon == Fraction(1, 2)
    with pytest.raises(ValueError, match="was to be drawn before"):
        other.ledger.draw(lost.position)
    other.ledger.give_back(lost.position)  # type: ignore[attr-defined]
    assert other.spent("ann").epsilon == 0
    fold(other.ledger, now[0] + 1, "ann", "room")  # type: ignore[arg-type]
    assert verify_store(tmp_path / "copy.db").reserved == ()


def test_deadlines_outlast_a_fold_and_stand_in_exports(tmp_path: Path, path: Path, now: list[int]) -> None:
    accountant = opened(path, epsilon=2.0)
    reserve(accountant, "ann")
    reserve(accountant, "bob", request="monday")
    reserve(accountant, "cid", seconds=None)
    fold(accountant.ledger, FIRST + 1, "ann", "room")  # type: ignore[arg-type]
    assert len(verify_store(path).reserved) == 3
    export_store(path, tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").read_text().count('"until":') == 2
    release(accountant, "bob", request="monday")
    now[0] += HOUR
    release(accountant, "dan")
    spent = {name: accountant.spent(name).epsilon for name in ("ann", "bob", "cid")}
    assert spent == {"ann": 0, "bob": Fraction(1, 2), "cid": Fraction(1, 2)}
    assert len(verify_store(path).reserved) == 1


@pytest.mark.slow
def test_deadlines_in_postgresql_are_by_the_server_s_clock(url: str, now: list[int]) -> None:
    accountant = opened(url)
    reserved = reserve(accountant, seconds=0.3)
    forever = reserve(accountant, "bob", seconds=1e6)
    assert forever.until is not None
    now[0] += 1_000 * HOUR
    assert accountant.spent("bob").epsilon == Fraction(1, 2)
    while accountant.spent("ann").epsilon:
        pass
    release(accountant)
    with pytest.raises(ValueError, match="is given back"):
        reserved.release()
    assert verify_store(url).reserved == (forever.position,)
    with closing(open_store(url)) as store:
        assert [each.until for each in store.reservations().values()] == [forever.until.isoformat()]
    accountant.ledger.close()  # type: ignore[attr-defined]
