"""A grid of configurations loses nothing when workers die, and is the same bit for bit wherever it is simulated."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from algorithms.blocks import DaskCluster, Executor, Processes, Serial
from verify.experiments.configuration import Configuration
from verify.experiments.experiment import FigureLine
from verify.experiments.run_all import run_all

LEARNERS = (
    "cascade-ucb-batch",
    "cascade-ucb-rr",
    "cascade-ucb1",
    "cucb-batch",
    "cucb-ldp-bit",
    "dp-bandit",
    "dp-bandit-ldp",
    "cts",
    "cucb",
    "omm",
)
EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)


def grid() -> list[FigureLine]:
    return [
        FigureLine(
            name,
            name,
            "certified",
            tuple((each, Configuration(name, 40, 3, epsilon=each, checkpoints=3)) for each in EPSILONS),
        )
        for name in LEARNERS
    ]


def numbers(store: Path, executor: Executor, after_cell: Callable[[int], None] = lambda done: None) -> bytes:
    """Return every number of the grid, in its order."""
    done = 0

    def tell(share: float, doing: str) -> None:
        nonlocal done
        done += 1
        after_cell(done)

    results = run_all(grid(), store, executor=executor, progress=tell)
    assert list(results) == list(LEARNERS)
    traces = [runs.trace for name in LEARNERS for _, runs in results[name]]
    assert len(traces) == len(list(store.glob("*.json"))) == 100
    return b"".join(
        array.tobytes() for trace in traces for array in (trace.rounds, trace.regret, trace.reward)
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return numbers(tmp_path_factory.mktemp("alone"), Serial())


@pytest.mark.slow
def test_a_hundred_cells_are_the_same_when_worker_processes_are_killed(alone: bytes, tmp_path: Path) -> None:
    killed: set[int] = set()

    def kill(done: int) -> None:
        if done in (15, 45, 75):
            worker = multiprocessing.active_children()[0].pid
            assert worker is not None
            os.kill(worker, signal.SIGKILL)
            killed.add(worker)

    assert numbers(tmp_path, Processes(2), kill) == alone
    assert len(killed) == 3


@pytest.mark.slow
def test_a_hundred_cells_are_the_same_when_one_of_two_dask_workers_is_killed(
    alone: bytes, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        killed: list[int] = []

        def kill(done: int) -> None:
            if done == 45:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        assert numbers(tmp_path, DaskCluster(cluster.scheduler_address), kill) == alone
        assert len(killed) == 1


@pytest.mark.slow
def test_a_hundred_cells_go_on_after_the_process_that_asked_died(alone: bytes, tmp_path: Path) -> None:
    def die(done: int) -> None:
        if done == 45:
            os.kill(os.getpid(), signal.SIGKILL)

    asks = multiprocessing.get_context("fork").Process(target=numbers, args=(tmp_path, Processes(2), die))
    asks.start()
    asks.join()
    assert asks.exitcode == -signal.SIGKILL
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.json")}
    assert len(kept) == 45
    more = 0

    def count(done: int) -> None:
        nonlocal more
        more = done

    assert numbers(tmp_path, Processes(2), count) == alone
    assert more == 55
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
