"""Random use of accountants with rules, in memory and in a database, against an oracle that keeps a list of charges."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from accountant import Accountant, Budget, BudgetExceeded, PurposeRefused, Rule, spending_on
from accountant.ledger.events import Charge
from accountant.rules import clock
from accountant.rules.clock import DAY, ClockAhead, RunningClock
from accountant.rules.scope import CURRENT_SCOPE, Scope
from accountant.stores.export import read_export
from accountant.stores.folding import NothingToFold, fold
from mechanisms import Interval, Laplace

UNIT = Interval(0, 1)
AMOUNTS = (Fraction(1, 2), Fraction(1))
NOISE = {each: Laplace.for_epsilon(float(each), sensitivity=UNIT.sensitivity) for each in AMOUNTS}
RECORDS = ("ann", "bob")
PURPOSES = ("ads", "care", "adz")
TOTAL = Fraction(6)
RULES = {
    "windows": (Rule(Budget(1.0), days=2), Rule(Budget(4.0), days=7)),
    "purposes": (
        Rule(Budget(2.0), purpose="ads"),
        Rule(Budget(1.0), purpose="ads", days=2),
        Rule(Budget.unlimited(), purpose="care"),
    ),
    "group": (Rule(Budget(1.5), groups=(RECORDS,), days=2), Rule(Budget(8.0), groups=(RECORDS,))),
}


@dataclass
class Paid:
    records: tuple[str, ...]
    amount: Fraction
    purpose: str
    at: int
    state: str  # "held", "shown" or "returned"


class Oracle:
    """What the rules mean, read off all charges every time."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.paid: list[Paid] = []

    def permitted(self, purpose: str) -> bool:
        named = {each.purpose for each in self.rules} - {None}
        return not named or purpose in named

    def fits(self, asked: Paid) -> bool:
        for record in asked.records:
            if self.total(None, (record,), asked) > TOTAL:
                return False
            for each in self.rules:
                for unit in each.groups or ((record,),):
                    if record in unit and each.purpose in (None, asked.purpose):
                        limit = each.budget.epsilon
                        if self.total(each, unit, asked) > limit:
                            return False
        return True

    def total(self, counted: Rule | None, unit: tuple[str, ...], asked: Paid) -> Fraction:
        found = Fraction(0)
        for each in (*self.paid, asked):
            if each.state == "returned" or (counted and counted.purpose not in (None, each.purpose)):
                continue
            old = counted is not None and counted.days is not None and each.state == "shown"
            if old and each.at // DAY < asked.at // DAY - counted.days:  # type: ignore[union-attr, operator]
                continue
            found += each.amount * sum(record in unit for record in each.records)
        return found

    def check_promise(self) -> None:
        """Whatever was published in any interval of the length of a window is within its limit, to the millisecond."""
        shown = [each for each in self.paid if each.state == "shown"]
        for counted in self.rules:
            if counted.days is None:
                continue
            for unit in counted.groups or [(record,) for record in RECORDS]:
                for last in shown:
                    since = last.at - counted.days * DAY
                    total = sum(
                        each.amount * sum(record in unit for record in each.records)
                        for each in shown
                        if since < each.at <= last.at and counted.purpose in (None, each.purpose)
                    )
                    assert total <= counted.budget.epsilon


class Blind(RunningClock):
    """A clock that was started now."""

    def note_entry(self, text: str | None, at: int) -> None:
        super().note_entry(None, at)


class RulesMachine(RuleBasedStateMachine):
    @initialize(rules=st.sampled_from(list(RULES)))
    def open(self, rules: str) -> None:
        self.patch = pytest.MonkeyPatch()
        self.now = self.seen = 20_000 * DAY + DAY // 3
        self.patch.setattr(clock, "wall", lambda: self.now)
        self.patch.setattr(clock, "running", lambda: self.seen)
        self.oracle = Oracle(RULES[rules])
        self.accountants = [
            Accountant(Budget(6.0), noise=np.random.default_rng(1), rules=RULES[rules], store=store)
            for store in (None, "sqlite://")
        ]
        self.store: Any = self.accountants[1].ledger
        self.held: list[tuple[Paid, list[Any]]] = []

    def ask(self, accountant: Accountant, paid: Paid, hold: bool) -> Any:
        value = accountant.private([0.5], UNIT, paid.records[0])
        for record in paid.records[1:]:
            value = value + accountant.private([0.5], UNIT, record)
        with spending_on(paid.purpose):
            if hold:
                return accountant.reserve(accountant.price(NOISE[paid.amount], value))
            return accountant.release(NOISE[paid.amount], value)

    @rule(
        records=st.sampled_from([("ann",), ("bob",), RECORDS]),
        amount=st.sampled_from(AMOUNTS),
        purpose=st.sampled_from(PURPOSES),
        hold=st.booleans(),
    )
    def charge(self, records: tuple[str, ...], amount: Fraction, purpose: str, hold: bool) -> None:
        paid = Paid(records, amount, purpose, self.now, "held" if hold else "shown")
        expected: Any = None
        if not self.oracle.permitted(purpose):
            expected = PurposeRefused
        elif not self.oracle.fits(paid):
            expected = BudgetExceeded
        made, again = [], []
        for accountant in self.accountants:
            if expected is None:
                made.append(self.ask(accountant, paid, hold))
            else:
                with pytest.raises(expected) as error:
                    self.ask(accountant, paid, hold)
                again.append(getattr(error.value, "again", None))
        if expected is None:
            self.oracle.paid.append(paid)
            if hold:
                self.held.append((paid, made))
        elif expected is BudgetExceeded:
            assert again[0] == again[1]
            self.check_again(paid, again[0])

    def check_again(self, asked: Paid, again: Any) -> None:
        """Earlier than it is said there is no room under the rule that refused, whatever the other rules say."""
        if again is not None:
            at = int(again.timestamp() * 1_000)
            assert at > self.now
            assert not self.oracle.fits(Paid(asked.records, asked.amount, asked.purpose, at - 1, "shown"))

    @rule(which=st.integers(0, 3), draw=st.booleans())
    def settle(self, which: int, draw: bool) -> None:
        if which < len(self.held):
            paid, made = self.held.pop(which)
            for reservation in made:
                if draw:
                    reservation.release()
                else:
                    reservation.cancel()
            paid.state, paid.at = ("shown" if draw else "returned"), self.now

    @rule(days=st.sampled_from([Fraction(1, 2), 1, 2, 3]))
    def wait(self, days: Fraction) -> None:
        self.now += int(days * DAY)
        self.seen += int(days * DAY)

    @rule(days=st.sampled_from([Fraction(1, 2), 1, 2, 3]))
    def wait_unseen(self, days: Fraction) -> None:
        """Time passes that no running clock of the store's has seen: it adds up."""
        self.wait(days)
        self.store._witness = Blind()
        last = self.store.verify().replay
        if last.limits.windows and last.drift + self.now - last.clock > last.limits.longest_drift:
            with spending_on("care"), pytest.raises(ClockAhead):
                self.store.do(Charge([], lambda _: True, scope=CURRENT_SCOPE.get()))
            self.store.confirm_clock("ann", "a holiday")
        self.store.do(Charge([], lambda _: True, scope=Scope("care")))
        self.store._witness = RunningClock()

    @rule(days=st.integers(0, 3), forget=st.booleans())
    def fold(self, days: int, forget: bool) -> None:
        last = self.store.verify().replay.position
        with suppress(NothingToFold):
            fold(self.store, self.now + 1 - days * DAY, "ann", "room", forget_requests=forget)
            assert self.store.verify().replay.position > last

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "oracle"):
            self.oracle.check_promise()
            for record in RECORDS:
                memory, stored = (each.left_by_rule(record) for each in self.accountants)
                assert memory == stored

    def teardown(self) -> None:
        if not hasattr(self, "oracle"):
            return
        replay = self.store.verify().replay
        with TemporaryDirectory() as folder:
            path = Path(folder, "ledger.json")
            self.accountants[0].export(path)
            copied, names, _ = read_export(path)
        for number, name in names.items():
            row = copied.rule_counts(number)
            with self.store.database.snapshot() as connection:
                work = self.store._work(connection)
                stored = work.rule_counts(work.key(f'"{name}"'))
            assert [each.days for each in row] == [
                each.days for each in stored
            ]  # reservations stand elsewhere
        assert replay.clock <= self.now
        self.store.close()
        self.patch.undo()


RulesMachine.TestCase.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestRules = RulesMachine.TestCase


@pytest.mark.slow
class TestRulesLonger(RulesMachine.TestCase):
    settings = settings(
        max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
