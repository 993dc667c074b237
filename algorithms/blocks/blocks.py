"""Numbered blocks of work, each with its own random numbers: computed anywhere, in any order, and stored.

The result of a block depends on its number and on the work's parameters, the seed among them, and on nothing else. So
it is the same bit for bit on any machine and beside any other blocks, and more blocks leave the first ones unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from algorithms.blocks.block_store import FORMAT, Arrays, BlockStore
from algorithms.blocks.executor import Executor
from algorithms.blocks.identity import identity
from algorithms.blocks.processes import Processes

Tell = Callable[[float], None]
"""Function that is called with the share done, from 0 to 1."""

_RunBlocks = Callable[[range, Tell], Sequence[Arrays]]
"""Function ``run(numbers, progress)`` that returns the results of adjacent blocks."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Numbered blocks of one piece of work.

    Attributes
    ----------
    run
        Function that computes adjacent blocks together. With all its arguments it determines the blocks' identity.
    count
        The number of blocks: 0, 1, 2, ...
    together
        The largest number of blocks that are computed together, which saves time and changes no result.
    says
        A description of the work, JSON data.
    """

    run: _RunBlocks
    count: int
    together: int = 1
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A word for everything that determines a block, but its number.

        Raises
        ------
        NoIdentity
            If a part of it has no identity.
        """
        return identity((FORMAT, self.run))


@dataclass(frozen=True, eq=False)
class Finished:
    """All blocks of several pieces of work.

    Attributes
    ----------
    results
        The blocks of each piece of work, in order.
    stored
        The share of blocks that was read from the store.
    """

    results: Sequence[Sequence[Arrays]]
    stored: float


class _Task(NamedTuple):
    work: int
    first: int
    length: int

    def __str__(self) -> str:
        return f"blocks {self.first} to {self.first + self.length - 1} of work {self.work}"


def run_blocks(
    works: Sequence[Blocks],
    workers: int | Executor = 1,
    *,
    store: BlockStore | None = None,
    progress: Tell | None = None,
) -> Finished:
    """Return the results of all blocks of several pieces of work, in their order.

    Parameters
    ----------
    works
        A grid's cells, or a single one; all share the workers.
    workers
        Worker processes (1 does blocks in this one), or an executor.
    store
        Blocks that are stored there are read, and all others are stored as soon as they are done: after an interruption
        the same call goes on.
    progress
        Function that is called with the share of the blocks that is done.

    Raises
    ------
    DamagedBlock, NoIdentity
        If a stored block does not match its name, or a work has no identity.
    """
    where = cast("Executor", workers) if hasattr(workers, "open") else Processes(workers)
    kept = [None if store is None else store.stored_blocks(work.identity) for work in works]
    there: list[set[int]] = [set() if each is None else each.numbers() for each in kept]
    todo = [
        [number for number in range(work.count) if number not in stored]
        for work, stored in zip(works, there, strict=True)
    ]
    share = -(-sum(map(len, todo)) // where.parallel_tasks)  # so that every worker has something to do
    tasks = [
        _Task(index, first, count)
        for index, (work, numbers) in enumerate(zip(works, todo, strict=True))
        for first, count in _adjacent(numbers, max(1, min(work.together, share)))
    ]
    tell = _Progress(progress, sum(map(len, todo)))
    done: dict[tuple[int, int], Arrays] = {}
    with where.open(_Work(tuple(work.run for work in works), tell), len(tasks)) as opened:
        for number, results in opened.completed(tasks):
            index, first, _ = tasks[number]
            for block, arrays in enumerate(results, start=first):
                if (stored := kept[index]) is not None:
                    stored.write(block, arrays, works[index].says)
                done[index, block] = arrays
            tell.add(len(results))
    results = [
        [
            done[index, number] if each is None or (index, number) in done else each.read_block(number)
            for number in range(work.count)
        ]
        for index, (work, each) in enumerate(zip(works, kept, strict=True))
    ]
    return Finished(results, 1.0 - len(done) / max(1, sum(work.count for work in works)))


@dataclass(frozen=True, eq=False)
class _Work:
    """Function of a task in a worker: it runs the blocks."""

    runs: tuple[_RunBlocks, ...]
    tell: _Progress

    def __call__(self, task: _Task) -> Sequence[Arrays]:
        return self.runs[task.work](
            range(task.first, task.first + task.length), self.tell.of_task(task.length)
        )


class _Progress:
    """Progress of all works; of a task that is being done only in the process that waits for it."""

    def __init__(self, tell: Tell | None, blocks: int) -> None:
        self._tell, self._blocks, self._done = tell, max(1, blocks), 0
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {"_tell": None, "_blocks": self._blocks, "_done": 0, "_process": 0}

    def add(self, blocks: int) -> None:
        """Note that `blocks` more blocks are done."""
        self._done += blocks
        if self._tell is not None:
            self._tell(self._done / self._blocks)

    def of_task(self, blocks: int) -> Tell:
        """Return the function that takes the share done of a task of `blocks` blocks."""
        tell = self._tell
        if tell is None or os.getpid() != self._process:
            return _silent
        return lambda share: tell((self._done + share * blocks) / self._blocks)


def _silent(share: float) -> None:
    """Say nothing."""


def _adjacent(numbers: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of at most `most` adjacent numbers: the first one, and the length."""
    first, count = 0, 0
    for number in numbers:
        if count and number == first + count and count < most:
            count += 1
            continue
        if count:
            yield first, count
        first, count = number, 1
    if count:
        yield first, count
