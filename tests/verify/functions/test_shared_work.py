"""Workers share nearly all calls of a function with the same results, and memory shows itself in each of them."""

import os
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.blocks import Processes, Serial
from mechanisms import Interval
from verify import verify
from verify.events.event import HalfLine
from verify.events.readings import ColumnValue
from verify.events.view_sample import Column, ViewSample
from verify.functions.doubts import _drifts
from verify.sampling.worlds import NeighbouringWorlds


@pytest.mark.parametrize("scale", [0.5, 1.0], ids=["refuted", "correct"])
def test_the_longest_way_through_two_workers_is_less_than_one_in_1_7(scale, tmp_path):
    """Each stage takes as long as the busier of the two workers; no clock is asked."""

    def results(workers):
        folder = tmp_path / str(workers)
        folder.mkdir()

        def called(data, rng):
            with (folder / str(os.getpid())).open("a") as file:
                file.write(".")
            return data + rng.laplace(scale=scale)

        result = verify(called, epsilon=1.0, neighbours=Interval(0, 1), samples=4_000, workers=workers)
        calls = {int(file.name): file.stat().st_size for file in folder.iterdir()}
        ours = calls.pop(os.getpid())
        theirs = [calls[process] for process in sorted(calls)]
        return result, ours + sum(max(theirs[i : i + 2]) for i in range(0, len(theirs), 2))

    (alone, all_calls), (shared, longest) = results(1), results(2)
    assert shared.lower == alone.lower
    assert shared.witness == alone.witness
    assert all_calls > 1.7 * longest


@pytest.mark.parametrize("executor", [Serial(), Processes(2)], ids=["alone", "two"])
@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_drift_shows_itself_in_each_worker(executor, drift):
    """From call to call of 2,500 draws the mean moves by 0.8 standard deviations, or not at all."""
    calls = count()
    column = Column("x", "x", "real")

    def draw(other, n, seed):
        return ViewSample(
            np.random.default_rng(seed).normal(drift * next(calls) * n / 64, 1.0, (n, 1)), (column,)
        )

    result = SimpleNamespace(
        worlds=NeighbouringWorlds(("D", "D′"), draw),
        trials=10_000,
        event=HalfLine(ColumnValue(0, column), 0.0, True),
    )
    assert _drifts(result, 0, executor) is bool(drift)
