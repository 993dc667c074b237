"""The first pairs of a search, which ends where its draws do."""

import numpy as np
import pytest

from mechanisms import Ball, Box, Categories, Integers
from verify import AnyTwo, ReplaceOne
from verify.neighbouring.distances import Distances
from verify.neighbouring.point_patterns import extreme_moves


@pytest.mark.parametrize(
    ("size", "order"),
    [
        (1, []),
        (2, [(0, 1)]),
        (5, [(0, 1), (0, 4), (0, 2), (1, 3), (0, 3), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]),
        (
            100,
            [
                (0, 1),
                (0, 99),
                *((0, 2**j) for j in range(1, 7)),
                *((i, 99 - i) for i in range(1, 8)),
                (0, 3),
                (0, 5),
            ],
        ),
    ],
)
def test_labels_are_paired_by_neighbours_ends_powers_and_complements_first(size, order):
    moves = [(int(move.data), int(move.other)) for move in extreme_moves(Categories(size), Distances())]
    different = list(dict.fromkeys(pair for pair in moves if pair[0] != pair[1]))
    assert different[: len(order)] == order
    assert set(different) == {*order, *((i, j) for j in range(min(8, size)) for i in range(j))}


@pytest.mark.parametrize(
    ("domain", "distances", "crossed"),
    [
        (Box(0, 100, 6), Distances(l1=1), True),
        (Box(-3, 3, 4), Distances(l2=1), True),
        (Box(0, 1, 5), Distances(linf=0.25), True),
        (Box(0, 100, 6), Distances(linf=1), False),  # whole steps are seen from everywhere
        (Integers(0, 100, 6), Distances(l1=1), False),
    ],
)
def test_all_coordinates_cross_a_half_where_each_moves_by_less_than_one(domain, distances, crossed):
    """Data that are rounded before noise is added move by 1 in every coordinate, wherever that is."""
    early = list(extreme_moves(domain, distances))[:6]
    across = [pair for pair in early if "across 1/2" in pair.words]
    assert len(across) == crossed
    assert all((np.round(pair.other) - np.round(pair.data) == 1.0).all() for pair in across)


@pytest.mark.parametrize(
    "record", [Box(-1, 1, 2), Box(-3, 3, 4), Integers(-2, 2, 3), Ball(1, 2), Ball(1, 5)], ids=repr
)
def test_what_is_even_differs_between_early_pairs_around_zero(record):
    """Opposite points have the same squares, norms and products of two coordinates."""

    def products(points):
        return points.T @ points

    for adjacency, early in ((AnyTwo(record), 4), (ReplaceOne(record, 6), 20)):
        pairs = adjacency.seeds()[:early]
        changes = [products(np.atleast_2d(pair.data)) - products(np.atleast_2d(pair.other)) for pair in pairs]
        assert any((change != 0.0).any() and np.trace(change) == 0.0 for change in changes)
        assert any(np.trace(change) != 0.0 for change in changes)
