"""Worker processes for tasks whose order and number must not show in any result."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD = 2  # tasks a worker that are in hand at once, so that results do not pile up


class Pool(Protocol):
    """Runs the work of a pool on tasks."""

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """The work's result for each task, in the order of the tasks."""
        ...


@contextmanager
def pool(work: Callable[[Any], Any], workers: int) -> Iterator[Pool]:
    """Run `work` on tasks, in this process or in `workers` others.

    The processes are forked, so that `work` may be any function, closures over unpicklable objects included;
    only tasks and results travel. Where processes cannot be forked (Windows), everything runs in this one. An
    interrupt from the keyboard reaches this process alone; whatever leaves the context ends the others at
    once.

    Raises
    ------
    ValueError
        If `workers` is below 1.
    """
    if workers < 1:
        raise ValueError(f"workers={workers!r}: must be at least 1")
    if workers == 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield _Here(work)
        return
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("fork"), initializer=_start, initargs=(work,)
    )
    before = set(multiprocessing.active_children())
    there = _There(executor, workers)
    try:
        yield there
    finally:
        if there.waiting:  # somebody left early; a task may never end
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


class _Here:
    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        return map(self._work, tasks)


class _There:
    def __init__(self, executor: ProcessPoolExecutor, workers: int) -> None:
        self._executor = executor
        self._ahead = _AHEAD * workers
        self.waiting: deque[Future[Any]] = deque()

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            with warnings.catch_warnings():
                # From Python 3.12 on a fork warns where threads run; the workers use none of their locks.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.waiting.append(self._executor.submit(_run, task))
            if len(self.waiting) >= self._ahead:
                yield self._next()
        while self.waiting:
            yield self._next()

    def _next(self) -> Any:
        result = self.waiting[0].result()
        self.waiting.popleft()  # only now: an interrupt while it waits leaves it in hand
        return result


_work: Callable[[Any], Any] | None = None


def _start(work: Callable[[Any], Any]) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = work


def _run(task: Any) -> Any:
    assert _work is not None
    return _work(task)
