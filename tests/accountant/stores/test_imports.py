"""What ledgers in JSON become as stores."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import forked
from reopened import imported, saved_by_an_earlier_version

from accountant import Accountant, Budget, Place
from accountant.stores.imports import import_ledger
from accountant.stores.opening import open_store
from accountant.stores.work import Work
from mechanisms import Interval, Laplace, Sensitivity


def test_a_gate_that_was_shut_in_an_earlier_version_stays_shut(tmp_path: Path) -> None:
    accountant = Accountant(Budget(1.0))
    accountant.close("somebody looked", Place("study.py", 7))
    (tmp_path / "ledger.json").write_text(json.dumps(saved_by_an_earlier_version(accountant)))
    assert imported(tmp_path).closure == ("somebody looked", Place("study.py", 7))


@pytest.mark.parametrize("step", ["append", "shut"])
def test_an_import_that_is_killed_leaves_no_store_to_spend_from(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = Accountant(Budget(1.0))
    private = accountant.private([0.5], Interval(0, 1), "ann")
    accountant.release(Laplace(scale=1.0, sensitivity=Sensitivity(1, 1, 1)), private)
    accountant.close("somebody looked", Place("study.py", 7))
    (tmp_path / "ledger.json").write_text(json.dumps(saved_by_an_earlier_version(accountant)))
    monkeypatch.setattr(Work, step, lambda *_: os._exit(9))

    def child(_: Any) -> None:
        import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db")

    assert forked(child).sent() == []
    assert (tmp_path / "ledger.json.imported").exists()
    with pytest.raises(ValueError, match="holds no ledger"):
        open_store(tmp_path / "ledger.db")
    monkeypatch.undo()
    (tmp_path / "ledger.json.imported").rename(tmp_path / "ledger.json")
    with closing(import_ledger(tmp_path / "ledger.json", tmp_path / "ledger.db")) as again:
        assert len(again) == 1


def test_what_was_imported_before_is_not_overwritten(tmp_path: Path) -> None:
    file, former = tmp_path / "ledger.json", tmp_path / "ledger.json.imported"
    Accountant(Budget(1.0)).export(file)
    text = file.read_bytes()
    with pytest.raises(ValueError, match="must be another file"):
        import_ledger(file, former)
    former.write_bytes(b"an earlier one")
    with pytest.raises(ValueError, match="imported: exists already"):
        import_ledger(file, tmp_path / "ledger.db")
    assert (file.read_bytes(), former.read_bytes()) == (text, b"an earlier one")
