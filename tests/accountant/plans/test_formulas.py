"""Enclosures of real numbers: against many digits, no wider than need be, undefined where there is no number."""

import math
from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.formulas import DeclaredSymbol, PlanStatement, RealInterval, UndefinedValue

fractions = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)
signed = st.fractions(min_value=-100, max_value=100, max_denominator=1_000)
few = settings(max_examples=30)
WIDE = Fraction(1, 10**20)  # more than an enclosure of these numbers may leave open


def interval(one: Fraction, other: Fraction) -> RealInterval:
    return RealInterval(min(one, other), max(one, other))


def decimal(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.slow
@few
@given(fractions)
def test_a_logarithm_lies_between_its_bounds(value: Fraction) -> None:
    with mpmath.workdps(100):
        found = RealInterval(value, value).logarithm()
        assert decimal(found.lower) <= mpmath.log(decimal(value)) <= decimal(found.upper)
        assert found.upper - found.lower < WIDE
    assert RealInterval(Fraction(1), Fraction(1)).logarithm().exact == 0


@few
@given(fractions, st.integers(2, 5))
def test_a_root_lies_between_its_bounds_and_a_rational_one_is_exact(value: Fraction, degree: int) -> None:
    found = RealInterval(value, value).root(degree)
    assert found.lower**degree <= value <= found.upper**degree
    assert found.upper - found.lower < WIDE
    assert RealInterval(value**degree, value**degree).root(degree).exact == value


@pytest.mark.slow
@few
@given(signed, signed, signed, signed, st.fractions(0, 1), st.fractions(0, 1))
def test_sums_products_and_reciprocals_hold_what_they_are_made_of(
    a: Fraction, b: Fraction, c: Fraction, d: Fraction, here: Fraction, there: Fraction
) -> None:
    one, other = interval(a, b), interval(c, d)
    x, y = (each.lower + share * (each.upper - each.lower) for each, share in ((one, here), (other, there)))
    for found, value in ((one + other, x + y), (one * other, x * y)):
        assert found.lower <= value <= found.upper
    products = [p * q for p in (a, b) for q in (c, d)]
    assert (one * other) == RealInterval(min(products), max(products))
    if one.lower <= 0 <= one.upper:
        with pytest.raises(UndefinedValue, match="division"):
            one.reciprocal()
    else:
        assert one.reciprocal() == interval(1 / a, 1 / b)


@settings(max_examples=10, deadline=None)
@given(fractions, fractions)
def test_wider_numbers_have_wider_functions(a: Fraction, b: Fraction) -> None:
    both = interval(a, b)
    for function in (RealInterval.logarithm, lambda each: each.root(2)):
        ends = [function(RealInterval(end, end)) for end in (both.lower, both.upper)]
        assert function(both) == RealInterval(ends[0].lower, ends[1].upper)


@pytest.mark.parametrize("lower", [Fraction(0), Fraction(-1)])
def test_a_logarithm_of_what_may_not_be_above_0_is_undefined(lower: Fraction) -> None:
    with pytest.raises(UndefinedValue, match="logarithm"):
        RealInterval(lower, Fraction(1)).logarithm()


def test_a_root_of_what_may_be_below_0_is_undefined() -> None:
    assert RealInterval(Fraction(0), Fraction(4)).root(2) == RealInterval(Fraction(0), Fraction(2))
    with pytest.raises(UndefinedValue, match="root"):
        RealInterval(Fraction(-1), Fraction(4)).root(2)


@few
@given(signed, st.fractions(0, 2))
def test_a_floor_is_told_or_undefined(value: Fraction, width: Fraction) -> None:
    number = RealInterval(value, value + width)
    if math.floor(number.lower) == math.floor(number.upper):
        assert number.floor().exact == math.floor(value)
    else:
        with pytest.raises(UndefinedValue, match="floor"):
            number.floor()


N, X = sp.Symbol("n", positive=True), sp.Symbol("x", positive=True)


@pytest.mark.parametrize(
    ("formula", "whole"),
    [
        (N, True), (3 * N**2 - N + 7, True), (sp.floor(X), True), (N * sp.floor(X / 2), True),
        (X, False), (N / 2, False), (N * X, False), (sp.sqrt(N), False), (sp.log(N + 1), False), (1 / N, False),
        (N + sp.sqrt(2), False), (sp.floor(X) / 3, False),
    ],
)  # fmt: skip
def test_what_is_shown_to_be_whole_is(formula: sp.Expr, whole: bool) -> None:
    """A number of releases must be: what is whole at some points only would be a hole in a proof."""
    domain = [
        DeclaredSymbol(N, whole=True, bound=sp.Integer(1)),
        DeclaredSymbol(X, whole=False, bound=sp.Integer(1)),
    ]
    (case,) = PlanStatement(domain, [formula]).cases()
    assert case.is_integer(formula) is whole
