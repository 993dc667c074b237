"""A stopped test uses what it has drawn, and pays for every place at which it could have been stopped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from algorithms.blocks import Processes
from mechanisms import BLOCK
from verify.conduct.interrupts import Stop
from verify.conduct.spawn_keys import SpawnKey
from verify.events.count_events import count_events
from verify.events.event import HalfLine, Near, RowTable
from verify.events.readings import ColumnValue
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import FIRST_BATCH, LookPlan, WorldStream, batch_sizes
from verify.sampling.final_test import OPENING_SHARE, FinalTask, final_counts, share_of_error

COLUMNS = (Column("x", "the output", "real"),)


def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
    return ViewSample(np.random.default_rng(seed).random((n, 1)) + 0.1 * other, COLUMNS)


CANDIDATES = [NeighbouringWorlds(("D", "D′"), draw)]
EVENT = HalfLine(ColumnValue(COLUMNS[0]), 0.5, True)
PLAN = LookPlan(CANDIDATES, epsilon=0.0, delta=0.0, samples=0, seed=3)


def test_all_looks_together_spend_no_more_than_the_error() -> None:
    for planned in (1, 2, 7, 1000):
        spent = OPENING_SHARE + sum(share_of_error(batch, planned) for batch in range(1, planned + 1))
        assert spent <= 1.0 + 1e-12
    assert share_of_error(7, 7) == 0.8


def run(stop_after: float = math.inf, trials: int = 700_032) -> Any:
    class Stopping:
        """A pool that is interrupted before its result number `stop_after`."""

        def results(self, tasks: Iterable[FinalTask]) -> Iterator[Any]:
            for number, task in enumerate(tasks):
                if number >= stop_after:
                    raise Stop
                yield task.result(PLAN)

    return final_counts(Stopping(), 0, [EVENT], trials=trials, columns=1, progress=lambda done: None)


def test_a_stopped_test_has_the_first_batches_of_both_worlds() -> None:
    whole = run()
    assert whole.stopped is None
    assert whole.trials == sum(whole.sizes) == 700_032
    assert whole.share_of_error == 0.8
    partial = run(stop_after=5)
    assert isinstance(partial.stopped, Stop)
    assert partial.sizes == whole.sizes[:2]
    assert partial.share_of_error == pytest.approx((0.2 - OPENING_SHARE) * 6 / (math.pi**2 * 4))
    assert np.array_equal(partial.hits, run(trials=sum(whole.sizes[:2])).hits)
    nothing = run(stop_after=1)
    assert (nothing.trials, nothing.hits.tolist()) == (0, [[0], [0]])


def test_workers_do_not_change_the_counts() -> None:
    counts = []
    for workers in (1, 2):
        with Processes(workers).open(lambda task: task.result(PLAN)) as processes:
            counts.append(
                final_counts(processes, 0, [EVENT], trials=700_032, columns=1, progress=lambda done: None)
            )
    assert np.array_equal(counts[0].hits, counts[1].hits)


def test_batches_depend_on_rows_and_columns_only() -> None:
    for rows in (64, FIRST_BATCH, FIRST_BATCH + 64, 10**6 // 64 * 64):
        for columns in (1, 7, 5000):
            sizes = batch_sizes(rows, columns)
            assert sum(sizes) == rows
            assert all(size % BLOCK == 0 for size in sizes)
    stream = WorldStream(CANDIDATES[0], 0, SpawnKey.SCAN, False, 1)
    assert stream.sample(64_000, 1 << 22).values.shape == (64_000, 1)
    assert stream.sample(64_000, 10_000).values.shape == (9_984, 1)


def test_counting_together_is_counting_one_by_one() -> None:
    values = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    values[::7, 0] = np.nan
    columns = (Column("a", "a", "real"), Column("b", "b", "category"))
    sample = ViewSample(values, columns)
    a, b = ColumnValue(columns[0]), ColumnValue(columns[1])
    events = [
        HalfLine(a, 1.0, True), HalfLine(a, 2.0, False), Near(a, 1.0, 0.5, True), HalfLine(b, 1.0, True),
        RowTable((a, b), ((1.0, 2.0), (math.nan, 1.0))), HalfLine(ColumnSummary("present", columns), 1.0, False),
    ]  # fmt: skip
    assert count_events(events, sample).tolist() == [
        np.count_nonzero(event.holds(sample)) for event in events
    ]
