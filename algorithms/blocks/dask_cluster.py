"""Workers of a Dask cluster, on any number of machines; needs the extra ``dask``."""

from __future__ import annotations

import functools
import gc
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from accountant.provenance import IMPORTED_AS
from algorithms.blocks.executor import Workers, WorkersDied
from algorithms.blocks.identity import environment
from mechanisms.parameters import DPWitnessError, whole_number

_AHEAD = 2  # tasks a thread of a worker that are in hand at once
_LOOK = 50  # after so many tasks it is asked how many workers there are by now
_PATIENCE = 30.0  # seconds until somebody answers, and until the first worker is there


class ClusterError(DPWitnessError, ValueError):
    """A Dask cluster cannot be used; the message gives the reason."""


@dataclass(frozen=True)
class DaskCluster:
    """The workers of a Dask scheduler, or of a cluster that is started on this machine.

    The work and its tasks are pickled (``cloudpickle``). If a worker dies, its tasks are done again by
    others; workers may come and go. Every worker needs this version of this library, and of NumPy and SciPy.

    Attributes
    ----------
    scheduler
        Its address, as in ``tcp://host:8786``; "" starts a cluster of `workers` processes here.
    workers
        The number of processes to start if there is no address.

    Raises
    ------
    ParameterError
        If `workers` is below 1.
    ClusterError
        If the extra ``dask`` is not installed.
    """

    scheduler: str = ""
    workers: int = 1

    def __post_init__(self) -> None:
        whole_number("workers", self.workers, least=1)
        if find_spec("distributed") is None:
            raise ClusterError("workers = 'dask': needs Dask, pip install 'dpwitness[dask]'")

    @property
    def parallel_tasks(self) -> int:
        """Number of processes started here; for a cluster at an address, 16 is assumed."""
        return 16 if self.scheduler else self.workers

    @contextmanager
    def open(self, work: Callable[[Any], Any], most: int | None = None) -> Iterator[Workers]:
        """Yield the cluster's workers; `Executor.open` describes the arguments.

        Raises
        ------
        ClusterError
            If there is no answer at the address, there are no workers, or the work cannot be pickled.
        """
        from distributed import Client, LocalCluster

        shipped = _Shipped(_pickle_work(work), environment())
        with ExitStack() as stack:
            address: Any = self.scheduler
            if not self.scheduler:
                address = stack.enter_context(
                    LocalCluster(
                        n_workers=self.workers, threads_per_worker=1, processes=True, dashboard_address=":0"
                    )
                )
            try:
                client = Client(address, set_as_default=False, timeout=_PATIENCE)
            except (OSError, ValueError) as error:
                error.__traceback__ = None  # it holds the client, and one that is left
                gc.collect()  # is closed when the process ends, and waits forever for a loop that has ended
                raise ClusterError(
                    f"scheduler = {self.scheduler!r}: no scheduler answers there ({error})"
                ) from None
            stack.enter_context(client)
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError:
                raise ClusterError(
                    f"scheduler = {self.scheduler!r}: has no workers after {_PATIENCE:g} s"
                ) from None
            there = _There(client, shipped)
            stack.callback(there.end)
            yield there


class _There(Workers):
    def __init__(self, client: Any, shipped: _Shipped) -> None:
        self._client = client
        # A task of its own, not scattered data: a worker that loses it can make it again.
        self._shipped = client.submit(_received, shipped, pure=False)
        self._in_hand: dict[Any, int] = {}

    def completed(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        from distributed import KilledWorker, as_completed

        fresh = enumerate(tasks)
        done, ahead = 0, 0
        finished = as_completed(loop=self._client.loop)
        while True:
            if done % _LOOK == 0:
                ahead = _AHEAD * max(1, sum(self._client.nthreads().values()))
            while len(self._in_hand) < ahead and (following := next(fresh, None)) is not None:
                number, task = following
                future = self._client.submit(_do, self._shipped, task, pure=False)
                self._in_hand[future] = number
                finished.add(future)
            if not self._in_hand:
                return
            future = next(finished)
            try:
                result = future.result()
            except KilledWorker as error:
                raise WorkersDied(f"workers died again and again (out of memory?): {error}") from None
            done += 1
            yield self._in_hand.pop(future), result

    def end(self) -> None:
        self._client.cancel([*self._in_hand, self._shipped], force=True)


@dataclass(frozen=True)
class _Shipped:
    """Pickled work, and the versions that a worker of it must have."""

    work: bytes
    environment: str


def _received(shipped: _Shipped) -> _Shipped:
    """Return it, on a worker of the same versions: others' results would not be the same bit for bit."""
    return shipped


def _do(shipped: _Shipped, task: Any) -> Any:
    """Do a task, on a worker."""
    if environment() != shipped.environment:
        raise ClusterError(
            f"a worker has other versions than this process: {environment()} in place of {shipped.environment}"
        )
    return _unpickle_work(shipped.work)(task)


@functools.lru_cache(maxsize=2)
def _unpickle_work(work: bytes) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = pickle.loads(work)
    return found


def _pickle_work(work: Callable[[Any], Any]) -> bytes:
    """Return the pickled work; objects of modules that a worker cannot import travel as code."""
    import cloudpickle

    strangers = [module for name, module in sorted(sys.modules.items()) if _is_strange(name, module)]
    for module in strangers:
        cloudpickle.register_pickle_by_value(module)
    try:
        pickled: bytes = cloudpickle.dumps(work)
    except Exception as error:  # a user's object may raise anything
        raise ClusterError(f"backend = 'dask': cannot be sent to workers: {error}") from None
    finally:
        for module in strangers:
            cloudpickle.unregister_pickle_by_value(module)
    return pickled


def _is_strange(name: str, module: object) -> bool:
    """Return True if a module was made from a file that no import of its name finds."""
    if name == "__main__" or not isinstance(module, ModuleType) or getattr(module, "__file__", None) is None:
        return False
    top = name.partition(".")[0]
    if top != name and top in sys.modules:
        return False
    try:
        return find_spec(name) is None or name.startswith(IMPORTED_AS)
    except (ImportError, ValueError):
        return True
