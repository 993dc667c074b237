"""Records are renamed in a store, and nobody's spent amount falls."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, BudgetExceeded, Rule
from accountant.pseudonym import Pseudonym
from accountant.rules import clock
from accountant.stores.anchor import Anchor
from accountant.stores.database import Database
from accountant.stores.export import export_store, read_export
from accountant.stores.folding import NothingToFold, fold
from accountant.stores.imports import import_ledger
from accountant.stores.names import NameKey, add_key
from accountant.stores.opening import begin_store, open_store, spent_in, verify_store
from accountant.stores.renaming import erase, rotate
from accountant.stores.sql_store import SQLStore
from accountant.stores.store_refusals import KeyRefused, StoreMoved
from mechanisms import Interval, Laplace, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
EIGHTH = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1))
NAME = "ann-of-the-mill"


def opened(path: Path, names: Path | None = None, **options: Any) -> Accountant:
    return Accountant(Budget(2.0), noise=np.random.default_rng(0), store=path, names=names, **options)


def charge(accountant: Accountant, record: Any, request: str | None = None, noise: Laplace = HALF) -> Any:
    return accountant.release(noise, accountant.private([0.5], Interval(0, 1), record), request=request)


def ledger(accountant: Accountant) -> SQLStore:
    assert isinstance(accountant.ledger, SQLStore)
    return accountant.ledger


def turn(path: Path, key: Path, *, add: bool = True) -> int:
    """Add a key to a file, and rotate a store."""
    if add:
        add_key(key, rotate=key.exists())
    store = open_store(path)
    try:
        return rotate(store, NameKey.from_source(key), "ann", "a key leaked")
    finally:
        store.close()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "names.key"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def files(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.iterdir() if each.name.startswith(path.name))


def test_names_become_hashes_and_hashes_become_others(path: Path, key: Path) -> None:
    accountant = opened(path)
    for record in (NAME, "bob", 17):
        charge(accountant, record)
    assert NAME.encode() in files(path)
    assert turn(path, key) == 3
    assert NAME.encode() not in files(
        path
    )  # neither in the tables, nor in pages that are free, nor in the log
    first = next(opened(path, key).ledger.records())
    assert turn(path, key) == 3
    assert str(first).encode().split(b":")[1] not in files(path)
    found = verify_store(path)
    assert found.head.epoch == 2
    assert found.replay.names == NameKey.from_source(key).check
    again = opened(path, key)
    assert {name: again.spent(name).epsilon for name in (NAME, "bob", 17, "17b")} == {
        NAME: Fraction(1, 2),
        "bob": Fraction(1, 2),
        17: Fraction(1, 2),
        "17b": 0,
    }
    for _ in range(3):
        charge(again, NAME)
    with pytest.raises(BudgetExceeded):
        charge(again, NAME)


def test_who_has_the_store_open_is_refused_and_opens_it_again(path: Path, key: Path) -> None:
    """Else names would be looked up under the old key, and everybody would be new."""
    add_key(key)
    accountant = opened(path, key)
    for _ in range(4):
        charge(accountant, "ann")
    turn(path, key)
    asked = [
        lambda: charge(accountant, "ann"),
        lambda: accountant.spent("ann"),
        lambda: accountant.left_by_rule("ann"),
        lambda: (
            accountant.price(HALF, accountant.private([0.5], Interval(0, 1), "ann"))
            and accountant.remaining_spend("ann")
        ),
    ]
    for ask in asked:
        with pytest.raises(StoreMoved, match=r"its key of names changed, since .*: open it again"):
            ask()
    with pytest.raises(BudgetExceeded):
        charge(opened(path, key), "ann")


def test_a_rotation_without_a_new_key_or_with_others_changes_nothing(
    path: Path, key: Path, tmp_path: Path
) -> None:
    add_key(key)
    closed = ledger(opened(path, key))
    closed.close()
    head = verify_store(path).head
    with pytest.raises(ValueError, match="none of these keys is new"):
        turn(path, key, add=False)
    with pytest.raises(KeyRefused, match="do not begin with those"):
        turn(path, tmp_path / "other.key")
    store = open_store(path)
    add_key(key, rotate=True)
    with pytest.raises(ValueError, match="by = '': must not be empty"):
        rotate(store, NameKey.from_source(key), "", "why")
    with pytest.raises(ValueError, match="reason = ' ': must not be empty"):
        rotate(store, NameKey.from_source(key), "ann", " ")
    assert verify_store(path).head == head
    charge(opened(path, key), "ann")  # a file that is a key ahead of the store fits, too


def test_an_erased_name_leads_to_nobody_and_what_was_spent_stays(path: Path, key: Path) -> None:
    for names in (None, key):
        if names is not None:
            path = path.with_name("keyed.db")
            add_key(key)
        accountant = opened(path, names)
        charge(accountant, NAME, "a request")
        charge(accountant, "bob")
        reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], Interval(0, 1), NAME)))
        before = dict(ledger(accountant).most_spent(9))
        label = str(ledger(accountant).names.display_name(NAME)).split(":")[-1].encode()
        salt = _salt(path)
        shown = erase(ledger(accountant), NAME, "the operator", "asked for by letter 12")
        assert shown.startswith("erased:")
        written = files(path)
        assert label not in written
        assert salt not in written
        found = dict(ledger(accountant).most_spent(9))
        assert sorted(map(repr, found.values())) == sorted(map(repr, before.values()))
        assert found[shown].epsilon == 1
        reserved.release()  # what is open goes on
        assert [entry.records for entry in ledger(accountant).charges(shown)] == [(shown,), (shown,)]
        assert verify_store(path).replay.erasures[0]["by"] == "the operator"
        assert spent_in(path, [shown])[1][shown].spent.epsilon == 1
        assert accountant.spent(NAME).epsilon == 0  # who comes back begins anew
        with pytest.raises(ValueError, match="'a request'"):
            charge(accountant, NAME, "a request")  # but not as who they were
        for _ in range(4):
            charge(accountant, NAME)
        with pytest.raises(BudgetExceeded):
            charge(accountant, NAME)
        second = erase(ledger(accountant), NAME, "the operator", "again")
        assert second != shown
        assert len(verify_store(path).replay.erasures) == 2
        ledger(accountant).close()


def _salt(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection, connection:
        found = connection.execute("SELECT salt FROM account WHERE number = 1").fetchone()[0]
    return bytes(found)


def test_what_cannot_be_erased_is_said(path: Path, key: Path, tmp_path: Path) -> None:
    add_key(key)
    accountant = opened(path, key, rules=[Rule(Budget(3.0), groups=[("ann", "bob")])])
    charge(accountant, "carl")
    head = verify_store(path).head
    store = ledger(accountant)
    with pytest.raises(ValueError, match="record = 'dora': has no account"):
        erase(store, "dora", "ann", "why")
    with pytest.raises(ValueError, match="record = 'bob': is in a group of a rule"):
        erase(store, "bob", "ann", "why")
    with pytest.raises(ValueError, match="by = '': must not be empty"):
        erase(store, "carl", "", "why")
    without = open_store(path)
    with pytest.raises(KeyRefused, match="key was not given"):
        erase(without, "carl", "ann", "why")
    assert verify_store(path).head == head
    erase(without, next(name for name in without.records() if without.spent(name).epsilon), "ann", "why")
    assert accountant.spent("carl").epsilon == 0


def test_a_run_keeps_its_names(path: Path, key: Path) -> None:
    add_key(key)
    store = begin_store(Database.from_location(path), Accountant(Budget(2.0)).terms(), holder="somebody")
    with pytest.raises(ValueError, match="is the ledger of a run"):
        rotate(store, NameKey.from_source(key), "ann", "why")
    with pytest.raises(ValueError, match="is the ledger of a run"):
        erase(store, "ann", "ann", "why")
    store.close()


def test_an_anchor_follows(path: Path, key: Path) -> None:
    anchor = path.with_name("anchor")
    open_store(path, opened(path.with_name("other.db")).terms(), anchor=anchor).close()
    accountant = Accountant(
        Budget(2.0), noise=np.random.default_rng(0), store=open_store(path, anchor=anchor)
    )
    charge(accountant, "ann")
    charge(accountant, "bob")
    erase(ledger(accountant), "bob", "ann", "why")
    old = files(path)
    ledger(accountant).close()
    old = path.read_bytes()
    store = open_store(path, anchor=anchor)
    add_key(key)
    rotate(store, NameKey.from_source(key), "ann", "why")
    store.close()
    mark = Anchor(anchor).read_mark()
    assert mark is not None
    assert (mark.epoch, mark.hash) == (2, verify_store(path, anchor).head.hash)
    path.write_bytes(old)
    with pytest.raises(StoreMoved):
        open_store(path, anchor=anchor)


STEPS = st.lists(
    st.sampled_from(["charge", "charge", "reserve", "cancel", "rotate", "erase", "fold", "import"]).flatmap(
        lambda what: st.tuples(st.just(what), st.sampled_from(["ann", 7, "7th"]))
    ),
    min_size=3,
    max_size=9,
)


@settings(max_examples=5)
@given(STEPS)
def test_whatever_happens_in_whatever_order_spending_stays(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    check_steps(tmp_path_factory.mktemp("steps"), steps)


@pytest.mark.slow
@settings(max_examples=200)
@given(STEPS)
def test_whatever_happens_in_whatever_order_spending_stays_200_times(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    check_steps(tmp_path_factory.mktemp("steps"), steps)


def check_steps(folder: Path, steps: list[tuple[str, Any]]) -> None:
    """Do some steps, and compare what a store says with sums that were kept beside it."""
    path, key = folder / "ledger.db", folder / "names.key"
    known: Counter[Any] = Counter()
    forgotten: list[Fraction] = []
    held: list[tuple[int, Any]] = []
    names: Path | None = None
    ledger(opened(path)).close()
    for i, (what, record) in enumerate(steps):
        store = open_store(path, names=names)
        accountant = Accountant(Budget(2.0), noise=np.random.default_rng(0), store=store)
        if what == "charge":
            charge(accountant, record, f"request {i}" if i % 2 else None, EIGHTH)
            known[record] += Fraction(1, 8)
        elif what == "reserve":
            quote = accountant.price(EIGHTH, accountant.private([0.5], Interval(0, 1), record))
            held.append((accountant.reserve(quote).position, record))
            known[record] += Fraction(1, 8)
        elif what == "cancel" and held:
            position, record = held.pop()
            store.give_back(position)
            known[record] -= Fraction(1, 8)
        elif what == "rotate":
            names = key
            turn(path, key)
        elif what == "erase" and record in known and not any(each == record for _, each in held):
            erase(store, record, "ann", "why")
            forgotten.append(known.pop(record))
        elif what == "fold":
            with suppress(NothingToFold):
                fold(store, clock.wall() + 1, "ann", "why")
        elif what == "import":
            export_store(path, folder / f"{i}.json")
            read_export(folder / f"{i}.json")
            import_ledger(folder / f"{i}.json", folder / f"{i}.db", "ann", "moved").close()
            path = folder / f"{i}.db"
            held.clear()
        store.close()
    verify_store(path)
    store = open_store(path, names=names)
    assert {each: store.spent(each).epsilon for each in known} == dict(known)
    gone = [store.spent(each).epsilon for each in store.records() if str(each).startswith("erased:")]
    assert sorted(gone) == sorted(forgotten)
    assert all(isinstance(each, Pseudonym) for each in store.records()) or names is None or not known
    store.close()
