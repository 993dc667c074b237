"""Rules: what they count, for whom and how long, what they refuse and how they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    Composition,
    GaussianComposition,
    Plan,
    PlanStep,
    PurposeRefused,
    Rule,
    ZeroConcentratedComposition,
    spending_on,
)
from accountant.filters.groups import spent_together
from accountant.filters.units import Units
from accountant.rules import clock, limits
from accountant.rules.clock import DAY, ClockAhead
from accountant.rules.limits import Limits, NotPermitted
from accountant.rules.scope import CURRENT_SCOPE, Scope
from accountant.stores.export import read_export
from accountant.stores.imports import import_ledger
from accountant.stores.opening import open_store, verify_store
from accountant.stores.store_refusals import LedgerDamaged, OtherTerms
from mechanisms import Gaussian, Interval, Laplace

UNIT = Interval(0, 1)
HALF = Laplace.for_epsilon(0.5, sensitivity=UNIT.sensitivity)
NOISE = Gaussian(sigma=20.0, sensitivity=UNIT.sensitivity)
WEEK = Rule(Budget(1.0), days=7)


class Time:
    def __init__(self) -> None:
        self.now = 20_000 * DAY
        self.ahead = 0  # by so much the machine's clock is wrong


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    found = Time()
    monkeypatch.setattr(clock, "wall", lambda: found.now + found.ahead)
    monkeypatch.setattr(clock, "running", lambda: found.now)
    return found


def test_what_counted_before_the_rules_permits_nothing_after_them() -> None:
    """Charges that are replayed need no permission, and what is known of their scopes gives none."""
    rules = Limits([Rule(Budget(1.0), purpose="ads")], Units(BasicComposition()))
    for scope in (Scope(), Scope("add")):
        for _ in range(2):
            assert rules.counting(scope, strict=False) == ()
            with pytest.raises(NotPermitted, match="no rule permits charges for this"):
                rules.counting(scope)
    assert rules.counting(Scope("ads")) == rules.counting(Scope("ads"), strict=False) == (0,)


def made(*rules: Rule, store: Any = None, epsilon: float = 10.0, **options: Any) -> Accountant:
    noise = np.random.default_rng(0)
    return Accountant(Budget(epsilon), noise=noise, store=store, rules=rules or None, **options)


def spend(accountant: Accountant, *records: str, request: str | None = None) -> Any:
    value = accountant.private([0.5], UNIT, records[0])
    for record in records[1:]:
        value = value + accountant.private([0.5], UNIT, record)
    return accountant.release(HALF, value, request=request)


def test_a_scope_is_said_around_what_it_is_for() -> None:
    assert CURRENT_SCOPE.get() == Scope()
    with spending_on("ads"), spending_on(tenant="shop"):
        assert CURRENT_SCOPE.get() == Scope("ads", "shop")
        with spending_on("care"):
            assert CURRENT_SCOPE.get() == Scope("care", "shop")
    assert CURRENT_SCOPE.get() == Scope()
    with pytest.raises(ValueError, match="purpose = ''"), spending_on(""):
        pass


def test_charges_pass_all_rules_or_none(time: Time) -> None:
    accountant = made(
        Rule(Budget(0.5), purpose="ads", tenant="shop"), Rule(Budget(1.0), purpose="ads", tenant="bank")
    )
    with spending_on("ads", tenant="shop"):
        spend(accountant, "ann")
        with pytest.raises(BudgetExceeded, match="quota for purpose 'ads' and tenant 'shop'") as error:
            spend(accountant, "bob", "ann")
        assert error.value.record == "ann"
        assert error.value.again is None
        spend(accountant, "bob")  # nothing was charged when ann could not pay
    with spending_on("ads", tenant="bank"):
        spend(accountant, "ann")
    assert [str(left) for left in accountant.left_by_rule("ann").values()] == [
        "epsilon = 0, neighbours: replace one",
        "epsilon = 0.5, neighbours: replace one",
    ]
    for purpose, tenant in (("adz", "shop"), ("ads", "shoq"), (None, None)):
        with (
            spending_on(purpose, tenant=tenant),
            pytest.raises(PurposeRefused, match="no rule permits charges for this"),
        ):
            spend(accountant, "carl")


@pytest.mark.parametrize("store", [None, "sqlite://"])
def test_a_window_makes_room_when_its_days_are_over(time: Time, store: str | None) -> None:
    accountant = made(WEEK, store=store)
    time.now += DAY // 2
    spend(accountant, "ann")
    time.now += 3 * DAY
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded, match=r"in any 7 days; there is room again from 2024-10-12 00:00 UTC"):
        spend(accountant, "ann")
    assert accountant.price(HALF, accountant.private([0.5], UNIT, "ann")).refused == "ann"
    time.now = 20_007 * DAY + DAY - 1  # the first release is half a day older than a week, its day is not
    confirm(accountant)
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    time.now += 1
    spend(accountant, "ann")


def confirm(accountant: Accountant) -> None:
    store: Any = accountant.ledger
    if hasattr(store, "confirm_clock"):
        store.confirm_clock("ann", "so much time has passed")


def test_a_clock_that_goes_back_stands_still(time: Time) -> None:
    accountant = made(WEEK, store="sqlite://")
    store: Any = accountant.ledger
    spend(accountant, "ann")
    spend(accountant, "ann")
    time.now += 9 * DAY
    assert store.confirm_clock("ann", "so much time has passed") == time.now
    latest, time.now = time.now, time.now - 5 * DAY
    assert store.confirm_clock("ann", "it was set back") == latest
    spend(accountant, "ann")  # the week is over all the same
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded, match=r"in any 7 days; there is room again from 2024-10-21 00:00 UTC"):
        spend(accountant, "ann")


def test_what_is_drawn_late_counts_from_then_on(time: Time) -> None:
    accountant = made(WEEK, store="sqlite://")
    reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "ann")))
    time.now += 30 * DAY
    confirm(accountant)
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded):  # the reservation counts, however old it is
        spend(accountant, "ann")
    reserved.release()
    time.now += 3 * DAY
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    accountant.ledger.verify()  # type: ignore[attr-defined]


@pytest.mark.parametrize("store", [None, "sqlite://"])
def test_a_request_that_was_never_answered_is_drawn_again_within_the_window(
    time: Time, store: str | None
) -> None:
    """It counts in the window again, and in the rule for ever as little as in what is spent."""
    accountant: Any = made(WEEK, Rule(Budget(2.0)), store=store)
    answered = accountant._ledger.keep_answer
    accountant._ledger.keep_answer = None
    with pytest.raises(TypeError):
        spend(accountant, "ann", request="a")
    accountant._ledger.keep_answer = answered
    time.now += 30 * DAY
    confirm(accountant)
    spend(accountant, "ann")
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann", request="a")
    time.now += 4 * DAY
    confirm(accountant)
    spend(accountant, "bob", request="b")
    time.now += 4 * DAY
    confirm(accountant)
    first = spend(accountant, "ann", request="a")
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    assert spend(accountant, "ann", request="a") == first
    assert accountant.spent("ann").epsilon == 2  # it was charged once
    if store is not None:
        accountant.ledger.verify()


def unanswered(accountant: Any, record: str, request: str) -> None:
    """Charge for a request, and fail before its answer is kept."""
    answered, accountant._ledger.keep_answer = accountant._ledger.keep_answer, None
    with pytest.raises(TypeError):
        spend(accountant, record, request=request)
    accountant._ledger.keep_answer = answered


@pytest.mark.parametrize("store", [None, "sqlite://"])
def test_to_draw_again_takes_no_room_in_a_rule_for_ever(time: Time, store: str | None) -> None:
    accountant: Any = made(WEEK, Rule(Budget(0.5)), store=store)
    unanswered(accountant, "ann", "a")
    time.now += 4 * DAY
    confirm(accountant)
    spend(accountant, "ann", request="a")
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    if store is not None:
        accountant.ledger.verify()


def test_rules_for_ever_count_what_was_drawn_again_before_them_once(time: Time, tmp_path: Path) -> None:
    accountant: Any = made(WEEK, store=tmp_path / "ledger.db")
    unanswered(accountant, "ann", "a")
    time.now += 4 * DAY
    confirm(accountant)
    spend(accountant, "ann", request="a")
    accountant.ledger.change_rules([Rule(Budget(9.0), days=7), Rule(Budget(1.0))], "dora", "a policy")
    spend(accountant, "ann")
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    accountant.ledger.verify()


@pytest.mark.parametrize("rules", [(), (WEEK,)])
def test_a_reservation_with_a_key_is_stamped_when_it_is_drawn(time: Time, rules: tuple[Rule, ...]) -> None:
    accountant: Any = made(*rules, store="sqlite://")
    accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "ann")), request="a")
    time.now += DAY
    spend(accountant, "ann", request="a")
    assert accountant.ledger.verify().replay.requests["a"].stamp == time.now


def test_a_clock_that_runs_ahead_is_confirmed_first(time: Time, tmp_path: Path) -> None:
    accountant = made(WEEK, store=tmp_path / "ledger.db")
    spend(accountant, "ann")
    spend(accountant, "ann")
    time.ahead += 4 * DAY
    with pytest.raises(ValueError, match="dpwitness ledger amend --accept-clock"):
        spend(accountant, "ann")
    confirm(accountant)
    time.ahead -= 30 * DAY  # set back: time stands still
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")
    spend(accountant, "bob")
    assert verify_store(tmp_path / "ledger.db").replay.clock == 20_004 * DAY


def test_other_rules_do_not_confirm_a_clock_that_runs_ahead(time: Time) -> None:
    accountant = made(WEEK, store="sqlite://")
    store: Any = accountant.ledger
    spend(accountant, "ann")
    spend(accountant, "ann")
    time.ahead += 30 * DAY
    with pytest.raises(ClockAhead):
        store.change_rules([WEEK, Rule(Budget(2.0), purpose="ads", days=9)], "ann", "one more")
    time.ahead -= 30 * DAY
    store.change_rules([WEEK, Rule(Budget(2.0), groups=(("ann", "zoe"),))], "ann", "one more")
    with pytest.raises(BudgetExceeded):
        spend(accountant, "ann")


@pytest.mark.parametrize(
    ("composition", "mechanism", "worth"),
    [
        (BasicComposition(), HALF, lambda total: total.values[0] * 4),
        (ZeroConcentratedComposition(), NOISE, lambda total: total.values[0] * 16),
        (GaussianComposition(), NOISE, lambda total: total.values[0] * 16),
    ],
)
def test_four_who_are_protected_together(
    composition: Composition, mechanism: Any, worth: Callable[[Any], Fraction]
) -> None:
    delta = 0.0 if isinstance(composition, BasicComposition) else 1e-6
    home = ("ann", "bob", "carl", "dora")
    limit = Rule(Budget(4.0, delta), groups=(home, ("eve",)))
    accountant = Accountant(
        Budget(50.0, delta), composition=composition, noise=np.random.default_rng(0), rules=[limit]
    )
    value = accountant.private([0.5], UNIT, home[0])
    for record in home[1:]:
        value = value + accountant.private([0.5], UNIT, record)
    released = 0
    while accountant.price(mechanism, value).affordable:
        accountant.release(mechanism, value)
        released += 1
    with pytest.raises(BudgetExceeded, match="its group's limit"):
        accountant.release(mechanism, value)
    spent = accountant.ledger.spent("ann")
    most = composition.remaining_spend(composition.zero_spend, limit.budget).values[0]
    each = worth(spent) / released
    assert worth(spent) <= most < each * (released + 1) + Fraction(1, 10**12)
    accountant.release(HALF if delta == 0 else NOISE, accountant.private([0.5], UNIT, "fred"))


@settings(max_examples=30)
@given(st.lists(st.fractions(0, 3), min_size=1, max_size=5))
def test_groups_are_rounded_up_by_little(squares: list[Fraction]) -> None:
    theorem = ZeroConcentratedComposition()
    units = Units(theorem)
    totals = [units.price(theorem.amount((each, Fraction(0)))) for each in squares]
    found = units.amount(spent_together(units, totals)).values[0]
    roots = sum(
        math.isqrt(each.numerator * each.denominator * 10**60) / 10**30 / each.denominator for each in squares
    )
    assert found >= max(squares)
    assert float(found) == pytest.approx(roots**2, rel=1e-12)
    failing = [units.price(theorem.amount((Fraction(1), Fraction(1, 9)))), *totals]
    if any(squares):
        assert spent_together(units, failing) == units.price(theorem.infinite_spend)


def test_who_came_back_is_counted_by_rules_that_came_later(time: Time, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = made(store=path)
    with spending_on("ads"):
        spend(accountant, "ann")
        reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "ann")))
    store: Any = accountant.ledger
    ads, home = Rule(Budget(1.0), purpose="ads", days=7), Rule(Budget(2.0), groups=(("ann", "zoe"),))
    store.change_rules([ads, home], "dora", "a policy")
    assert set(accountant.rules) == {ads, home}
    with spending_on("ads"):
        with pytest.raises(BudgetExceeded):
            spend(accountant, "ann")
        reserved.cancel()
        spend(accountant, "ann")
        spend(accountant, "zoe")
    store.change_rules([home], "dora", "ads are over")
    spend(made(store=path), "zoe")
    with pytest.raises(BudgetExceeded, match="its group's limit"):
        spend(accountant, "zoe")
    found = verify_store(path).replay
    assert [each.by for _, each in found.rule_changes] == ["dora", "dora"]
    with pytest.raises(ValueError, match="reason = ' '"):
        store.change_rules([], "dora", " ")
    store.change_rules([], "dora", "no rules")
    assert accountant.rules == ()
    spend(accountant, "zoe")
    verify_store(path)


def test_a_store_keeps_its_rules(time: Time, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    first = made(WEEK, store=path)
    spend(first, "ann")
    spend(first, "ann")
    for rules in ((), (WEEK,)):
        with pytest.raises(BudgetExceeded):
            spend(made(*rules, store=path), "ann")
    with pytest.raises(OtherTerms, match="other rules"):
        made(Rule(Budget(2.0), days=7), store=path)
    with pytest.raises(OtherTerms, match="other rules"):
        Accountant(Budget(10.0), store=path, rules=[])
    first.export(tmp_path / "ledger.json")
    assert read_export(tmp_path / "ledger.json")[0].limits.rules == (WEEK,)  # type: ignore[union-attr]
    imported = import_ledger(tmp_path / "ledger.json", tmp_path / "new.db", "ann", "moved")
    assert imported.rules == (WEEK,)
    with pytest.raises(BudgetExceeded):
        spend(made(store=imported), "ann")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE account SET counted = NULL", "rules do not count"),
        ("UPDATE store SET rules = 0", "`store` does not fit"),
        ("UPDATE store SET clock = clock - 1", "the table `store`"),
        ("UPDATE request SET stamped = 0", "has another time for a request"),
    ],
)
def test_what_rules_rest_on_is_verified(time: Time, tmp_path: Path, sql: str, words: str) -> None:
    path = tmp_path / "ledger.db"
    spend(made(WEEK, store=path), "ann", request="a")
    store = open_store(path)
    with store.database.writing() as session:
        session.execute(sql)
    with pytest.raises(LedgerDamaged, match=words):
        store.verify()
    if "request" not in sql:
        with pytest.raises(LedgerDamaged):
            spend(made(store=store), "ann")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"days": 0}, "days = 0: must be a whole number from 1"),
        ({"days": 1.5}, "days = 1.5"),
        ({"purpose": " "}, "purpose = ' '"),
        ({"purpose": "ads "}, "purpose = 'ads ': must be visible characters .* say 'ads'"),
        ({"tenant": "a\u200b"}, r"tenant = 'a\\u200b': must be visible characters"),
        ({"tenant": "A\u030a"}, "tenant = .*: must be in Unicode's normal form NFC"),
        ({"groups": ("ann", "bob")}, "groups = .*must be groups of records"),
        ({"groups": 5}, "groups = 5: must be groups of records"),
        ({"groups": (1.5,)}, "groups = .*must be groups of records"),
        ({"groups": ({"ann": "bob"},)}, "groups = .*must be groups of records"),
        ({"groups": (("ann", "bob"), ("ann",))}, "record 'ann' is named twice"),
        ({"groups": ((1.5,),)}, r"record = 1\.5: must be"),
        ({"budget": 1.0}, "budget = 1.0"),
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Rule(**{"budget": Budget(1.0), **options})


def test_rules_that_do_not_go_with_the_theorem_are_refused() -> None:
    home = Rule(Budget(1.0, 1e-6), groups=(("ann", "bob"),))
    plan = Plan((PlanStep(HALF, count=2),))
    for options, rules, words in (
        ({}, [home], "grows by factors of e"),
        ({"composition": AdvancedComposition()}, [home], "no sum for groups"),
        ({"composition": GaussianComposition()}, [Rule(Budget(1.0))], "at delta = 0"),
        ({"plan": plan}, [Rule(Budget(1.0))], "a plan fixes every release"),
        ({}, [Rule(Budget(1.0), days=3), Rule(Budget(2.0), days=3)], "two of them limit the same"),
        ({}, ["ads"], "must be a Rule"),
    ):
        with pytest.raises(ValueError, match=words):
            Accountant(Budget(4.0, 1e-5), rules=rules, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("store", [None, "sqlite://"])
@pytest.mark.parametrize("tallied", [0, 65_536])
def test_who_is_nearest_to_each_limit(
    time: Time, monkeypatch: pytest.MonkeyPatch, store: str | None, tallied: int
) -> None:
    monkeypatch.setattr(limits, "_TALLIED", tallied)
    rules = [WEEK, Rule(Budget(1.25), purpose="ads"), Rule(Budget(4.0), groups=(("a", "b"), ("c", "d")))]
    rules.append(Rule(Budget.unlimited(), purpose="care"))
    accountant = made(*rules, store=store)
    assert [(each.nearest, each.nearly) for each in accountant.ledger.rule_standings()] == [
        *[((), 0)] * 3, ((), None)
    ]  # fmt: skip
    with spending_on("ads"):
        for records in ("a", "bc", "e", "cf"):  # on days of their own
            spend(accountant, *records)
            time.now += 3 * DAY
        reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "e")))
    found = accountant.ledger.rule_standings()
    charged = "abcef"
    for rule, each in zip(rules, found, strict=True):
        assert each.rule == rule
        if rule.groups or rule.purpose == "care":
            continue
        counted = {
            record: next(
                spent for of, spent in accountant.ledger.standings([record])[0].counted if of == rule
            )
            for record in charged
        }
        worst = max(counted.values(), key=lambda spent: spent.epsilon)
        assert each.spent == counted[each.nearest[0]] == worst
        full = 0.8 * rule.budget.epsilon
        assert each.nearly == sum(spent.epsilon >= full for spent in counted.values())
    assert [each.nearly for each in found] == [1, 2, 0, None]
    assert (found[0].nearest, found[0].spent.epsilon) == (("e",), 1)
    assert found[2].nearest == ("a", "b")
    assert found[3].nearest == ()
    time.now += 30 * DAY
    assert accountant.ledger.rule_standings()[0].nearest == ("e",)  # reserved, whatever the day
    time.now -= 30 * DAY
    reserved.cancel()
    time.now += 30 * DAY
    assert accountant.ledger.rule_standings()[0].nearest == ()


@pytest.mark.parametrize("groups", [[()], [("ann", "bob"), ()]])
def test_a_group_has_members(groups: Any) -> None:
    """A rule for nobody alone would limit nobody, and look as if it did."""
    with pytest.raises(ValueError, match="limits no record"):
        Rule(Budget(1.0), groups=groups)
