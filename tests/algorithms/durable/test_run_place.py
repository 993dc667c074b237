"""Runs that are stopped in the middle of a save: what is loaded is what some save left, bit for bit."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget
from accountant.stores.database import _PRAGMAS
from accountant.stores.run_store import RunStore
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from algorithms import CascadeUCBBatch, CUCBBatch, CUCBLDPBit, DurableRun
from algorithms.durable.run_place import kept_in, pack, unpack
from algorithms.durable.state import Encoder
from algorithms.problems import RankedLists, TopK


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: nothing is switched off here."""
    monkeypatch.setitem(_PRAGMAS, "synchronous", 0)


def batches(gate: Any) -> Any:
    return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1000)


def bits(gate: Any, horizon: int = 1000) -> Any:
    return CUCBLDPBit(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=horizon)


def phases(gate: Any) -> Any:
    return CascadeUCBBatch(RankedLists(items=4, positions=2), gate, epsilon=1.0, horizon=1000)


def begin(build: Callable[[Any], Any]) -> DurableRun[Any]:
    return DurableRun(build, Accountant(Budget(3.0), noise=np.random.default_rng(1), seed=2))


def play(run: DurableRun[Any], first: int, rounds: int) -> list[Any]:
    shown = []
    for t in range(first, first + rounds):
        shown.append(run.learner.act().tolist())
        values = [float(t % 3 == 0), 0.0]
        run.learner.observe(run.accountant.private(values, run.learner.feedback_domain, f"user-{t}"))
    return shown


def snapshot(run: DurableRun[Any]) -> list[Any]:
    """Return all that the rest of a run depends on."""
    encoder = Encoder(run.accountant, {type(run.learner).__module__})
    attributes = encoder.attributes(run.learner)
    arrays = {key: (str(array.dtype), array.shape, array.tobytes()) for key, array in encoder.arrays.items()}
    random = [
        run.accountant._random.bit_generator.state,
        run.accountant._noise._randomness.bit_generator.state,  # type: ignore[attr-defined]
    ]
    return [attributes, arrays, run.accountant.to_dict(), random]


def loaded(
    folder: Path, build: Callable[[Any], Any], *, twice: bool = True, log: bytes | None = None
) -> list[Any]:
    """Return the snapshot of the run that a copy of a folder gives."""
    with tempfile.TemporaryDirectory() as copies:
        copy = Path(copies) / "copy"
        shutil.copytree(folder, copy)
        if log is not None:
            (copy / "ledger.db-wal").write_bytes(log)
        with DurableRun.load(copy, build, noise=np.random.default_rng(9), adopt=True) as run:
            assert all(file.name.startswith("ledger.db") for file in copy.iterdir())
            found = snapshot(run)
            if not twice:
                return found
            run.save()  # what is loaded can be saved, and is the same again
        with DurableRun.load(copy, build, noise=np.random.default_rng(9)) as run:
            assert snapshot(run) == found
    return found


def test_a_copy_spends_nothing_until_it_is_adopted(tmp_path: Path) -> None:
    folder, copy = tmp_path / "run", tmp_path / "copy"
    with begin(batches) as run:
        play(run, 0, 9)
        run.save(folder)
    shutil.copytree(folder, copy)
    with pytest.raises(StoreMoved, match=r"copy/ledger.db: is a copy.*load\(..., adopt=True\)"):
        DurableRun.load(copy, batches, noise=np.random.default_rng(9))
    with DurableRun.load(copy, batches, noise=np.random.default_rng(9), adopt=True) as adopted:
        assert snapshot(adopted) == snapshot(run)
        adopted.save()
    folder.rename(tmp_path / "renamed")  # the same files
    for kept in (copy, tmp_path / "renamed"):
        DurableRun.load(kept, batches, noise=np.random.default_rng(9)).close()


@pytest.mark.slow
@pytest.mark.parametrize("build", [batches, bits, phases])
def test_whatever_reached_the_disk_it_is_the_run_of_a_save(
    tmp_path: Path, build: Callable[[Any], Any]
) -> None:
    """SQLite writes to its log first: torn anywhere, it holds the saves whose commits it holds whole."""
    folder = tmp_path / "run"
    run = begin(build)
    play(run, 0, 9)
    run.save(folder)
    before = snapshot(run)
    log = folder / "ledger.db-wal"
    old_size = log.stat().st_size
    play(run, 9, 2)
    run.save()
    after = snapshot(run)
    written = log.read_bytes()
    assert before != after
    assert loaded(folder, build) == after
    found = []
    for end in [*range(old_size, len(written), 1_499), len(written)]:
        found.append(loaded(folder, build, twice=False, log=written[:end]))
    found.append(loaded(folder, build, log=written[:-4_000] + bytes(4_000)))  # a block that was never written
    assert found == [before] * (len(found) - 2) + [after, before]
    run.close()
    assert loaded(folder, build) == after


def test_arrays_lie_in_memory_as_they_did() -> None:
    """Sums are taken in the order of memory, and so rounded."""
    numbers = np.random.default_rng(0).random((30, 4, 7))
    for value in (
        numbers,
        numbers.T,
        numbers.transpose(1, 0, 2),
        numbers[:, :1].T,
        numbers[0, 0, 0],
        numbers[:0].T,
    ):
        held = np.array(value)
        again = unpack(pack({}, {"held": held}))[1]["held"]
        assert (again.shape, again.flags.writeable) == (held.shape, True)
        steps = [
            (again.strides[axis], held.strides[axis]) for axis in range(held.ndim) if held.shape[axis] > 1
        ]
        assert all(one == other for one, other in steps) or not held.size
        assert (again == held).all()
        assert again.sum() == held.sum()


@pytest.mark.slow
def test_what_follows_is_what_would_have_followed(tmp_path: Path) -> None:
    """A run that was stopped in a save goes on like one that stopped at the save before."""
    run, calm = begin(batches), begin(batches)
    for one, folder in ((run, "run"), (calm, "calm")):
        play(one, 0, 9)
        one.save(tmp_path / folder)
    with run.turn():
        play(run, 9, 4)
        with failing(at=2, after=True), pytest.raises(Stop):
            run.save()
        run.close()
    again = DurableRun.load(tmp_path / "run", batches, noise=np.random.default_rng(9))
    assert play(again, 9, 30) == play(calm, 9, 30)
    again.save()
    assert snapshot(again) == snapshot(calm)
    assert loaded(tmp_path / "run", batches) == snapshot(calm)


class Stop(OSError):
    """What a call raises that was chosen to fail."""


STEPS = (
    "os.mkdir",
    "os.open",
    "accountant.stores.session.Session.execute",
    "accountant.stores.session.Session.run",
    "accountant.stores.session.Session.commit",
)


@contextmanager
def failing(at: int, *, after: bool = False) -> Iterator[list[int]]:
    """Let the call of this number fail among all that write, before or after it has its effect."""
    calls = [0]

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            calls[0] += 1
            if calls[0] - 1 != at:
                return real(*arguments, **keywords)
            if after:
                made = real(*arguments, **keywords)
                if real is REAL["os.open"]:
                    os.close(made)
            raise Stop("stopped")

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(name, wrap(REAL[name]))
        yield calls


REAL: dict[str, Callable[..., Any]] = {
    "os.mkdir": os.mkdir,
    "os.open": os.open,
    "accountant.stores.session.Session.execute": Session.execute,
    "accountant.stores.session.Session.run": Session.run,
    "accountant.stores.session.Session.commit": Session.commit,
}


@pytest.mark.slow
@pytest.mark.slow_cells("False-True-7")
@pytest.mark.parametrize(
    ("saved", "after", "stride"),
    [
        (False, True, 7),
        (True, False, 5),
        *(
            pytest.param(saved, after, 1, marks=pytest.mark.slow)
            for saved in (False, True)
            for after in (False, True)
        ),
    ],
)
def test_every_call_may_fail_and_the_next_save_mends_it(
    tmp_path: Path, saved: bool, after: bool, stride: int
) -> None:
    at = 0
    while True:
        folder = tmp_path / f"run-{at}"
        run = begin(batches)
        play(run, 0, 9)
        before = None
        if saved:
            run.save(folder)
            before = snapshot(run)
        with run.turn():
            if saved:
                play(run, 9, 4)
            with failing(at, after=after) as calls:
                try:
                    run.save(folder)
                except Stop:
                    pass
                else:
                    break
            at += stride
            now = snapshot(run)
            if before is not None:
                assert loaded(folder, batches) in (before, now)
            elif run._store is not None:  # it had all of its effect
                assert loaded(folder, batches) == now
        play(run, 20, 3)
        run.save(folder)
        assert loaded(folder, batches) == snapshot(run)
        run.close()
    assert calls[0] > (7 if saved else 12)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("play"), st.integers(1, 4)),
        st.tuples(st.just("save")),
        st.tuples(st.just("fail"), st.integers(0, 7), st.booleans()),
        st.tuples(st.just("crash")),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=12)
@given(steps, st.sampled_from([batches, phases]))
def test_whatever_happens_nothing_that_was_saved_is_forgotten(
    taken: list[tuple[Any, ...]], build: Callable[[Any], Any]
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        run, turns = begin(build), ExitStack()
        run.save(folder)
        turns.enter_context(run.turn())
        possible, rounds = (
            [snapshot(run)],
            0,
        )  # what a crash now may leave: the last save, or failed ones since
        for step in [*taken, ("crash",)]:
            match step:
                case ("play", more):
                    play(run, rounds, more)
                    rounds += more
                case ("save",):
                    run.save()
                    possible = [snapshot(run)]
                case ("fail", at, after):
                    with failing(at, after=after):
                        try:
                            run.save()
                        except Stop:
                            possible.append(snapshot(run))
                        else:
                            possible = [snapshot(run)]
                case ("crash",):
                    run.close()
                    turns.close()
                    run = DurableRun.load(folder, build, noise=np.random.default_rng(9))
                    turns.enter_context(run.turn())
                    assert snapshot(run) in possible
                    possible = [snapshot(run)]
        run.close()
        turns.close()


SERVER = """
import sys
import numpy as np
from pathlib import Path
from accountant import Accountant, Budget
from algorithms import CUCBLDPBit, DurableRun
from algorithms.problems import TopK

def build(gate):
    return CUCBLDPBit(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=10_000)

folder, first = Path(sys.argv[1]), int(sys.argv[2])
noise = np.random.default_rng(1)
run = DurableRun.load(folder, build, noise=noise) if first else DurableRun(build, Accountant(Budget(1.0), noise=noise))
for user in range(first, 10_000):
    with run.turn():
        run.learner.act()
        run.learner.observe(run.accountant.private([1.0, 0.0], run.learner.feedback_domain, user))
        run.save(folder)
    print(user, flush=True)  # only now may anybody see anything
"""


@pytest.mark.slow
def test_a_killed_server_has_forgotten_nothing_that_it_showed(tmp_path: Path) -> None:
    first = 0
    for rounds in (3, 20):
        with subprocess.Popen(
            [sys.executable, "-c", SERVER, str(tmp_path / "run"), str(first)],
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdout is not None
            for _ in range(rounds):
                server.stdout.readline()
            server.kill()  # at whatever step it is
            shown = [int(line) for line in server.stdout]
        last = shown[-1] if shown else first + rounds - 1
        with DurableRun.load(
            tmp_path / "run", lambda gate: bits(gate, 10_000), noise=np.random.default_rng(1)
        ) as run:
            charged = set(run.accountant.ledger.records())
        assert charged in (set(range(last + 1)), set(range(last + 2)))  # the last save may not have been told
        first = len(charged)


def test_what_another_first_save_left_is_removed_when_the_next_one_begins(tmp_path: Path) -> None:
    """A process was killed when its store was made and its run was not in it yet."""
    path = tmp_path / "run"
    path.mkdir()
    left = RunStore.begin(path / "ledger.db", Accountant(Budget(9.0)).terms())
    left._store.close()
    with pytest.raises(ValueError, match="no save has ended here"):
        DurableRun.load(path, batches)
    with begin(batches) as run:
        play(run, 0, 3)
        run.save(path)
        assert loaded(path, batches) == snapshot(run)


def test_what_an_abandoned_first_save_left_is_removed(tmp_path: Path) -> None:
    """The locks stay: another process may be about to take them."""
    path = tmp_path / "run"
    path.mkdir()
    RunStore.begin(path / "ledger.db", Accountant(Budget(9.0)).terms()).close()
    assert sorted(file.name for file in path.iterdir()) == ["ledger.db.held", "ledger.db.lock"]


def test_what_is_kept_is_in_the_same_save(tmp_path: Path) -> None:
    with begin(batches) as run:
        assert run.extra_state("a") is None
        run.save(tmp_path / "run", keep={"a": b"one", "b'; --": b"\0"})
        run.save(keep={"c": b"three"})
        assert [run.extra_state(name) for name in ("a", "b'; --", "c", "d")] == [
            b"one",
            b"\0",
            b"three",
            None,
        ]
        with run.turn():
            play(run, 0, 1)
            with pytest.raises(ValueError, match="keep = 'a': must be a name by which nothing is kept yet"):
                run.save(keep={"new": b"", "a": b"other"})
            assert [run.extra_state(name) for name in ("a", "new")] == [b"one", None]
            assert kept_in(tmp_path / "run", "c") == b"three"  # while it is open
            run.close()
    with DurableRun.load(tmp_path / "run", batches, noise=np.random.default_rng()) as again:
        assert again.extra_state("c") == b"three"
        assert again.learner.waiting.asked == 0  # a save keeps all or nothing


def test_what_is_kept_may_be_damaged(tmp_path: Path) -> None:
    with begin(batches) as run:
        run.save(tmp_path / "run", keep={"a": b"one"})
    database = tmp_path / "run" / "ledger.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE kept SET value = ?", (b"two",))
        connection.commit()
    with pytest.raises(LedgerDamaged, match="`kept` is not what was written"):
        kept_in(tmp_path / "run", "a")
