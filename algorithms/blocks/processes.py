"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from algorithms.blocks.executor import Serial, Workers, WorkersDied
from mechanisms.parameters import whole_number

# Tasks a worker that are in hand at once: no worker waits for the next, and results do not pile up.
_AHEAD = 2
MOST_DEATHS = 3
"""The number of worker deaths during a task after which it is given up."""


@dataclass(frozen=True)
class Processes:
    """So many processes, forked from this one.

    They are forked, and not begun anew, so that the work may be any function, also a closure over unpicklable objects;
    only tasks and results travel. Where processes cannot be forked (Windows), everything runs in this one.
    An interrupt from the keyboard reaches this process alone. If a worker dies, its tasks are done again.

    Attributes
    ----------
    workers
        The number of processes.

    Raises
    ------
    ParameterError
        If `workers` is below 1.
    """

    workers: int

    def __post_init__(self) -> None:
        whole_number("workers", self.workers, least=1)

    @property
    def parallel_tasks(self) -> int:
        """Number of processes."""
        return self.workers

    def open(self, work: Callable[[Any], Any], most: int | None = None) -> AbstractContextManager[Workers]:
        """Return forked processes; `Executor.open` describes the arguments."""
        workers = self.workers if most is None else min(self.workers, most)
        if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
            return Serial().open(work)
        return _forked(work, workers)


@contextmanager
def _forked(work: Callable[[Any], Any], workers: int) -> Iterator[Workers]:
    there = _There(work, workers)
    try:
        yield there
    finally:
        there.end()


@dataclass
class _InHand:
    number: int
    task: Any
    deaths: int = 0


class _There(Workers):
    def __init__(self, work: Callable[[Any], Any], workers: int) -> None:
        self._work = work
        self._workers = workers
        self._in_hand: dict[Future[Any], _InHand] = {}
        self._start()

    def completed(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        fresh = (_InHand(number, task) for number, task in enumerate(tasks))
        again: deque[_InHand] = deque()
        while True:
            try:
                while len(self._in_hand) < _AHEAD * self._workers:
                    following = again[0] if again else next(fresh, None)
                    if following is None:
                        break
                    if not again:
                        again.append(following)  # it is lost to `fresh`, and the pool may be found broken
                    self._submit(following)
                    again.popleft()
                if not self._in_hand:
                    return
                for future in wait(self._in_hand, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    # Only now: an interrupt while it waits leaves it in hand.
                    yield self._in_hand.pop(future).number, result
            except BrokenProcessPool:
                again.extendleft(reversed(self._restart()))

    def _restart(self) -> list[_InHand]:
        """Start new processes; return the tasks of lost results, in order."""
        lost = []
        for future, one in self._in_hand.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                again = _InHand(one.number, one.task, one.deaths)  # done, and not looked at yet
            else:
                again = _InHand(one.number, one.task, one.deaths + 1)
            lost.append(again)
        self._in_hand.clear()
        self._executor.shutdown(wait=True, cancel_futures=True)
        often = [one for one in lost if one.deaths >= MOST_DEATHS]
        if often:
            raise WorkersDied(
                f"worker processes died {MOST_DEATHS} times (out of memory?) when these were in their hands: "
                f"{', '.join(str(one.task)[:100] for one in often)}"
            )
        self._start()
        return sorted(lost, key=lambda one: one.number)

    def _start(self) -> None:
        self._before = set(multiprocessing.active_children())
        self._executor = ProcessPoolExecutor(
            self._workers,
            multiprocessing.get_context("fork"),
            initializer=_begin,
            initargs=(self._work,),
        )

    def _submit(self, one: _InHand) -> None:
        with warnings.catch_warnings():
            # From Python 3.12 on a fork warns where threads run; the workers use none of their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._in_hand[self._executor.submit(_run, one.task)] = one

    def end(self) -> None:
        """End the processes; at once, if tasks are still in hand: one may never end."""
        if self._in_hand:
            for process in set(multiprocessing.active_children()) - self._before:
                process.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)


_work: Callable[[Any], Any] | None = None


def _begin(work: Callable[[Any], Any]) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent process may have a handler
    _work = work
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """End this process when the one that waits for its results is gone, however that ended."""
    connection.wait([sentinel])
    os._exit(1)


def _run(task: Any) -> Any:
    assert _work is not None
    return _work(task)
