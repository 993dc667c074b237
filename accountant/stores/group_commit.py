"""Group commit: one caller's transaction carries out the tasks of all callers that wait."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from accountant.stores.file_lock import LONGEST_WAIT, this_process
from accountant.stores.store_refusals import InUse, OutcomeUnknown

Task = TypeVar("Task")
_PAUSE = 0.05
"""Seconds after which a waiting caller checks for itself: its waker may have been interrupted on any line."""
_LOOK, _MOST_LOOKS = 1e-4, 10
"""Seconds between two looks for callers that may be on their way, and their number in front of a transaction."""


class _Job(Generic[Task]):
    def __init__(self, task: Task) -> None:
        self.task = task
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.woken: queue.SimpleQueue[None] = queue.SimpleQueue()


class GroupCommit(Generic[Task]):
    """A queue in front of a transaction.

    Parameters
    ----------
    commit
        Function that does all tasks in one transaction, and returns the result of each, or the error to raise in its
        caller. Tasks come in batches; each batch has the tasks that came during the one before. There are finitely
        many, since the caller of a task in one of them waits.
    """

    def __init__(self, commit: Callable[[Iterator[Sequence[Task]]], Sequence[Any]]) -> None:
        self._commit = commit
        self._queued: list[_Job[Task]] = []
        self._queueing = threading.Lock()
        self._committing = threading.RLock()
        self._last_size, self._last_seconds = 0, 0.0

    @property
    def waiting(self) -> list[Task]:
        """The tasks that wait."""
        return [job.task for job in self._queued]

    def do(self, task: Task) -> Any:
        """Return the result of a task once it is durable, or raise its error.

        Raises
        ------
        InUse
            If another caller has been committing for too long, and has not begun with this one's task.
        OutcomeUnknown
            If another caller, which committed for this one, was interrupted, or takes too long.
        """
        job, until = _Job(task), 0.0
        with self._queueing:
            self._queued.append(job)
        while not self._commit_if_first(job):
            until = until or time.monotonic() + LONGEST_WAIT
            with suppress(queue.Empty):
                job.woken.get(timeout=_PAUSE)
            if time.monotonic() >= until and not job.done:
                self._give_up(job)
        if not job.done:  # the caller that took it was interrupted before it was begun
            raise OutcomeUnknown("the thread that committed for this one was interrupted")
        if job.error is not None:
            raise job.error
        return job.result

    def _commit_if_first(self, job: _Job[Task]) -> bool:
        """Commit for all callers that wait, unless another thread does; return True if this one need not wait."""
        if job.done:
            return True
        try:
            if not self._committing.acquire(blocking=False):
                return False
            if not job.done:
                self._commit_all(job)
            return True
        finally:
            try:
                self._committing.release()
            except RuntimeError:  # it is another thread's
                pass
            else:
                # Callers too late for this transaction wait, and the first of them commits for all: if each waited
                # for the lock, threads would take it in turns only to find their tasks done.
                for first in self._queued[:1]:
                    first.woken.put(None)

    def _give_up(self, job: _Job[Task]) -> None:
        words = f"another thread of this process has been committing for {LONGEST_WAIT:g} s"
        with self._queueing:
            if job not in self._queued:
                raise OutcomeUnknown(f"{words}, for this one, too")
            self._queued.remove(job)
        raise InUse(words, this_process())

    def _await_callers(self) -> None:
        """Wait until as many have come as last time, but at most a tenth of the time that the last transaction took.

        They come back one after the other. If the first did not wait, most would miss its transaction: two halves would
        take turns at the disk, and everybody wait for it twice.
        """
        for _ in range(min(_MOST_LOOKS, int(self._last_seconds / (10 * _LOOK)))):
            if len(self._queued) >= self._last_size:
                break
            time.sleep(_LOOK)

    def _commit_all(self, own: _Job[Task]) -> None:
        jobs: list[_Job[Task]] = []

        def batches() -> Iterator[Sequence[Task]]:
            while self._queued:
                with self._queueing:
                    batch, self._queued = self._queued, []
                jobs.extend(batch)
                yield [job.task for job in batch]

        try:
            self._await_callers()
            begun = time.monotonic()
            results = self._commit(batches())
            self._last_size, self._last_seconds = len(jobs), time.monotonic() - begun
            for job, result in zip(jobs, results, strict=True):
                job.result = result
                if isinstance(result, Exception):
                    job.error = result
        except BaseException as error:
            with self._queueing:
                if own in self._queued:  # the transaction did not begin; others try for themselves
                    self._queued.remove(own)
                    jobs.append(own)
            words = f"the thread that committed for this one was interrupted ({type(error).__name__})"
            for job in jobs:
                job.error = error if job is own or isinstance(error, Exception) else OutcomeUnknown(words)
            raise
        finally:
            for job in jobs:
                job.done = True
                job.woken.put(None)
