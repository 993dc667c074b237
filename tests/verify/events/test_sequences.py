"""Entries of one list are a sequence."""

import pytest

from verify.events.sequences import MOST, sequences
from verify.events.view_sample import Column


def columns(*names):
    return tuple(Column(name, name, "category") for name in names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["output[1]", "output[2]", "output[3]", "shape"], [(0, 1, 2)]),
        (["output[2]", "output[3]", "output[1]"], [(2, 0, 1)]),
        (["output[1]", "output[2]"], []),
        (["output.a", "output.b", "output.c"], []),
        (["action[1,0]", "action[1,1]", "action[2,0]"], []),
        (["output[1]", "output:letter[1]", "output:letter[2]", "output:letter[3]"], [(1, 2, 3)]),
        ([f"output[{i}][{j}]" for i in (1, 2, 3) for j in (1, 2)], [(0, 2, 4), (1, 3, 5)]),
        ([f"output.x[{i}]" for i in (1, 2, 3)] + [f"output.y[{i}]" for i in (1, 2, 3, 4)], [(3, 4, 5, 6), (0, 1, 2)]),
    ],
)  # fmt: skip
def test_sequences_are_found_by_their_names(names, expected):
    listed = columns(*names)
    assert sequences(listed) == [tuple(listed[i] for i in entries) for entries in expected]


def test_few_sequences_are_looked_at():
    assert len(sequences(columns(*(f"output.{key}[{i}]" for key in "abcdefgh" for i in (1, 2, 3))))) == MOST
