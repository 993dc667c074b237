"""Workers change nothing but the time, nothing is lost when one dies, and nothing is left of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from algorithms.blocks import DaskCluster, Executor, Processes, Serial, WorkersDied, make_executor
from algorithms.blocks.processes import MOST_DEATHS

EXECUTORS = [Serial(), Processes(1), Processes(2), Processes(3)]


@pytest.mark.slow_cells("Processes(workers=3)")
@pytest.mark.few(2)
@pytest.mark.parametrize("executor", EXECUTORS, ids=str)
def test_results_come_in_the_order_of_the_tasks(executor: Executor) -> None:
    offset = 7  # a closure, which cannot be pickled
    with executor.open(lambda task: task * task + offset) as workers:
        assert list(workers.results(range(20))) == [i * i + 7 for i in range(20)]
        assert list(workers.results([])) == []
        assert list(workers.results([5])) == [32]
        assert sorted(workers.completed([3, 4])) == [(0, 16), (1, 23)]


def test_a_slow_task_holds_up_no_other() -> None:
    with Processes(2).open(lambda task: time.sleep(task) or task) as workers:
        assert [number for number, _ in workers.completed([1.0, 0.0, 0.0, 0.0, 0.0])][-1] == 0
        assert list(workers.results([0.3, 0.0, 0.0])) == [0.3, 0.0, 0.0]


def test_two_workers_are_other_processes_unless_there_is_one_task() -> None:
    with Processes(2).open(lambda task: os.getpid()) as workers:
        assert os.getpid() not in set(workers.results(range(4)))
    for executor, most in ((Processes(1), None), (Processes(2), 1)):
        with executor.open(lambda task: os.getpid(), most) as workers:
            assert set(workers.results(range(4))) == {os.getpid()}


def test_an_interrupt_from_the_keyboard_reaches_no_worker() -> None:
    def work(task: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal sends it to every process in the foreground
        return task

    with Processes(2).open(work) as workers:
        assert list(workers.results(range(4))) == [0, 1, 2, 3]


def test_errors_arrive_and_nobody_is_left_behind() -> None:
    def work(task: int) -> int:
        if task == 3:
            raise ValueError("task 3")
        return task

    before = set(multiprocessing.active_children())
    with pytest.raises(ValueError, match="task 3"), Processes(2).open(work) as workers:
        list(workers.results(range(10)))
    assert set(multiprocessing.active_children()) == before


def test_an_early_end_stops_what_never_would() -> None:
    before = set(multiprocessing.active_children())
    with Processes(2).open(lambda task: time.sleep(task)) as workers:
        next(workers.results([0, 0, 10**6, 10**6, 10**6, 10**6]))
    assert set(multiprocessing.active_children()) == before


def test_what_dead_workers_had_in_their_hands_is_done_again(tmp_path: Path) -> None:
    def work(task: int) -> int:
        died = tmp_path / str(task)
        if task % 7 == 3 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory runs out
        return 10 * task

    with Processes(2).open(work) as workers:
        assert list(workers.results(range(30))) == [10 * task for task in range(30)]
    assert len(list(tmp_path.iterdir())) == 4


def test_a_task_that_always_kills_its_worker_is_named() -> None:
    def work(task: int) -> int:
        if task == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    before = set(multiprocessing.active_children())
    with (
        pytest.raises(WorkersDied, match=rf"died {MOST_DEATHS} times.*\b5\b"),
        Processes(2).open(work) as workers,
    ):
        list(workers.results(range(10)))
    assert set(multiprocessing.active_children()) == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_workers_end_with_the_process_that_waits_for_them(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text(
        "import os, time\nfrom algorithms.blocks import Processes\n"
        "def work(task):\n    os.write(1, f'{os.getpid()}\\n'.encode())\n    time.sleep(1000)\n"
        "with Processes(2).open(work) as workers:\n    list(workers.results([1, 2]))\n"
    )
    waits = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert waits.stdout is not None
    with waits.stdout as told:
        workers = [int(told.readline()) for _ in range(2)]
        waits.kill()
        waits.wait()
        for _ in range(200):
            if not any(_alive(worker) for worker in workers):
                return
            time.sleep(0.1)
    pytest.fail("workers outlive the process that waits for them")


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize("workers", [0, -1, 1_001, True, 2.0, "2", "threads", "dasky", ""])
def test_what_names_no_workers_is_refused(workers: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"^workers = {workers!r}: must be a whole number from 1 to 1,000, dask,"
    ):
        make_executor(workers)


def test_executors_by_name() -> None:
    assert make_executor(2) == Processes(2)
    assert make_executor("dask") == DaskCluster(workers=os.cpu_count() or 1)
    assert make_executor("dask:tcp://host:8786") == DaskCluster("tcp://host:8786", os.cpu_count() or 1)
