"""A ledger that lasts: charged before anything is drawn, and by nobody who should not."""

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import forked

from accountant import (
    Accountant,
    AdvancedComposition,
    Budget,
    BudgetExceeded,
    GateClosed,
    GaussianComposition,
    RenyiComposition,
    Rule,
    Trust,
    ZeroConcentratedComposition,
)
from accountant.audit.release_file import read_releases
from accountant.files.sqlite_file import is_sqlite
from accountant.ledger.events import Charge, Settle
from accountant.stores.anchor import Anchor
from accountant.stores.database import Database
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.sql_store import _Command, put_rules_in
from accountant.stores.store_refusals import LedgerDamaged, OtherTerms, StoreMoved, StoreRefused
from mechanisms import Gaussian, Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


def opened(path: Path, **options: Any) -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path, **options)


def value(accountant: Accountant, record: Any = "ann") -> Any:
    return accountant.private([0.5], UNIT, record)


def charge_in(work: Any, entries: Any, hold: bool = False) -> Any:
    """Charge in a transaction, whatever the budget is."""
    return _Command(Charge(entries, lambda _: True, hold), work.label)(work)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_who_may_not_write_beside_a_store_is_told_what_to_do(path: Path) -> None:
    opened(path).ledger.close()  # type: ignore[attr-defined]
    database = Database.from_location(path)

    def write() -> None:
        with database.writing() as session:
            session.execute("PRAGMA query_only=1")
            session.execute("CREATE TABLE another (id INTEGER)")

    with pytest.raises(OSError, match="can look at a copy of their own"):
        write()
    database.close()


def test_a_commit_is_on_the_disk_when_it_returns(path: Path) -> None:
    """With less than FULL (2), a power failure loses charges whose outputs were seen."""
    pragmas = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
    database = Database.from_location(path)
    with database.writing() as session:
        for name, value in pragmas.items():
            assert session.value(f"PRAGMA {name}") == value
    database.close()


def test_what_one_accountant_charges_every_other_sees(path: Path) -> None:
    first, second = opened(path), opened(path)
    first.release(HALF, value(first))
    assert second.spent("ann").epsilon == Fraction(1, 2)
    second.release(HALF, value(second))
    with pytest.raises(BudgetExceeded, match=r"'ann' epsilon = 0\.5, and only epsilon = 0 is left"):
        first.release(HALF, value(first))
    assert first.price(HALF, value(first)).refused == "ann"
    assert opened(path).worst() == first.worst() == ("ann", first.spent("ann"))
    assert len(first.ledger) == len(second.ledger) == 2
    assert str(first.summary()) == str(second.summary())
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "composition",
    [ZeroConcentratedComposition(), RenyiComposition(), GaussianComposition()],
    ids=lambda each: each.name,
)
def test_a_restart_goes_on_exactly(path: Path, composition: Any) -> None:
    """Every theorem's currency is kept exactly: the store refuses where the ledger in memory does."""
    budget, noise = Budget(1.0, 1e-6), Gaussian(sigma=9.0, sensitivity=Sensitivity(1, 1, 1))
    memory = Accountant(budget, composition=composition, noise=np.random.default_rng(0))
    made = 0
    while True:
        stored = Accountant(budget, composition=composition, noise=np.random.default_rng(0), store=path)
        assert stored.ledger.spent(17) == memory.ledger.spent(17)
        try:
            memory.release(noise, value(memory, 17))
        except BudgetExceeded as refusal:
            words = f"{refusal.asked}, and only {refusal.left} is left"
            with pytest.raises(BudgetExceeded, match=re.escape(words)):
                stored.release(noise, value(stored, 17))
            break
        stored.release(noise, value(stored, 17))
        assert stored.spent("17") == memory.spent("17")  # another record
        made += 1
    assert made > 2
    assert stored.to_dict()["ledger"]["mechanisms"] == memory.to_dict()["ledger"]["mechanisms"]


def test_other_terms_are_refused_by_name(path: Path) -> None:
    opened(path)
    with pytest.raises(OtherTerms, match=r"budget: Budget\(epsilon=1.0, delta=0.0\), not"):
        Accountant(Budget(2.0), store=path)
    with pytest.raises(
        OtherTerms, match=r"BasicComposition\(\), not AdvancedComposition\(failures=0.1\)\): open"
    ):
        Accountant(Budget(1.0, 1e-6), composition=AdvancedComposition(failures=0.1), store=path)
    with pytest.raises(OtherTerms, match="trust: 'central', not 'local'"):
        Accountant(Budget(1.0), trust=Trust.LOCAL, store=path)
    with pytest.raises(OtherTerms, match="strict: False, not True"):
        Accountant(Budget(1.0), strict=True, store=path)


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("nowhere/ledger.db", "must be a file in a folder that exists"),
        ("text.txt", "is no SQLite database"),
        (3, "must be a file's name"),
        ("nothing://x", "store = 'nothing://x'"),
    ],
)
def test_what_is_no_store_is_refused(tmp_path: Path, store: Any, words: str) -> None:
    (tmp_path / "text.txt").write_text("a text")
    given = tmp_path / store if isinstance(store, str) and "://" not in store else store
    with pytest.raises(ValueError, match=words):
        Accountant(Budget(1.0), store=given)


def test_each_account_of_a_charge_has_a_salt_of_its_own(path: Path) -> None:
    accountant = opened(path)
    accountant.release(HALF, sum((value(accountant, name) for name in "bcd"), start=value(accountant, "a")))
    with accountant.ledger.database.reading() as session:  # type: ignore[attr-defined]
        salts = [bytes(salt) for (salt,) in session.rows("SELECT salt FROM account")]
    assert len({*salts}) == 4
    assert {len(salt) for salt in salts} == {16}


def test_a_refusal_changes_nothing(path: Path) -> None:
    accountant = opened(path)
    accountant.release(HALF, value(accountant))
    entries, state = accountant.ledger.verify().entries, accountant._noise._randomness.bit_generator.state  # type: ignore[attr-defined]
    both = value(accountant) + value(accountant, "bob")
    with pytest.raises(BudgetExceeded):
        accountant.release(Laplace(scale=1.0, sensitivity=Sensitivity(1, 1, 1)), both)
    assert accountant.ledger.verify().entries == entries  # type: ignore[attr-defined]
    assert list(accountant.ledger.records()) == ["ann"]
    assert accountant._noise._randomness.bit_generator.state == state  # type: ignore[attr-defined]


def test_assumptions_and_a_shut_gate_outlive_the_process(path: Path) -> None:
    first, beside = opened(path), opened(path)
    value(first).map(lambda values: values / 3, stability=1 / 3)
    assert "0.333" in str(opened(path).assumptions)
    with pytest.raises(ZeroDivisionError):
        value(first).map(lambda values: 1 // 0, into=UNIT)
    assert opened(path).closure == first.closure
    with pytest.raises(GateClosed, match="a function in map failed"):
        beside.release(HALF, value(beside))  # it entered before it could know
    with pytest.raises(GateClosed):
        value(opened(path))


# --- reservations --------------------------------------------------------------------------------


def test_a_reservation_whose_holder_died_stays_charged_and_can_be_given_back(path: Path) -> None:
    opened(path).ledger.close()  # type: ignore[attr-defined]

    def reserve_and_die(pipe: Any) -> None:
        accountant = opened(path)
        accountant.reserve(accountant.price(HALF, value(accountant)))
        os._exit(0)

    child = forked(reserve_and_die)
    child.sent()
    accountant = opened(path)
    assert accountant.spent("ann").epsilon == Fraction(1, 2)
    ((position, found),) = accountant.ledger.reservations().items()  # type: ignore[attr-defined]
    assert found.held_by.startswith(f"process {child.process} on ")
    assert found.until is None
    accountant.ledger.give_back(position)
    assert accountant.spent("ann").epsilon == 0
    assert len(accountant.ledger) == 0
    with pytest.raises(ValueError, match="was drawn or given back before"):
        accountant.ledger.give_back(position)
    assert verify_store(path).reserved == ()


def test_what_was_given_back_elsewhere_is_never_drawn_and_what_was_drawn_is_never_given_back(
    path: Path,
) -> None:
    accountant, other = opened(path), opened(path)
    lost = accountant.reserve(accountant.price(HALF, value(accountant)))
    other.ledger.give_back(lost.position)
    state = accountant._noise._randomness.bit_generator.state  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="given back"):
        lost.release()
    assert accountant._noise._randomness.bit_generator.state == state  # type: ignore[attr-defined]
    kept = accountant.reserve(accountant.price(HALF, value(accountant)))
    kept.release()
    with pytest.raises(ValueError, match="was drawn"):
        other.ledger.give_back(kept.position)
    assert other.spent("ann").epsilon == Fraction(1, 2)


def test_a_declassification_that_was_reserved_is_given_back_exactly(path: Path) -> None:
    """Infinity less infinity is no number: what is left is added up."""
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), store=path)
    accountant.release(HALF, value(accountant))
    accountant.declassify(value(accountant, "bob"), "shown")
    for record, left in (("ann", Fraction(1, 2)), ("bob", None)):
        endless = next(each for each in accountant.ledger.entries if each.mechanism is None)
        entry = endless.for_records((record,))
        receipt = accountant.ledger.do(Charge([entry], lambda total: True, hold=True))
        assert accountant.spent(record).epsilon is None
        accountant.ledger.give_back(receipt.position)
        assert accountant.spent(record).epsilon == left
    assert accountant.ledger.verify().accounts == 2  # type: ignore[attr-defined]


def test_what_is_read_again_has_what_the_same_transaction_wrote(path: Path) -> None:
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), store=path)
    store: Any = accountant.ledger
    entries = accountant.price(HALF, value(accountant)).entries
    with store.working(()) as work:
        charge_in(work, entries, hold=False)
        put_rules_in(work, [Rule(Budget(0.5))], "ann", "why")
    assert store.standings(["ann"])[0].counted[0][1].epsilon == Fraction(1, 2)
    endless = [
        entry._replace(mechanism=None, charge=store.terms.composition.infinite_spend) for entry in entries
    ]
    with store.working(()) as work:
        work.put_rules((), {"rules": [], "by": "ann", "reason": "why", "opened": [], "at": work.time})
        charge_in(work, endless, hold=False)
        receipt = charge_in(work, endless, hold=True)
        work.do(Settle(receipt.position, returned=True))
    assert store.spent("ann").epsilon is None


@pytest.mark.slow
def test_a_verification_keeps_nothing_of_most_charges(path: Path) -> None:
    """Of charges that no later entry can name, at most 8 bytes are held each, and of totals only the last."""
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), store=path)
    store: Any = accountant.ledger
    entries, held = accountant.price(HALF, value(accountant)).entries, []
    for charges in (2_000, 8_000):
        with store.working(()) as work:
            for _ in range(charges):
                charge_in(work, entries, hold=False)
        tracemalloc.start()
        assert store.verify().entries > charges
        held.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert held[1] - held[0] < 8 * 8_000


# --- requests ------------------------------------------------------------------------------------


def test_a_retried_request_is_charged_once_and_answered_alike(path: Path) -> None:
    accountant = opened(path)
    first = accountant.release(HALF, value(accountant), request="a")
    again = opened(path)
    assert np.array_equal(again.release(HALF, value(again), request="a"), first)
    assert accountant.spent("ann").epsilon == Fraction(1, 2)
    with pytest.raises(ValueError, match="request = 'a': this key was used for another release"):
        accountant.release(HALF, value(accountant, "bob"), request="a")
    with pytest.raises(ValueError, match="another release"):
        accountant.release(
            Laplace(scale=3.0, sensitivity=Sensitivity(1, 1, 1)), value(accountant), request="a"
        )
    other = accountant.release(HALF, value(accountant), request="b")
    assert not np.array_equal(other, first)
    with pytest.raises(BudgetExceeded):
        accountant.release(HALF, value(accountant), request="c")


def test_a_request_that_was_charged_and_not_answered_is_drawn_once_more(path: Path) -> None:
    accountant = opened(path)

    class Crash(Exception):
        pass

    def crash(*_: Any) -> None:
        raise Crash

    accountant._publish = crash  # type: ignore[assignment,method-assign]
    with pytest.raises(Crash):
        accountant.release(HALF, value(accountant), request="a")
    again = opened(path)
    again.release(HALF, value(again), request="a")
    assert again.spent("ann").epsilon == Fraction(1, 2)
    late = open_store(path).keep_answer("a", b"another draw of a slower worker")
    assert late != b"another draw of a slower worker"  # nobody sees a second draw


def test_requests_in_memory_are_charged_once_too() -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    first = accountant.release(HALF, value(accountant), request="a")
    assert np.array_equal(accountant.release(HALF, value(accountant), request="a"), first)
    assert len(accountant.ledger) == 1
    with pytest.raises(ValueError, match="another release"):
        accountant.release(HALF, value(accountant, "bob"), request="a")


# --- copies --------------------------------------------------------------------------------------


def test_a_fork_opens_the_store_itself(path: Path) -> None:
    accountant = opened(path)

    def child(pipe: Any) -> list[str]:
        refusals = []
        for attempt in (
            lambda: accountant.release(HALF, value(accountant)),
            lambda: accountant.ledger.do(Charge([], lambda total: True)),
        ):
            try:
                attempt()
            except (GateClosed, StoreRefused) as refused:
                refusals.append(str(refused))
        own = opened(path)
        own.release(HALF, value(own))
        return refusals

    ((gate, store),) = forked(child).sent()
    assert "is a fork of process" in gate
    assert "open it here again" in store
    assert accountant.spent("ann").epsilon == Fraction(1, 2)
    accountant.release(HALF, value(accountant))


def test_a_copy_spends_nothing_until_it_is_adopted(path: Path, tmp_path: Path) -> None:
    accountant = opened(path)
    accountant.release(HALF, value(accountant))
    accountant.ledger.close()  # type: ignore[attr-defined]
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with pytest.raises(StoreMoved, match=r"is a copy.*dpwitness ledger amend .* --promote"):
        opened(copy)
    assert verify_store(copy).entries == verify_store(path).entries  # reading is free
    with pytest.raises(ValueError, match="must say why"):
        adopt(copy, " ")
    assert adopt(copy, "the disk of the first was lost").epoch == 1
    assert opened(copy).spent("ann").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("other", [False, True])
def test_a_store_that_was_replaced_before_its_first_charge_is_refused(
    path: Path, tmp_path: Path, other: bool
) -> None:
    opened(path).ledger.close()  # type: ignore[attr-defined]
    accountant = opened(path)
    path.unlink()
    if other:
        opened(tmp_path / "other.db").ledger.close()  # type: ignore[attr-defined]
        (tmp_path / "other.db").rename(path)
    with pytest.raises(StoreMoved, match="was deleted, renamed or replaced"):
        accountant.release(HALF, value(accountant))


def spent_and_killed(path: Path) -> None:
    """Spend from a process that ends without closing anything: what it charged is in SQLite's log alone."""

    def child(_: Any) -> None:
        accountant = opened(path)
        accountant.release(HALF, value(accountant))
        os._exit(0)

    forked(child).sent()
    assert Path(f"{path}-wal").stat().st_size


def test_a_file_that_was_renamed_without_its_log_spends_nothing(path: Path, tmp_path: Path) -> None:
    spent_and_killed(path)
    moved = path.rename(tmp_path / "moved.db")
    for attempt in (opened, lambda moved: adopt(moved, "a test")):
        with pytest.raises(
            StoreMoved, match=r"was ledger.db before, and .*/ledger.db-wal has what was charged last"
        ):
            attempt(moved)


def test_a_file_that_was_renamed_with_its_log_goes_on_once_that_is_said(path: Path, tmp_path: Path) -> None:
    spent_and_killed(path)
    moved = path.rename(tmp_path / "moved.db")
    Path(f"{path}-wal").rename(f"{moved}-wal")
    with pytest.raises(StoreMoved, match=r"was renamed, or moved to another folder \(it was ledger.db\)"):
        opened(moved)
    adopt(moved, "it was renamed with its log")
    assert opened(moved).spent("ann").epsilon == Fraction(1, 2)


def test_a_file_that_was_moved_to_another_folder_spends_nothing(path: Path, tmp_path: Path) -> None:
    spent_and_killed(path)
    (tmp_path / "folder").mkdir()
    moved = path.rename(tmp_path / "folder" / path.name)
    with pytest.raises(StoreMoved, match=r"was renamed, or moved to another folder"):
        opened(moved)


def test_a_copy_without_the_log_of_a_store_that_was_never_closed_is_a_copy(
    path: Path, tmp_path: Path
) -> None:
    spent_and_killed(path)
    shutil.copy(path, tmp_path / "copy.db")
    with pytest.raises(StoreMoved, match="is a copy"):
        opened(tmp_path / "copy.db")


def test_a_second_name_of_the_file_spends_nothing(path: Path, tmp_path: Path) -> None:
    """SQLite keeps a log by each name: what is charged by one is not seen by the other."""
    spent_and_killed(path)
    (tmp_path / "link.db").hardlink_to(path)
    for attempt in (opened, lambda link: adopt(link, "a test")):
        with pytest.raises(StoreMoved, match=r"its file has 2 names \(hard links\)"):
            attempt(tmp_path / "link.db")
    assert opened(path).spent("ann").epsilon == Fraction(1, 2)


LOOK = "import sqlite3, sys; look = sqlite3.connect(sys.argv[1]); look.execute('SELECT * FROM store'); look.close()"


def looked_at(path: Path) -> None:
    """Open the file in another process, and close it: whoever does so last removes SQLite's log."""
    subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True)


def test_who_opens_a_store_twice_keeps_its_log(path: Path) -> None:
    """To look whether the file is SQLite's took SQLite's locks from the process: another one removed the log."""
    first, second = opened(path), opened(path)
    first.release(HALF, value(first))
    looked_at(path)
    second.release(HALF, value(second))
    read_releases(path)  # of an audit
    looked_at(path)
    assert Path(f"{path}-wal").exists()
    with pytest.raises(BudgetExceeded):
        first.release(HALF, value(first))


def test_a_fork_that_opens_the_store_itself_keeps_its_log(path: Path) -> None:
    """SQLite believed that the child had its parent's locks: when the parent had ended, nobody knew of the child."""
    opened(path).ledger.close()  # type: ignore[attr-defined]

    def parent(pipe: Any) -> None:
        accountant = opened(path)
        accountant.release(HALF, value(accountant))
        ended, ends = os.pipe()
        if os.fork() == 0:
            os.close(ends)
            os.read(ended, 1)
            own = opened(path)
            looked_at(path)
            own.release(HALF, value(own))
            looked_at(path)
            pickle.dump(Path(f"{path}-wal").exists(), pipe)
            pipe.flush()
        os._exit(0)

    assert forked(parent).sent() == [True]
    assert opened(path).spent("ann").epsilon == 1


def test_who_copies_an_open_store_itself_is_refused_once_the_log_is_gone(path: Path) -> None:
    accountant = opened(path)
    accountant.release(HALF, value(accountant))
    path.read_bytes()  # and with that SQLite's locks are gone
    looked_at(path)
    with pytest.raises(StoreMoved, match=r"SQLite's log beside it \(-wal, -shm\) was removed or replaced"):
        accountant.release(HALF, value(accountant))
    accountant.ledger.close()  # type: ignore[attr-defined]
    again = opened(path)
    again.release(HALF, value(again))
    assert opened(path).spent("ann").epsilon == 1


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_that_is_removed_in_the_middle_of_a_charge_is_noticed_before_anything_is_drawn(
    path: Path, suffix: str
) -> None:
    accountant = opened(path)
    with (
        pytest.raises(StoreMoved, match="SQLite's log"),
        accountant.ledger.database.writing(),  # type: ignore[attr-defined]
    ):
        os.remove(f"{path}{suffix}")


def test_without_its_log_a_store_writes_nothing_before_it_refuses(path: Path) -> None:
    """The charge went to the log that was gone, and pages of others were looked for there: their charges were lost."""
    accountant = opened(path)
    accountant.release(HALF, value(accountant))
    ends = "import os, sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint(FULL)'); os._exit(0)"
    subprocess.run([sys.executable, "-c", ends, str(path)], check=True)
    os.remove(f"{path}-wal")
    for _ in range(2):
        with pytest.raises(StoreMoved, match="SQLite's log"):
            accountant.release(HALF, value(accountant))
    accountant.ledger.close()  # type: ignore[attr-defined]
    again = opened(path)
    again.release(HALF, value(again))
    assert opened(path).spent("ann").epsilon == 1


def test_a_symbolic_link_is_no_other_name(path: Path, tmp_path: Path) -> None:
    spent_and_killed(path)
    (tmp_path / "link.db").symlink_to(path)
    assert opened(tmp_path / "link.db").spent("ann").epsilon == Fraction(1, 2)


def test_who_has_a_store_open_that_is_adopted_spends_no_more(path: Path) -> None:
    accountant = opened(path)
    adopt(path, "a test")
    with pytest.raises(StoreMoved, match="was adopted or anchored, or its key"):
        accountant.release(HALF, value(accountant))


def restored(path: Path, anchor: Path | None) -> None:
    """Spend, bring back the backup from before over the same file, and open it again."""
    store = open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor)
    store.close()
    backup = path.read_bytes()
    accountant = opened(open_store(path, anchor=anchor))  # type: ignore[arg-type]
    accountant.release(HALF, value(accountant))
    accountant.ledger.close()  # type: ignore[attr-defined]
    path.write_bytes(backup)


def test_a_backup_that_was_restored_in_place_is_noticed_with_an_anchor(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    restored(path, anchor)
    with pytest.raises(StoreMoved, match=r"rolled back .* 3 entries are missing"):
        open_store(path, anchor=anchor)
    with pytest.raises(StoreMoved):
        verify_store(path, anchor)
    adopt(path, "the newer one is lost", anchor)
    store = open_store(path, anchor=anchor)
    assert store.verify().replay.epoch == 2
    path.unlink()
    with pytest.raises(StoreMoved, match="holds no ledger, but its anchor"):
        open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor)


def test_a_store_that_is_forgotten_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 warns of a connection that nobody closes, which is an error in many test suites."""
    warned: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", warned.append)  # what an error in a finalizer goes to
    accountant = Accountant(Budget(1.0), store=tmp_path / "ledger.db")
    accountant.myself = accountant  # type: ignore[attr-defined] # nothing but the garbage collector finds it
    del accountant
    gc.collect()
    assert warned == []
    assert not Path(f"{tmp_path / 'ledger.db'}-wal").exists()


def test_a_file_that_takes_the_number_of_a_store_that_was_thrown_away_is_no_store(path: Path) -> None:
    open_store(path, Accountant(Budget(1.0)).terms())  # and never closed
    gc.collect()
    path.write_text("{}")
    assert not is_sqlite(path)


def test_a_backup_that_was_restored_in_place_is_not_noticed_without_an_anchor(path: Path) -> None:
    """What docs/ledger.md says cannot be detected."""
    restored(path, None)
    assert opened(path).spent("ann").epsilon == 0


def test_who_meets_an_anchor_that_knows_more_spends_no_more(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    store = open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor)
    accountant = opened(store)  # type: ignore[arg-type]
    adopt(path, "a test", anchor)
    with pytest.raises(StoreMoved, match="adopted"):
        accountant.release(HALF, value(accountant))
    later = Anchor(anchor).read_mark()
    assert later is not None
    Anchor(anchor).write(replace(later, position=later.position - 1))  # of a slower process
    assert Anchor(anchor).read_mark() == later
    anchor.write_text("{}")
    with pytest.raises(StoreRefused, match="not the anchor"):
        open_store(path, anchor=anchor)


def test_an_older_dpwitness_does_not_open_newer_tables(path: Path) -> None:
    import sqlite3

    opened(path).ledger.close()  # type: ignore[attr-defined]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE store SET version = 99")
    with pytest.raises(StoreRefused, match="version 99"):
        opened(path)


def test_a_commit_that_fails_is_no_release(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accountant = opened(path)
    state = accountant._noise._randomness.bit_generator.state  # type: ignore[attr-defined]
    monkeypatch.setattr(
        "accountant.stores.transaction.Transaction.finish",
        lambda self: (_ for _ in ()).throw(OSError("full")),
    )
    with pytest.raises(OSError, match="full"):
        accountant.release(HALF, value(accountant))
    monkeypatch.undo()
    assert accountant._noise._randomness.bit_generator.state == state  # type: ignore[attr-defined]
    assert accountant.spent("ann").epsilon == 0
    accountant.release(HALF, value(accountant))
    assert not isinstance(accountant.ledger.verify(), LedgerDamaged)  # type: ignore[attr-defined]


def test_who_waits_in_vain_for_a_connection_is_told_in_the_stores_own_words(path: Path) -> None:
    """All connections are in use for long where a server hangs; it may go on, and nothing was charged."""
    accountant = opened(path)
    database = accountant.ledger.database  # type: ignore[attr-defined]
    database._connections.longest_wait = 0.0
    with ExitStack() as many:
        for _ in range(15):
            many.enter_context(database.reading())
        with pytest.raises(OSError, match=r"ledger\.db: no connection became free"):
            accountant.release(HALF, value(accountant))
    assert accountant.spent("ann").epsilon == 0


def test_the_records_that_have_spent_most(path: Path) -> None:
    accountant = opened(path)
    quarter = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1))
    for record, mechanism in (("ann", quarter), ("bob", HALF), ("eve", quarter), (7, HALF)):
        accountant.release(mechanism, value(accountant, record))
    store = open_store(path)
    assert [record for record, _ in store.most_spent(9)] == ["bob", 7, "ann", "eve"]
    assert [record for record, _ in store.most_spent(3)] == ["bob", 7, "ann"]
    assert store.most_spent(1)[0][1].epsilon == Fraction(1, 2)


def test_threads_read_the_entries_at_once(path: Path) -> None:
    """Entries are read on from where the last reader stopped: one reader at a time."""
    accountant, store = opened(path), open_store(path)
    for record in range(20):
        accountant.release(HALF, value(accountant, record))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: len(store.entries), range(32)))
    assert found == [20] * 32
