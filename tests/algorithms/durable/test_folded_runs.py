"""A run with folded entries goes on exactly as one with all of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Gate, Rule
from accountant.rules import clock
from accountant.rules.clock import DAY
from accountant.stores.archive import check_archives
from accountant.stores.export import export_store, verify_export
from accountant.stores.folding import fold
from accountant.stores.opening import open_store, verify_store
from accountant.stores.store_refusals import InUse, LedgerDamaged
from algorithms import CUCBBatch, DurableRun
from algorithms.problems import TopK

FIRST = 20_000 * DAY


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [FIRST]
    monkeypatch.setattr(clock, "wall", lambda: now[0])
    monkeypatch.setattr(clock, "running", lambda: now[0])
    return now


pytestmark = pytest.mark.filterwarnings("ignore::algorithms.structured_learner.HorizonPassed")


def build(gate: Gate) -> CUCBBatch:
    """First batches have one outcome, as for two rounds: of more they have ln T."""
    return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=2)


def begun(folder: Path, *rules: Rule) -> DurableRun[Any]:
    run = DurableRun(
        build, Accountant(Budget(2.0), noise=np.random.default_rng(1), rules=rules or None, seed=2)
    )
    run.save(folder)
    return run


def loaded(folder: Path) -> DurableRun[Any]:
    return DurableRun.load(folder, build, noise=np.random.default_rng(0))


def play(run: DurableRun[Any], first: int, rounds: int) -> list[Any]:
    shown = []
    for number in range(first, first + rounds):
        shown.append(run.learner.act().tolist())
        record = f"user-{number % 20}"
        values = [float(number % 3 == 0), float(number % 2)]
        try:
            run.learner.observe(run.accountant.private(values, run.learner.feedback_domain, record=record))
        except ValueError as refused:
            shown.append(type(refused).__name__)
        if number % 3 == 0:
            run.save()
    run.save()
    return shown


def fold_all(folder: Path, before: int, archive: Path | None = None) -> int:
    store = open_store(folder)
    try:
        return fold(store, before, "ann", "room", archive=archive).removed
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("rules", [pytest.param((), marks=pytest.mark.slow), (Rule(Budget(1.0), days=9),)])
def test_a_folded_run_goes_on_as_if_nothing_was_folded(
    tmp_path: Path, now: list[int], rules: tuple[Rule, ...]
) -> None:
    folders = whole, folded = tmp_path / "whole", tmp_path / "folded"
    shown: list[list[Any]] = [[], []]
    archives: list[Path] = []
    for each, folder in zip(shown, folders, strict=True):
        now[0] = FIRST
        run = begun(folder, *rules)
        for part in range(3):
            each += play(run, 12 * part, 12)
            run.close()
            now[0] += 4 * DAY
            if folder is folded and part < 2:
                archives.append(tmp_path / f"archive{part}.json")
                assert fold_all(folder, now[0] - DAY, archives[-1]) > 5
            run = loaded(folder)
        spent = {name: str(run.accountant.remaining_spend(name)) for name in run.accountant.ledger.records()}
        each.append(spent)
        each.append([str(run.accountant.left_by_rule(name)) for name in sorted(spent)])
        run.close()
    assert shown[0] == shown[1]
    assert "BudgetExceeded" in shown[0] or not rules
    assert verify_store(folded).replay.waiting.rows() == verify_store(whole).replay.waiting.rows()
    assert check_archives(folded / "ledger.db", archives) == 0
    export_store(folded, tmp_path / "ledger.json")
    verify_export(tmp_path / "ledger.json")


def test_a_run_is_folded_while_nobody_has_it_open(tmp_path: Path, now: list[int]) -> None:
    run = begun(tmp_path / "run")
    play(run, 0, 3)
    with pytest.raises(InUse):
        fold_all(tmp_path / "run", now[0] + 1)
    run.close()
    assert fold_all(tmp_path / "run", now[0] + 1) == 5
    with loaded(tmp_path / "run") as run:
        with pytest.raises(ValueError, match="dpwitness ledger show -o"):
            run.accountant.export(tmp_path / "ledger.json")
        play(run, 3, 1)


def test_who_waited_when_a_run_was_folded_is_not_forgotten(tmp_path: Path, now: list[int]) -> None:
    run = begun(tmp_path / "run")
    waits = next(
        number for number in range(20) if "RecordWaiting" in [*play(run, number, 1), *play(run, number, 1)]
    )
    run.close()
    fold_all(tmp_path / "run", now[0] + 1)
    with loaded(tmp_path / "run") as run:
        assert play(run, waits, 1)[1:] == ["RecordWaiting"]
    connection = sqlite3.connect(tmp_path / "run" / "ledger.db")
    sql = 'SELECT position, body FROM entry WHERE body LIKE \'{"folded":{"waiting"%\''
    [(position, body)] = connection.execute(sql)
    changed = body.replace(f"user-{waits}", "user-99")
    assert changed != body
    connection.execute("UPDATE entry SET body = ? WHERE position = ?", (changed, position))
    connection.commit()
    connection.close()
    with pytest.raises(LedgerDamaged):
        loaded(tmp_path / "run")
