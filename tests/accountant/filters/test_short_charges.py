"""Charges of any scale add up to short numbers; they are never less than the cost, and exact for shares of a budget."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    GaussianComposition,
    RenyiComposition,
    ZeroConcentratedComposition,
)
from accountant.filters.short_charges import round_up
from accountant.stores.opening import verify_store
from mechanisms import Interval, Laplace, Sensitivity

ONE = Sensitivity(1, 1, 1)
UNIT = Interval(0, 1)
FILTERS: list[Any] = [
    BasicComposition(),
    AdvancedComposition(),
    ZeroConcentratedComposition(),
    GaussianComposition(),
    RenyiComposition(orders=(2.0, 8.0)),
]


def accountant_with(composition: Any, budget: Budget, **options: Any) -> Accountant:
    return Accountant(budget, composition=composition, noise=np.random.default_rng(0), **options)


@given(st.fractions(min_value=0, max_value=10**6) | st.floats(0, 1e6).map(Fraction))
@example(Fraction(1, 3**2000))
@example(Fraction(10**400 + 1, 3**5 * 7**9))
@example(Fraction(5e-324) / Fraction(1.7e308) / 1009)
def test_a_number_is_rounded_up_by_less_than_its_last_digit(value: Fraction) -> None:
    found = round_up(value)
    assert value <= found <= value * (1 + Fraction(1, 2**126))
    assert round_up(found) == found or found.denominator > 2**2200


@given(st.floats(0, allow_infinity=False), st.integers(1, 1000))
def test_floats_their_squares_and_parts_are_charged_as_they_are(value: float, parts: int) -> None:
    for each in (Fraction(value), Fraction(value) ** 2, Fraction(value) / parts):
        assert round_up(each) == each


def test_n_charges_of_an_nth_part_fit_n_times() -> None:
    for budget in (1.0, 0.7):
        accountant = accountant_with(BasicComposition(), Budget(budget))
        for n in range(1, 1001):
            noise = Laplace(scale=n, sensitivity=Sensitivity(budget, budget, budget))
            assert accountant.room(noise, "ann") == n


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "composition", [BasicComposition(), AdvancedComposition()], ids=lambda each: each.name
)
@pytest.mark.parametrize("n", [1, 3, 41, 97, 251])
@pytest.mark.parametrize("kind", ["memory", "store"])
def test_the_last_part_is_released_and_no_further_one(
    composition: Any, n: int, kind: str, tmp_path: Path
) -> None:
    options = {} if kind == "memory" else {"store": tmp_path / "ledger.db"}
    accountant = accountant_with(composition, Budget(1.0, 1e-300), **options)
    noise = Laplace(scale=n, sensitivity=ONE)
    for _ in range(n):
        accountant.release(noise, accountant.private([0.5], UNIT, "ann"))
    with pytest.raises(BudgetExceeded):
        accountant.release(noise, accountant.private([0.5], UNIT, "ann"))
    assert accountant.ledger.spent("ann").values[0] == 1
    with pytest.raises(BudgetExceeded):  # how little it may be
        accountant.release(Laplace(scale=1e300, sensitivity=ONE), accountant.private([0.5], UNIT, "ann"))


def check_many_scales(composition: Any, count: int, **options: Any) -> Any:
    """Charge one record through noise of so many scales; return its accountant."""
    accountant = accountant_with(composition, Budget(1e6, 1e-6), **options)
    value, exact = accountant.private([0.5], UNIT, "ann"), Fraction(0)
    for t in range(1, count + 1):
        noise = Laplace(scale=t * t / 0.6, sensitivity=ONE)
        accountant.release(noise, value)
        exact += Fraction(float(Fraction(0.6) / (t * t)))  # to 53 digits
    spent = accountant.ledger.spent("ann")
    assert max(len(str(each)) for each in spent.values) < 2_000
    if composition.name.startswith(("basic", "advanced")):
        assert abs(spent.values[0] / exact - 1) < 1e-12
    return accountant


@pytest.mark.few(2)
@pytest.mark.parametrize("composition", FILTERS, ids=lambda each: each.name)
def test_700_scales_on_one_record(composition: Any, tmp_path: Path) -> None:
    """The denominators of 316 had more digits than Python prints, 155 under advanced composition."""
    accountant = check_many_scales(composition, 700)
    accountant.export(tmp_path / "ledger.json")
    assert len(json.loads((tmp_path / "ledger.json").read_text())["accounts"]) == 1


def test_many_scales_in_a_store(tmp_path: Path) -> None:
    accountant = check_many_scales(AdvancedComposition(), 200, store=tmp_path / "ledger.db")
    accountant.release(Laplace(scale=1.0, sensitivity=ONE), accountant.private([0.5], UNIT, "bob"))
    assert verify_store(tmp_path / "ledger.db").accounts == 2


@pytest.mark.slow
@pytest.mark.parametrize("composition", FILTERS, ids=lambda each: each.name)
def test_100_000_scales_on_one_record(composition: Any, tmp_path: Path) -> None:
    check_many_scales(composition, 100_000)
