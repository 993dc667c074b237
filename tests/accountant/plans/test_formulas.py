"""Formulas: their exact values at a point, and none where there is none."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.formulas import formula, value_at

X, Y = sp.symbols("x y")
numbers = st.fractions(min_value=-100, max_value=100, max_denominator=1_000)


@settings(max_examples=30)
@given(numbers, numbers.filter(bool), st.integers(-4, 4))
def test_values_are_exact(x: Fraction, y: Fraction, power: int) -> None:
    found = value_at(formula("f", 3 * X**2 * Y**power - X / Y + sp.Rational(1, 7)), {X: x, Y: y})
    assert found == 3 * x**2 * y**power - x / y + Fraction(1, 7)


@pytest.mark.parametrize(
    "nowhere",
    [
        1 / X,
        X / (X - Y) ** 2,
        sp.Mul(0, 1 / (X + Y), evaluate=False),
        sp.Pow(sp.Add(1, -1, evaluate=False), -1),
    ],
)
def test_what_has_no_value_at_a_point_has_none(nowhere: sp.Expr) -> None:
    with pytest.raises(ZeroDivisionError):
        value_at(formula("f", nowhere), {X: Fraction(0), Y: Fraction(0)})


def test_what_is_not_evaluated_has_the_value_of_what_is_written() -> None:
    written = sp.Add(sp.Mul(2, X, evaluate=False), sp.Pow(X, 0, evaluate=False), -3, evaluate=False)
    assert value_at(formula("f", written), {X: Fraction(5)}) == 8
