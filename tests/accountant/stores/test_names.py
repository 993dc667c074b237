"""Stores that hold no names of records, but hashes under a key."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, BudgetExceeded, Rule
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name, nearest_name
from accountant.stores.chain import encode_name
from accountant.stores.export import export_store, read_export
from accountant.stores.imports import import_ledger, read_ledger
from accountant.stores.names import PLAIN, NameKey, Names, add_key, erased_label, pseudonym, record_of_label
from accountant.stores.opening import open_store, spent_in, stored_content, verify_store
from accountant.stores.store_refusals import KeyRefused, OtherTerms
from mechanisms import Interval, Laplace, ParameterError, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
PEOPLE = ("ann-of-the-mill", "bob-of-the-hill", 1234567, "1234567-b")
RECORDS = st.one_of(st.integers(), st.text(max_size=20).map(nearest_name).filter(bool)).map(canonical_name)
KEYS = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=3, unique=True).map(
    lambda keys: NameKey(tuple(keys))
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "names.key"
    add_key(path)
    return path


def opened(path: Path, key: Any, **options: Any) -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path, names=key, **options)


def charge(accountant: Accountant, record: Any, request: str | None = None) -> Any:
    return accountant.release(HALF, accountant.private([0.5], Interval(0, 1), record), request=request)


def closed(accountant: Accountant) -> None:
    accountant.ledger.close()  # type: ignore[attr-defined]


@settings(max_examples=30)
@given(RECORDS, RECORDS, KEYS)
def test_labels_tell_records_apart_and_lead_back_to_what_is_shown(one: Any, other: Any, key: NameKey) -> None:
    for names in (PLAIN, Names(key.check, key)):
        same = type(one) is type(other) and one == other
        assert (names.label_of(one) == names.label_of(other)) == same
        shown = names.display_name(one)
        assert names.label_of(shown) == names.label_of(one)
        assert record_of_label(names.label_of(one)) == shown
    assert PLAIN.display_name(one) == one
    assert isinstance(shown, Pseudonym)
    assert pseudonym(str(shown)) == shown


def test_a_hash_is_the_hmac_of_a_label() -> None:
    """The values are OpenSSL's: ``openssl dgst -sha256 -mac HMAC -macopt hexkey:0001...1f``."""
    key = NameKey((bytes(range(32)),))
    assert record_of_label(key.hashed(encode_name("ann"))) == Pseudonym(
        "hmac-sha256:de4ff533bf15dc10fc446c6ab933bd6100d1fd165cb6cccbd2402cabf57b1d31"
    )
    assert record_of_label(key.hashed(encode_name(17))) == Pseudonym(
        "hmac-sha256:47cdebcdb73f89f2b9deff1a4852aab11ac006bfcc7307cfe76e4b7c47b5571a"
    )


@settings(max_examples=20)
@given(KEYS, st.binary(min_size=32, max_size=32))
def test_a_key_is_told_from_others(key: NameKey, other: bytes) -> None:
    for count in range(1, len(key.keys) + 1):
        older, newer = key.split(NameKey(key.keys[:count]).check)
        assert older is not None
        assert older.keys + (newer.keys if newer else ()) == key.keys
        assert len(older.keys) == count
    assert key.split(None) == (None, key)
    if other not in key.keys:
        with pytest.raises(KeyRefused):
            key.split(NameKey((other,)).check)
        with pytest.raises(KeyRefused):
            key.split(NameKey((*key.keys, other)).check)


def test_a_key_is_never_shown() -> None:
    secret = b"0123456789abcdef0123456789abcdef"
    assert "0123" not in repr(NameKey((secret,)))


def test_labels_of_erased_names_are_never_the_same() -> None:
    assert len({erased_label() for _ in range(100)}) == 100
    assert pseudonym(str(record_of_label(erased_label()))) is not None
    assert pseudonym("erased:ann") is pseudonym("ann") is None


def test_a_key_is_made_once_and_added_to(key: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    first = NameKey.from_source(key)
    with pytest.raises(ValueError, match="exists already"):
        add_key(key)
    add_key(key, rotate=True)
    assert NameKey.from_source(key).keys[:1] == first.keys
    assert len(NameKey.from_source(key).keys) == 2
    assert first.keys[0].hex() not in repr(first)
    with pytest.raises(OSError, match="missing"):
        add_key(tmp_path / "missing.key", rotate=True)


@pytest.mark.parametrize("text", ["", "secret", "0" * 63, "G" * 64, "ä" * 64])
def test_what_is_no_key_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "names.key"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("A_KEY", text)
    for where in (path, "env:A_KEY", "env:NO_KEY"):
        with pytest.raises(ValueError, match=f"names = '{where}': must hold a key of 64 hexadecimal digits"):
            opened(tmp_path / "ledger.db", where)
    path.write_text(f"{'0' * 64}\n{'0' * 64}\n")
    with pytest.raises(ValueError, match="no two of them the same"):
        NameKey.from_source(path)
    assert not (tmp_path / "ledger.db").exists()


def test_no_name_is_in_the_store_and_budgets_hold(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path, key, rules=[Rule(Budget(3.0), groups=[PEOPLE[:2]])])
    assert charge(accountant, PEOPLE[0], "of a request") == charge(accountant, PEOPLE[0], "of a request")
    charge(accountant, PEOPLE[0])
    with pytest.raises(BudgetExceeded, match=repr(PEOPLE[0])):
        charge(accountant, PEOPLE[0])
    for record in PEOPLE[1:]:
        charge(accountant, record)
        reserved = accountant.reserve(
            accountant.price(HALF, accountant.private([0.5], Interval(0, 1), record))
        )
        assert accountant.remaining_spend(record).epsilon == 0
        reserved.cancel()
        assert accountant.remaining_spend(record).epsilon == Fraction(1, 2)
    assert {rule: left.epsilon for rule, left in accountant.left_by_rule(PEOPLE[0]).items()} == {
        accountant.rules[0]: Fraction(3, 2)
    }
    assert len(accountant.ledger.charges(PEOPLE[0])) == 2
    worst, _ = accountant.worst()
    assert worst == Names.for_store(
        "", NameKey.from_source(key).check, NameKey.from_source(key)
    ).display_name(PEOPLE[0])
    assert accountant.summary().records == len(PEOPLE)
    accountant.export(tmp_path / "ledger.json")
    written = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.name.startswith("ledger"))
    closed(accountant)
    written += path.read_bytes()
    assert b"of-the-mill" not in written
    assert b"1234567" not in written
    assert b"of a request" in written  # keys of requests are as they are
    again = opened(path, NameKey.from_source(key), rules=[Rule(Budget(3.0), groups=[PEOPLE[:2]])])
    assert again.remaining_spend(PEOPLE[0]).epsilon == 0
    with pytest.raises(OtherTerms, match="other rules"):
        opened(path, key, rules=[Rule(Budget(3.0), groups=[PEOPLE[1:3]])])


def test_without_its_key_or_with_another_nothing_is_charged(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, plain = tmp_path / "ledger.db", tmp_path / "other.key", tmp_path / "plain.db"
    closed(opened(path, key))
    closed(opened(plain, None))
    add_key(other)
    before = verify_store(path).head
    with pytest.raises(KeyRefused, match=f"{path}: the ledger names records by hashes .* key was not given"):
        opened(path, None)
    with pytest.raises(KeyRefused, match=f"{path}: the key that was given .* is not the one"):
        opened(path, other)
    with pytest.raises(
        KeyRefused, match=f"{plain}: holds names of records as they are, .* --rotate-keys FILE"
    ):
        opened(plain, key)
    with pytest.raises(KeyRefused, match="record 'ann'"):
        spent_in(path, ["ann"])
    store = open_store(path)
    with pytest.raises(KeyRefused, match="key was not given"):
        Accountant(Budget(1.0), store=store)
    with pytest.raises(ValueError, match="the store is open already"):
        Accountant(Budget(1.0), store=store, names=key)
    store.close()
    with pytest.raises(ValueError, match="a ledger in memory holds records by their names"):
        Accountant(Budget(1.0), names=key)
    assert verify_store(path).head == before
    monkeypatch.setenv("A_KEY", key.read_text())
    charge(opened(path, "env:A_KEY"), "ann")
    assert spent_in(path, ["ann"], key)[1]["ann"].spent.epsilon == Fraction(1, 2)


def test_what_takes_no_name_is_done_without_the_key(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path, key)
    charge(accountant, "ann")
    accountant.reserve(accountant.price(HALF, accountant.private([0.5], Interval(0, 1), "bob")))
    store = open_store(path)
    (reserved,) = store.reservations()
    store.give_back(reserved)
    store.close()
    (shown, standing), *_ = spent_in(path, ())[1].items()
    assert isinstance(shown, Pseudonym)
    assert standing.spent.epsilon == Fraction(1, 2)
    assert spent_in(path, [shown])[1] == {shown: standing}
    assert [entry.records for entry in stored_content(path).entries] == [(shown,)]
    assert verify_store(path).accounts == 2


def test_hashes_stay_hashes_in_exports_and_imports(key: Path, tmp_path: Path) -> None:
    path, file = tmp_path / "ledger.db", tmp_path / "ledger.json"
    accountant = opened(path, key, rules=[Rule(Budget(3.0), groups=[("ann", 17)])])
    for record in ("ann", 17, "17b"):
        charge(accountant, record)
    closed(accountant)
    export_store(path, file)
    assert {type(name) for name in read_export(file)[1].values()} == {Pseudonym}
    assert read_ledger(file).entries == read_ledger(path).entries
    other = tmp_path / "other.key"
    add_key(other)
    with pytest.raises(KeyRefused, match="is not the one under which"):
        import_ledger(file, tmp_path / "new.db", "ann", "moved", names=other)
    assert file.exists()
    import_ledger(file, tmp_path / "new.db", "ann", "moved").close()
    with pytest.raises(KeyRefused):
        opened(tmp_path / "new.db", other)
    again = opened(tmp_path / "new.db", key, rules=[Rule(Budget(3.0), groups=[("ann", 17)])])
    for record in ("ann", 17):
        charge(again, record)
        with pytest.raises(BudgetExceeded):
            charge(again, record)


def test_names_are_hashed_by_an_import(key: Path, tmp_path: Path) -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    charge(accountant, PEOPLE[0])
    accountant.export(tmp_path / "ledger.json")
    import_ledger(tmp_path / "ledger.json", tmp_path / "new.db", "ann", "moved", names=key).close()
    assert b"of-the-mill" not in (tmp_path / "new.db").read_bytes()
    assert spent_in(tmp_path / "new.db", PEOPLE[:1], key)[1][PEOPLE[0]].spent.epsilon == Fraction(1, 2)


def test_accounts_whose_hashes_are_swapped_are_found_without_the_key(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path, key)
    for record in ("ann", "bob"):
        charge(accountant, record)
    closed(accountant)
    export_store(path, tmp_path / "ledger.json")
    content = json.loads((tmp_path / "ledger.json").read_text())
    one, other = content["accounts"]
    one[2], other[2] = other[2], one[2]
    (tmp_path / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="account 1 is not of the record that its entries commit it to"):
        read_export(tmp_path / "ledger.json")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE account SET label = replace(label, 'a', 'b')")
    with pytest.raises(ValueError, match="account 1 is not of the record that its entries commit it to"):
        verify_store(path)


def test_who_waits_and_is_in_a_group_is_told_by_the_names_that_were_given(key: Path, tmp_path: Path) -> None:
    rules = [Rule(Budget(3.0), groups=[("ann", "bob", 17)])]
    for where in ({}, {"store": tmp_path / "plain.db"}, {"store": tmp_path / "ledger.db", "names": key}):
        accountant = Accountant(Budget(1.0), rules=rules, **where)  # type: ignore[arg-type]
        waiting = [{"bob": 1, "17b": 1}, {"carl": 1}]
        assert accountant.ledger.group_mates(["ann", "carl"], waiting) == {"bob"}
        assert accountant.ledger.group_mates(["carl"], waiting) == set()


@pytest.mark.parametrize("label", ["null", "true", "1.5", "[1]"])
def test_a_label_is_a_name_or_a_pseudonym(label: str) -> None:
    with pytest.raises(ParameterError, match="is the label of no record"):
        record_of_label(label)
