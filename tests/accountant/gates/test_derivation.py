"""Derivations: where one record's value lies after each step, by brute force over what it may be."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.gates.derivation import Derivation, ExactDomain, exact_domain
from mechanisms import Ball, Box, Interval, OneHot, Sensitivity
from mechanisms.transformations import (
    Affine,
    Choose,
    Clip,
    FirstAbove,
    LinearMap,
)

MASK = np.array([[True, False, True, True]])


def accountant() -> Accountant:
    return Accountant(Budget.unlimited(), noise=np.random.default_rng(0))


def derived(value: Any, mask: Any = None) -> Any:
    """Return how the one record of a value moves what is released of it, and how that came about."""
    ((moved, _, way),) = value._provenance.movements(mask)
    return moved, way


def test_a_value_knows_its_domain_and_each_map() -> None:
    gate = accountant()
    value = gate.private([0.2, 0.4, 0.6], Box(0, 1, 3), "ann").map(Clip(0.25, 0.5) >> Affine(2.0, -1.0))
    moved, way = derived(value)
    assert [step.op for step in way.steps] == ["clip", "affine"]
    assert way.domain == ExactDomain("box", Fraction(0), Fraction(1), 3)
    assert way.last_domain == ExactDomain("box", Fraction(-1, 2), Fraction(0), 3)
    assert moved.l1 == 1.5


def test_sums_derive_what_is_released_of_each_record() -> None:
    gate = accountant()
    sums = gate.sums(4)
    sums.add(gate.private([0.2, 0.4, 0.6], Box(0, 1, 3), "ann"), at=np.array([[0, 1, 2]]))
    sums.add(gate.private([0.2, 0.4], Box(0, 1, 2), "bob").take(np.array([[0, -1]])), at=np.array([[3, -1]]))
    whole = {record: way for _, records, way in sums._provenance.movements(None) for record in records}
    assert whole["ann"] == Derivation.intern(ExactDomain("box", Fraction(0), Fraction(1), 3))
    assert [step.op for step in whole["bob"].steps] == ["choose"]
    found = {
        record: way.last_domain.size
        for _, records, way in sums._provenance.movements(MASK)
        for record in records
    }
    assert found == {"ann": 2, "bob": 1}
    sums.add(gate.private([0.1, 0.1, 0.1], Box(0, 1, 3), "ann"), at=np.array([[0, 1, 2]]))
    terms = {record: way.terms for _, records, way in sums._provenance.movements(MASK) for record in records}
    assert terms == {"ann": 2, "bob": 1}
    sums.add(gate.private([0.1], Box(0, 1, 1), "ann"), at=np.array([[3]]))
    ways = {record: way for _, records, way in sums._provenance.movements(None) for record in records}
    assert ways["ann"] is None  # its values came about in different ways
    sums.clear(np.ones((1, 4), dtype=bool))
    sums.add(gate.private([0.1], Box(0, 1, 1), "ann"), at=np.array([[3]]))
    ((_, _, again),) = sums._provenance.movements(None)
    assert again == Derivation.intern(ExactDomain("box", Fraction(0), Fraction(1), 1))


def test_a_derivation_is_read_as_it_was_written() -> None:
    """The same object: what is charged in one entry is grouped by it."""
    gate = accountant()
    box, hot = gate.private([0.2, 0.4, 0.6], Box(0, 1, 3), "ann"), gate.private([0, 1, 0], OneHot(3), "ann")
    matrix = [[0.1, 0.2, 0.0], [0.0, 1 / 3, 1.0]]
    for value in (
        box,
        box * 0.3,
        box.take(np.array([[2, 0, -1]])),
        box.map(Clip(0.25, 0.5) >> Affine(2.0, -1.0) >> Choose([[1, 2, 1]])),
        box.map(LinearMap(matrix)),
        hot.map(Affine(1 / 3, 0.1)),
        hot.map(FirstAbove(0.5)),
    ):
        _, way = derived(value)
        assert way is not None
        assert Derivation.from_list(json.loads(json.dumps(way.to_list()))) is way


@pytest.mark.parametrize(("threshold", "same"), [(0.0, True), (0.999, True), (1.0, False), (-0.001, False)])
def test_a_threshold_reads_a_choice_only_where_it_parts_0_from_1(threshold: float, same: bool) -> None:
    """Above a threshold of 1 there is no coordinate, and above one below 0 the first one is."""
    value = accountant().private([0, 1, 0], OneHot(3), "ann").map(FirstAbove(threshold))
    _, way = derived(value)
    assert way is not None
    assert way.steps[-1].op == ("category of one-hot" if same else "first above")


def test_what_has_no_rule_has_no_derivation() -> None:
    gate = accountant()
    value = gate.private([0.2, 0.4], Box(0, 1, 2), "ann")
    assert derived(value * np.array([[1.0, 2.0]]))[1] is None
    other = gate.private([0.2, 0.4], Box(0, 2, 2), "ann")
    assert derived(value + other)[1] is None
    two_rows = Choose([[0], [1]])
    start = exact_domain(OneHot(2))
    assert start is not None
    assert Derivation.intern(start).map(two_rows, OneHot(2)) is None


def test_coordinates_times_zero_are_left_out() -> None:
    """So records of one coordinate each are known, as those before the first round may be."""
    gate = accountant()
    only = [gate.private([0.2, 0.4], Box(0, 1, 2), i) * np.eye(2)[i] for i in range(2)]
    ((moved, records, way),) = (only[0] + only[1])._provenance.movements(None)
    assert (set(records), moved) == ({0, 1}, Sensitivity.of_box([1.0]))
    assert [step.op for step in way.steps] == ["choose", "affine"]
    assert way.last_domain == ExactDomain("box", Fraction(0), Fraction(1), 1)
    assert derived(gate.private([0.2, 0.4, 0.1], Box(0, 1, 3), "ann") * np.array([1.0, 0.0, 2.0]))[1] is None


def test_a_sum_of_several_records_is_any_vector_until_it_is_clipped() -> None:
    gate = accountant()
    ann, bob = (gate.private([0.5, 0.5], Box(0, 1, 2), name) for name in ("ann", "bob"))
    both = (ann + bob).map(Clip(0, 1))
    ((moved, records, way),) = both._provenance.movements(None)
    assert (set(records), moved) == ({"ann", "bob"}, Sensitivity.of_box([1.0, 1.0]))
    assert (way.domain.kind, way.steps[0].op, way.last_domain.high) == ("reals", "clip", 1)


def test_images_lie_in_stated_domains_exactly() -> None:
    """Rounded to the nearest float, the image of an end could lie outside."""
    ends = (0.0, 1.0, 3.0, -0.1, 1e-17, 0.3)
    for factor, shift, (low, high) in itertools.product(ends, ends, itertools.combinations(sorted(ends), 2)):
        into = Affine(factor, shift).output_domain(Interval(low, high))
        for end in (low, high):
            assert into.lower <= Fraction(factor) * Fraction(end) + Fraction(shift) <= into.upper
        box = LinearMap([[factor, shift], [0.1, 0.7]]).output_domain(Box(low, high, 2))
        for x, y in itertools.product((low, high), repeat=2):
            assert box.lower <= Fraction(factor) * Fraction(x) + Fraction(shift) * Fraction(y) <= box.upper


def test_an_infinite_domain_is_any_real_number() -> None:
    start = exact_domain(Interval(-np.inf, 1.0))
    assert start is not None
    assert start.kind == "reals"
    assert exact_domain(Ball(1.0, 3, order=2)) == ExactDomain("ball-2", Fraction(0), Fraction(1), 3)
