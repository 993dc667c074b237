"""Adaptive worst cases: never below what an adversary reaches who is played, nor far above."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import BoundedRangeProfile
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Bound
from mechanisms.composition.worst_case import bounded_range_curve, delta_of_curve, epsilon_of_curve


@pytest.mark.slow_cells("0.1-1000-1e-06-8.29-8.323")
@pytest.mark.parametrize(
    ("size", "count", "delta", "low", "high"),
    [(1.0, 20, 1e-6, 12.0821, 12.0839), (0.5, 5, 1e-3, 1.5605, 1.5609), (0.1, 1000, 1e-6, 8.29, 8.323)],
)
def test_bounded_ranges_cost_what_an_adaptive_adversary_reaches(
    size: float, count: int, delta: float, low: float, high: float
) -> None:
    """The product of worst pairs says 13.43, 1.67, 9.84, the best order 12.43, 1.617, 8.84."""
    found = compose([(BoundedRangeProfile(size), count)]).epsilon(delta)
    assert isinstance(found, Bound)
    assert low <= found.upper <= high
    assert found.by == "adaptive worst case"


def two_steps(size: float, epsilon: float, first: float, second: tuple[float, float]) -> float:
    """Return the δ of an adversary whose second law depends on the first outcome; t - e and t are its values."""
    total = 0.0
    laws = [
        [(t, (math.exp(size) - math.exp(t)) / math.expm1(size)), (t - size, math.expm1(t) / math.expm1(size))]
        for t in (first, *second)
    ]
    for (loss, p), law in zip(laws[0], laws[1:], strict=True):
        total += sum(p * q * max(0.0, -math.expm1(epsilon - loss - other)) for other, q in law)
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.05, 3.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 2.0)
)
def test_no_adversary_of_two_releases_is_worse(size: float, a: float, b: float, c: float, at: float) -> None:
    curve = bounded_range_curve(size, 2, 2.0 * size)
    assert curve is not None
    played = two_steps(size, at * size, a * size, (b * size, c * size))
    assert played <= delta_of_curve(*curve, at * size) * (1.0 + 1e-12)


@pytest.mark.parametrize("size", [0.01, 1.0, 8.0])
def test_one_release_is_above_its_closed_curve_and_near_it(size: float) -> None:
    curve = bounded_range_curve(size, 1, size)
    assert curve is not None
    for x in np.linspace(0.0, 0.95, 12) * size:
        exact = BoundedRangeProfile(size).delta(float(x))
        assert exact * (1.0 - 1e-12) <= delta_of_curve(*curve, float(x))
    assert epsilon_of_curve(*curve, BoundedRangeProfile(size).delta(0.5 * size)) == pytest.approx(
        0.5 * size, rel=2e-2
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e-15, 1e-7])
def test_ranges_below_rounding_have_no_curve(size: float) -> None:
    """The cells of a grid had no width: 0/0."""
    assert bounded_range_curve(size, 100, 1.0) is None
    assert 0.0 <= compose([(BoundedRangeProfile(Fraction(size)), 100)]).delta(0.0).upper <= 50.0 * size
