"""The known pairs of adjacencies, in order, as recorded: a search begins with them, and often ends there."""

import numpy as np
import pytest

from mechanisms import Ball, Box, Categories, Integers, Interval, OneHot
from verify import AddOrRemoveOne, AnyTwo, ReplaceOne, Within

ADJACENCIES = [
    AnyTwo(Interval(-1, 3)),
    AnyTwo(Box(0, 2, 3)),
    AnyTwo(Ball(2, 3)),
    AnyTwo(Categories(5)),
    AnyTwo(OneHot(3)),
    Within(Interval(0, 10), linf=0.5),
    Within(Box(0, 10, 4), l1=2),
    Within(Box(-2, 2, 3), l2=1),
    Within(Integers(0, 20, 3), l1=2, linf=1),
    Within(Ball(1, 2), l2=0.5),
    ReplaceOne(Interval(0, 1), records=6),
    ReplaceOne(Box(-1, 1, 2), records=5),
    ReplaceOne(Integers(-3, 3), records=4),
    ReplaceOne(Categories(3), records=4),
    AddOrRemoveOne(Interval(-1, 1), records=6),
    AddOrRemoveOne(Integers(0, 4, 2), records=3),
    AddOrRemoveOne(Categories(4), records=5),
]


def written(data):
    return str(np.round(data, 6).tolist()).replace(" ", "").replace(".0,", ",").replace(".0]", "]")


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_known_pairs_are_as_recorded(adjacency, snapshot):
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    lines = [f"{pair.words}: {written(pair.data)} {written(pair.other)}" for pair in adjacency.seeds()]
    assert "\n".join([adjacency.description, *lines]) == snapshot
