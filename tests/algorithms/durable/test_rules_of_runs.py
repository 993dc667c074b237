"""Rules in runs: a run that is stopped and gone on with counts what one counts that never stopped."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import (
    Accountant,
    Budget,
    BudgetExceeded,
    Gate,
    PurposeRefused,
    Refusal,
    Rule,
    spending_on,
)
from accountant.rules import clock
from accountant.rules.clock import DAY, ClockAhead
from accountant.stores.export import read_export
from accountant.stores.opening import open_store, verify_store
from accountant.stores.replayed_entries import ReplayedEntries
from algorithms import CUCBBatch, DurableRun
from algorithms.problems import TopK
from mechanisms import Interval, Laplace

UNIT = Interval(0, 1)
HALF = Laplace.for_epsilon(0.5, sensitivity=UNIT.sensitivity)
RULES = {
    "windows": [Rule(Budget(1.0), days=2), Rule(Budget(3.0), days=7)],
    "purposes": [Rule(Budget(1.5), purpose="ads"), Rule(Budget(1.0), purpose="care", tenant="shop", days=2)],
    "group": [Rule(Budget(1.5), groups=(("ann", "bob"),), days=2)],
}


class Time:
    def __init__(self) -> None:
        self.now = 20_000 * DAY + DAY // 3
        self.ahead = 0  # by so much the machine's clock is wrong


def set_clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(clock, "wall", lambda: time.now + time.ahead)
    monkeypatch.setattr(clock, "running", lambda: time.now)
    return time


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return set_clock(monkeypatch)


def build(gate: Gate) -> CUCBBatch:
    return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=100)


def made(rules: list[Rule], **options: Any) -> Accountant:
    return Accountant(Budget(9.0), noise=np.random.default_rng(1), rules=rules, tenant="shop", **options)


def load(folder: Path, builder: Any = build) -> DurableRun[Any]:
    return DurableRun.load(folder, builder, noise=np.random.default_rng(0))


def release(accountant: Accountant, *records: str, request: str | None = None) -> Any:
    value = accountant.private([0.5], UNIT, records[0])
    for record in records[1:]:
        value = value + accountant.private([0.5], UNIT, record)
    return accountant.release(HALF, value, request=request)


def attempt(accountant: Accountant, step: tuple[Any, ...], number: int) -> str | None:
    """Do a step; return why it is refused."""
    kind, records, purpose = step
    try:
        with spending_on(purpose):
            if kind == "pay":
                release(accountant, *records)
            elif kind == "reserve":
                quote = accountant.price(HALF, accountant.private([0.5], UNIT, records[0]))
                accountant.reserve(quote, request=f"{number}")
            elif kind == "settle":  # the last reservation, if it is this record's and purpose's
                release(accountant, records[0], request=f"{number - 1}")
            elif kind == "return":
                accountant._take_back(accountant.ledger.next_position - 1)  # type: ignore[attr-defined]
    except Refusal as refused:
        return refused.message
    except ValueError as error:
        return str(error)
    return None


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["pay", "pay", "reserve", "settle", "return"]),
            st.sampled_from([("ann",), ("bob",), ("ann", "bob")]),
            st.sampled_from(["ads", "care", "adz"]),
        ),
        st.sampled_from([(DAY // 2,), (DAY,)]),
        st.just("restart"),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.sampled_from(sorted(RULES)), STEPS)
def test_a_run_that_goes_on_counts_as_one_that_never_stopped(name: str, steps: list[Any]) -> None:
    check_restarts(name, steps)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(RULES)), STEPS)
def test_many_runs_that_go_on_count_as_those_that_never_stopped(name: str, steps: list[Any]) -> None:
    check_restarts(name, steps)


def check_restarts(name: str, steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as folder:
        time, path = set_clock(patched), Path(folder, "run")
        never, run = made(RULES[name]), DurableRun(build, made(RULES[name]))
        run.save(path)
        for number, step in enumerate(steps):
            if step == "restart":
                run.save()
                run.close()
                run = load(path)
            elif len(step) == 1:
                time.now += step[0]
            else:
                assert attempt(run.accountant, step, number) == attempt(never, step, number)
            for record in ("ann", "bob"):
                assert run.accountant.left_by_rule(record) == never.left_by_rule(record)
        run.save()
        run.accountant.export(Path(folder, "ledger.json"))
        run.close()
        stored = verify_store(path)
        exported, _, _ = read_export(Path(folder, "ledger.json"))
        assert stored.replay.named_rules({1: "ann", 2: "bob"}) == tuple(RULES[name])
        assert counted(exported) == counted(stored.replay)


def counted(replay: ReplayedEntries) -> dict[int, Any]:
    """Return what rules count of accounts; reservations stand elsewhere in an export."""
    found = {
        each: [(one.days, [*one.held.values()]) for one in account.counted]
        for each, account in replay.accounts.items()
    }
    return {each: row for each, row in found.items() if any(any(one) for one in row)}


def test_rules_are_changed_while_a_run_is_closed(time: Time, tmp_path: Path) -> None:
    run = DurableRun(build, made([Rule(Budget(2.0), days=2)], purpose="ads"))
    release(run.accountant, "ann")
    release(run.accountant, "bob")
    run.save(tmp_path / "run")
    run.close()
    store = open_store(tmp_path / "run")
    store.change_rules([Rule(Budget(0.5), purpose="ads"), Rule(Budget(3.0), purpose="care")], "ann", "less")
    store.close()
    with load(tmp_path / "run") as run:
        with pytest.raises(BudgetExceeded, match="its quota for purpose 'ads'"):
            release(run.accountant, "ann")
        with spending_on("care"):
            release(run.accountant, "ann")
        with spending_on("other"), pytest.raises(PurposeRefused):
            release(run.accountant, "ann")
        run.save()
        run.accountant.export(tmp_path / "ledger.json")
    exported, _, _ = read_export(tmp_path / "ledger.json")
    assert exported.accounts == verify_store(tmp_path / "run").replay.accounts


def test_a_run_is_not_gone_on_with_while_the_clock_is_ahead(time: Time, tmp_path: Path) -> None:
    run = DurableRun(build, made([Rule(Budget(0.5), days=2)]))
    release(run.accountant, "ann")
    run.save(tmp_path / "run")
    run.close()
    time.ahead += DAY // 2  # nobody has seen
    run = load(tmp_path / "run")
    time.now += 9 * DAY
    release(run.accountant, "ann")  # the process has seen so much time pass
    run.save()
    run.close()
    time.ahead += 9 * DAY
    with pytest.raises(ClockAhead, match=r"run.ledger\.db: the clock says"):
        load(tmp_path / "run")
    store = open_store(tmp_path / "run")
    store.confirm_clock("ann", "a holiday")
    store.close()
    time.ahead -= 9 * DAY  # it stands still then
    with load(tmp_path / "run") as run:
        release(run.accountant, "ann")
        run.save()
        run.accountant.export(tmp_path / "ledger.json")
    assert verify_store(tmp_path / "run").replay.clock == time.now + 9 * DAY + DAY // 2
    assert read_export(tmp_path / "ledger.json")[0].clock == time.now + 9 * DAY + DAY // 2


def test_who_is_protected_together_is_refused_before_anybody_waits_in_vain(tmp_path: Path) -> None:
    """A rule that has room for each of a group, and not for all, must not stop a batch when it is full."""
    run = DurableRun(build, made([Rule(Budget(1.0), groups=(("ann", "bob"),))]))

    def observe(record: str) -> None:
        ticket = run.learner.issue()
        values = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record=record)
        run.learner.observe(values, ticket=ticket)

    observe("ann")
    run.save(tmp_path / "run")
    run.close()
    run = load(tmp_path / "run")
    with pytest.raises(BudgetExceeded, match="its group's limit") as refused:
        observe("bob")
    assert refused.value.record == "bob"
    for number in range(60):
        observe(f"user-{number}")
    assert run.accountant.spent("ann").epsilon > 0
    assert run.accountant.spent("bob").epsilon == 0
    run.close()


class Split:
    """Traffic that is split over two learners."""

    def __init__(self, gate: Gate) -> None:
        self.learners = [build(gate), build(gate)]


def test_learners_that_share_one_ledger_are_under_the_same_rules(tmp_path: Path) -> None:
    run = DurableRun(Split, made([Rule(Budget(1.0), days=30)]))

    def observe(which: int, record: str) -> None:
        learner = run.learner.learners[which]
        learner.act()
        learner.observe(run.accountant.private([1.0, 0.0], learner.feedback_domain, record=record))

    for number in range(60):
        observe(number % 2, f"user-{number}")
    run.save(tmp_path / "run")
    run.close()
    run = load(tmp_path / "run", Split)
    paid = next(
        record for record in run.accountant.ledger.records() if run.accountant.spent(record).epsilon == 1
    )
    for which in (0, 1):
        before = run.accountant.to_dict()
        with pytest.raises(BudgetExceeded, match="in any 30 days; there is room again from"):
            observe(which, str(paid))
        assert run.accountant.to_dict() == before
    run.close()
