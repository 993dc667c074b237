"""Workers change nothing but the time, and nothing is left of them."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from verify.sampling.workers import pool


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    offset = 7  # a closure, which cannot be pickled
    with pool(lambda task: task * task + offset, workers) as processes:
        assert list(processes.results(range(20))) == [i * i + 7 for i in range(20)]
        assert list(processes.results([])) == []
        assert list(processes.results([5])) == [32]


def test_two_workers_are_other_processes() -> None:
    with pool(lambda task: os.getpid(), 2) as processes:
        assert os.getpid() not in set(processes.results(range(4)))
    with pool(lambda task: os.getpid(), 1) as processes:
        assert set(processes.results(range(4))) == {os.getpid()}


def test_an_interrupt_from_the_keyboard_reaches_no_worker() -> None:
    def work(task: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal sends it to every process in the foreground
        return task

    with pool(work, 2) as processes:
        assert list(processes.results(range(4))) == [0, 1, 2, 3]


def test_errors_arrive_and_nobody_is_left_behind() -> None:
    def work(task: int) -> int:
        if task == 3:
            raise ValueError("task 3")
        return task

    before = set(multiprocessing.active_children())
    with pytest.raises(ValueError, match="task 3"), pool(work, 2) as processes:
        list(processes.results(range(10)))
    assert set(multiprocessing.active_children()) == before


def test_an_early_end_stops_what_never_would() -> None:
    import time

    before = set(multiprocessing.active_children())
    start = time.perf_counter()
    with pool(lambda task: time.sleep(task), 2) as processes:
        next(processes.results([0, 0, 1000, 1000, 1000, 1000]))
    assert time.perf_counter() - start < 20
    assert set(multiprocessing.active_children()) == before


@pytest.mark.parametrize("workers", [0, -1])
def test_bad_numbers_of_workers_are_refused(workers: int) -> None:
    with pytest.raises(ValueError, match="workers"), pool(print, workers):
        pass
