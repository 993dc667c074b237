"""Which pairs are tried first: searches end where their draws do."""

import pytest

from mechanisms import Categories
from verify.neighbouring.distances import Distances
from verify.neighbouring.point_patterns import telling_moves


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
    moves = [(int(move.data), int(move.other)) for move in telling_moves(Categories(size), Distances())]
    different = list(dict.fromkeys(pair for pair in moves if pair[0] != pair[1]))
    assert different[: len(order)] == order
    assert set(different) == {*order, *((i, j) for j in range(min(8, size)) for i in range(j))}
