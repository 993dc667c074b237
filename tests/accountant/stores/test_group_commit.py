"""Tasks of callers that arrive during a transaction are done in it, and each caller learns its own result alone."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from accountant.stores.group_commit import GroupCommit


def test_who_comes_while_others_are_worked_for_is_in_their_transaction() -> None:
    transactions: list[list[Sequence[str]]] = []
    begun, came = threading.Event(), threading.Event()

    def commit(batches: Iterator[Sequence[str]]) -> list[str]:
        transactions.append([])
        for tasks in batches:
            transactions[-1].append(tasks)
            begun.set()
            assert came.wait(10)
        return [f"{task} done" for tasks in transactions[-1] for task in tasks]

    queue: GroupCommit[str] = GroupCommit(commit)
    results: dict[str, str] = {}
    threads = [
        threading.Thread(target=lambda task=task: results.update({task: queue.do(task)}))
        for task in ("first", "second", "third")
    ]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    while len(queue._queued) < 2:
        pass
    came.set()
    for thread in threads:
        thread.join()
    assert results == {task: f"{task} done" for task in ("first", "second", "third")}
    (batches,) = transactions
    assert batches[0] == ["first"]
    assert sorted(batches[1]) == ["second", "third"]


def test_an_error_before_the_first_task_is_of_one_caller_and_the_next_tries_again() -> None:
    errors = [OSError("the disk")]

    def commit(batches: Iterator[Sequence[str]]) -> list[str]:
        if errors:
            raise errors.pop()
        return [task for tasks in batches for task in tasks]

    queue: GroupCommit[str] = GroupCommit(commit)
    with pytest.raises(OSError, match="the disk"):
        queue.do("first")
    assert queue.do("second") == "second"
    assert not queue._queued


def test_an_error_of_one_task_is_its_callers_and_one_of_the_transaction_is_of_all_in_it() -> None:
    broken = False

    def commit(batches: Iterator[Sequence[str]]) -> list[object]:
        results = [ValueError(task) if task == "bad" else task for tasks in batches for task in tasks]
        if broken:
            raise OSError("the disk")
        return results

    queue: GroupCommit[str] = GroupCommit(commit)
    with pytest.raises(ValueError, match="bad"):
        queue.do("bad")
    broken = True
    with pytest.raises(OSError, match="the disk"):
        queue.do("good")
    broken = False
    assert queue.do("good") == "good"


def test_many_threads_share_few_transactions() -> None:
    """They took turns to see that they were done, and whoever came again meanwhile committed for itself alone."""
    transactions = 0

    def commit(batches: Iterator[Sequence[int]]) -> list[int]:
        nonlocal transactions
        transactions += 1
        done = [task for tasks in batches for task in tasks]
        time.sleep(0.01)  # the disk
        return done

    queue: GroupCommit[int] = GroupCommit(commit)
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.extend(queue.do(task) for task in range(8)))
        for _ in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(32 * [*range(8)])
    assert transactions < 64  # of 256 tasks


def test_who_is_not_woken_looks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption may fall on the line that wakes the next."""
    queue: GroupCommit[str] = GroupCommit(lambda batches: [task for tasks in batches for task in tasks])
    begun = threading.Event()
    results: list[str] = []
    with queue._committing:
        waiting = threading.Thread(target=lambda: (begun.set(), results.append(queue.do("task"))))
        waiting.start()
        assert begun.wait(10)
        while not queue._queued:
            pass
    waiting.join(10)
    assert results == ["task"]


def test_callers_of_the_last_transaction_are_awaited_for_a_tenth_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transactions: list[list[str]] = []

    def commit(batches: Iterator[Sequence[str]]) -> list[str]:
        transactions.append([task for tasks in batches for task in tasks])
        return transactions[-1]

    queue: GroupCommit[str] = GroupCommit(commit)
    looks = 0
    second = threading.Thread(target=lambda: queue.do("second"))

    def look(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            second.start()
            while len(queue._queued) < 2:
                pass

    monkeypatch.setattr("accountant.stores.group_commit.time.sleep", look)
    queue._last_size, queue._last_seconds = 2, 0.005
    queue.do("first")
    second.join()
    assert (looks, transactions) == (3, [["first", "second"]])
    queue._last_size, queue._last_seconds = 2, 0.005
    queue.do("nobody else comes")
    assert looks == 3 + 5
    queue.do("who was alone last time waits for nobody")
    assert looks == 3 + 5
