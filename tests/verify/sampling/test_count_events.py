"""Counts of pairs of draws agree with counts of each world, and know which pairs an event splits."""

from __future__ import annotations

import numpy as np
import pytest

from verify.events.event import HalfLine, RowTable, Value
from verify.events.view_sample import Column, ViewSample
from verify.sampling.count_events import count_events, count_pairs
from verify.sampling.draws import CHOOSE, Candidate, draw_all, draw_batch

COLUMNS = (Column("x", "the output", "real"),)
LINE, ROWS = HalfLine(Value(0, COLUMNS[0]), 0.5, True), RowTable((Value(0, COLUMNS[0]),), ((0.25,), (1.0,)))


def sample(*values: float) -> ViewSample:
    return ViewSample(np.array(values)[:, None], COLUMNS)


def test_pairs_of_draws_are_counted_with_what_splits_them() -> None:
    first, second = sample(0.25, 0.75, 1.0, np.nan, 0.0), sample(0.75, 0.75, 0.25, 0.25, np.nan)
    hits, split = count_pairs([LINE, ROWS], first, second)
    assert hits.tolist() == [[2, 2], [2, 2]]
    assert split.tolist() == [2, 2]
    for world, counted in zip((first, second), hits, strict=True):
        assert count_events([LINE, ROWS], world).tolist() == counted.tolist()


def test_samples_of_different_size_have_no_pairs() -> None:
    with pytest.raises(ValueError, match="one size"):
        count_pairs([LINE], sample(0.0), sample(0.0, 1.0))


def test_worlds_are_alike_only_where_it_is_asked_for() -> None:
    """By default, which is what every deciding stage uses, the worlds' random numbers are independent."""

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        return ViewSample(np.random.default_rng(seed).random((n, 1)), COLUMNS)

    candidate = Candidate("uniforms", draw)
    for alike in (True, False):
        batches = [draw_batch(candidate, 0, CHOOSE, w, 1, 64, 5, alike=alike).values for w in (False, True)]
        samples = [
            draw_all(candidate, 0, CHOOSE, w, 20_032, 5, 1 << 20, alike=alike).values for w in (False, True)
        ]
        assert np.array_equal(*batches) is alike
        assert np.array_equal(*samples) is alike
        assert not np.intersect1d(*samples).size or alike
    default = draw_batch(candidate, 0, CHOOSE, True, 1, 64, 5).values
    assert np.array_equal(default, batches[1])
