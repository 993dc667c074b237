"""Rounding towards more privacy loss: never below the exact number, and no further above it than said."""

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mechanisms.numerics.rounding import add_up, divide_up, down, multiply_up, square_root_up, up

JUST_ABOVE_ONE = 1 + Fraction(1, 2**80)
EXACT = st.builds(Fraction, st.integers(0, 10**40), st.integers(1, 10**40))
FLOATS = st.floats(-1e150, 1e150)
NONNEGATIVE = st.floats(1e-140, 1e140) | st.just(0.0)


def assert_least_float(found: float, exact: Fraction) -> None:
    """The smallest float that is at least the exact number."""
    assert Fraction(found) >= exact
    assert Fraction(math.nextafter(found, -math.inf)) < exact


@given(EXACT)
@example(JUST_ABOVE_ONE)
@example(-JUST_ABOVE_ONE)
@example(Fraction(1, 10))
def test_up(exact: Fraction) -> None:
    assert_least_float(up(exact), exact)


def test_up_beyond_all_floats() -> None:
    assert up(Fraction(10) ** 400) == math.inf
    assert up(-(Fraction(10) ** 400)) == -sys.float_info.max


@given(EXACT | st.builds(Fraction, FLOATS))
@example(JUST_ABOVE_ONE)
@example(-JUST_ABOVE_ONE)
@example(-Fraction(1, 10))
@example(Fraction(1, 10**400))
@example(-Fraction(1, 10**400))
def test_down(exact: Fraction) -> None:
    """The largest float that is at most the exact number, and no negative zero."""
    found = down(exact)
    assert Fraction(found) <= exact < Fraction(math.nextafter(found, math.inf))
    assert found or math.copysign(1.0, found) == 1.0


def test_down_beyond_all_floats() -> None:
    assert down(Fraction(10) ** 400) == sys.float_info.max
    assert down(-(Fraction(10) ** 400)) == -math.inf


@given(FLOATS, FLOATS)
@example(1.0, 2.0**-80)
@example(1.0, -(2.0**-80))
@example(2.0**-80, 1.0)
@example(0.5, 0.25)
def test_add_up(a: float, b: float) -> None:
    assert_least_float(add_up(a, b), Fraction(a) + Fraction(b))


@given(NONNEGATIVE, NONNEGATIVE)
@example(1.0 + 2.0**-52, 1.0 + 2.0**-52)
@example(0.1, 10.0)
def test_multiply_up(a: float, b: float) -> None:
    assert_least_float(multiply_up(a, b), Fraction(a) * Fraction(b))


@given(NONNEGATIVE, st.floats(1e-140, 1e140))
@example(1.0, 3.0)
@example(1.0, 4.0)
def test_divide_up(a: float, b: float) -> None:
    assert_least_float(divide_up(a, b), Fraction(a) / Fraction(b))


def test_infinity_and_nothing() -> None:
    assert add_up(math.inf, 1.0) == math.inf
    assert multiply_up(0.0, math.inf) == multiply_up(math.inf, 0.0) == 0.0
    assert multiply_up(2.0, math.inf) == multiply_up(1e200, 1e200) == math.inf
    assert divide_up(math.inf, 2.0) == math.inf


@given(EXACT)
@example(JUST_ABOVE_ONE)
@example(1 - Fraction(1, 2**80))
@example(Fraction(2))
@example(Fraction(1, 3))
@example(Fraction(0))
def test_square_root_up(exact: Fraction) -> None:
    """At least the root, and at most one float above the smallest that is."""
    root = square_root_up(exact)
    assert Fraction(root) ** 2 >= exact
    two_below = math.nextafter(math.nextafter(root, -math.inf), -math.inf)
    assert two_below < 0.0 or Fraction(two_below) ** 2 < exact


@pytest.mark.parametrize("root", [3.0, 0.1, 1e-150, 1.5e150, 2.0**-500])
def test_a_root_that_is_a_float_is_exact(root: float) -> None:
    assert square_root_up(Fraction(root) ** 2) == root
