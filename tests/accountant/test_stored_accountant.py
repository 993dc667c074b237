"""The purpose and the tenant of a run's charges: set before the first, and never again."""

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.rules.scope import ANY, Scope
from accountant.stored_accountant import scope_state, settle_scope
from mechanisms import Interval, Laplace
from mechanisms.parameters import ParameterError

ADS = Scope("ads", "shop")


def charged(**scope: str) -> Accountant:
    """Return an accountant that has charged a record."""
    accountant, unit = Accountant(Budget(1.0), noise=np.random.default_rng(0), **scope), Interval(0, 1)  # type: ignore[arg-type]
    value = accountant.private([1.0], unit, record="ann")
    accountant.release(Laplace.for_epsilon(0.5, sensitivity=unit.sensitivity), value)
    return accountant


def test_a_scope_is_settled_once() -> None:
    accountant = Accountant(Budget(1.0))
    assert not settle_scope(accountant, ANY)
    assert settle_scope(accountant, ADS)
    assert scope_state(accountant) == {"spends_on": ["ads", "shop"]}
    assert not settle_scope(accountant, ADS)
    assert not settle_scope(accountant, ANY)  # a file that says nothing changes nothing
    for other in (Scope("ads"), Scope("care", "shop")):
        with pytest.raises(ParameterError, match=f"{other}: must stay purpose 'ads' and tenant 'shop'"):
            settle_scope(accountant, other)
    assert scope_state(accountant) == {"spends_on": ["ads", "shop"]}


def test_no_scope_is_settled_after_a_charge() -> None:
    for accountant, usual in (
        (charged(), "no purpose or tenant"),
        (charged(purpose="care"), "purpose 'care'"),
    ):
        before = scope_state(accountant)
        with pytest.raises(ParameterError, match=f"purpose 'ads' and tenant 'shop': must stay {usual}"):
            settle_scope(accountant, ADS)
        assert scope_state(accountant) == before
