"""Executors by name."""

from __future__ import annotations

import numbers
import os

from algorithms.blocks.dask_cluster import DaskCluster
from algorithms.blocks.executor import Executor
from algorithms.blocks.processes import Processes
from mechanisms.parameters import ParameterError

_MOST_WORKERS = 1_000


def make_executor(workers: int | str = 1) -> Executor:
    """Return an executor.

    Parameters
    ----------
    workers
        The number of processes of this machine; or ``"dask"``, a Dask cluster of a process for each of its processors,
        or ``"dask:ADDRESS"``, that of the scheduler at an address.

    Raises
    ------
    ParameterError
        If it is neither a whole number from 1 to 1,000 nor such a word.
    """
    if isinstance(workers, str):
        name, _, address = workers.partition(":")
        if name == "dask":
            return DaskCluster(address, os.cpu_count() or 1)
    elif (
        isinstance(workers, numbers.Integral)
        and not isinstance(workers, bool)
        and 1 <= workers <= _MOST_WORKERS
    ):
        return Processes(int(workers))
    raise ParameterError(
        f"workers = {workers!r}"[:80]
        + f": must be a whole number from 1 to {_MOST_WORKERS:,}, dask, or dask:ADDRESS"
    )
