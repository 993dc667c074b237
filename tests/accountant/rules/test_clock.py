"""A clock that runs ahead, in one leap or by and by, empties no window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Rule
from accountant.rules import clock
from accountant.rules.clock import DAY, ClockAhead
from accountant.stores.opening import open_store, verify_store
from mechanisms import Interval, Laplace

HALF = Laplace.for_epsilon(0.5, sensitivity=Interval(0, 1).sensitivity)
MONTH = Rule(Budget(0.5), days=30)


class Clocks:
    """The wall's, which anybody sets, and the running one, which begins anew when the machine is started again."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.ahead, self.started, self.boot = 20_000 * DAY, 0, 20_000 * DAY, "first"
        patch.setattr(clock, "wall", lambda: self.now + self.ahead)
        patch.setattr(clock, "running", lambda: self.now - self.started)
        patch.setattr(clock, "_boot", lambda: self.boot)

    def start_again(self) -> None:
        self.started, self.boot = self.now, f"{self.boot} again"


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def opened(path: Path) -> Accountant:
    return Accountant(Budget(100.0), noise=np.random.default_rng(0), store=path, rules=[MONTH])


def charge(accountant: Accountant, record: Any) -> None:
    accountant.release(HALF, accountant.private([0.5], Interval(0, 1), record))


def test_a_clock_that_creeps_is_refused(clocks: Clocks, tmp_path: Path) -> None:
    accountant = opened(tmp_path / "ledger.db")
    charge(accountant, "ann")
    clocks.ahead = 14 * DAY
    charge(accountant, "anybody")
    for ahead in (28, 31.5):
        clocks.ahead = int(ahead * DAY)
        with pytest.raises(ClockAhead, match="dpwitness ledger amend --accept-clock"):
            charge(accountant, "anybody")
        with pytest.raises(ClockAhead):
            charge(opened(tmp_path / "ledger.db"), "anybody")
    clocks.ahead = 0
    with pytest.raises(BudgetExceeded):
        charge(accountant, "ann")
    found = verify_store(tmp_path / "ledger.db").replay
    assert found.drift == 14 * DAY
    accountant.ledger.confirm_clock("ann", "it is right")  # type: ignore[attr-defined]
    assert verify_store(tmp_path / "ledger.db").replay.drift == 0


def test_time_that_a_running_clock_has_seen_needs_nobody_s_word(clocks: Clocks, tmp_path: Path) -> None:
    """Neither in one process, nor in others that are begun before the machine is started again."""
    accountant = opened(tmp_path / "ledger.db")
    charge(accountant, "ann")
    for days in (20, 40, 45):
        clocks.now += days * DAY
        charge(accountant, days)
        accountant.ledger.close()  # type: ignore[attr-defined]
        accountant = opened(tmp_path / "ledger.db")
        clocks.now += 31 * DAY
        charge(accountant, "ann")
    assert verify_store(tmp_path / "ledger.db").replay.drift == 0


def test_time_without_the_machine_adds_up(clocks: Clocks, tmp_path: Path) -> None:
    charge(opened(tmp_path / "ledger.db"), "ann")
    for _ in range(3):
        clocks.now += 5 * DAY
        clocks.start_again()
        charge(opened(tmp_path / "ledger.db"), clocks.now)
    clocks.now += 1 * DAY
    clocks.start_again()
    with pytest.raises(ClockAhead):
        charge(opened(tmp_path / "ledger.db"), "bob")
    store = open_store(tmp_path / "ledger.db")
    store.confirm_clock("ann", "it was off at night")
    charge(opened(tmp_path / "ledger.db"), "bob")
    verify_store(tmp_path / "ledger.db")


def test_other_rules_keep_the_drift(clocks: Clocks, tmp_path: Path) -> None:
    accountant = opened(tmp_path / "ledger.db")
    charge(accountant, "ann")
    store: Any = accountant.ledger
    for days in (7, 14):
        clocks.ahead = days * DAY
        store.change_rules([MONTH, Rule(Budget(50.0 + days))], "ann", "one more")
    clocks.ahead = 21 * DAY
    with pytest.raises(ClockAhead):
        store.change_rules([MONTH], "ann", "one less")
    verify_store(tmp_path / "ledger.db")
