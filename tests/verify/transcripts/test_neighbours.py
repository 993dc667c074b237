"""The replaced records of neighbouring data sets."""

import numpy as np
import pytest

from mechanisms import Box
from verify.transcripts.neighbours import backgrounds, record_words, spread_records


def test_spread_records_are_rounds():
    assert spread_records(20) == [1, 2, 3, 4, 8, 16, 20]
    assert spread_records(1) == [1]


@pytest.mark.parametrize("initial", ["none", "one", "separate"])
def test_backgrounds_are_as_recorded(initial, snapshot):
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    drawn = (np.random.default_rng(7).random((11, 4)) < 0.5).astype(float)
    lines = []
    for background in backgrounds(drawn, Box(0.0, 1.0, 4), 4, initial):
        lines.append(f"{background.others}: {background.data[[0, 1, -1]].tolist()}")
        lines += [f"    {record_words(one.record, one.value)}: {one.words}" for one in background.neighbours]
    assert "\n".join(lines) == snapshot
