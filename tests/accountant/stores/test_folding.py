"""A fold removes old entries and lowers nobody's spent amount."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, PurposeRefused, Rule, spending_on
from accountant.rules import clock
from accountant.rules.clock import DAY
from accountant.stores.export import export_store, read_export
from accountant.stores.folding import Folded, fold
from accountant.stores.imports import import_ledger, read_ledger
from accountant.stores.opening import open_store, spent_in, stored_content, verify_store
from accountant.stores.replayed_entries import ReplayedEntries
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
QUARTER = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1))
RECORDS = ("ann", "bob", 7, "7th")
FIRST = 20_000 * DAY


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [FIRST]
    monkeypatch.setattr(clock, "wall", lambda: now[0])
    monkeypatch.setattr(clock, "running", lambda: now[0])
    return now


def account(path: Any, **settings: Any) -> Accountant:
    return Accountant(Budget(5.0), noise=np.random.default_rng(0), store=path, **settings)


def charge(accountant: Accountant, record: Any, noise: Laplace = HALF, request: str | None = None) -> Any:
    return accountant.release(noise, accountant.private([0.5], UNIT, record), request=request)


def folded(path: Path, before: int, **settings: Any) -> Folded:
    store = open_store(path)
    try:
        return fold(store, before, "ann", "room", **settings)
    finally:
        store.close()


def spent(path: Path) -> dict[Any, Any]:
    return {record: found.spent for record, found in spent_in(path, RECORDS)[1].items()}


def positions(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection, connection:
        found = [row[0] for row in connection.execute("SELECT position FROM entry ORDER BY position")]
    return found


@pytest.fixture
def old(tmp_path: Path, now: list[int]) -> Path:
    """Return a store of charges of two days, with requests and reservations of the first."""
    path = tmp_path / "ledger.db"
    accountant = account(path)
    for record in RECORDS:
        charge(accountant, record)
        charge(accountant, record, QUARTER)
    charge(accountant, "ann", QUARTER, "asked")
    for settle in ("release", "cancel", ""):
        reserved = accountant.reserve(accountant.price(QUARTER, accountant.private([0.5], UNIT, "bob")))
        if settle:
            getattr(reserved, settle)()
    now[0] += 3 * DAY
    charge(accountant, "ann")
    accountant.ledger.close()  # type: ignore[attr-defined]
    return path


def test_old_entries_are_gone_and_nobody_has_spent_less(old: Path) -> None:
    before, head, entries = spent(old), verify_store(old).head, positions(old)
    found = folded(old, FIRST + 1)
    assert found.after == len(entries) - 1
    assert (
        found.removed == 12
    )  # all charges but the request and the open reservation; what settled the other two
    assert len(positions(old)) < len(entries)
    assert spent(old) == before
    verified = verify_store(old)
    assert verified.accounts == len(RECORDS)
    assert len(verified.reserved) == 1
    assert "entries that were folded" in verified.trusted
    assert verified.replay.folds[0]["by"] == "ann"
    assert verified.head.position > head.position
    accountant = account(old)
    for _ in range(8):
        charge(accountant, 7)
    with pytest.raises(BudgetExceeded):
        charge(accountant, 7)
    assert accountant.spent(7).epsilon == Fraction(
        19, 4
    )  # 3/4 before, and eight halves: the ninth had no room


def test_sums_stand_for_what_was_folded(old: Path, tmp_path: Path) -> None:
    folded(old, FIRST + 1)
    content = stored_content(old)
    totals = dict.fromkeys(RECORDS, content.terms.composition.zero_spend)
    for entry in content.entries:
        for record in entry.records:
            totals[record] += entry.charge
    assert totals == spent(old)
    assert read_ledger(old).entries == content.entries
    store = open_store(old)
    assert {record: sum(e.charge.epsilon for e in store.charges(record)) for record in RECORDS} == {
        record: total.epsilon for record, total in totals.items()
    }
    store.close()


def test_requests_and_reservations_go_on(old: Path) -> None:
    accountant, other = account(old), account(old)
    kept = charge(accountant, "ann", QUARTER, "asked")
    before = spent(old)
    fold(accountant.ledger, FIRST + 1, "ann", "room")  # type: ignore[arg-type]
    assert np.array_equal(charge(accountant, "ann", QUARTER, "asked"), kept)
    with pytest.raises(ValueError, match="used for another release"):
        charge(other, "ann", HALF, "asked")
    (reserved,) = verify_store(old).reserved
    other.ledger.give_back(reserved)
    assert before.pop("bob").epsilon - Fraction(1, 4) == other.spent("bob").epsilon
    assert {record: other.ledger.spent(record) for record in before} == before
    charge(other, "bob")  # it knows where kinds stand
    verify_store(old)
    assert len(other.ledger.charges("bob")) == 2  # the sum, this, and nothing that was given back


def test_requests_are_forgotten_only_if_that_is_asked_for(old: Path) -> None:
    before = spent(old)["ann"].epsilon
    folded(old, FIRST + 1, forget_requests=True)
    accountant = account(old)
    assert accountant.ledger.find_request("asked") is None  # type: ignore[attr-defined]
    charge(accountant, "ann", QUARTER, "asked")
    assert accountant.spent("ann").epsilon == before + Fraction(1, 4)
    verify_store(old)


def test_rules_that_are_made_later_count_what_was_folded(tmp_path: Path, now: list[int]) -> None:
    path = tmp_path / "ledger.db"
    accountant = account(path)
    with spending_on("ads"):
        charge(accountant, "ann")
        charge(accountant, "ann")
    charge(accountant, "ann")
    now[0] += DAY
    fold(accountant.ledger, now[0], "ann", "room")  # type: ignore[arg-type]
    rules = [Rule(Budget(1.0), purpose="ads", days=5), Rule(Budget(1.75), groups=[("ann", "bob")])]
    accountant.ledger.change_rules(rules, "ann", "from now on")  # type: ignore[attr-defined]
    with spending_on("ads"), pytest.raises(BudgetExceeded, match="'ads'"):
        charge(accountant, "ann", QUARTER)
    with spending_on("ads"), pytest.raises(BudgetExceeded, match="group's limit"):
        charge(accountant, "bob")
    with pytest.raises(PurposeRefused):
        charge(accountant, "ann")
    now[0] += DAY
    fold(accountant.ledger, now[0], "ann", "room")  # type: ignore[arg-type]  # rules, and what they count, are kept
    verify_store(path)
    with spending_on("ads"), pytest.raises(BudgetExceeded, match="'ads'"):
        charge(accountant, "ann", QUARTER)
    accountant.ledger.change_rules([], "ann", "none")  # type: ignore[attr-defined]
    charge(accountant, "ann")
    assert len(verify_store(path).replay.folds) == 2


def test_what_no_number_covers_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), store=path)
    accountant.declassify(accountant.private([0.5], UNIT, "ann"), "to show that")
    reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "ann")))
    fold(accountant.ledger, FIRST + 1, "ann", "room")  # type: ignore[arg-type]
    reserved.cancel()
    assert accountant.spent("ann").epsilon is None
    verify_store(path)


def test_an_export_of_a_folded_store_is_verified_and_imported(old: Path, tmp_path: Path) -> None:
    folded(old, FIRST + 1)
    before, file = spent(old), tmp_path / "ledger.json"
    export_store(old, file)
    replay, names, _ = read_export(file)
    assert {
        name: replay.units.amount(replay.account(number).spent) for number, name in names.items()
    } == before
    assert replay.hash.hex() == verify_store(old).head.hash
    text = json.loads(file.read_text())
    for change in ("left", "entries"):
        damaged = tmp_path / f"{change}.json"
        damaged.write_text(json.dumps({**text, change: text[change][:-1]}))
        if change == "left":
            with pytest.raises(LedgerDamaged, match="the entries that it left are not there"):
                read_export(damaged)
    damaged.write_text(json.dumps({**text, "entries": text["entries"][:1]}))
    with pytest.raises(LedgerDamaged, match="the fold of the entries"):
        read_export(damaged)
    import_ledger(file, tmp_path / "new.db", "ann", "moved").close()
    assert spent(tmp_path / "new.db") == before


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DELETE FROM entry WHERE position = 1", "left are not there|it is missing"),
        ("UPDATE entry SET body = replace(body, '1/2', '1/3') WHERE position = 3", "left are not there"),
        (
            "UPDATE entry SET body = replace(body, '3/4', '1/4') WHERE body LIKE '{\"folded\":{\"paid%'",
            "its hash",
        ),
        ('DELETE FROM entry WHERE body LIKE \'{"folded":{"opened%\'', "it is missing|entry"),
    ],
)
def test_a_damaged_fold_is_named(old: Path, sql: str, words: str) -> None:
    folded(old, FIRST + 1)
    with closing(sqlite3.connect(old)) as connection, connection:
        assert connection.execute(sql).rowcount == 1
    with pytest.raises(LedgerDamaged, match=words):
        verify_store(old)


def test_an_anchor_goes_along(old: Path, tmp_path: Path) -> None:
    store = open_store(old, anchor=tmp_path / "anchor")
    fold(store, FIRST + 1, "ann", "room")
    store.close()
    verify_store(old, tmp_path / "anchor")
    text = (tmp_path / "anchor").read_bytes()
    store = open_store(old, anchor=tmp_path / "anchor")
    charge(account(store), "ann")
    fold(store, FIRST + 5 * DAY, "ann", "room")
    (tmp_path / "anchor").write_bytes(text)
    with pytest.raises(StoreMoved, match="which its anchor names, was folded since"):
        open_store(old, anchor=tmp_path / "anchor")


def test_what_cannot_be_folded(old: Path) -> None:
    for words, arguments in (
        ("by = ' '", (FIRST + 1, " ", "x")),
        ("reason = ''", (FIRST + 1, "x", "")),
        ("so old", (FIRST, "x", "y")),
    ):
        store, before = open_store(old), positions(old)
        with pytest.raises(ValueError, match=words):
            fold(store, *arguments)
        store.close()
        assert positions(old) == before


def test_a_summary_is_told_by_tallies(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it is, before a fold and behind it, and no entry but those of kinds is read."""
    accountant = account(old)
    monkeypatch.setattr(ReplayedEntries, "feed_all", lambda *_: pytest.fail("all entries are read"))
    before = accountant.summary()
    assert {(line.releases, line.records) for line in before.lines} == {(5, 5), (2, 2)}
    assert (before.records, before.worst_record) == (4, "ann")
    monkeypatch.undo()
    folded(old, FIRST + 1)
    after = account(old).summary()
    assert sum(line.records for line in after.lines if "folded" not in line.mechanism) == 3
    assert (after.records, after.worst_cost) == (before.records, before.worst_cost)
    verify_store(old)
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE tally SET records = records + 1 WHERE kind > 0")
    with pytest.raises(LedgerDamaged, match="the table `tally` does not fit"):
        verify_store(old)
