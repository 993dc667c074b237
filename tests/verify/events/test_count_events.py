"""Counts of many events at once are those of a slow literal program, and know which pairs of draws an event splits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mechanisms.arrays import FloatArray
from verify.conduct.spawn_keys import SpawnKey
from verify.events.binned import Binned
from verify.events.count_events import count_events, count_pairs
from verify.events.event import Event, HalfLine, Near, RowTable
from verify.events.float_lattice import LatticeReading
from verify.events.readings import ColumnValue, Combination, Reading, Where
from verify.events.scores import AdditiveScore, ScoreTable
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ReadOnce, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import WorldStream

COLUMNS = (Column("x", "the output", "real"),)
LINE, ROWS = (
    HalfLine(ColumnValue(COLUMNS[0]), 0.5, True),
    RowTable((ColumnValue(COLUMNS[0]),), ((0.25,), (1.0,))),
)


def sample(*values: float) -> ViewSample:
    return ViewSample(np.array(values)[:, None], COLUMNS)


def test_pairs_of_draws_are_counted_with_what_splits_them() -> None:
    first, second = sample(0.25, 0.75, 1.0, np.nan, 0.0), sample(0.75, 0.75, 0.25, 0.25, np.nan)
    hits, split = count_pairs([LINE, ROWS], first, second)
    assert hits.tolist() == [[2, 2], [2, 2]]
    assert split.tolist() == [2, 2]
    for world, counted in zip((first, second), hits, strict=True):
        assert count_events([LINE, ROWS], world).tolist() == counted.tolist()


NAN, INF = math.nan, math.inf
THREE = tuple(Column(name, f"value {name}", "real") for name in "abc")
A, B, C = (ColumnValue(column) for column in THREE)
TOTAL, LARGEST = (ColumnSummary(operation, THREE) for operation in ("sum", "largest"))
BINNED = tuple(Binned(reading, (-1.0, 0.0, 0.5, 2.0)) for reading in (A, TOTAL, LARGEST))
ADDITIVE = AdditiveScore(tuple(ScoreTable(binned, (0.0, -1.0, 2.0, 4.0, 0.5), 8.0) for binned in BINNED))
OTHER = AdditiveScore(
    (ScoreTable(BINNED[1], (1.0, 2.0, 3.0, 4.0, 5.0), -1.0),)
)  # the same bins, other weights
EVENTS: tuple[Event, ...] = (
    HalfLine(A, 0.5, True),
    HalfLine(A, 0.5, False),
    HalfLine(TOTAL, 1.0, True),
    HalfLine(Where(B, A, 0.0), 0.5, False),
    HalfLine(LatticeReading("exponent", B), -1.0, True),
    HalfLine(Combination.difference(THREE[2], THREE[0]), -0.5, True),
    HalfLine(LARGEST, 0.5, False),
    Near(B, 0.5, 0.25),
    RowTable((A, B), ((0.0, 0.5), (NAN, 0.0))),
    RowTable((LARGEST,), ((0.0,), (2.0,)), complement=True),
    HalfLine(ColumnSummary("present", THREE), 2.0, True),
    *(HalfLine(score, float(cut), True) for cut in (0, 4, 20) for score in (ADDITIVE, OTHER)),
)
NUMBERS = st.sampled_from([0.0, -0.0, 0.5, -1.0, 2.0, 0.75, INF, -INF, NAN])


@settings(max_examples=12)
@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=NUMBERS), st.booleans())
def test_counts_are_those_of_each_event_on_each_draw_alone(values: FloatArray, columns_first: bool) -> None:
    """Events that share readings, bins and scores are counted as if each were the only one, one draw at a time."""
    sample = ViewSample(np.asfortranarray(values) if columns_first else values, THREE)
    single = [ViewSample(row[None, :], THREE) for row in values]
    expected = [sum(bool(event.holds(one)[0]) for one in single) for event in EVENTS]
    assert count_events(EVENTS, sample).tolist() == expected
    hits, split = count_pairs(EVENTS, sample, ViewSample(values[::-1], THREE))
    assert hits.tolist() == [expected, expected]
    held = [[bool(event.holds(one)[0]) for one in single] for event in EVENTS]
    assert split.tolist() == [sum(x != y for x, y in zip(h, h[::-1], strict=True)) for h in held]


def test_what_events_share_is_read_once() -> None:
    taken: list[str] = []

    class Noting(ReadOnce):
        """Notes what is read."""

        def read_values(self, reading):
            if id(reading) not in self.known:
                taken.append(type(reading).__name__)
            return super().read_values(reading)

    sample = Noting.from_sample(ViewSample(np.random.default_rng(0).normal(size=(50, 3)), THREE))
    for event in EVENTS:
        event.holds(sample)
    assert taken.count("Binned") == 3, "four scores ask for three readings in bins"
    assert taken.count("ColumnSummary") == 3
    assert taken.count("AdditiveScore") == 2


def test_what_was_read_is_not_mixed_up() -> None:
    """Two readings that do not live at the same time may have one identity; what was read of one is kept with it."""
    sample = ReadOnce.from_sample(ViewSample(np.arange(200.0).reshape(2, 100), tuple(many(100))))

    def fresh(index: int) -> Reading:
        return ColumnValue(sample.columns[index])

    assert [sample.read_values(fresh(i))[0] for i in range(100)] == list(range(100))


def many(number: int) -> list[Column]:
    return [Column(f"x{i}", f"value {i}", "real") for i in range(number)]


def test_samples_of_different_size_have_no_pairs() -> None:
    with pytest.raises(ValueError, match="one size"):
        count_pairs([LINE], sample(0.0), sample(0.0, 1.0))


def test_worlds_are_alike_only_where_it_is_asked_for() -> None:
    """By default, which is what every deciding stage uses, the worlds' random numbers are independent."""

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        return ViewSample(np.random.default_rng(seed).random((n, 1)), COLUMNS)

    candidate = NeighbouringWorlds(("D", "D′"), draw)
    for alike in (True, False):
        batches = [
            WorldStream(candidate, 0, SpawnKey.CHOOSE, w, 5, alike=alike).batch(1, 64).values
            for w in (False, True)
        ]
        samples = [
            WorldStream(candidate, 0, SpawnKey.CHOOSE, w, 5, alike=alike).sample(20_032, 1 << 20).values
            for w in (False, True)
        ]
        assert np.array_equal(*batches) is alike
        assert np.array_equal(*samples) is alike
        assert not np.intersect1d(*samples).size or alike
    default = WorldStream(candidate, 0, SpawnKey.CHOOSE, True, 5).batch(1, 64).values
    assert np.array_equal(default, batches[1])
