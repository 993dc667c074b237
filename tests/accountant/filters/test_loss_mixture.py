"""Mixtures of orders: against 40 digits, and against what one order and a union bound say."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.filters.loss_mixture import epsilon_of_mixture, loss_at_every_moment
from accountant.filters.renyi import epsilon_of

rows = st.lists(
    st.tuples(
        st.floats(1.001, 300.0), st.floats(1e-3, 1.0), st.one_of(st.floats(1e-9, 30.0), st.just(math.inf))
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[0],
)
deltas = st.floats(1e-12, 0.9)


def unpacked(rows):
    orders, sizes, divergences = zip(*rows, strict=True)
    total = math.fsum(sizes)
    return orders, tuple(size / total for size in sizes), divergences


def exact(orders, weights, divergences, delta, factor):
    """Return the root of the sum of the terms times `factor(order)`, and φ there, to 40 digits."""
    terms = [
        (mpmath.mpf(order), mpmath.mpf(weight) * mpmath.mpf(delta), mpmath.mpf(size))
        for order, weight, size in zip(orders, weights, divergences, strict=True)
        if size < math.inf
    ]

    def total(at, factor):
        return mpmath.fsum(factor(a) * w * mpmath.exp((a - 1) * (at - d)) for a, w, d in terms)

    high = min(d - mpmath.log(factor(a) * w) / (a - 1) for a, w, d in terms)
    low = high - 1
    while total(low, factor) > 1:
        low -= high - low
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle, factor) < 1 else (low, middle)
    return low, total(low, lambda order: 1)


def room_for_rounding(orders, weights, divergences, delta):
    """Return by how much bounds may be too large: exponents of all terms are rounded, up to that of the least slope."""
    size = float(max(abs(math.log(w * delta)) / (a - 1) for a, w in zip(orders, weights, strict=True)))
    return 1e-12 * (1 + size + max((d for d in divergences if d < math.inf), default=0.0))


@settings(max_examples=15, deadline=None)
@given(rows, deltas)
def test_both_bounds_are_just_above_40_digits(rows, delta):
    orders, weights, divergences = unpacked(rows)
    found = epsilon_of_mixture(orders, weights, divergences, delta)
    moment = loss_at_every_moment(orders, weights, divergences, delta)
    if min(divergences) == math.inf:
        assert found == moment == math.inf
        return
    with mpmath.workdps(40):
        at, value = exact(orders, weights, divergences, delta, lambda order: order)
        truth = max(mpmath.mpf(0), at + mpmath.log(1 - value))
        room = room_for_rounding(orders, weights, divergences, delta)
        assert truth <= found <= truth + room
        root, _ = exact(orders, weights, divergences, delta, lambda order: 1)
        assert max(0, root) <= moment <= max(0, root) + room


@given(rows, deltas)
def test_a_mixture_is_no_worse_than_each_order_at_its_share(rows, delta):
    orders, weights, divergences = unpacked(rows)
    found = epsilon_of_mixture(orders, weights, divergences, delta)
    for order, weight, size in zip(orders, weights, divergences, strict=True):
        alone = epsilon_of(order, size, weight * delta)
        assert found <= alone + 10 * room_for_rounding(orders, weights, divergences, delta) or found < 1e-6
        if len(rows) == 1 and size < math.inf:
            assert found == pytest.approx(alone, rel=1e-11, abs=1e-11)


def test_no_divergence_is_no_loss_and_no_delta_no_bound():
    assert epsilon_of_mixture((2.0, 4.0), (0.5, 0.5), (0.0, 0.1), 1e-6) == 0.0
    assert epsilon_of_mixture((2.0,), (1.0,), (0.1,), 0.0) == math.inf
    assert loss_at_every_moment((2.0,), (1.0,), (0.1,), 0.0) == math.inf
