"""Paths of neighbours from one data set to another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import Ball, Box, Integers, Interval
from verify.neighbouring.add_or_remove_one import AddOrRemoveOne
from verify.neighbouring.adjacency import Adjacency, NotNeighbours, Pair
from verify.neighbouring.listed import Listed
from verify.neighbouring.path import first_change, path
from verify.neighbouring.replace_one import ReplaceOne
from verify.neighbouring.within import AnyTwo, Within

ADJACENCIES: list[Adjacency] = [
    AnyTwo(Interval(0, 1)),
    ReplaceOne(Box(0, 1, 2), 5),
    ReplaceOne(Integers(0, 9), 4),
    AddOrRemoveOne(Interval(0, 1), 6),
    Within(Box(-10, 10, 3), linf=1),
    Within(Box(-10, 10, 3), l1=0.3, linf=0.2),
    Within(Ball(2.0, 3), l2=0.1),
    Within(Integers(0, 40, 3), l1=1),
    Within(Integers(0, 40, 3), linf=7.5),
    Within(Integers(0, 40, 3)),
]


@pytest.mark.slow_cells(
    "one of 4 records (each in Integers(lower=0, upper=9, size=1)) replaced",
    "any two points of Integers(lower=0, upper=40, size=3)",
    "any two points of [0, 1]",
)
@pytest.mark.few(5)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=lambda adjacency: adjacency.description)
@settings(max_examples=10)
@given(data=st.data())
def test_every_step_is_one_between_neighbours(adjacency: Adjacency, data: st.DataObject) -> None:
    first, second = (data.draw(adjacency.pairs()) for _ in range(2))
    along = path(adjacency, first.data, second.other)
    assert along is not None
    sets = [along.at(i) for i in range(along.steps + 1)]
    assert np.array_equal(sets[0], first.data)
    assert np.array_equal(sets[-1], second.other)
    for one, other in pairwise(sets):
        if one.shape != other.shape or np.any(one != other):
            adjacency.check(Pair(one, other))


def test_the_change_is_found_between_neighbours() -> None:
    adjacency = Within(Integers(0, 40, 3), l1=1)
    along = path(adjacency, np.array([0, 0, 0]), np.array([40, 3, 1]))
    assert along is not None
    found = first_change(along, lambda data: int(data[0]) >= 8, adjacency)
    assert found is not None
    assert {tuple(found.data), tuple(found.other)} == {(7, 0, 0), (8, 0, 0)}
    assert first_change(along, lambda data: 0, adjacency) is None


def test_pairs_that_are_listed_have_no_path_between_others() -> None:
    a, b, c = np.array([0.0]), np.array([1.0]), np.array([2.0])
    adjacency = Listed([(a, b), (b, c)])
    along = path(adjacency, a, c)
    assert along is not None
    with pytest.raises(NotNeighbours):
        adjacency.check(Pair(along.at(0), along.at(1)))
    assert first_change(along, lambda data: float(data[0]), adjacency) is None


def test_whole_numbers_have_no_path_where_a_step_of_one_is_too_far() -> None:
    """In a box they may be given, too."""
    assert path(Within(Box(0, 9, 2), l1=0.5), np.array([0, 0]), np.array([3, 1])) is None
    assert path(Within(Box(0, 9, 2), l1=1.0), np.array([0, 0]), np.array([3, 1])) is not None
