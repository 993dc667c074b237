"""A Dask cluster gives what this process gives, bit for bit, whatever happens to its workers."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms.blocks import Arrays, Blocks, ClusterError, DaskCluster, Processes, Tell, run_blocks
from algorithms.blocks import dask_cluster as module
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import build_problem
from algorithms.simulate import Trace, simulate

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A scheduler with two workers, all threads of this process, who talk through sockets."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


def trace(workers: Any) -> Trace:
    problem = build_problem("top-k")
    build = learners["cucb-ldp2"].build(problem, epsilon=1.0, horizon=40)
    return simulate(build, problem, horizon=40, runs=200, seed=3, workers=workers)


def test_dask_and_processes_agree_bit_for_bit(scheduler: str) -> None:
    here = trace(1)
    for workers in (Processes(2), DaskCluster(scheduler)):
        there = trace(workers)
        assert there.regret.tobytes() == here.regret.tobytes()
        assert there.reward.tobytes() == here.reward.tobytes()


@pytest.mark.slow
def test_closures_and_modules_that_are_only_here_travel(scheduler: str, tmp_path: Path) -> None:
    file = tmp_path / "only_here.py"
    file.write_text("def triple(x):\n    return 3 * x\n")
    specification = spec_from_file_location("dpwitness_subject_only_here", file)
    assert specification is not None
    assert specification.loader is not None
    made = module_from_spec(specification)
    sys.modules[specification.name] = made
    specification.loader.exec_module(made)
    pickled = module._pickle_work(lambda task: made.triple(task) + offset)
    del sys.modules[specification.name]
    offset = 1
    assert b"only_here" in pickled
    offset = 2
    with DaskCluster(scheduler).open(lambda task: made.triple(task) + offset) as workers:
        assert list(workers.results(range(70))) == [3 * task + 2 for task in range(70)]
        assert list(workers.results([1])) == [5]
        assert list(workers.results([])) == []


def test_errors_of_tasks_arrive(scheduler: str) -> None:
    def work(task: int) -> int:
        if task == 3:
            raise ValueError("task 3")
        return task

    with pytest.raises(ValueError, match="task 3"), DaskCluster(scheduler).open(work) as workers:
        list(workers.results(range(9)))


def test_what_cannot_travel_is_refused(scheduler: str) -> None:
    rng = (i for i in range(3))
    with (
        pytest.raises(ClusterError, match="cannot be sent to workers"),
        DaskCluster(scheduler).open(lambda task: next(rng)),
    ):
        pass


def test_workers_of_other_versions_are_refused(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = DaskCluster(scheduler)
    real = module.environment()
    said = iter(["numpy 1.0, scipy 1.0"])
    monkeypatch.setattr(
        module, "environment", lambda: next(said, real)
    )  # what this process says, and the workers
    with (
        pytest.raises(ClusterError, match=r"in place of numpy 1\.0"),
        cluster.open(lambda task: task) as workers,
    ):
        list(workers.results([1]))


@pytest.mark.slow  # a process of its own, of more than a second
def test_a_command_ends_that_is_refused_a_scheduler() -> None:
    """A client that is left waits for its event loop when the process ends, which has none then."""
    command = [sys.executable, "-P", "-c", "import dpwitness; dpwitness.main()", "simulate", "cucb"]
    given = ["--horizon", "1", "--runs", "1", "--workers", "dask:x"]
    ended = subprocess.run([*command, *given], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert "scheduler = 'x': no scheduler answers there" in ended.stderr


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    with (
        pytest.raises(ClusterError, match=r"scheduler = 'tcp://127\.0\.0\.1:9': no scheduler answers"),
        DaskCluster("tcp://127.0.0.1:9").open(print),
    ):
        pass


def test_dask_that_is_not_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match="pip install"):
        DaskCluster()


@pytest.mark.slow
def test_a_cluster_of_two_workers_of_which_one_is_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    def die_once(folder: str, cell: int, numbers: range, tell: Tell) -> list[Arrays]:
        died = Path(folder) / f"{cell}"
        if folder and cell in (10, 55) and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory runs out
        rng = np.random.default_rng(np.random.SeedSequence(cell, spawn_key=(numbers.start,)))
        return [{"normal": rng.standard_normal(3)}]

    def cells(folder: str) -> list[Blocks]:
        return [Blocks(functools.partial(die_once, folder, cell), 1) for cell in range(100)]

    here = run_blocks(cells(""))
    there = run_blocks(cells(str(tmp_path)), DaskCluster(workers=2))
    assert len(list(tmp_path.iterdir())) == 2
    for (one,), (other,) in zip(here.results, there.results, strict=True):
        assert one["normal"].tobytes() == other["normal"].tobytes()
