"""Several threads and processes, killed at any moment, spend one budget once."""

import os
import pickle
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from processes import forked

from accountant import Accountant, Budget, BudgetExceeded
from accountant.stores.opening import open_store, verify_store
from mechanisms import Interval, Laplace

UNIT = Interval(0, 1)
NOISE = Laplace.for_epsilon(0.25, sensitivity=UNIT.sensitivity)
LIMIT = 8.0


class Asked(NamedTuple):
    """A charge that was asked for: when, when it was answered, and what."""

    asked: float
    returned: float
    record: int
    position: int | None


def client(store: Any, seed: int, charges: int, records: int) -> list[Asked]:
    """Ask for charges to random records, and say what came of each."""
    accountant = Accountant(Budget(LIMIT), noise=np.random.default_rng(seed), store=store)
    chosen = np.random.default_rng(seed)
    made = []
    for _ in range(charges):
        record = int(chosen.integers(records))
        quote = accountant.price(NOISE, accountant.private([0.5], UNIT, record))
        asked = time.monotonic()
        try:
            position = accountant.reserve(quote).position
        except BudgetExceeded:
            position = None
        made.append(Asked(asked, time.monotonic(), record, position))
    return made


def threads(pipe: Any, path: Path, seed: int, count: int, charges: int, records: int) -> list[Asked]:
    """Several clients of one process, on one open store."""
    store = open_store(path)
    made: list[Asked] = []
    work = [
        threading.Thread(target=lambda s=s: made.extend(client(store, s, charges, records)))  # type: ignore[misc]
        for s in range(seed, seed + count)
    ]
    for one in work:
        one.start()
    for one in work:
        one.join()
    return made


def contradiction(history: Sequence[Asked], most: int) -> str | None:
    """Say why no order of the charges, each within its call, explains what every call was told; None if one does."""
    paid = sorted((one for one in history if one.position is not None), key=lambda one: one.position or 0)
    if len({one.position for one in paid}) < len(paid):
        return "two charges have one place"
    latest, total, after = -1.0, Counter[int](), dict[int, list[tuple[float, int]]]()
    for one in paid:
        if one.returned < latest:
            return "order contradicts time"
        latest = max(latest, one.asked)
        total[one.record] += 1
        if total[one.record] > most:
            return "over the limit"
        after.setdefault(one.record, []).append((one.asked, total[one.record]))
    for one in history:
        if one.position is None:
            largest = max((n for asked, n in after.get(one.record, []) if asked < one.returned), default=0)
            if largest < most:
                return "refused without reason"
    return None


def share(path: Path, processes: int, per_process: int, charges: int, records: int) -> list[Asked]:
    Accountant(Budget(LIMIT), store=path).ledger.close()  # type: ignore[attr-defined]
    clients = [forked(threads, path, 100 * i, per_process, charges, records) for i in range(processes)]
    return [one for each in clients for sent in each.sent() for one in sent]


def check_shared(path: Path, history: list[Asked], expected: int) -> None:
    assert len(history) == expected
    assert contradiction(history, int(LIMIT / 0.25)) is None
    found = verify_store(path)
    paid = Counter(one.record for one in history if one.position is not None)
    assert max(paid.values()) == LIMIT / 0.25  # the limit was met, so that it could have been passed
    accountant = Accountant(Budget(LIMIT), store=path)
    assert {record: accountant.spent(record).epsilon for record in paid} == {
        record: count / 4 for record, count in paid.items()
    }
    assert len(found.reserved) == sum(paid.values())


def test_two_processes_of_three_threads_overspend_nothing(tmp_path: Path) -> None:
    history = share(tmp_path / "ledger.db", processes=2, per_process=3, charges=30, records=4)
    check_shared(tmp_path / "ledger.db", history, 180)


@pytest.mark.slow
def test_four_processes_of_eight_threads_overspend_nothing(tmp_path: Path) -> None:
    history = share(tmp_path / "ledger.db", processes=4, per_process=8, charges=3_125, records=64)
    check_shared(tmp_path / "ledger.db", history, 100_000)


def test_a_history_that_no_order_explains_is_refuted() -> None:
    right = [Asked(0, 1, 7, 2), Asked(2, 3, 7, 3), Asked(4, 5, 7, None)]
    assert contradiction(right, 2) is None
    assert contradiction(right, 1) == "over the limit"
    assert contradiction(right, 3) == "refused without reason"
    assert contradiction([Asked(0, 1, 7, 3), Asked(2, 3, 7, 2)], 2) == "order contradicts time"
    assert contradiction([Asked(0, 1, 7, 2), Asked(0, 3, 7, 2)], 2) == "two charges have one place"


def spend_until_killed(pipe: Any, path: Path | str, seed: str) -> None:
    """Charge for ever, and acknowledge what was released, by reservations that may end before they are drawn, too."""
    store, sending = open_store(path), threading.Lock()

    def spend(name: int) -> None:
        accountant = Accountant(Budget(LIMIT), noise=np.random.default_rng(name), store=store)
        for record in range(10_000):
            value = accountant.private([0.5], UNIT, f"{seed}-{name}-{record}")
            if record % 3:
                accountant.release(NOISE, value)
            else:
                reserved = accountant.reserve(accountant.price(NOISE, value), seconds=0.02)
                time.sleep(0.015)
                try:
                    reserved.release()
                except ValueError:  # it has ended
                    continue
            with sending:
                pickle.dump(f"{seed}-{name}-{record}", pipe)
                pipe.flush()

    for name in range(2):
        threading.Thread(target=spend, args=(name,)).start()
    time.sleep(60)


def kill_often(path: Path | str, times: int, together: int = 1) -> None:
    Accountant(Budget(LIMIT), store=path).ledger.close()  # type: ignore[attr-defined]
    moments = random.Random(5)
    acknowledged: list[str] = []
    running: list[Any] = []
    for seed in range(times):
        while len(running) < together:
            running.append(forked(spend_until_killed, path, f"{seed}-{len(running)}"))
        killed = running.pop(0)
        if seed % 2:  # the others may die before they have charged anything
            killed.wait(60.0)
        time.sleep(moments.uniform(0.02, 0.15))
        os.kill(killed.process, signal.SIGKILL)
        acknowledged += killed.sent()
    for killed in running:
        os.kill(killed.process, signal.SIGKILL)
        acknowledged += killed.sent()
    accountant = Accountant(Budget(LIMIT), store=path)  # it opens, and everything fits
    time.sleep(0.03)  # what is reserved ends
    accountant.release(NOISE, accountant.private([0.5], UNIT, "last"))
    charged = {record for entry in accountant.ledger.entries for record in entry.records}
    assert set(acknowledged) <= charged
    assert acknowledged
    most = 2 * (times + together) + 1  # of each thread at most one was charged and not drawn
    assert len(charged) - len(acknowledged) <= most
    accountant.ledger.close()  # type: ignore[attr-defined]


def test_no_acknowledged_charge_is_lost_in_four_kills(tmp_path: Path) -> None:
    kill_often(tmp_path / "ledger.db", 4)


@pytest.mark.slow
def test_no_acknowledged_charge_is_lost_in_two_hundred_kills(tmp_path: Path) -> None:
    kill_often(tmp_path / "ledger.db", 200)
