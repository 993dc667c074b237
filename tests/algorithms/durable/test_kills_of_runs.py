"""A killed run may lose feedback, never a charge."""

from __future__ import annotations

import base64
import collections
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import forked

from accountant import Accountant, Budget, BudgetExceeded, InUse, Rule, Trust
from accountant.rules import clock
from accountant.rules.clock import DAY
from accountant.stored_accountant import RandomnessMismatch
from accountant.stores.opening import verify_store
from accountant.stores.run_journal import RunJournal
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from algorithms import CUCBBatch, CUCBLDPBit, DurableRun
from algorithms.problems import TopK
from mechanisms import Interval, Laplace, OpenDPNoise, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
UNIT = Interval(0, 1)


def build(gate: Accountant) -> CUCBLDPBit:
    return CUCBLDPBit(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=10**6)


def batches(gate: Accountant) -> CUCBBatch:
    return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1000)


def begun(folder: Path, budget: float, **options: Any) -> None:
    """Make a run and save it, with nothing in it."""
    with DurableRun(build, Accountant(Budget(budget), trust=Trust.LOCAL, **options)) as run:
        run.save(folder)


def tell(pipe: Any, what: Any) -> None:
    pickle.dump(what, pipe)
    pipe.flush()


def learn(run: DurableRun[Any], record: Any) -> None:
    run.learner.act()
    run.learner.observe(run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record))


def release(run: DurableRun[Any], record: Any, request: str | None = None) -> list[float]:
    entered = run.accountant.private([0.5], UNIT, record)
    return [float(each) for each in run.accountant.release(HALF, entered, request=request).ravel()]


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Load OpenDP once: each process that is forked would."""
    accountant = Accountant(Budget(1.0))
    accountant.release(HALF, accountant.private([0.5], UNIT, "ann"))


def check_kills(folder: Path, kills: int, saves: float, seed: int) -> None:
    """Kill a run at random moments, and compare what was seen outside with what its ledger says."""
    draw = random.Random(seed)
    budget = 40.0
    begun(folder, budget)
    seen: collections.Counter[str] = collections.Counter()
    answers: dict[str, list[float]] = {}

    def live(pipe: Any) -> None:
        mine = random.Random(draw.random())
        run = DurableRun.load(folder, build)
        while True:
            record = f"user-{mine.randrange(12)}"
            try:
                if mine.random() < 0.2:
                    request = f"{record} {mine.randrange(5)}"
                    tell(pipe, (record, request, release(run, record, request)))
                elif mine.random() < 0.2:
                    with run.turn():
                        learn(run, record)
                        if mine.random() < 0.5:
                            run.save()
                    tell(pipe, (record, None, None))
                else:
                    learn(run, record)
                    tell(pipe, (record, None, None))
            except BudgetExceeded:
                tell(pipe, (record, "refused", None))
            if mine.random() < saves:
                run.save()

    paid: set[str] = set()
    while (
        kills > 0 or len(paid) < 12
    ):  # on a machine that has much else to do, few rounds are played before a kill
        kills -= 1
        client = forked(live)
        client.wait(60.0)
        time.sleep(draw.random() * 0.05)
        os.kill(client.process, signal.SIGKILL)
        for record, request, answer in client.sent():
            if request == "refused":
                continue
            paid.add(record)
            if request is None:
                seen[record] += 2  # of ε = 1/2
            else:
                assert answers.setdefault(request, answer) == answer  # one draw for one charge
        draw.random()
    spent: collections.Counter[str] = collections.Counter(seen)
    for request in answers:
        spent[request.split()[0]] += 1
    for _ in range(2):  # charges that were written down are saved once
        with DurableRun.load(folder, build) as run:
            for record, halves in spent.items():
                assert Fraction(halves, 2) <= run.accountant.spent(record).epsilon <= budget
            once = {record: run.accountant.spent(record) for record in spent}
            run.save()
    with DurableRun.load(folder, build) as run:
        assert {record: run.accountant.spent(record) for record in spent} == once
    verify_store(folder)


def test_5_kills_lose_no_charge(tmp_path: Path) -> None:
    check_kills(tmp_path / "run", 5, 0.03, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("saves", [1.0, 0.1, 0.01])
def test_100_kills_lose_no_charge(tmp_path: Path, saves: float) -> None:
    check_kills(tmp_path / "run", 100, saves, seed=2)


def stopped(folder: Path, act: Callable[[DurableRun[Any]], Any], make: Callable[..., Any] = build) -> Any:
    """Go on with a run in another process that does something and dies; return what it sent."""

    def live(pipe: Any) -> None:
        tell(pipe, act(DurableRun.load(folder, make)))
        os.kill(os.getpid(), signal.SIGKILL)

    (found,) = forked(live).sent()
    return found


def test_who_was_charged_between_two_saves_is_refused_after_a_kill(tmp_path: Path) -> None:
    begun(tmp_path / "run", 1.0)
    stopped(tmp_path / "run", lambda run: learn(run, "ann"))
    for saved in (False, True, True):
        with DurableRun.load(tmp_path / "run", build) as run:
            assert run.accountant.spent("ann").epsilon == 1
            assert run.accountant.ledger.charges("ann")[0].mechanism is not None
            with pytest.raises(BudgetExceeded):
                learn(run, "ann")
            if saved:
                run.save()
    assert verify_store(tmp_path / "run").accounts == 1


def test_all_that_happens_in_a_ledger_is_written_down(tmp_path: Path) -> None:
    """Reservations from before the save and after it, answers, rules, purposes and what releases rest on."""
    rules = [Rule(Budget(1.5), purpose="ads", days=30), Rule(Budget(9.0), groups=[("ann", "bob")])]
    begun(tmp_path / "run", 4.0, rules=rules, purpose="ads")

    def reserve(run: DurableRun[Any], record: str) -> Any:
        return run.accountant.reserve(run.accountant.price(HALF, run.accountant.private([0.5], UNIT, record)))

    def first(run: DurableRun[Any]) -> list[float]:
        reservations = {record: reserve(run, record) for record in ("ann", "bob", "cid")}
        run.save()
        reservations |= {record: reserve(run, record) for record in ("dan", "eve", "fay")}
        for drawn, returned in (("ann", "bob"), ("dan", "eve")):
            reservations[drawn].release()
            reservations[returned].cancel()
        run.accountant.assume(*Accountant(Budget(1.0), noise=np.random.default_rng(0)).assumptions)
        return release(run, "gil", "a request")

    shown = stopped(tmp_path / "run", first)

    def second(run: DurableRun[Any]) -> Any:
        assert release(run, "gil", "a request") == shown
        ledger = run.accountant.ledger
        spent = {record: run.accountant.spent(record).epsilon for record in ledger.records()}
        assert spent == dict.fromkeys(("ann", "cid", "dan", "fay", "gil"), Fraction(1, 2))
        left = {name: run.accountant.left_by_rule(name)[run.accountant.rules[0]].epsilon for name in spent}
        assert set(left.values()) == {1}
        reserved = sorted(
            each.entries[0].records[0]
            for each in ledger.charge_events()
            if ledger.reservation(each.position) == "reserved"
        )
        assert reserved == ["cid", "fay"]
        return run.accountant.to_dict()

    found = stopped(tmp_path / "run", second)
    with DurableRun.load(tmp_path / "run", build) as run:
        second(run)
        assert run.accountant.to_dict() == found
        run.save()
    found = verify_store(tmp_path / "run")
    assert len(found.reserved) == 2
    with DurableRun.load(tmp_path / "run", build) as run:
        second(run)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time of all clocks, which a test sets."""
    found = [20_000 * DAY]
    for name in ("wall", "running"):
        monkeypatch.setattr(clock, name, lambda: found[0])
    return found


def test_a_run_that_goes_on_has_the_deadlines_of_its_reservations(tmp_path: Path, now: list[int]) -> None:
    begun(tmp_path / "run", 4.0)

    def reserve(run: DurableRun[Any], record: str) -> Any:
        quote = run.accountant.price(HALF, run.accountant.private([0.5], UNIT, record))
        return run.accountant.reserve(quote, seconds=60)

    def spent(run: DurableRun[Any]) -> list[float]:
        return [float(run.accountant.spent(name).epsilon) for name in ("ann", "bob", "cid", "dan")]

    def first(run: DurableRun[Any]) -> None:
        reserve(run, "ann")
        run.save()
        reserve(run, "bob")
        reserve(run, "cid").release()

    stopped(tmp_path / "run", first)
    with DurableRun.load(tmp_path / "run", build) as run:
        assert spent(run) == [0.5, 0.5, 0.5, 0.0]
        run.save()
        now[0] += 60_000
        assert spent(run) == [0.0, 0.0, 0.5, 0.0]
    assert spent(run) == [0.0, 0.0, 0.5, 0.0]  # closed: nothing is written for who reads
    assert len(verify_store(tmp_path / "run").reserved) == 2
    with DurableRun.load(tmp_path / "run", build) as run:
        release(run, "dan", "a request")
        assert spent(run) == [0.0, 0.0, 0.5, 0.5]
        run.save()
    assert verify_store(tmp_path / "run").reserved == ()


def test_what_is_open_in_a_copy_of_a_run_has_no_deadline(tmp_path: Path, now: list[int]) -> None:
    begun(tmp_path / "run", 4.0)
    with DurableRun.load(tmp_path / "run", build) as run:
        for key in ("open", "drawn"):
            quote = run.accountant.price(HALF, run.accountant.private([0.5], UNIT, "ann"))
            run.accountant.reserve(quote, request=key, seconds=60)
        run.save()
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with DurableRun.load(tmp_path / "copy", build, adopt=True) as run:
        now[0] += 60_000
        assert run.accountant.spent("ann").epsilon == 1
        release(run, "ann", "drawn")
        run.save()
    assert len(verify_store(tmp_path / "copy").reserved) == 1


def test_a_turn_that_was_not_saved_has_not_begun(tmp_path: Path) -> None:
    begun(tmp_path / "run", 1.0)

    kept: list[Any] = []

    def turn(run: DurableRun[Any]) -> None:
        kept.append(run.turn())
        kept[0].__enter__()
        learn(run, "ann")

    stopped(tmp_path / "run", turn)
    with DurableRun.load(tmp_path / "run", build) as run:
        assert list(run.accountant.ledger.records()) == []
        with run.turn():
            learn(run, "ann")
            run.close()
    with DurableRun.load(tmp_path / "run", build) as run:
        assert list(run.accountant.ledger.records()) == []
        with run.turn():
            with run.turn():
                learn(run, "ann")
            assert not journal(tmp_path / "run").stat().st_size
    with DurableRun.load(tmp_path / "run", build) as run:  # it ended, and its draws may be shown
        assert list(run.accountant.ledger.records()) == ["ann"]


def test_the_same_noise_is_not_drawn_for_other_data(tmp_path: Path) -> None:
    noise = np.random.default_rng
    with DurableRun(build, Accountant(Budget(1.0), trust=Trust.LOCAL, noise=noise(1))) as run:
        learn(run, "ann")
        run.save(tmp_path / "run")
    with DurableRun.load(tmp_path / "run", build, noise=noise(0)) as run:
        learn(run, "bob")
    for given in (noise(0), noise(1), np.random.Generator(np.random.PCG64(5))):
        with pytest.raises(RandomnessMismatch, match="would draw the same noise again"):
            DurableRun.load(tmp_path / "run", build, noise=given)
    with DurableRun.load(tmp_path / "run", build, noise=OpenDPNoise()) as run:
        assert run.accountant.spent("bob").epsilon == 1
        run.save()
    DurableRun.load(tmp_path / "run", build).close()


def test_nothing_is_drawn_that_cannot_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path / "run", 9.0)
    with DurableRun.load(tmp_path / "run", build) as run:
        drawn = []
        monkeypatch.setattr(OpenDPNoise, "laplace", lambda *_, **__: drawn.append(1))
        write = os.write

        def half(file: int, data: bytes) -> int:
            return write(file, data[: len(data) // 2])

        for failing in (half, lambda *_: 1 / 0):
            with monkeypatch.context() as patched:
                patched.setattr("accountant.stores.run_journal.os.write", failing)
                with pytest.raises((OSError, ZeroDivisionError)):
                    release(run, "ann")
        assert not drawn
        assert run.accountant.spent("ann").epsilon == 0
        monkeypatch.undo()
        release(run, "ann")
    with DurableRun.load(tmp_path / "run", build) as run:
        assert run.accountant.spent("ann").epsilon == Fraction(1, 2)


def journal(folder: Path) -> Path:
    return folder / "ledger.db.charges"


def test_what_is_not_what_was_written_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "run", 9.0)
    stopped(tmp_path / "run", lambda run: [learn(run, record) for record in range(3)] and None)
    whole = journal(tmp_path / "run").read_bytes()
    lines = whole.splitlines(keepends=True)
    for damaged in (
        whole.replace(b'"epsilon"', b'"Epsilon"', 1)
        if b'"epsilon"' in whole
        else whole.replace(b"[1]", b"[3]"),
        b"".join(lines[1:]),
        b"".join([lines[1], lines[0], lines[2]]),
        whole[:-2] + b"x\n",
        b"\0" * 20 + b"\n" + whole,
    ):
        journal(tmp_path / "run").write_bytes(damaged)
        with pytest.raises(LedgerDamaged, match=r"ledger.db.charges: line \d was changed"):
            DurableRun.load(tmp_path / "run", build)
    journal(tmp_path / "run").write_bytes(whole[:-5])  # it was still being written: nothing was drawn for it
    with DurableRun.load(tmp_path / "run", build) as run:
        assert list(run.accountant.ledger.records()) == [0, 1]
        learn(run, 5)
    with DurableRun.load(tmp_path / "run", build) as run:
        assert list(run.accountant.ledger.records()) == [0, 1, 5]


def test_a_store_that_is_older_than_what_was_charged_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "run", 9.0)
    old = (tmp_path / "run" / "ledger.db").read_bytes()
    with DurableRun.load(tmp_path / "run", build) as run:
        learn(run, "ann")
        run.save()
        learn(run, "bob")
    with closing(sqlite3.connect(tmp_path / "run" / "ledger.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (tmp_path / "run" / "ledger.db").write_bytes(old)
    with pytest.raises(StoreMoved, match="has 1 saves, and what was charged after save 2 is beside it"):
        DurableRun.load(tmp_path / "run", build)


def test_a_save_that_ended_has_what_was_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed between the save and the end of what it has made needless."""
    begun(tmp_path / "run", 9.0)

    def save(run: DurableRun[Any]) -> None:
        learn(run, "ann")
        monkeypatch.setattr(RunJournal, "begin", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        run.save()

    def live(pipe: Any) -> None:
        save(DurableRun.load(tmp_path / "run", build))

    assert forked(live).sent() == []
    assert journal(tmp_path / "run").stat().st_size
    for _ in range(2):
        with DurableRun.load(tmp_path / "run", build) as run:
            assert run.accountant.spent("ann").epsilon == 1
            run.save()


def test_whoever_lost_the_lock_writes_nothing_over_what_another_wrote(tmp_path: Path) -> None:
    begun(tmp_path / "run", 9.0)
    run = DurableRun.load(tmp_path / "run", build)
    learn(run, "ann")
    (tmp_path / "run" / "ledger.db.held").unlink()
    with DurableRun.load(tmp_path / "run", build) as other:
        learn(other, "bob")
        with pytest.raises(InUse, match="another process has written"):
            learn(run, "cid")
    journal(tmp_path / "run").unlink()
    with pytest.raises(StoreMoved, match="was deleted"):
        learn(run, "dan")


def test_a_copy_takes_what_was_charged_with_it(tmp_path: Path) -> None:
    begun(tmp_path / "run", 1.0)
    stopped(tmp_path / "run", lambda run: learn(run, "ann"))
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with DurableRun.load(tmp_path / "copy", build, adopt=True) as run:
        assert run.accountant.spent("ann").epsilon == 1


def test_lines_are_json_with_a_digest(tmp_path: Path) -> None:
    begun(tmp_path / "run", 1.0)
    stopped(tmp_path / "run", lambda run: release(run, "é", "key"))
    lines = journal(tmp_path / "run").read_text(encoding="ascii").splitlines()
    charged, answered = (json.loads(line.rpartition(" ")[0]) for line in lines[-2:])
    assert (charged["after"], charged["paid"][0][1], charged["with"]) == (
        1,
        ["é"],
        [False, "key", None, None],
    )
    assert charged["paid"][0][0]["charge"] == ["1/2", "0"]
    assert answered["answered"][0] == "key"
    assert base64.b64decode(answered["answered"][1]).startswith(b"\x93NUMPY")
