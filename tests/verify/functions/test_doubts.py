"""Workers share nearly all calls of a function with the same results, and memory shows itself in each of them."""

from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.blocks import Processes, Serial, Workers
from mechanisms import Interval
from verify import verify
from verify.events.event import HalfLine
from verify.events.readings import ColumnValue
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.functions.doubts import _drifts


class TwoWorkers:
    """Does all tasks here, and counts how many calls the busier of two workers would make in each stage."""

    parallel_tasks = 2

    def __init__(self, calls):
        self.calls, self.shared, self.longest = calls, 0, 0

    def open(self, work, most=None):
        return nullcontext(Stage(work, self))


class Stage(Workers):
    def __init__(self, work, two):
        self.work, self.two = work, two

    def completed(self, tasks):
        busy = [0, 0]
        try:
            for number, task in enumerate(tasks):
                before = len(self.two.calls)
                result = self.work(task)
                used = len(self.two.calls) - before
                busy[busy.index(min(busy))] += used
                self.two.shared += used
                yield number, result
        finally:
            self.two.longest += max(busy)


@pytest.mark.parametrize("scale", [0.5, 1.0], ids=["refuted", "correct"])
def test_the_longest_way_through_two_workers_is_less_than_one_in_1_7(scale, monkeypatch):
    """Each stage takes as long as the busier of the two workers; no clock is asked, and no machine is busy."""
    calls = []

    def called(data, rng):
        calls.append(None)
        return data + rng.laplace(scale=scale)

    two = TwoWorkers(calls)
    monkeypatch.setattr("verify.verification.options.make_executor", lambda *_: two)
    verify(called, epsilon=1.0, neighbours=Interval(0, 1), samples=16_000, workers=2)
    assert two.shared > 0
    assert len(calls) > 1.7 * (len(calls) - two.shared + two.longest)


@pytest.mark.few(2)
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
        event=HalfLine(ColumnValue(column), 0.0, True),
    )
    assert _drifts(result, 0, executor) is bool(drift)
