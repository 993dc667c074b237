"""Executors of independent tasks: in this process, or on the workers of an `Executor`.

No result may depend on where or in which order tasks ran: all random numbers of one follow from the task itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from mechanisms.parameters import DPWitnessError


class WorkersDied(DPWitnessError, ChildProcessError):
    """A task made its worker process die several times; the message names it."""


class Workers(ABC):
    """Workers that apply one function to tasks."""

    @abstractmethod
    def completed(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield each task's number, from 0 on, and its result, as they come.

        Tasks are taken from the iterable as workers get free. The first error of a task is raised.
        """

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of each task, in the order of the tasks."""
        early: dict[int, Any] = {}
        following = 0
        for number, result in self.completed(tasks):
            early[number] = result
            while following in early:
                yield early.pop(following)
                following += 1


class Executor(Protocol):
    """Provider of workers."""

    @property
    def parallel_tasks(self) -> int:
        """About how many tasks run at the same time."""
        ...

    def open(self, work: Callable[[Any], Any], most: int | None = None) -> AbstractContextManager[Workers]:
        """Return workers that apply `work` to tasks, until the context is left: tasks that run then are ended.

        Parameters
        ----------
        work
            A function of a task.
        most
            The number of tasks, if it is known: no more workers are started than that.
        """
        ...


@dataclass(frozen=True)
class Serial:
    """Everything in this process, one task after the other."""

    @property
    def parallel_tasks(self) -> int:
        """1."""
        return 1

    def open(self, work: Callable[[Any], Any], most: int | None = None) -> AbstractContextManager[Workers]:
        """Return this process as the only worker; `Executor.open` describes the arguments."""
        return nullcontext(_Here(work))


class _Here(Workers):
    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def completed(self, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        return enumerate(map(self._work, tasks))
