"""The import of ledgers in JSON into stores."""

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import forked
from reopened import imported

from accountant import Accountant, Budget, Place
from accountant.rules.clock import wall
from accountant.rules.rule import Rule
from accountant.stores.export import export_store, read_export
from accountant.stores.folding import fold
from accountant.stores.imports import import_ledger, read_ledger
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.renaming import erase
from accountant.stores.replayed_entries import ReplayedEntries
from accountant.stores.sql_store import SQLStore
from accountant.stores.transaction import Transaction
from mechanisms import Interval, Laplace, Sensitivity


def test_a_gate_that_was_shut_stays_shut(tmp_path: Path) -> None:
    accountant = Accountant(Budget(1.0))
    accountant.close("somebody looked", Place("study.py", 7))
    accountant.export(tmp_path / "ledger.json")
    assert imported(tmp_path).closure == ("somebody looked", Place("study.py", 7))


@pytest.mark.parametrize("step", ["append", "shut_gate"])
def test_an_import_that_is_killed_leaves_no_store_to_spend_from(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = Accountant(Budget(1.0))
    private = accountant.private([0.5], Interval(0, 1), "ann")
    accountant.release(Laplace(scale=1.0, sensitivity=Sensitivity(1, 1, 1)), private)
    accountant.close("somebody looked", Place("study.py", 7))
    accountant.export(tmp_path / "ledger.json")
    monkeypatch.setattr(Transaction, step, lambda *_: os._exit(9))

    def child(_: Any) -> None:
        import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db", "ann", "moved")

    assert forked(child).sent() == []
    assert (tmp_path / "ledger.json.imported").exists()
    with pytest.raises(ValueError, match="holds no ledger"):
        open_store(tmp_path / "ledger.db")
    monkeypatch.undo()
    (tmp_path / "ledger.json.imported").rename(tmp_path / "ledger.json")
    with closing(import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db", "ann", "moved")) as again:
        assert len(again) == 1


def test_what_was_known_of_a_ledger_goes_along_into_every_import_of_it(tmp_path: Path) -> None:
    """Adopted copies, erased names, folds and earlier imports: also over a second import, and a fold of it."""
    path = tmp_path / "0.db"
    accountant = Accountant(Budget(1.0), store=path)
    half = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
    for record in ("ann", "bob"):
        accountant.release(half, accountant.private([0.5], Interval(0, 1), record))
    assert isinstance(accountant.ledger, SQLStore)
    accountant.ledger.close()
    shutil.copy(path, tmp_path / "copy.db")
    adopt(tmp_path / "copy.db", "the disk was lost")
    with closing(open_store(tmp_path / "copy.db")) as store:
        erase(store, "ann", "dora", "she asked")
        fold(store, wall() + 1, "carl", "room")
    path, heads = tmp_path / "copy.db", []
    for i in (1, 2):
        heads.append(verify_store(path).head)
        export_store(path, tmp_path / f"{i}.json")
        path = tmp_path / f"{i}.db"
        import_ledger(tmp_path / f"{i}.json", path, "ann", f"move {i}").close()
        with closing(open_store(path)) as store:
            fold(store, wall() + 1, "eve", f"room {i}")
    for found in (verify_store(path).replay, exported_again(path, tmp_path / "again.json")):
        assert [
            (each["store"], each["position"], each["hash"], each["reason"]) for each in found.imports
        ] == [(head.instance, head.position, head.hash, f"move {i}") for i, head in enumerate(heads, start=1)]
        assert [each["reason"] for each in found.adoptions] == ["the disk was lost"]
        assert [each["by"] for each in found.erasures] == ["dora"]
        assert [each["reason"] for each in (*found.earlier_folds, *found.folds)] == [
            "room",
            "room 1",
            "room 2",
        ]
        assert found.missing_charges == (
            "adopted 1 time, as a copy or a backup; imported 2 times, from another ledger: "
            "later charges elsewhere, on the same budgets, are not in it"
        )
    assert read_ledger(path).lacking == found.missing_charges


def exported_again(path: Path, file: Path) -> ReplayedEntries:
    export_store(path, file)
    return read_export(file)[0]


def test_an_import_is_somebodys_word(tmp_path: Path) -> None:
    Accountant(Budget(1.0)).export(tmp_path / "ledger.json")
    for by, reason in (("", "moved"), ("ann", " ")):
        with pytest.raises(ValueError, match="must not be empty; the ledger keeps it"):
            import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db", by, reason)
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.json"]


def test_what_was_imported_before_is_not_overwritten(tmp_path: Path) -> None:
    file, former = tmp_path / "ledger.json", tmp_path / "ledger.json.imported"
    Accountant(Budget(1.0)).export(file)
    text = file.read_bytes()
    with pytest.raises(ValueError, match="must be another file"):
        import_ledger(file, former, "ann", "moved")
    former.write_bytes(b"an earlier one")
    with pytest.raises(ValueError, match="imported: exists already"):
        import_ledger(file, tmp_path / "ledger.db", "ann", "moved")
    assert (file.read_bytes(), former.read_bytes()) == (text, b"an earlier one")


def test_rules_whose_promise_does_not_hold_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ledger of this library has them; a file may be somebody else's work."""
    monkeypatch.setattr("accountant.accountant.check_reach", lambda *_: None)
    rules = Rule(Budget(1.0), tenant="a", reached_by=()), Rule(Budget(1.0), tenant="b", reached_by=("a",))
    Accountant(Budget(1.0), rules=rules).export(tmp_path / "ledger.json")
    with pytest.raises(ValueError, match="do not fit the budget together"):
        import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db", "ann", "moved")
    with pytest.raises(ValueError, match="holds no ledger"):
        open_store(tmp_path / "ledger.db")
