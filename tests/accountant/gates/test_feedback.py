"""Feedback to a learner must be private, of its own gate, and in a domain within its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import Accountant, Budget, ForeignValue, Simulation, check_feedback
from accountant.gates.feedback import _lies_in
from mechanisms import Ball, Box, Categories, Domain, DomainError, Integers, Interval, OneHot

CUBE = Box(0, 1, 3)


def accountant() -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0))


DOMAINS = st.one_of(
    st.builds(
        lambda a, b, n: Box(min(a, b), max(a, b), n),
        st.integers(-2, 2),
        st.integers(-2, 2),
        st.integers(1, 3),
    ),
    st.builds(
        lambda a, b, n: Integers(min(a, b), max(a, b), n),
        st.integers(-2, 2),
        st.integers(-2, 2),
        st.integers(1, 3),
    ),
    st.builds(lambda a, b: Interval(min(a, b), max(a, b)), st.integers(-2, 2), st.integers(-2, 2)),
    st.builds(OneHot, st.integers(1, 3), st.booleans()),
    st.builds(Categories, st.integers(1, 3)),
    st.builds(Ball, st.integers(1, 2), st.integers(1, 3)),
)


@given(DOMAINS, DOMAINS)
def test_a_domain_lies_in_another_only_if_its_points_do(inner: Domain, outer: Domain) -> None:
    points = inner.extremes().reshape(len(inner.extremes()), -1)
    if _lies_in(inner, outer):
        outer.check(points.reshape(len(points), *outer.shape))
        middle = points.mean(axis=0)
        if isinstance(inner, Box | Interval):
            outer.check(middle.reshape(outer.shape))
    assert _lies_in(inner, inner)
    assert not _lies_in(None, outer)


def test_whole_numbers_are_whole() -> None:
    counts = Integers(0, 2, 3)
    assert _lies_in(Integers(1, 2, 3), counts)
    assert not _lies_in(Integers(0, 3, 3), counts)
    assert not _lies_in(CUBE, counts)
    assert _lies_in(counts, Box(0, 2, 3))


def test_what_lies_in_the_domain_is_taken() -> None:
    gate = accountant()
    for domain in (CUBE, Box(0.0, 1.0, 3), Box(0.25, 0.5, 3), Integers(0, 1, 3), OneHot(3)):
        values = domain.extremes()[0]
        check_feedback(gate, gate.private(values, domain, "ann"), CUBE)
    wide = gate.private([5, -3, 0.5], Box(-9, 9, 3), "bob")
    check_feedback(gate, wide.map(lambda x: np.clip(x, 0, 1), into=CUBE), CUBE)
    lanes = Simulation(0, 64)
    check_feedback(lanes, lanes.private(np.ones((64, 3)), CUBE, 1), CUBE)
    with pytest.raises(DomainError, match=r"feedback of shape \(64, 2\): must be of shape \(64, 3\)"):
        check_feedback(lanes, lanes.private(np.ones((64, 2)), CUBE, 1), CUBE)


@pytest.mark.parametrize(
    "domain",
    [
        Box(0, 1, 2),
        Box(0, 1, 4),
        Box(0, 10, 3),
        Box(-0.5, 0.5, 3),
        Integers(0, 2, 3),
        Ball(1, 3),
        Interval(0, 1),
    ],
)
def test_what_does_not_is_refused(domain: Any) -> None:
    gate = accountant()
    value = gate.private(domain.extremes()[0], domain, "ann")
    with pytest.raises(DomainError, match=r"report comes from .*: must come from Box"):
        check_feedback(gate, value, CUBE, name="report")


def test_clicks_come_from_one_hot_vectors_only() -> None:
    gate = accountant()
    check_feedback(gate, gate.private([0, 1, 0], OneHot(3, allow_none=False), "ann"), OneHot(3))
    for domain in (CUBE, Integers(0, 1, 3), OneHot(2)):
        with pytest.raises(DomainError, match="must come from OneHot"):
            check_feedback(gate, gate.private(domain.extremes()[0], domain, "ann"), OneHot(3))
    maybe = gate.private([0, 0, 0], OneHot(3), "ann")
    with pytest.raises(DomainError):
        check_feedback(gate, maybe, OneHot(3, allow_none=False))


def test_what_is_not_private_or_of_another_gate_is_refused_in_words() -> None:
    gate = accountant()
    for raw in ([1, 0, 0], np.ones((1, 3)), None):
        with pytest.raises(
            ForeignValue, match=r"feedback of type .*: must be private, from private\(values, Box"
        ):
            check_feedback(gate, raw, CUBE)  # type: ignore[arg-type]
    with pytest.raises(ForeignValue, match="another gate"):
        check_feedback(gate, accountant().private([1, 0, 0], CUBE, "ann"), CUBE)


def test_sums_are_of_as_many_values_as_rounds() -> None:
    gate = accountant()
    one, two = (gate.private([1, 0, 0.5], CUBE, record) for record in ("ann", "bob"))
    total = one + two
    with pytest.raises(ValueError, match="sum of 2 values: must be the sum of the feedback of one round"):
        check_feedback(gate, total, CUBE)
    with pytest.raises(ValueError, match=r"sum of 2 values: must be .* rounds=\[3\]"):
        check_feedback(gate, total, CUBE, rounds=np.array([3]))
    check_feedback(gate, total, CUBE, rounds=np.array([2]))
    for changed in (one * 0.5, one - two, -one, one + 1.0, one.take(np.array([[0, 1, 2]])), one.sum()):
        with pytest.raises(DomainError, match="a domain without a name"):
            check_feedback(gate, changed, CUBE)
