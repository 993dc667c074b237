"""The messages of refusals about records that cannot pay."""

from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Rule, spending_on
from mechanisms import Interval, Laplace

SHARE = Interval(0, 1)
HALF = Laplace.for_epsilon(0.5, sensitivity=SHARE.sensitivity)


def released(gate: Accountant, records: list[str]) -> None:
    sums = gate.sums(1)
    for record in records:
        sums.add(gate.private([0.5], SHARE, record), np.array([[0]]))
    gate.release(HALF, sums)


@pytest.mark.parametrize("stored", [False, True])
def test_all_who_cannot_pay_are_named(stored: bool, tmp_path: Path) -> None:
    """Some for the budget and one for a rule; so that whoever asks leaves them out at once, and not one by one."""
    rules = [Rule(Budget(0.75), purpose="ads"), Rule(Budget(2.0), purpose="care")]
    store = tmp_path / "ledger.db" if stored else None
    gate = Accountant(Budget(1.0), rules=rules, store=store, purpose="care")
    for record in ("bob", "bob", "dan", "dan"):
        released(gate, [record])
    with spending_on("ads"):
        released(gate, ["eve"])
        with pytest.raises(BudgetExceeded) as refused:
            released(gate, ["ann", "bob", "cat", "dan", "eve"])
    assert refused.value.record == "bob"
    assert refused.value.others == ("dan", "eve")
    assert "2 further records cannot pay either: 'dan', 'eve'" in refused.value.message
    released(gate, ["ann", "cat", "eve"])
    if store is not None:
        gate.ledger.close()  # type: ignore[attr-defined]


def test_many_are_counted_and_some_named() -> None:
    gate, many = Accountant(Budget(0.5)), [f"user-{i}" for i in range(1, 41)]
    released(gate, many)
    with pytest.raises(BudgetExceeded) as refused:
        released(gate, ["new", *many])
    assert len(refused.value.others) == 39
    named = ", ".join(repr(f"user-{i}") for i in range(2, 12))
    assert f"39 further records cannot pay either: {named} and 29 more" in refused.value.message
    with pytest.raises(BudgetExceeded) as refused:
        released(gate, ["new", "user-3"])
    assert refused.value.others == ()
    assert "further" not in refused.value.message


def test_who_is_refused_as_a_declassified_value_is_named() -> None:
    gate = Accountant(Budget(1.0))
    with pytest.raises(BudgetExceeded) as refused:
        gate.declassify(gate.private([0.5], SHARE, "ann") + gate.private([0.5], SHARE, "bob"), "to be seen")
    assert refused.value.others == ("bob",)
