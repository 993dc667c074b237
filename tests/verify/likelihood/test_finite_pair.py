"""Exact ε and δ of pairs of finite laws, against fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.events.event import event_from_dict
from verify.events.view_sample import Column, ViewSample
from verify.likelihood.finite_law import FiniteLaw

weights = st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any)


def law_of_weights(counts):
    return FiniteLaw.of({i: Fraction(count, sum(counts)) for i, count in enumerate(counts)})


@given(weights, weights, st.integers(0, 48).map(lambda k: k / 16))
def test_enumeration_holds_the_exact_value_and_little_else(first, second, epsilon):
    pair = law_of_weights(first).compared(law_of_weights(second))
    length = max(len(first), len(second))
    p = [Fraction(w, sum(first)) for w in first] + [Fraction(0)] * (length - len(first))
    q = [Fraction(w, sum(second)) for w in second] + [Fraction(0)] * (length - len(second))
    # e^ε as a fraction that is good to 1e-30: the exact value is then known far better than in floats.
    power = sum((Fraction(epsilon) ** k / math.factorial(k) for k in range(60)), Fraction(0))
    exact = sum((max(a - power * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    found = pair.delta(epsilon)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper) or found.upper == 1.0
    assert found.width <= 1e-14
    ratios = [a / b for a, b in zip(p, q, strict=True) if a and b]
    largest = pair.epsilon()
    if any(a and not b for a, b in zip(p, q, strict=True)):
        assert largest.lower == largest.upper == math.inf
    else:
        truth = max(0.0, max(math.log(ratio.numerator) - math.log(ratio.denominator) for ratio in ratios))
        assert largest.lower <= truth + 1e-15
        assert largest.upper >= truth - 1e-15
        assert largest.width <= 2e-14


@given(weights, weights, st.floats(0.001, 0.999))
def test_epsilon_inverts_delta(first, second, delta):
    pair = law_of_weights(first).compared(law_of_weights(second))
    found = pair.epsilon(delta)
    assert found.lower == 0.0 or pair.delta(found.lower).lower > delta
    assert math.isinf(found.upper) or pair.delta(found.upper).upper <= delta
    assert math.isinf(found.upper) or found.width < 1e-12


def test_the_worst_event_is_data_and_has_its_masses():
    pair = law_of_weights([5, 3, 1, 1]).compared(law_of_weights([1, 1, 1, 7]))
    column = Column("output", "the output", "category")
    event = pair.event(math.log(2.0), (column,))
    chosen = pair.outcomes_above(math.log(2.0))
    assert [row[0] for row in event.rows] == pair.outcomes[chosen, 0].tolist() == [0.0, 1.0]
    assert pair.masses(chosen) == pytest.approx((0.8, 0.2))
    p, q = pair.masses(chosen)
    assert pair.delta(math.log(2.0)).lower == pytest.approx(p - 2 * q)
    again = event_from_dict(event.to_dict(), (column,))
    sample = ViewSample(np.array([[0.0], [1.0], [2.0], [3.0]]), (column,))
    assert again.holds(sample).tolist() == [True, True, False, False]
    assert pair.event(10.0, (column,)) is None


def test_outcomes_may_be_absent_and_differ_between_laws():
    law = FiniteLaw.of({(1.0, math.nan): Fraction(1, 2), (0.0, 1.0): Fraction(1, 2)})
    other = FiniteLaw.of({(1.0, math.nan): 1})
    assert other.compared(law).epsilon().lower == pytest.approx(math.log(2))
    assert law.compared(other).epsilon().lower == math.inf
    assert law.compared(other).loss(np.array([[1, math.nan], [0, 1], [7, 7]])).tolist() == pytest.approx(
        [-math.log(2), math.inf, math.nan], nan_ok=True
    )
