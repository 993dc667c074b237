"""Nothing in a store or an export can be changed without somebody being told."""

import json
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Cost, Entry, Place, Rule, spending_on
from accountant.rules import clock
from accountant.rules.scope import Scope
from accountant.stores.chain import START, canonical, entry_hash
from accountant.stores.export import export_store, read_export
from accountant.stores.folding import fold
from accountant.stores.imports import import_ledger, read_ledger
from accountant.stores.names import NameKey, add_key, record_of_label
from accountant.stores.naming import erase, rotate
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.store_refusals import LedgerDamaged
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
RECORDS = ("ann", "bob", 7, "7th", "ä")


def spend(accountant: Accountant) -> Accountant:
    for scale in (4.0, 5.0, 6.0):
        for record in RECORDS:
            noise = Laplace(scale=scale, sensitivity=Sensitivity(1, 1, 1))
            accountant.release(noise, accountant.private([0.5], UNIT, record), request=f"{scale}-{record!r}")
    reserved = accountant.price(noise, accountant.private([0.5], UNIT, "ann"))
    accountant.reserve(reserved).release()
    accountant.reserve(reserved).cancel()
    accountant.reserve(reserved)
    return accountant


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "ledger.db"
    accountant = spend(Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path))
    accountant.export(path.with_suffix(".json"))
    accountant.ledger.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture(scope="module")
def with_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("with_rules") / "ledger.db"
    rules = (
        Rule(Budget(1.0), purpose="ads", days=7),
        Rule(Budget(0.96), tenant="shop"),
        Rule(Budget(4.0), groups=(("ann", "bob"),)),
    )
    with spending_on("ads", tenant="shop"):
        accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path, rules=rules)
        spend(accountant)
    accountant.export(path.with_suffix(".json"))
    accountant.ledger.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture(scope="module")
def folded(with_rules: Path) -> Path:
    path = with_rules.with_name("folded.db")
    path.write_bytes(with_rules.read_bytes())
    adopt(path, "a copy to be folded")
    store = open_store(path)
    fold(store, clock.wall() + 1, "ann", "room")
    store.close()
    export_store(path, path.with_suffix(".json"))
    return path


@pytest.fixture(scope="module")
def renamed(with_rules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store whose names were hashed after they were not, and one of which was erased."""
    path = tmp_path_factory.mktemp("renamed") / "ledger.db"
    path.write_bytes(with_rules.read_bytes())
    adopt(path, "a copy to be renamed")
    add_key(key_of(path))
    for again in (False, True):
        store = open_store(path)
        rotate(store, NameKey.from_source(key_of(path)), "ann", "why")
        store.close()
        if not again:
            add_key(key_of(path), rotate=True)
    store = open_store(path, names=key_of(path))
    erase(store, "ä", "ann", "why")
    store.close()
    export_store(path, path.with_suffix(".json"))
    return path


def key_of(path: Path) -> Path:
    return path.with_name("names.key")


def said(path: Path) -> tuple[Any, dict[Any, Any]]:
    """Return what an accountant that opens a store, or reads an export, believes."""
    if path.suffix == ".json":
        replay, names = read_export(path)
    else:
        replay = verify_store(path).replay
        with closing(sqlite3.connect(path)) as connection, connection:
            found = connection.execute("SELECT number, label FROM account NOT INDEXED").fetchall()
        names = {number: record_of_label(label) for number, label in found}
    counted = replay.limits and {name: replay.account(number).counted for number, name in names.items()}
    terms = [replay.terms.to_dict(), replay.limits and replay.limits.rules, counted]
    return terms, {name: replay.units.amount(replay.account(number).spent) for number, name in names.items()}


def said_when_opened(path: Path) -> tuple[Any, dict[Any, Any]]:
    """Return what an accountant believes that opens a store, whose entries are not all verified then."""
    store = open_store(path, names=key_of(path) if key_of(path).exists() else None)
    try:
        spent = {record: store.spent(record) for record in RECORDS}
        with store.refusals(lambda _: False, Scope("ads", "shop")) as refusal:
            assert spent == {record: refusal([asked(record)]).spent for record in RECORDS}  # type: ignore[union-attr]
        rules = [store.rules, store.standings(RECORDS)]
        return [store.terms.to_dict(), store.closed, store.assumptions, rules], spent
    finally:
        store.close()


def asked(record: Any) -> Entry:
    return Entry(None, None, Cost(Fraction(0), Fraction(0)), (record,), Place("f", 1), "")


def silent_changes(path: Path, changes: int, said: Callable[[Path], Any] = said) -> int:
    """Change random bytes, one at a time; return how often that was refused. The rest changed nothing."""
    whole, before, chosen, refused = path.read_bytes(), said(path), random.Random(11), 0
    for _ in range(changes):
        place, bit = chosen.randrange(len(whole)), 1 << chosen.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            assert said(path) == before, f"byte {place}, bit {bit}"
        except (ValueError, OSError):
            refused += 1
        for left in ("-wal", "-shm"):
            Path(f"{path}{left}").unlink(missing_ok=True)
    path.write_bytes(whole)
    return refused


@pytest.mark.parametrize("opens", [open_store, verify_store])
def test_a_store_that_could_not_be_read_is_closed(tmp_path: Path, opens: Callable[[Path], Any]) -> None:
    """It was left open where not even its tables can be told: what is put back could not be opened in this process."""
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)
    spend(accountant)
    accountant.ledger.close()  # type: ignore[attr-defined]
    whole = path.read_bytes()
    at = whole.index(b"version", whole.index(b"CREATE TABLE store"))
    path.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
    with pytest.raises(OSError, match="no such column"):
        opens(path)
    for left in ("-wal", "-shm"):
        Path(f"{path}{left}").unlink(missing_ok=True)
    path.write_bytes(whole)
    open_store(path).close()


def test_a_store_is_closed_while_what_refused_it_is_still_known(stored: Path, tmp_path: Path) -> None:
    """The frames of an exception kept a statement open, and with it the file; since Python 3.12 even after it."""
    path = tmp_path / "ledger.db"
    whole = stored.read_bytes()
    at = whole.index(b"4.0,", whole.index(b'{"kind":'))
    path.write_bytes(whole[:at] + b"5" + whole[at + 1 :])
    with pytest.raises(LedgerDamaged, match="its hash is not that of its text") as refused:
        verify_store(path)
    for left in ("-wal", "-shm"):
        assert not Path(f"{path}{left}").exists()  # whoever closes it last removes them
    assert refused.tb is not None


def find_too_few(page: bytearray) -> None:
    page[4] -= 1  # how many cells there are


def find_one_twice(page: bytearray) -> None:
    page[10:12] = page[8:10]  # where the second cell is, and the first


def find_another(page: bytearray) -> None:
    cell = int.from_bytes(page[10:12], "big")
    assert page[cell : cell + 6] == bytes([5, 3, 1, 1, 3, 3])  # sizes, types, and twice the position
    page[cell + 4 : cell + 6] = bytes([4, 4])  # of a kind of charges


@pytest.mark.parametrize("damage", [find_too_few, find_one_twice, find_another])
def test_an_index_that_finds_other_entries_than_were_written_is_noticed_when_opened(
    with_rules: Path, damage: Callable[[bytearray], None]
) -> None:
    """An assumption was not known then; one changed bit of the index is enough, and no entry is."""
    whole = with_rules.read_bytes()
    with closing(sqlite3.connect(with_rules)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rare'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    page = bytearray(whole[(root - 1) * size : root * size])
    assert page[:1] + page[3:5] == bytes([10, 0, 2])  # a leaf of two: the rules, and the assumption at 3
    damage(page)
    with_rules.write_bytes(whole[: (root - 1) * size] + page + whole[root * size :])
    try:
        with pytest.raises(LedgerDamaged, match=r"the index `rare` finds|a second time"):
            open_store(with_rules)
        with pytest.raises(LedgerDamaged, match="SQLite finds"):
            verify_store(with_rules)
    finally:
        with_rules.write_bytes(whole)


def test_a_lost_count_of_what_is_found_when_opened_is_noticed(with_rules: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(with_rules.read_bytes())
    adopt(path, "a copy")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM tally WHERE kind = -3")
    for opens in (open_store, verify_store):
        with pytest.raises(LedgerDamaged, match="finds 3, the table `tally` has 0"):
            opens(path)


@pytest.mark.slow_cells(".db-25")
@pytest.mark.parametrize(("suffix", "least"), [(".db", 25), (".json", 190)])
def test_200_changes_are_refused_or_change_nothing(stored: Path, suffix: str, least: int) -> None:
    assert silent_changes(stored.with_suffix(suffix), 200) >= least


def test_200_changes_are_refused_when_opened_or_change_nothing_that_is_spent_from(stored: Path) -> None:
    silent_changes(stored, 200, said_when_opened)


@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_40_changes_of_rules_and_counts_are_refused_or_change_nothing(
    with_rules: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(with_rules.with_suffix(suffix), 40, said)


@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_30_changes_of_what_is_folded_are_refused_or_change_nothing(
    folded: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(folded.with_suffix(suffix), 30, said)


@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_20_changes_of_what_is_hashed_or_erased_are_refused_or_change_nothing(
    renamed: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(renamed.with_suffix(suffix), 20, said)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_4000_changes_of_what_is_hashed_or_erased_are_refused_or_change_nothing(
    renamed: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(renamed.with_suffix(suffix), 4_000, said)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_4000_changes_of_what_is_folded_are_refused_or_change_nothing(
    folded: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(folded.with_suffix(suffix), 4_000, said)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "said"), [(".db", said), (".db", said_when_opened), (".json", said)])
def test_4000_changes_of_rules_and_counts_are_refused_or_change_nothing(
    with_rules: Path, suffix: str, said: Callable[[Path], Any]
) -> None:
    silent_changes(with_rules.with_suffix(suffix), 4_000, said)


@pytest.mark.slow
def test_4000_changes_are_refused_when_opened_or_change_nothing_that_is_spent_from(stored: Path) -> None:
    silent_changes(stored, 4_000, said_when_opened)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".db", ".json"])
def test_4000_changes_are_refused_or_change_nothing(stored: Path, suffix: str) -> None:
    silent_changes(stored.with_suffix(suffix), 4_000)


def rehash(entries: list[Any]) -> None:
    """Make the chain fit again: what a change that is no accident would do."""
    before = START
    for row in entries:
        before = entry_hash(before, canonical(row["entry"]))
        row["hash"] = before.hex()


def cheaper(entries: list[Any]) -> None:
    kind = next(row["entry"]["kind"] for row in entries if "kind" in row["entry"])
    kind["charge"][0] = "1/100"


def over_budget(entries: list[Any]) -> None:
    entries[0]["entry"]["begin"]["terms"]["budget"][0] = (0.5).hex()


def unopened(entries: list[Any]) -> None:
    paid = next(row["entry"] for row in entries if "paid" in row["entry"])
    paid["paid"][0][1] = [99]


def opened_twice(entries: list[Any]) -> None:
    paid = [row["entry"] for row in entries if "opened" in row["entry"]]
    paid[1]["opened"] = paid[0]["opened"]


def drawn_given_back(entries: list[Any]) -> None:
    drawn = next(row["entry"]["drawn"] for row in entries if "drawn" in row["entry"])
    entries.append({"entry": {"returned": drawn, "at": 0}})


def miscalibrated(entries: list[Any]) -> None:
    kind = next(row["entry"]["kind"] for row in entries if "kind" in row["entry"])
    kind["sensitivity"] = [2.0, 2.0, 2.0]


def epoch_again(entries: list[Any]) -> None:
    entries.append({"entry": {"adopted": {"epoch": 0, "location": {}}}})


def unknown_labelled(entries: list[Any]) -> None:
    entries.append({"entry": {"labelled": [[99, "0" * 64]]}})


def unlabelled(entries: list[Any]) -> None:
    entries.append({"entry": {"labelled": [[1, "0" * 64]]}})


REHASHED: dict[Callable[[list[Any]], None], str] = {
    cheaper: "entry 3: charges epsilon = 0.01, less than the epsilon = 0.25 of its mechanism",
    over_budget: r"entry \d+: takes account 1 over its budget",
    unopened: "entry 4: charges account 99, which was never opened",
    opened_twice: "entry 6: opens account 1 a second time",
    drawn_given_back: r"entry \d+: settles entry \d+, which is no open reservation",
    miscalibrated: "entry 3: its sensitivity is more than its mechanism is calibrated for",
    unknown_labelled: r"entry \d+: names account 99, which was never opened",
    unlabelled: "account 1 is not of the record that its entries commit it to",
    epoch_again: r"entry \d+: begins epoch 0 after epoch 0",
}


@pytest.mark.parametrize(
    ("change", "words"), REHASHED.items(), ids=lambda each: getattr(each, "__name__", "")
)
def test_a_changed_chain_whose_hashes_fit_does_not(
    stored: Path, tmp_path: Path, change: Callable[[list[Any]], None], words: str
) -> None:
    """Whoever writes hashes anew still has to charge what mechanisms cost, and stay within the budget."""
    content = json.loads(stored.with_suffix(".json").read_text())
    change(content["entries"])
    rehash(content["entries"])
    (tmp_path / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(LedgerDamaged, match=words):
        read_export(tmp_path / "ledger.json")


CHANGES = {
    "an entry": (
        "UPDATE entry SET body = replace(body, '1/4', '1/5') WHERE position = 3",
        "entry 3: its hash",
    ),
    "an entry is gone": ("DELETE FROM entry WHERE position = 9", "entry 9: it is missing"),
    "the last entry is gone": (
        "DELETE FROM entry WHERE position = (SELECT max(position) FROM entry)",
        "account 1 has another spent amount than in the entries",
    ),
    "a total": (
        'UPDATE account SET spent = \'["0","0"]\' WHERE number = 2',
        "account 2 has another spent amount",
    ),
    "labels are swapped": (
        "UPDATE account SET label = CASE number WHEN 1 THEN 'x' ELSE '\"ann\"' END WHERE number < 3",
        "account 1 is not of the record",
    ),
    "an account is gone": ("DELETE FROM account WHERE number = 5", "5 accounts were opened, and 4 are there"),
    "a reservation": ("UPDATE reservation SET state = 'reserved'", "`reservation` does not fit"),
    "a request": ("UPDATE request SET key = '\"mine\"' WHERE position = 4", "`request` does not fit"),
    "a kind": ("DELETE FROM kind", "`kind` does not fit"),
    "the epoch": ("UPDATE store SET epoch = 3", "`store` does not fit"),
    "the gate, in bytes": ("UPDATE store SET closed = X'05'", "a table is damaged"),
    "the gate": ('UPDATE store SET closed = \'["why", "f", 1]\'', "has another state of the gate"),
}


@pytest.mark.parametrize(("sql", "words"), CHANGES.values(), ids=CHANGES)
def test_a_changed_table_is_named(stored: Path, tmp_path: Path, sql: str, words: str) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(stored.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    with pytest.raises(LedgerDamaged, match=re.escape(words)) as error:
        verify_store(path)
    assert str(path) in str(error.value)


def test_an_export_of_an_account_under_another_name_is_refused(stored: Path, tmp_path: Path) -> None:
    content = json.loads(stored.with_suffix(".json").read_text())
    content["accounts"][1][2] = "carl"
    (tmp_path / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(LedgerDamaged, match="account 2 is not of the record"):
        read_export(tmp_path / "ledger.json")
    content["accounts"] = content["accounts"][:2]
    content["accounts"][1][2] = "bob"
    (tmp_path / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(LedgerDamaged, match="5 accounts were opened, and 2 are there"):
        read_export(tmp_path / "ledger.json")


def test_a_ledger_is_imported_once_and_exactly(tmp_path: Path) -> None:
    accountant = spend(Accountant(Budget(1.0), noise=np.random.default_rng(0)))
    file = tmp_path / "ledger.json"
    accountant.export(file)
    text = file.read_text()
    store = import_ledger(file, tmp_path / "ledger.db", "ann", "moved")
    assert {record: store.spent(record) for record in RECORDS} == {
        record: accountant.ledger.spent(record) for record in RECORDS
    }
    assert not file.exists()
    assert (tmp_path / "ledger.json.imported").read_text() == text
    file.write_text(text)
    with pytest.raises(ValueError, match="exists already"):
        import_ledger(file, tmp_path / "ledger.db", "ann", "moved")
    content = read_ledger(tmp_path / "ledger.db")
    assert content.terms.budget == Budget(1.0)
    unread = [entry._replace(derivation=None) for entry in accountant.ledger.entries]  # no file keeps it
    assert sorted(map(repr, content.entries)) == sorted(map(repr, unread))
