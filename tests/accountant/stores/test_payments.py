"""Columns of charges say what was added."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.rules.scope import Scope
from accountant.stores.payments import Payments

NUMBERS = st.integers(-(2**63), 2**63 - 1)
SCOPES = st.builds(Scope, st.sampled_from([None, "ads", "care"]), st.sampled_from([None, "shop"]))
PARTS = st.lists(st.tuples(NUMBERS, st.lists(NUMBERS, max_size=3).map(tuple)), max_size=3)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(NUMBERS, st.tuples(PARTS, SCOPES), max_size=8))
def test_charges_come_back_as_they_were_added(charges: dict[int, tuple[list, Scope]]) -> None:  # type: ignore[type-arg]
    payments = Payments()
    for position, (paid, scope) in sorted(charges.items()):
        payments.add(position, paid, scope)
    for position, (paid, scope) in charges.items():
        assert (payments[position], payments.scope(position)) == (paid, scope)


@pytest.mark.parametrize("position", [0, 2, 4])
def test_where_no_charge_stands_there_is_none(position: int) -> None:
    payments = Payments()
    for each in (1, 3):
        payments.add(each, [(1, (1,))], Scope())
    with pytest.raises(KeyError, match=str(position)):
        payments[position]
