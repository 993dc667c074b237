"""Budgets and costs: exact comparisons, safe rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import Budget, Cost
from accountant.budget import asked_and_left
from mechanisms import MixedNeighbours, Neighbouring

TINY = Fraction(1, 10**40)


def test_within_compares_exactly():
    assert Cost(Fraction(0.1), Fraction(0)).within(Budget(0.1))
    assert not Cost(Fraction(0.1) + TINY, Fraction(0)).within(Budget(0.1))
    assert not Cost(Fraction(0), TINY).within(Budget(0.1))
    assert not Cost(Fraction(0), Fraction(1e-6) + TINY).within(Budget(math.inf, 1e-6))
    assert Cost(None, Fraction(5)).within(Budget.unlimited())
    assert not Cost(None, Fraction(0)).within(Budget(1e300, 0.5))


@given(st.fractions(0, 100))
def test_costs_are_shown_as_no_less_than_they_are(epsilon):
    cost = Cost(epsilon, epsilon)
    assert Fraction(cost.epsilon_up) >= epsilon
    assert Fraction(math.nextafter(cost.epsilon_up, -math.inf)) < epsilon or epsilon == 0
    assert cost.delta_up <= 1.0


def test_costs_add():
    assert Cost(Fraction(1), Fraction(2)) + Cost(Fraction(3), Fraction(4)) == Cost(Fraction(4), Fraction(6))
    assert (Cost(Fraction(1), Fraction(2)) + Cost(None, Fraction(4))).epsilon is None


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(-1, 9), 0), (0, Fraction(-1, 9)), (None, Fraction(-1))]
)
def test_no_cost_is_negative(epsilon, delta):
    with pytest.raises(ValueError, match="a cost must not be negative"):
        Cost(epsilon, Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (-1.0, 0.0),
        (math.nan, 0.0),
        (1.0, -1e-9),
        (1.0, 1.0),
        (1e300, 1.0),
        (1.0, 1.1),
        (1.0, math.nan),
        ("1", 0.0),
        (1.0, None),
        (True, 0.0),
    ],
    ids=str,
)
def test_bad_budgets_are_refused_by_name(epsilon, delta):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        Budget(epsilon, delta)


def test_a_budget_is_exactly_what_is_saved():
    with pytest.raises(ValueError, match="a budget is a float, and this is none exactly"):
        Budget(Fraction(1, 3))
    assert Budget(np.float32(0.1)).epsilon == float(np.float32(0.1))
    assert Budget(Fraction(1, 4)).epsilon == 0.25
    assert type(Budget(1).epsilon) is float


@given(left=st.fractions(0, 10), extra=st.fractions(Fraction(1, 10**60), 1))
def test_what_is_short_looks_short(left, extra):
    asked, available = asked_and_left(Cost(left + extra, (left + extra) / 20), Cost(left, left / 20))
    for one, other in zip(asked.split(", "), available.split(", "), strict=True):
        assert float(one.partition(" = ")[2]) > float(other.partition(" = ")[2])


def test_an_unlimited_epsilon_is_left_when_delta_is_short():
    asked, left = asked_and_left(Cost(Fraction(1), Fraction(1, 2)), Cost(None, Fraction(1, 4)))
    assert (asked, left) == ("epsilon = 1, delta = 0.5", "epsilon = ∞, delta = 0.25")


def test_costs_of_two_relations_never_add_up():
    cost = Cost(Fraction(1, 2), Fraction(0))
    assert (cost.description, str(cost)) == ("epsilon = 0.5", "epsilon = 0.5, neighbours: replace one")
    with pytest.raises(MixedNeighbours):
        cost + Cost(Fraction(1), Fraction(0), Neighbouring.ADD_OR_REMOVE)
