"""Printed numbers say no more than is proved: lower ends at most, upper ends and shares at least the value."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, nearest, percent, percent_at_most

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_a_thousand_random_numbers_of_every_size_are_printed_on_the_safe_side() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([-1.0, 1.0], 1000) * 10.0 ** rng.uniform(-300.0, 300.0, 1000)
    for value in (*values.tolist(), *rng.uniform(0.0, 20.0, 1000).tolist()):
        for digits in (6, 10):
            low, high = Fraction(at_least(value, digits)), Fraction(at_most(value, digits))
            assert float(low) <= value <= float(high)
            assert high - low <= abs(Fraction(value)) * Fraction(10) ** (1 - digits)


@given(finite, st.integers(1, 15))
def test_ends_are_on_the_safe_side_of_any_float(value: float, digits: int) -> None:
    assert float(at_least(value, digits)) <= value <= float(at_most(value, digits))


@given(st.floats(0.0, 1.0))
def test_shares_are_rounded_up(share: float) -> None:
    assert float(percent_at_most(share).removesuffix(" %")) >= 100.0 * share


@given(finite)
def test_a_number_that_somebody_gave_reads_back(value: float) -> None:
    assert float(as_given(value)) == value


@given(st.floats(0.0, 1.0, exclude_max=True))
def test_all_is_printed_of_nothing_less(share: float) -> None:
    assert percent(share) != "100 %"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (1.0, "1", "1"),
        (0.98, "0.98", "0.98"),
        (2 / 3, "0.666666", "0.666667"),
        (9.9999999, "9.99999", "10"),
        (999_999.5, "999999", "1e+06"),
        (1.23456789e-7, "1.23456e-07", "1.23457e-07"),
        (-2 / 3, "-0.666667", "-0.666666"),
        (0.0, "0", "0"),
        (math.inf, "∞", "∞"),
    ],
)
def test_numbers_are_written_as_they_are_read(value: float, low: str, high: str) -> None:
    assert (at_least(value), at_most(value)) == (low, high)


def test_estimates_are_printed_to_the_nearest_digit() -> None:
    assert (nearest(2 / 3), nearest(4.6388289409, 10)) == ("0.666667", "4.638828941")
