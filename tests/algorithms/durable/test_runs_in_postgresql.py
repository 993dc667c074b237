"""Runs that are kept in a PostgreSQL database: one process at a time goes on with them, from whatever machine."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from postgresql_server import execute, new_database, postgresql
from processes import forked

from accountant import Accountant, Budget, Rule
from accountant.stores.opening import open_store, verify_store
from accountant.stores.refusals import InUse, LedgerDamaged, StoreMoved
from algorithms import CUCBBatchLeast, DurableRun
from algorithms.problems import TopK


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql() as url:
        yield url


@pytest.fixture
def url(server: str) -> str:
    return new_database(server)


def build(gate: Any) -> CUCBBatchLeast:
    return CUCBBatchLeast(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1000)


def begun(where: Any) -> DurableRun[CUCBBatchLeast]:
    run = DurableRun(build, Accountant(Budget(3.0), noise=np.random.default_rng(1), seed=2))
    run.save(where)
    return run


def load(where: Any, **options: Any) -> DurableRun[CUCBBatchLeast]:
    return DurableRun.load(where, build, noise=np.random.default_rng(9), **options)


def play(run: DurableRun[CUCBBatchLeast], first: int, rounds: int) -> list[Any]:
    shown = []
    for t in range(first, first + rounds):
        shown.append(run.learner.act().tolist())
        values = [float(t % 3 == 0), 0.0]
        run.learner.observe(run.accountant.private(values, run.learner.feedback_domain, f"user-{t}"))
        run.save()
    return shown


def saves(url: str) -> int:
    """Return how often a run was saved, verified."""
    found = verify_store(url).replay.saved
    assert found is not None
    return found[0]


def left_alone(url: str) -> None:
    """End all connections to a database but one's own, as a server that restarts does."""
    execute(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def test_a_run_goes_on_as_one_in_a_folder(url: str, tmp_path: Any) -> None:
    plays = []
    for where in (url, tmp_path / "run"):
        with begun(where) as run:
            run.save(where, keep={"answer": b"\x00\xff"})
            plays.append(play(run, 0, 20))
        with load(where) as again:
            assert again.kept("answer") == b"\x00\xff"
            plays[-1] += play(again, 20, 40)
            plays[-1].append(again.accountant.to_dict())
    assert plays[0] == plays[1]
    assert saves(url) == 62
    with load(url) as last, pytest.raises(ValueError, match=f"this run is kept in '{re.escape(url[:30])}"):
        last.save(tmp_path / "run")


def test_one_at_a_time_and_the_others_are_told_who(url: str) -> None:
    with begun(url):
        whose = rf"is held by this process, in another object \(process {os.getpid()} on .* since 20"
        with pytest.raises(InUse, match=whose + r".*SELECT pg_terminate_backend\(\d+\)"):
            load(url)

        def elsewhere(_: Any) -> str:
            try:
                load(url)
            except InUse as refused:
                return refused.holder
            return "nobody"

        (holder,) = forked(elsewhere).sent()
        assert re.fullmatch(rf"process {os.getpid()} on .* since 20\S*", holder)
    load(url).close()


def test_who_waits_goes_on_when_the_other_is_done(url: str) -> None:
    first = begun(url)
    with pytest.raises(InUse):
        load(url, wait=0.01)
    threading.Timer(0.3, first.close).start()
    with load(url, wait=60.0) as second:
        assert play(second, 0, 3)
    for wait in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"wait=.*: must be a number of seconds, at least 0"):
            load(url, wait=wait)


def test_a_process_that_was_killed_holds_nothing_and_has_lost_nothing(url: str) -> None:
    begun(url).close()

    def killed(pipe: Any) -> None:
        run = load(url)
        play(run, 0, 10)
        pipe.write(b"\x80\x04K\x01.")  # one, pickled
        pipe.flush()
        os.kill(os.getpid(), 9)

    assert forked(killed).sent() == [1]
    with load(url, wait=60.0) as again:
        assert saves(url) == 11
        play(again, 10, 5)
    assert saves(url) == 16


def test_who_lost_its_lock_saves_no_more_once_another_goes_on(url: str) -> None:
    run = begun(url)
    play(run, 0, 5)
    left_alone(url)
    play(run, 5, 1)  # nobody else has it: it connects again
    left_alone(url)
    with load(url) as other:
        run.learner.act()
        for _ in range(2):
            with pytest.raises(InUse, match="another process has gone on with this run since: load it again"):
                run.save()
        play(other, 6, 3)
    run.close()
    assert saves(url) == 10


def test_who_lost_its_lock_saves_no_more_after_a_command_on_the_ledger(url: str) -> None:
    run = begun(url)
    with pytest.raises(InUse, match="is held by"):
        open_store(url)
    left_alone(url)
    store = open_store(url)
    store.change_rules([Rule(Budget(2.0))], "ann", "less is enough")
    store.close()
    with pytest.raises(InUse, match="another process has gone on"):
        run.save()
    run.close()
    with load(url) as again:
        assert [rule.budget.epsilon for rule in again.accountant.ledger.rules] == [2.0]


def test_a_fork_that_ends_takes_nothing_from_its_parent(url: str) -> None:
    run = begun(url)

    def child(_: Any) -> str:
        try:
            run.save()
        except InUse as refused:
            run.close()
            return str(refused)
        return "saved"

    (words,) = forked(child).sent()
    assert "of which this process" in words
    with pytest.raises(InUse):
        load(url)
    play(run, 0, 3)
    run.close()


def test_a_first_save_that_fails_leaves_an_empty_database(
    url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DurableRun(build, Accountant(Budget(3.0), noise=np.random.default_rng(1), seed=2))
    with monkeypatch.context() as broken:
        broken.setattr("accountant.stores.work.Work.save_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.save(url)
    with pytest.raises(ValueError, match="holds no ledger"):
        verify_store(url)
    run.save(tmp_path / "run")  # bound to no place
    run.close()
    begun(url).close()


def test_a_place_that_is_no_run_is_refused(server: str, url: str) -> None:
    with pytest.raises(ValueError, match="holds no ledger"):
        load(url)
    Accountant(Budget(1.0), store=url).ledger.close()  # type: ignore[attr-defined]
    for attempt in (load, begun):
        with pytest.raises(ValueError, match="holds a ledger, but no run"):
            attempt(url)
    full = new_database(server)
    begun(full).close()
    with pytest.raises(
        ValueError, match=r"holds a run, whose budgets a new one would forget.*database of its own"
    ):
        begun(full)
    with pytest.raises(ValueError, match=r"store='mysql://ann:\*\*\*@host/run': .*"):
        begun("mysql://ann:secret@host/run")
    with pytest.raises(OSError, match="nowhere") as refused:
        begun("postgresql+psycopg://ann:secret@/run?host=/nowhere")
    assert "secret" not in str(refused.value)


def test_a_copy_goes_on_when_it_is_adopted(server: str, url: str) -> None:
    with begun(url) as run:
        play(run, 0, 3)
    name = re.search(r"/(ledger\d+)\?", url)
    assert name is not None
    for _ in range(100):  # until the server has noticed who is gone
        try:
            copy = new_database(server, template=name[1])
            break
        except Exception:
            time.sleep(0.1)
    with pytest.raises(StoreMoved, match=r"is a copy.*load\(..., adopt=True\)"):
        load(copy)
    with load(copy, adopt=True) as adopted:
        play(adopted, 3, 1)
    assert saves(copy) == 5


def test_a_changed_state_is_found(url: str) -> None:
    with begun(url) as run:
        play(run, 0, 3)
    execute(url, "UPDATE run SET state = set_byte(state, 5, get_byte(state, 5) # 1)")
    with pytest.raises(LedgerDamaged, match="the table `run` does not hold the state that was saved last"):
        load(url)
