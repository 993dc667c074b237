"""The same ledger in PostgreSQL: a server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from postgresql_server import execute, new_database, postgresql, single
from processes import forked
from sqlalchemy.exc import SQLAlchemyError
from test_sharing import LIMIT, contradiction, kill_often, threads

from accountant import Accountant, Budget, BudgetExceeded, Place, Rule, spending_on
from accountant.rules import clock
from accountant.stores import session
from accountant.stores.export import read_export
from accountant.stores.folding import fold
from accountant.stores.imports import import_ledger
from accountant.stores.names import NameKey, add_key
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.renaming import erase, rotate
from accountant.stores.session_lock import _SESSION_SETTINGS
from accountant.stores.sql_store import SQLStore
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


def opened(url: str, **options: Any) -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=url, **options)


def value(accountant: Accountant, record: Any = "ann") -> Any:
    return accountant.private([0.5], UNIT, record)


def closed(accountant: Accountant) -> None:
    accountant.ledger.close()  # type: ignore[attr-defined]


def test_a_pool_that_keeps_no_settings_of_sessions_makes_nothing_less_durable(url: str) -> None:
    store: Any = opened(url).ledger
    with store.database.reading() as within:
        within.execute("SET synchronous_commit = off")
    execute(url, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # what nobody waits for is written then
    execute(url, "SELECT pg_reload_conf()")
    with store.working(()) as work:
        work.shut_gate("a test", Place("f.py", 1))
        written = work.session.value("SELECT pg_current_wal_insert_lsn()")
    with store.database.reading() as within:
        assert within.value(f"SELECT pg_current_wal_flush_lsn() > '{written}'")
    execute(url, "ALTER SYSTEM RESET wal_writer_delay")
    execute(url, "SELECT pg_reload_conf()")
    with store.database.reading() as within:
        assert within.value("SHOW synchronous_commit") == "off"
    store.close()


def test_the_next_writer_does_not_wait_for_the_disk_of_the_one_before(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of a charge that is not on the disk yet waits for it, too, before anything leaves."""
    first, second = opened(url), opened(url)
    monkeypatch.setattr(session, "_FLUSH", "SELECT pg_advisory_xact_lock_shared(7)")
    decided = threading.Event()

    def write() -> None:
        with second.ledger.working(()) as work:  # type: ignore[attr-defined]
            work.check()
            decided.set()

    with first.ledger.database.reading() as disk:  # type: ignore[attr-defined]
        disk.execute("SELECT pg_advisory_lock(7)")
        charging = threading.Thread(target=first.release, args=(HALF, value(first)))
        charging.start()
        until = time.monotonic() + 60
        while not second.spent("ann").epsilon and time.monotonic() < until:
            time.sleep(0.01)
        reading = threading.Thread(target=write)
        reading.start()
        assert decided.wait(60)
        reading.join(0.1)
        assert charging.is_alive()
        assert reading.is_alive()
        disk.execute("SELECT pg_advisory_unlock(7)")
        charging.join()
        reading.join()
    closed(first)
    closed(second)


def test_a_write_that_fails_is_no_unknown_outcome(url: str) -> None:
    """It is found when the transaction has been told to end, which was skipped then."""
    accountant = opened(url)
    store: Any = accountant.ledger

    def write(work: Any) -> None:
        work.append({"assumed": ["x", "y", "z"]})
        work.session.run("INSERT INTO entry (position, body, hash) VALUES (?, ?, ?)", [(1, "{}", b"")])

    with pytest.raises(LedgerDamaged, match="duplicate key"):
        store._queue.do(write)
    accountant.release(HALF, value(accountant))
    assert verify_store(url).accounts == 1
    closed(accountant)


def test_rows_come_as_they_were_given(url: str) -> None:
    """They go as columns, one array each, some hundred at once."""
    texts = '{"a":"\\\\"}', "NULL", "", "ü'\"", "{}", None
    rows = [(i, None, 2**62 - i, text, bytes(range(i))) for i, text in enumerate(texts)]
    rows += [(i, i if i > 505 else None, 0, None, None) for i in range(len(texts), 1_200)]
    store: Any = opened(url).ledger
    with store.database.writing() as within:
        within.execute("CREATE TABLE copied (a bigint, b bigint, c bigint, d text, e bytea)")
        within.run("INSERT INTO copied (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)", rows)
    with store.database.reading() as within:
        assert within.rows("SELECT a, b, c, d, e FROM copied ORDER BY a") == rows
    store.close()


def spend_until_cut(pipe: Any, url: str, name: str) -> None:
    """Release of a new record each, and send the name of each that was released, until the server is gone."""
    accountant = opened(url)
    for i in itertools.count():
        try:
            accountant.release(HALF, value(accountant, f"{name}-{i}"))
        except OSError:
            return
        pickle.dump(f"{name}-{i}", pipe)
        pipe.flush()


@pytest.mark.slow
def test_no_acknowledged_charge_is_lost_when_the_server_dies() -> None:
    """When one of its processes is killed it ends all, and begins anew with what is on the disk."""
    moments = random.Random(3)
    with postgresql() as server:
        execute(server, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # what nobody waits for is lost
        execute(server, "SELECT pg_reload_conf()")
        url = new_database(server)
        closed(opened(url))
        acknowledged: set[str] = set()
        for life in range(15):
            clients = [forked(spend_until_cut, url, f"{life}-{i}") for i in range(3)]
            for client in clients:
                client.wait(60.0)
            pid = single(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
            time.sleep(moments.uniform(0.05, 0.3))
            os.kill(pid, signal.SIGKILL)
            acknowledged.update(name for client in clients for name in client.sent() if name)
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with suppress(OSError, SQLAlchemyError):
                    single(url, "SELECT 1")
                    break
            assert verify_store(url)
            store = open_store(url)
            assert acknowledged <= set(store.records())
            store.close()
        assert len(acknowledged) > 45


def test_one_connection_that_a_server_has_ended_is_enough_to_know_it_of_all(url: str) -> None:
    """A server that was replaced does not say so: each of those that were kept open failed in its turn."""
    accountant = opened(url)
    database: Any = accountant.ledger.database  # type: ignore[attr-defined]
    with database.reading() as first, database.reading() as second:
        pids = [int(session.value("SELECT pg_backend_pid()")) for session in (first, second)]
    for pid in pids:
        execute(url, f"SELECT pg_terminate_backend({pid})")
    database._connections._lives = lambda _: True  # nothing has come through yet
    with pytest.raises(OSError, match=r"terminat|closed"):
        accountant.release(HALF, value(accountant))
    accountant.release(HALF, value(accountant))
    assert accountant.ledger.count_records() == 1  # type: ignore[attr-defined]
    closed(accountant)


def test_all_of_a_ledger(url: str, tmp_path: Path) -> None:
    first, second = opened(url), opened(url)
    shown = first.release(HALF, value(first), request="a\x00ü")
    assert np.array_equal(second.release(HALF, value(second), request="a\x00ü"), shown)
    reserved = second.reserve(second.price(HALF, value(second)))
    with pytest.raises(BudgetExceeded):
        first.release(HALF, value(first))
    with pytest.raises(BudgetExceeded):
        first.release(HALF, value(first) + value(first, "bob"))
    first.ledger.give_back(reserved.position)
    with pytest.raises(ValueError, match="given back"):
        reserved.release()
    kept = second.reserve(second.price(HALF, value(second, 7)))
    kept.release()
    assert first.spent("ann").epsilon == first.spent(7).epsilon == Fraction(1, 2)
    assert first.spent("bob").epsilon == first.spent("7th").epsilon == 0
    assert first.worst()[0] == "ann"
    assert len(first.ledger) == 2
    found = verify_store(url)
    assert (found.accounts, found.reserved) == (2, ())
    first.export(tmp_path / "ledger.json")
    replay, names, _ = read_export(tmp_path / "ledger.json")
    assert (replay.hash, set(names.values())) == (bytes.fromhex(found.head.hash), {"ann", 7})
    assert fold(first.ledger, clock.wall() + 60_000, "ann", "room").removed == 4  # type: ignore[arg-type]
    assert np.array_equal(second.release(HALF, value(second), request="a\x00ü"), shown)
    assert second.spent(7).epsilon == Fraction(1, 2)
    second.release(HALF, value(second, "bob"))
    assert verify_store(url).accounts == 3
    closed(first)
    closed(second)


def test_reservations_with_keys_and_who_has_spent_most(url: str) -> None:
    first, second = opened(url), opened(url)
    for key, record in (("drawn", "ann"), ("returned", "bob"), ("open", "eve")):
        kept = first.reserve(first.price(HALF, value(first, record)), request=key)
        if key == "returned":
            kept.cancel()
    shown = second.release(HALF, value(second), request="drawn")
    assert np.array_equal(first.release(HALF, value(first), request="drawn"), shown)
    store = open_store(url)
    states = [found and found[1] for found in map(store.find_request, ("drawn", "returned", "open", "none"))]
    assert states == ["drawn", "returned", "reserved", None]
    with pytest.raises(ValueError, match=r"request = 'returned': reservation [0-9]+ was given back"):
        first.release(HALF, value(first, "bob"), request="returned")
    assert [record for record, _ in store.most_spent(2)] == ["ann", "eve"]
    assert len(verify_store(url).reserved) == 1
    store.close()
    closed(first)
    closed(second)


def check_shared(url: str, processes: int, per_process: int, charges: int, records: int) -> None:
    """Let clients charge, and look for an order that explains what each was told."""
    closed(Accountant(Budget(LIMIT), store=url))
    clients = [forked(threads, url, 100 * i, per_process, charges, records) for i in range(processes)]
    history = [one for each in clients for sent in each.sent() for one in sent]
    assert len(history) == processes * per_process * charges
    assert contradiction(history, int(LIMIT / 0.25)) is None
    paid = Counter(one.record for one in history if one.position is not None)
    assert max(paid.values()) == LIMIT / 0.25
    assert len(verify_store(url).reserved) == sum(paid.values())


@pytest.mark.slow
def test_two_processes_of_three_threads_overspend_nothing(url: str) -> None:
    check_shared(url, 2, 3, 30, 4)


@pytest.mark.slow
def test_four_processes_of_eight_threads_overspend_nothing(url: str) -> None:
    check_shared(url, 4, 8, 3_125, 64)


@pytest.mark.slow
def test_no_acknowledged_charge_is_lost_in_a_hundred_kills_of_three(url: str) -> None:
    kill_often(url, 100, together=3)


def test_a_copy_of_the_database_spends_nothing_until_it_is_adopted(url: str) -> None:
    accountant = opened(url)
    accountant.release(HALF, value(accountant))
    closed(accountant)
    name = url.partition("?")[0].rpartition("/")[2]
    copy = url.replace(f"/{name}?", f"/copy_of_{name}?")
    execute(url.replace(f"/{name}?", "/postgres?"), f"CREATE DATABASE copy_of_{name} TEMPLATE {name}")
    with pytest.raises(StoreMoved, match="is a copy"):
        opened(copy)
    adopt(copy, "a test")
    accountant = opened(copy)
    assert accountant.spent("ann").epsilon == Fraction(1, 2)
    closed(accountant)


def test_who_has_a_ledger_open_notices_that_a_dump_took_its_place(url: str) -> None:
    accountant = opened(url)
    accountant.release(HALF, value(accountant))
    restore = (
        "CREATE TABLE restored AS SELECT * FROM store; DROP TABLE store; ALTER TABLE restored RENAME TO store"
    )
    execute(url, restore)
    with pytest.raises(StoreMoved, match="was restored from a dump"):
        accountant.release(HALF, value(accountant))
    closed(accountant)


def test_who_has_a_ledger_open_notices_that_its_database_was_replaced(url: str) -> None:
    accountant = opened(url)
    accountant.release(HALF, value(accountant))
    name = url.partition("?")[0].rpartition("/")[2]
    server = url.replace(f"/{name}?", "/postgres?")
    execute(
        server, f"SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE datname = '{name}'"
    )  # a dump needs nobody out; a copy does
    execute(server, f"CREATE DATABASE copy_of_{name} TEMPLATE {name}")
    execute(server, f"DROP DATABASE {name} WITH (FORCE)")
    execute(server, f"ALTER DATABASE copy_of_{name} RENAME TO {name}")
    with pytest.raises(StoreMoved, match="was restored from a dump, or moved to another server"):
        accountant.release(HALF, value(accountant))
    closed(accountant)


def test_who_has_a_ledger_open_does_not_spend_from_another_in_its_place(url: str, tmp_path: Path) -> None:
    accountant = opened(url)
    accountant.release(HALF, value(accountant))
    accountant.export(tmp_path / "ledger.json")
    with pytest.raises(ValueError, match="exists already"):
        import_ledger(tmp_path / "ledger.json", url, "ann", "moved")
    execute(url, "DROP TABLE store, entry, kind, account, reservation, request, tally")
    closed(opened(url))
    with pytest.raises(StoreMoved, match="another store has taken its place"):
        accountant.release(HALF, value(accountant))
    closed(accountant)


@pytest.mark.slow
def test_a_standby_reads_and_spends_nothing_when_it_is_promoted(
    postgresql_server: str,
) -> None:
    """At once, too: the control file knows of its new timeline only when a checkpoint has ended."""
    with postgresql(standby_of=postgresql_server) as standby:
        url = new_database(postgresql_server)  # whose files make that checkpoint a long one
        accountant = opened(url)
        accountant.release(HALF, value(accountant))
        written = single(postgresql_server, "SELECT pg_current_wal_lsn()")
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
        while not single(standby, replayed):
            time.sleep(0.01)
        other = standby.replace("/postgres?", f"/{url.partition('?')[0].rpartition('/')[2]}?")
        reader = opened(other)
        with pytest.raises(OSError, match=r"read-only.*charges need the primary"):
            reader.release(HALF, value(reader))
        with pytest.raises(OSError, match="may only read: charges need the primary"):
            reader.ledger.check()  # type: ignore[attr-defined]
        assert single(standby, "SELECT pg_promote()")
        with pytest.raises(StoreMoved, match="moved to another server"):
            reader.release(HALF, value(reader))
        with pytest.raises(StoreMoved, match="moved to another server"):
            reader.ledger.check()  # type: ignore[attr-defined]
        with pytest.raises(StoreMoved, match="is a copy"):
            opened(other)
        closed(reader)
        closed(accountant)


def test_a_fork_does_not_keep_the_turn_of_a_parent_that_was_killed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = opened(url)
    stay = os.pipe()

    def parent(_: Any) -> None:
        with open_store(url).working(()):
            if os.fork() == 0:
                os.close(stay[1])
                os.read(stay[0], 1)
            os._exit(0)

    client = forked(parent)
    os.waitpid(client.process, 0)
    client._pipe.close()
    monkeypatch.setitem(_SESSION_SETTINGS, "lock_timeout", "2s")
    try:
        again = opened(url)
        again.release(HALF, value(again))  # though the child lives
    finally:
        os.close(stay[1])
        os.close(stay[0])
    closed(again)
    closed(accountant)


def test_a_changed_table_is_named(url: str) -> None:
    accountant = opened(url)
    accountant.release(HALF, value(accountant))
    execute(url, 'UPDATE account SET spent = \'["0","0"]\'')
    with pytest.raises(LedgerDamaged, match="account 1 has another spent amount than in the entries"):
        verify_store(url)
    execute(url, "UPDATE entry SET body = replace(body, '1/2', '1/3')")
    with pytest.raises(LedgerDamaged, match="entry 3: its hash"):
        open_store(url)
    closed(accountant)


def test_a_server_that_does_not_wait_for_the_disk_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(url, "ALTER ROLE postgres SET synchronous_commit TO off")
    try:
        accountant = opened(url)
        with accountant.ledger.database.reading() as session:  # type: ignore[attr-defined]
            assert session.value("SHOW synchronous_commit") == "on"
        closed(accountant)
    finally:
        execute(url, "ALTER ROLE postgres RESET synchronous_commit")


def test_a_database_that_is_no_postgresql_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mysql|must be a file, or the URL of a PostgreSQL database"):
        Accountant(Budget(1.0), store="mysql+nothing://x/y")


def test_rules_are_kept_and_looked_up_by_the_servers_clock(url: str) -> None:
    rules = [Rule(Budget(0.5), purpose="ads", days=7), Rule(Budget(1.0), groups=(("ann", "bob"),))]
    accountant = opened(url, rules=rules)
    with spending_on("ads"):
        for record in ("ann", "bob"):
            accountant.release(HALF, accountant.private([0.5], UNIT, record))
            with pytest.raises(BudgetExceeded, match="in any 7 days; there is room again"):
                accountant.release(HALF, accountant.private([0.5], UNIT, record))
        reserved = accountant.reserve(accountant.price(HALF, accountant.private([0.5], UNIT, "carl")))
        reserved.release()
    store: Any = accountant.ledger
    store.change_rules(rules[1:], "dora", "no more ads")
    with pytest.raises(BudgetExceeded, match="its group's limit"):
        accountant.release(HALF, accountant.private([0.5], UNIT, "ann"))
    store.close()
    store = opened(url, rules=rules[1:]).ledger
    assert store.rules == tuple(rules[1:])
    store.close()
    assert verify_store(url).accounts == 3


def test_names_are_hashed_rotated_and_erased(url: str, tmp_path: Path) -> None:
    key = tmp_path / "names.key"
    add_key(key)
    accountant = opened(url, names=key)
    for record in ("ann", 17, "17b"):
        accountant.release(HALF, value(accountant, record))
    add_key(key, rotate=True)
    store = open_store(url)
    assert rotate(store, NameKey.from_source(key), "ann", "a key leaked") == 3
    closed(accountant)
    accountant = opened(url, names=key)
    assert isinstance(accountant.ledger, SQLStore)
    shown = erase(accountant.ledger, 17, "ann", "asked for")
    store.close()
    assert {each: accountant.spent(each).epsilon for each in ("ann", 17, "17b", shown)} == {
        "ann": Fraction(1, 2),
        17: 0,
        "17b": Fraction(1, 2),
        shown: Fraction(1, 2),
    }
    accountant.release(HALF, value(accountant))
    with pytest.raises(BudgetExceeded):
        accountant.release(HALF, value(accountant))
    found = verify_store(url)
    assert (found.accounts, len(found.replay.erasures), found.head.epoch) == (3, 1, 1)
    closed(accountant)
