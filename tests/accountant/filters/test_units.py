"""Charges of any scale add up to short numbers; they are never less than the cost, and exact for shares of a budget."""

from __future__ import annotations

import json
import math
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
    Cost,
    GaussianComposition,
    Place,
    RenyiComposition,
    ZeroConcentratedComposition,
)
from accountant.filters.units import INFINITE, UNIT, Units, minus
from accountant.stores import sql_store
from accountant.stores.opening import verify_store
from mechanisms import Interval, Laplace, Sensitivity

ONE = Sensitivity(1, 1, 1)
SHARE = Interval(0, 1)
FILTERS: list[Any] = [
    BasicComposition(),
    AdvancedComposition(),
    ZeroConcentratedComposition(),
    GaussianComposition(),
    RenyiComposition(orders=(2.0, 8.0)),
]


def accountant_with(composition: Any, budget: Budget, **options: Any) -> Accountant:
    return Accountant(budget, composition=composition, noise=np.random.default_rng(0), **options)


UNITS = Units(BasicComposition())
NUMBERS = st.fractions(min_value=0, max_value=10**6) | st.floats(0, 1e6).map(Fraction)


def price(value: Fraction | None) -> int:
    return UNITS.price(Cost(value, Fraction(0)))[0]


@given(NUMBERS)
@example(Fraction(1, 3**2000))
@example(Fraction(10**400 + 1, 3**5 * 7**9))
@example(Fraction(5e-324) / Fraction(1.7e308) / 1009)
def test_a_number_is_rounded_up_by_less_than_a_unit(value: Fraction) -> None:
    assert value * UNIT <= price(value) < value * UNIT + 1
    for times in (1, 3):
        assert UNITS.repeated(Cost(value, Fraction(0)), times).epsilon == Fraction(times * price(value), UNIT)


@given(st.floats(1e-60, allow_infinity=False), st.floats(1e-22, 1e100), st.integers(1, 1000))
def test_floats_their_squares_and_parts_are_charged_as_they_are(
    value: float, squared: float, parts: int
) -> None:
    for each in (Fraction(value), Fraction(squared) ** 2, Fraction(value) / parts):
        assert Fraction(price(each), UNIT) == each


@pytest.mark.slow
@given(st.lists(st.none() | NUMBERS), st.randoms(use_true_random=False))
def test_sums_are_taken_back_exactly_in_any_order(values: list[Fraction | None], chosen: Any) -> None:
    prices = [UNITS.price(Cost(value, Fraction(1, 3))) for value in values]
    total = UNITS.zero
    for each in prices:
        total = UNITS.add(total, each)
    assert (UNITS.amount(total).epsilon is None) == (None in values)
    assert UNITS.parse_vector(UNITS.format_vector(total)) == total
    chosen.shuffle(prices)
    while prices:
        total = minus(total, prices.pop())
    assert total == UNITS.zero


def test_units_are_these() -> None:
    """What stores hold means the same in every version."""
    assert 2**256 * math.lcm(*range(1, 1_001, 2)) == UNIT
    assert UNIT % 1_000 == 0
    assert INFINITE == 2**4_096
    assert UNITS.format_vector((UNIT, 0)) == f"1{'0' * 64} 0"
    assert UNITS.format_vector((INFINITE + 1, 2 * INFINITE)) == "0+1*1 0*2"
    assert price(Fraction(1, 1_009)) * 1_009 - UNIT == -UNIT % 1_009


@given(st.lists(st.integers(0, 2**80) | st.none(), min_size=2, max_size=2), st.integers(1, 9))
def test_the_numbers_of_a_theorem_with_units_of_its_own_are_written_alike(
    values: list[int | None], times: int
) -> None:
    """Rényi divergences are multiples of 2^-60, and stores hold the same text whatever they are counted in."""
    theorem = RenyiComposition(orders=(2.0, 8.0))
    units = Units(theorem)
    divergences = [None if value is None else Fraction(value, 2**60) for value in values]
    total = units.zero
    for _ in range(times):
        total = units.add(total, units.price(theorem.amount((Fraction(1, 4), *divergences))))
    expected = (None if value is None else times * value for value in divergences)
    assert units.amount(total).values == (Fraction(times, 4), *expected)
    alike = [price(Fraction(times, 4)), *(times * price(value) for value in divergences)]
    written = [UNITS.format_vector((each, 0)).split()[0] for each in alike]
    assert units.format_vector(total) == " ".join(written)
    assert units.parse_vector(units.format_vector(total)) == total
    with pytest.raises(ValueError):
        units.parse_vector(" ".join(written[1:]))


def test_n_charges_of_an_nth_part_fit_n_times() -> None:
    for budget in (1.0, 0.7):
        accountant = accountant_with(BasicComposition(), Budget(budget))
        for n in (*range(1, 50), *range(50, 1001, 19)):
            noise = Laplace(scale=n, sensitivity=Sensitivity(budget, budget, budget))
            assert accountant.remaining_releases(noise, "ann") == n


@pytest.mark.slow_cells("store-251-advanced composition filter")
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
        accountant.release(noise, accountant.private([0.5], SHARE, "ann"))
    with pytest.raises(BudgetExceeded):
        accountant.release(noise, accountant.private([0.5], SHARE, "ann"))
    assert accountant.ledger.spent("ann").values[0] == 1
    with pytest.raises(BudgetExceeded):  # how little it may be
        accountant.release(Laplace(scale=1e300, sensitivity=ONE), accountant.private([0.5], SHARE, "ann"))


def check_many_scales(composition: Any, count: int, **options: Any) -> Any:
    """Charge one record through noise of so many scales; return its accountant."""
    accountant = accountant_with(composition, Budget(1e6, 1e-6), **options)
    value, exact = accountant.private([0.5], SHARE, "ann"), Fraction(0)
    for t in range(1, count + 1):
        noise = Laplace(scale=t * t / 0.6, sensitivity=ONE)
        accountant.release(noise, value)
        exact += Fraction(float(Fraction(0.6) / (t * t)))  # to 53 digits
    spent = accountant.ledger.spent("ann")
    assert max(len(str(each)) for each in spent.values) < 2_000
    if composition.name.startswith(("basic", "advanced")):
        assert abs(spent.values[0] / exact - 1) < 1e-12
    return accountant


@pytest.mark.slow_cells("R\\xe9nyi filter")
@pytest.mark.few(2)
@pytest.mark.parametrize("composition", FILTERS, ids=lambda each: each.name)
def test_700_scales_on_one_record(composition: Any, tmp_path: Path) -> None:
    """The denominators of 316 had more digits than Python prints, 155 under advanced composition."""
    accountant = check_many_scales(composition, 700)
    accountant.export(tmp_path / "ledger.json")
    assert len(json.loads((tmp_path / "ledger.json").read_text())["accounts"]) == 1


@pytest.mark.slow
def test_many_scales_in_a_store(tmp_path: Path) -> None:
    accountant = check_many_scales(AdvancedComposition(), 200, store=tmp_path / "ledger.db")
    accountant.release(Laplace(scale=1.0, sensitivity=ONE), accountant.private([0.5], SHARE, "bob"))
    assert verify_store(tmp_path / "ledger.db").accounts == 2


@pytest.mark.slow
@pytest.mark.parametrize("composition", FILTERS, ids=lambda each: each.name)
def test_100_000_scales_on_one_record(composition: Any, tmp_path: Path) -> None:
    check_many_scales(composition, 100_000)


@pytest.mark.slow
def test_mechanisms_without_end_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_store, "_KEPT", 8)
    stored = accountant_with(BasicComposition(), Budget(1e9), store=tmp_path / "ledger.db")
    for i in range(20):
        stored.release(Laplace(scale=1.0 + i, sensitivity=ONE), stored.private([0.5], SHARE, "ann"))
    assert len(stored.ledger._kinds) <= 8  # type: ignore[attr-defined]
    verify_store(tmp_path / "ledger.db")
    accountant = accountant_with(BasicComposition(), Budget(1e9))
    for i in range(9_000):
        accountant._charge(Laplace(scale=1.0 + i, sensitivity=ONE), ONE, Place("here.py", 1))
    kept = accountant._units
    assert max(len(accountant._charges), len(kept._prices), len(kept._sums)) <= 4_096
