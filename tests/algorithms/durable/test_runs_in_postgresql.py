"""Runs that are kept in a PostgreSQL database: one process at a time goes on with them, from whatever machine."""

from __future__ import annotations

import gc
import os
import pkgutil
import re
import threading
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from postgresql_server import execute, new_database
from processes import forked

from accountant import Accountant, Budget, Rule
from accountant.stores.database import Database
from accountant.stores.opening import open_store, verify_store
from accountant.stores.session_lock import _SESSION_SETTINGS
from accountant.stores.store_refusals import InUse, LedgerDamaged, StoreMoved
from algorithms import CUCBBatch, DurableRun
from algorithms.problems import TopK
from mechanisms import Interval, Laplace, OpenDPNoise, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


def build(gate: Any) -> CUCBBatch:
    return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1000)


def begun(where: Any) -> DurableRun[CUCBBatch]:
    run = DurableRun(build, Accountant(Budget(3.0), noise=np.random.default_rng(1), seed=2))
    run.save(where)
    return run


def load(where: Any, **options: Any) -> DurableRun[CUCBBatch]:
    return DurableRun.load(where, build, noise=np.random.default_rng(9), **options)


def play(run: DurableRun[CUCBBatch], first: int, rounds: int) -> list[Any]:
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
        "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


@pytest.mark.slow
def test_a_run_goes_on_as_one_in_a_folder(url: str, tmp_path: Any) -> None:
    plays = []
    for where in (url, tmp_path / "run"):
        with begun(where) as run:
            run.save(where, keep={"answer": b"\x00\xff"})
            plays.append(play(run, 0, 20))
        with load(where) as again:
            assert again.extra_state("answer") == b"\x00\xff"
            plays[-1] += play(again, 20, 40)
            plays[-1].append(again.accountant.to_dict())
    assert plays[0] == plays[1]
    assert saves(url) == 62
    with load(url) as last, pytest.raises(ValueError, match=f"this run is kept in '{re.escape(url[:30])}"):
        last.save(tmp_path / "run")


@pytest.mark.slow
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
        with pytest.raises(ValueError, match=r"wait = .*: must be a number of seconds, at least 0"):
            load(url, wait=wait)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_process_that_was_killed_between_two_saves_has_charged(url: str) -> None:
    noise = OpenDPNoise()
    DurableRun(build, Accountant(Budget(1.0))).save(url)

    def killed(pipe: Any) -> None:
        run = DurableRun.load(url, build, noise=noise)
        for user in range(7):  # the last one fills the first batch, which is released
            run.learner.act()
            run.learner.observe(run.accountant.private([1.0, 0.0], run.learner.feedback_domain, user))
            if user == 1:
                run.save()
        run.accountant.release(HALF, run.accountant.private([0.5], Interval(0, 1), "ann"))
        os.kill(os.getpid(), 9)

    gc.collect()
    assert forked(killed).sent() == []
    for save in (False, True, True):
        with DurableRun.load(url, build, noise=noise, wait=60.0) as run:
            assert run.accountant.spent("ann").epsilon == Fraction(1, 2)
            assert [run.accountant.spent(user).epsilon for user in range(8)] == [1] * 7 + [0]
            if save:
                run.save()
    with DurableRun.load(url, build, noise=noise) as run:
        left_alone(url)
        with DurableRun.load(url, build, noise=noise, wait=60.0) as other:
            with pytest.raises(InUse, match="another process has gone on with this run"):
                run.accountant.release(HALF, run.accountant.private([0.5], Interval(0, 1), "bob"))
            assert run.accountant.spent("bob").epsilon == 0
            other.save()


def test_who_lost_its_lock_saves_no_more_once_another_goes_on(url: str) -> None:
    run = begun(url)
    play(run, 0, 5)
    left_alone(url)
    play(run, 5, 1)  # nobody else has it: it connects again
    left_alone(url)
    with load(url) as other:
        run.learner.act()
        for _ in range(2):
            with pytest.raises(InUse, match="is held by this process, in another object"):
                run.save()
        play(other, 6, 3)
    with pytest.raises(InUse, match="another process has gone on with this run since: load it again"):
        run.save()
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


@pytest.mark.slow
def test_who_lost_its_lock_before_its_first_save_takes_nobodys_run(
    postgresql_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between making the store and its first save, or between looking at what is there and removing it."""

    def another(where: str) -> None:
        left_alone(where)
        with DurableRun(build, Accountant(Budget(5.0), noise=np.random.default_rng(1))) as other:
            other.save(where)
            play(other, 0, 4)

    def lost(at: str, where: str) -> None:
        """Begin a run, and let another begin its own when `at` is called first."""
        name, real = at.rpartition(".")[2], pkgutil.resolve_name(at)
        calls = []

        def overtaken(*arguments: Any, **options: Any) -> Any:
            if not calls:
                calls.append(name)
                another(where)
            return real(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(at, overtaken)
            run = DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(1)))
            with pytest.raises((InUse, ValueError), match=r"another process has|holds a run"):
                run.save(where)
            run.close()
        assert saves(where) == 5
        with load(where) as kept:
            assert kept.accountant.budget.epsilon == 5

    lost("algorithms.durable.durable_run.Encoder", new_database(postgresql_server))
    half = new_database(postgresql_server)
    with monkeypatch.context() as broken:
        broken.setattr(
            "accountant.stores.opening.unmake_run", lambda *_: True
        )  # a first save that was killed
        run = DurableRun(build, Accountant(Budget(3.0), noise=np.random.default_rng(1)))
        broken.setattr("accountant.stores.transaction.Transaction.save_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.save(half)
    lost("accountant.stores.opening.unmake_run", half)


def test_who_is_refused_where_another_role_has_the_run_is_told_so(url: str) -> None:
    execute(url, "CREATE ROLE plain LOGIN")
    execute(url, "GRANT ALL ON SCHEMA public TO plain")
    execute(url, "GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO plain")
    try:
        with begun(url):
            execute(url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO plain")
            with pytest.raises(InUse, match=r"pg_terminate_backend\(\d+\), by who may end that role's"):
                load(url.replace("://postgres:@", "://plain:@"))
    finally:
        execute(url, "DROP OWNED BY plain")
        execute(url, "DROP ROLE plain")


def test_a_lock_that_was_lost_is_taken_again_if_nobody_has_it(url: str) -> None:
    run = begun(url)
    left_alone(url)
    play(run, 0, 2)
    with pytest.raises(InUse, match="is held by this process"):
        load(url)
    run.check_held()
    left_alone(url)
    load(url).close()
    with pytest.raises(InUse, match="another process has gone on"):
        run.check_held()
    run.close()


@pytest.mark.slow
def test_a_fork_does_not_keep_its_parents_lock(url: str) -> None:
    begun(url).close()

    def parent(pipe: Any) -> None:
        run = load(url)
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        pipe.write(b"\x80\x04K\x01.")  # one, pickled
        pipe.flush()
        os.kill(os.getpid(), 9)
        assert run

    client = forked(parent)
    os.waitpid(client.process, 0)
    client._pipe.close()
    load(url, wait=20.0).close()


def test_who_hangs_in_a_save_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_SESSION_SETTINGS, "lock_timeout", "300ms")
    begun(url).close()
    database = Database.from_location(url)
    with (
        database.writing(),
        pytest.raises(InUse, match=r"has been written to by this process.*pg_terminate_backend"),
    ):
        load(url)
    database.close()
    load(url).close()


@pytest.mark.slow
def test_a_copy_in_the_same_database_is_one(url: str) -> None:
    with begun(url) as run:
        play(run, 0, 2)
    for table in ("store", "entry", "kind", "account", "reservation", "request", "run", "kept"):
        execute(url, f"ALTER TABLE {table} RENAME TO old_{table}")
        execute(url, f"CREATE TABLE {table} (LIKE old_{table} INCLUDING ALL)")
        execute(url, f"INSERT INTO {table} SELECT * FROM old_{table}")
    with pytest.raises(StoreMoved, match="is a copy"):
        load(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann@/run?host=/nowhere&password=SECRET",
        "postgresql+psycopg://ann@/run?sslpassword=SECRET&host=/nowhere",
        "postgresql-psycopg://ann:SECRET@host/run",
        "postgresql+psycopg://ann:SECRET@host:54x/run",
        "postgres://ann:SECRET@host/run",
    ],
)
def test_no_message_has_a_password(url: str) -> None:
    for attempt in (begun, load, open_store):
        with pytest.raises((OSError, ValueError)) as refused:
            attempt(url)
        assert "SECRET" not in str(refused.value)


def test_what_a_role_may_not_do_is_no_damage(url: str) -> None:
    begun(url).close()
    execute(url, "ALTER ROLE postgres SET default_transaction_read_only TO on")
    try:
        with pytest.raises(OSError, match="read-only transaction"):
            load(url)
    finally:
        execute(
            url.replace("?", "?options=-cdefault_transaction_read_only%3Doff&", 1),
            "ALTER ROLE postgres RESET default_transaction_read_only",
        )
    load(url).close()


def test_whatever_isolation_is_the_default_nobody_meets_another(url: str) -> None:
    execute(url, "ALTER ROLE postgres SET default_transaction_isolation TO 'repeatable read'")
    try:
        run = begun(url)
        play(run, 0, 3)
        database = Database.from_location(url)
        with database.reading() as session:
            level = session.value("SHOW transaction_isolation")
        database.close()
        assert level == "read committed"
        run.close()
    finally:
        execute(url, "ALTER ROLE postgres RESET default_transaction_isolation")


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
        broken.setattr("accountant.stores.transaction.Transaction.save_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.save(url)
    with pytest.raises(ValueError, match="holds no ledger"):
        verify_store(url)
    run.save(tmp_path / "run")  # bound to no place
    run.close()
    begun(url).close()


def test_a_place_that_is_no_run_is_refused(postgresql_server: str, url: str) -> None:
    with pytest.raises(ValueError, match="holds no ledger"):
        load(url)
    Accountant(Budget(1.0), store=url).ledger.close()  # type: ignore[attr-defined]
    for attempt in (load, begun):
        with pytest.raises(ValueError, match="holds a ledger, but no run"):
            attempt(url)
    full = new_database(postgresql_server)
    begun(full).close()
    with pytest.raises(
        ValueError, match=r"holds a run, whose budgets a new one would forget.*database of its own"
    ):
        begun(full)
    with pytest.raises(ValueError, match=r"store = 'mysql://ann:\*\*\*@host/run': .*"):
        begun("mysql://ann:secret@host/run")
    with pytest.raises(OSError, match="nowhere") as refused:
        begun("postgresql+psycopg://ann:secret@/run?host=/nowhere")
    assert "secret" not in str(refused.value)


def test_a_copy_goes_on_when_it_is_adopted(postgresql_server: str, url: str) -> None:
    with begun(url) as run:
        play(run, 0, 3)
    name = re.search(r"/(ledger\d+)\?", url)
    assert name is not None
    for _ in range(100):  # until the server has noticed who is gone
        try:
            copy = new_database(postgresql_server, template=name[1])
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
