"""An older copy, a row that is gone, a trigger: what was charged is not forgotten, or nothing more is charged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, BasicComposition, Budget, BudgetExceeded, Cost, Entry, Ledger, Place, Rule
from accountant.filters.units import Limit
from accountant.ledger.events import Charge
from accountant.ledger.store import CannotPay
from accountant.stores.database import Database
from accountant.stores.opening import open_store, verify_store
from accountant.stores.schema import OUTCOME
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from mechanisms import Interval, Laplace, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


def opened(path: Path) -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)


def charge(accountant: Accountant, record: str) -> None:
    accountant.release(HALF, accountant.private([0.5], Interval(0, 1), record))


def copied(source: Path, target: Path) -> None:
    """Put what one database holds into another, as a backup does that is put back while it is in use."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_an_older_copy_that_is_put_back_under_an_accountant_is_not_spent_from(
    tmp_path: Path, others: int
) -> None:
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    accountant = opened(path)
    charge(accountant, "ann")
    copied(path, backup)
    charge(accountant, "ann")
    copied(backup, path)
    if others:  # somebody else opens what was put back, and the entries are as many, or more
        with closing(open_store(path)) as store:
            other = Accountant(Budget(1.0), noise=np.random.default_rng(1), store=store)
            for i in range(others):
                charge(other, f"other-{i}")
    for record in ("ann", "bob"):
        with pytest.raises(StoreMoved, match="an older copy was put in its place"):
            charge(accountant, record)
    with pytest.raises(StoreMoved):
        accountant.ledger.check()  # type: ignore[attr-defined]
    verify_store(path)
    charge(opened(path), "bob")


def test_who_writes_beside_others_goes_on(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "ledger.db"), opened(tmp_path / "ledger.db")
    for i in range(4):
        charge(one, f"one-{i}")
        charge(other, f"other-{i}")
        charge(other, f"other-{i}")
    with pytest.raises(BudgetExceeded):
        charge(one, "other-3")
    assert verify_store(tmp_path / "ledger.db").accounts == 8


@pytest.mark.parametrize("name", ["ann", "bob", "cid"])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM account WHERE label = '\"{}\"'",
        "UPDATE account SET label = '\"nobody\"' WHERE label = '\"{}\"'",
    ],
)
def test_nobody_is_new_whose_account_is_gone_or_renamed(tmp_path: Path, name: str, sql: str) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    for record in ("ann", "bob", "cid", "ann"):
        charge(accountant, record)
    accountant.ledger.close()  # type: ignore[attr-defined]
    change(path, sql.format(name))
    accountant = opened(path)
    for ask in (
        lambda: charge(accountant, name),
        lambda: accountant.spent(name),
        lambda: accountant.ledger.standings([name]),
        lambda: charge(accountant, "dan"),
    ):
        with pytest.raises(
            LedgerDamaged, match=r"3 accounts were opened, and 2 are there|is not what was written"
        ):
            ask()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER forgets AFTER UPDATE ON account BEGIN UPDATE account SET spent = old.spent; END",
        "CREATE TRIGGER forgets BEFORE INSERT ON entry BEGIN SELECT RAISE(IGNORE); END",
        "CREATE VIEW other AS SELECT * FROM account",
    ],
)
def test_a_schema_that_is_no_ledgers_is_refused(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    charge(accountant, "ann")
    accountant.ledger.close()  # type: ignore[attr-defined]
    change(path, sql)
    for look in (open_store, verify_store, opened):
        with pytest.raises(
            LedgerDamaged, match=r"there is a (trigger|view) '(forgets|other)', which no ledger has"
        ):
            look(path)


def test_a_charge_that_names_a_record_twice_is_checked_as_one() -> None:
    where, sure = Place("x.py", 1), Sensitivity(1, 1, 1)
    entries = [
        Entry(HALF, sure, Cost(Fraction(3, 5), Fraction(0)), ("ann",), where, ""),
        Entry(HALF, sure, Cost(Fraction(3, 5), Fraction(0)), ("bob", "ann"), where, ""),
    ]
    ledger = Ledger(BasicComposition())
    holds = Limit(ledger.units, Budget(1.0)).holds
    with pytest.raises(CannotPay):
        ledger.do(Charge(entries, holds))
    assert ledger.spent("bob").epsilon == 0
    ledger.do(Charge(entries[:1], holds))


def test_an_account_that_is_put_back_alone_is_noticed(tmp_path: Path) -> None:
    """Each row is whole, and their number is right; their sum is not."""
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    charge(accountant, "ann")
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT spent, digest FROM account").fetchone()
    charge(accountant, "ann")
    charge(accountant, "bob")
    accountant.ledger.close()  # type: ignore[attr-defined]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE account SET spent = ?, digest = ? WHERE number = 1", row)
    accountant = opened(path)
    with pytest.raises(LedgerDamaged, match="an older one was put in its place"):
        charge(accountant, "cid")
    with pytest.raises(LedgerDamaged):
        accountant.ledger.check()  # type: ignore[attr-defined]
    with pytest.raises(LedgerDamaged, match="account 1 has another spent amount than in the entries"):
        verify_store(path)


@pytest.mark.parametrize("open_again", [True, False])
def test_a_request_that_is_put_back_to_before_its_answer_is_not_drawn_again(
    tmp_path: Path, open_again: bool
) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)

    def ask() -> object:
        return accountant.release(HALF, accountant.private([0.5], Interval(0, 1), "ann"), request="k")

    shown = ask()
    assert ask() == shown
    change(path, "UPDATE request SET answered = NULL, answer = NULL")
    if open_again:
        accountant.ledger.close()  # type: ignore[attr-defined]
        accountant = opened(path)
    with pytest.raises(LedgerDamaged, match=r"the outcome of entry 4, which entry 5 has: an older row"):
        ask()
    with pytest.raises(LedgerDamaged, match="`request` does not fit"):
        verify_store(path)
    charge(accountant, "bob")


def test_a_request_that_is_put_back_while_another_draws_gets_no_second_answer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    accountant.release(HALF, accountant.private([0.5], Interval(0, 1), "ann"), request="k")
    change(path, "UPDATE request SET answered = NULL, answer = NULL")
    with pytest.raises(LedgerDamaged, match=r"the outcome of entry 4, which entry 5 has: an older row"):
        accountant.ledger.keep_answer("k", b"another draw")  # type: ignore[attr-defined]


def test_a_request_whose_reservation_is_gone_is_not_drawn_without_its_charge(tmp_path: Path) -> None:
    accountant = opened(tmp_path / "ledger.db")
    private = accountant.private([0.5], Interval(0, 1), "ann")
    accountant.reserve(accountant.price(HALF, private), request="k").cancel()
    change(tmp_path / "ledger.db", "DELETE FROM reservation")
    with pytest.raises(LedgerDamaged, match="an older row was put in its place"):
        accountant.release(HALF, private, request="k")


@pytest.mark.parametrize("ended", ["release", "cancel"])
@pytest.mark.parametrize("seconds", [None, 1e6])
def test_a_reservation_that_is_put_back_to_before_its_end_is_neither_drawn_nor_given_back(
    tmp_path: Path, ended: str, seconds: float | None
) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    quote = accountant.price(HALF, accountant.private([0.5], Interval(0, 1), "ann"))
    reservation = accountant.reserve(quote, seconds=seconds)
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT state, until FROM reservation").fetchone()
    getattr(reservation, ended)()
    spent = accountant.spent("ann")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE reservation SET state = ?, until = ?", row)
    store = accountant.ledger
    for act in (store.draw, store.give_back):  # type: ignore[attr-defined]
        with pytest.raises(LedgerDamaged, match="an older row was put in its place"):
            act(reservation.position)
    assert accountant.spent("ann") == spent
    if seconds is not None:
        change(path, "UPDATE reservation SET until = 1")
        with pytest.raises(LedgerDamaged):  # it has ended, and nobody gives it back
            charge(accountant, "bob")


def test_an_outcome_is_found_by_its_charge_without_a_scan(tmp_path: Path) -> None:
    """A charge's outcomes are read through the index; texts that a user supplies are never read as outcomes."""
    accountant = opened(tmp_path / "ledger.db")
    private = accountant.private([0.5], Interval(0, 1), "ann")
    accountant.release(HALF, private, request='"drawn":1,"returned":1')
    with accountant.reserve(accountant.price(HALF, private), request='{"answered":[1]}') as reservation:
        reservation.release()
    database = Database.from_location(tmp_path / "ledger.db")
    with closing(database), database.reading() as session:
        sql = f"FROM entry WHERE {database.outcome_of} = ? AND {OUTCOME}"
        [plan] = session.rows(f"EXPLAIN QUERY PLAN SELECT body {sql}", 3)
        assert "USING INDEX outcome" in plan[-1]
        found = [session.value(f"SELECT count(*) {sql}", at) for at in range(1, 9)]
    assert sum(found) == 3  # two answers, one draw
    assert found[reservation.position - 1] == 2


def test_rules_that_are_put_back_are_not_spent_under(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    charge(accountant, "ann")
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT rules, clock, drift, witness, digest FROM store").fetchone()
    accountant.ledger.change_rules([Rule(Budget(0.5))], "me", "enough")  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        charge(accountant, "ann")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE store SET rules = ?, clock = ?, drift = ?, witness = ?, digest = ?", row)
    with pytest.raises(LedgerDamaged, match="an older row was put in its place"):
        charge(accountant, "ann")
    with pytest.raises(LedgerDamaged, match="the table `store` does not fit"):
        opened(path)
