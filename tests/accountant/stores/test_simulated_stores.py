"""Simulated faults under the library's own stores break no promise of the ledger, and planted ones are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from simulated_stores import Files
from simulation import History

from accountant.rules.limits import Limits
from accountant.stores.sql_store import SQLStore
from accountant.stores.transaction import Transaction


def found(folder: Path, histories: range) -> tuple[int, str] | None:
    """Return the first history in which something is wrong, and what."""
    for seed in histories:
        within = folder / str(seed)
        within.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            history = History(seed, lambda history: Files(history, within, patch))  # noqa: B023
            try:
                wrong = history.play(40)
            except Exception as error:
                wrong = repr(error)
            finally:
                history.storage.close()  # type: ignore[attr-defined]
        if wrong is not None:
            return seed, wrong
    return None


def test_6_histories_break_no_promise(tmp_path: Path) -> None:
    assert found(tmp_path, range(6)) is None


@pytest.mark.slow
def test_500_histories_break_no_promise(tmp_path: Path) -> None:
    assert found(tmp_path, range(1_000, 1_500)) is None


Patch = tuple[object, str, Any]
PLANTED: dict[str, list[Patch]] = {
    "an older copy is gone on with": [
        (Transaction, "_check_seen", lambda _: None),
        (SQLStore, "_check_anchor", lambda *_: None),
    ],
    "what was given back is given back again": [(Transaction, "reservation", lambda *_: "reserved")],
    "the clock may creep": [(Limits, "drift", lambda *_: 0)],
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in PLANTED[fault]:
        monkeypatch.setattr(*each)
    assert found(tmp_path, range(300)) is not None
