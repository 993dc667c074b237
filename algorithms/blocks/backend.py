"""Executors by name."""

from __future__ import annotations

from typing import Literal, get_args

from algorithms.blocks.dask_cluster import DaskCluster
from algorithms.blocks.executor import Executor
from algorithms.blocks.processes import Processes

Backend = Literal["processes", "dask"]
BACKENDS: tuple[str, ...] = get_args(Backend)


def make_executor(workers: int = 1, backend: str = "processes", scheduler: str | None = None) -> Executor:
    """Return an executor.

    Parameters
    ----------
    workers
        How many processes; a scheduler has its own.
    backend
        ``"processes"`` of this machine, or ``"dask"``.
    scheduler
        The address of a Dask scheduler; without one a local cluster is started.

    Raises
    ------
    ValueError
        If a value is out of range, or a scheduler is named for processes.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: must be one of {', '.join(BACKENDS)}")
    if backend == "dask":
        return DaskCluster(scheduler or "", workers)
    if scheduler is not None:
        raise ValueError(f"scheduler={scheduler!r}: needs backend='dask'")
    return Processes(workers)
