"""A save that is interrupted at any line (Ctrl-C, a signal's handler that raises), and the save after it."""

from __future__ import annotations

import dis
import os
import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.stores.database import _PRAGMAS
from algorithms import CUCBBatch, DurableRun
from algorithms.problems import TopK
from mechanisms import Interval, Laplace

# A file object that an interruption drops is closed with this warning.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)

WHERE = {
    "database",
    "durable_run",
    "file_lock",
    "ledger",
    "lineage",
    "run_place",
    "run_store",
    "sql_store",
    "stored_accountant",
    "waiting",
    "work",
}
SHARE = Interval(0, 1)


class Stop(BaseException):
    """What a signal's handler raises."""


class StoppedAt:
    """Raises at the line of this number among those that a save runs through, as a signal's handler would.

    Or at the next one, where it begins with an instruction that does nothing (``try:``): handlers run after calls, at
    the beginning of a function and where a loop goes back, and the interpreter lists no ``finally`` for such a one.
    """

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if Path(frame.f_code.co_filename).stem not in WHERE:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0 and frame.f_code.co_code[frame.f_lasti] != dis.opmap["NOP"]:
                sys.settrace(None)
                raise Stop
        return self

    def save(self, run: DurableRun[Any], folder: Path) -> bool:
        """Save; return whether it ended."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            run.save(folder)
        except Stop:
            return False
        finally:
            sys.settrace(before)
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: nothing is switched off here."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setitem(_PRAGMAS, "synchronous", 0)


def build(gate: Any) -> CUCBBatch:
    return CUCBBatch(TopK(arms=6, size=3), gate, epsilon=1.0, horizon=100_000)


def begin() -> DurableRun[CUCBBatch]:
    return DurableRun(build, Accountant(Budget(5.0), noise=np.random.default_rng(0), seed=1))


def play(run: DurableRun[CUCBBatch], first: int, rounds: int) -> None:
    for user in range(first, first + rounds):
        run.learner.act()
        run.learner.observe(run.accountant.private([1.0, 0.0, 0.5], run.learner.feedback_domain, record=user))


def reserve(run: DurableRun[CUCBBatch], record: str, scale: float) -> Any:
    noise = Laplace.for_epsilon(scale, sensitivity=SHARE.sensitivity)
    return run.accountant.reserve(run.accountant.price(noise, run.accountant.private([0.5], SHARE, record)))


def contents(run: DurableRun[CUCBBatch]) -> list[Any]:
    waiting: Any = run.learner.batches._sums._provenance
    generator = run.accountant._random.bit_generator.state
    return [run.accountant.to_dict(), waiting.to_dict(), run.learner.batches.mean.tolist(), generator]


def loaded(folder: Path, copy: Path) -> list[Any]:
    shutil.copytree(folder, copy)
    with DurableRun.load(copy, build, noise=np.random.default_rng(), adopt=True) as run:
        found = contents(run)
    shutil.rmtree(copy)
    return found


every_line = pytest.mark.parametrize("stride", [97, pytest.param(5, marks=pytest.mark.slow)])


@every_line
def test_stopped_at_any_line_the_next_save_is_whole(tmp_path: Path, stride: int) -> None:
    """Before it, the folder holds the run of some save: what a kill at that moment would leave."""
    run = begin()
    play(run, 0, 4)
    run.save(tmp_path / "run")
    line, user, ended = 0, 4, False
    while not ended:
        reserved = reserve(run, f"user-{user}", 0.25 + user % 3 / 8)  # sometimes a kind of its own
        before = contents(run)
        run.save()
        with run.turn():
            play(run, user, 2)
            reserved.cancel()  # an entry that the store has
            reserve(run, "late", 1e-3 / (1 + line)).cancel()  # and one that it never had, of a new kind
            user += 2
            now = contents(run)
            ended = StoppedAt(line).save(run, tmp_path / "run")
            assert contents(run) == now
            if line % 10 == 0:
                assert loaded(tmp_path / "run", tmp_path / "copy") in (before, now)
        run.save()
        assert loaded(tmp_path / "run", tmp_path / "copy") == now, line
        line += stride
    assert line > 100


@pytest.mark.slow
@every_line
def test_a_first_save_that_is_stopped_at_any_line_binds_nothing(tmp_path: Path, stride: int) -> None:
    line, ended = 0, False
    run = begin()
    play(run, 0, 3)
    while not ended:
        folder = tmp_path / f"run-{line}"
        ended = StoppedAt(line).save(run, folder)
        now = contents(run)
        if run._store is not None:  # it had all of its effect, and the run is kept there
            run.save(folder)
            assert loaded(folder, tmp_path / "copy") == now, line
            run.close()
            run = begin()
            play(run, 0, 3)
        elif folder.exists():
            other = begin()
            play(other, 0, 2)
            other.save(folder)  # another may begin there
            assert loaded(folder, tmp_path / "copy") == contents(other), line
            other.close()
        line += stride
    assert line > 100


def test_a_charge_that_was_half_taken_back_is_charged_or_not(tmp_path: Path) -> None:
    """The ledger and its history agree, wherever giving a charge back was stopped."""
    line, ended = 0, False
    while not ended:
        folder, run = tmp_path / f"run-{line}", begin()
        play(run, 0, 3)
        reserved = reserve(run, "ann", 1e-3)
        play(run, 3, 9)  # other charges come after it
        run.save(folder)
        stopped, before = StoppedAt(line), sys.gettrace()
        sys.settrace(stopped)
        try:
            reserved.cancel()
        except Stop:
            pass
        else:
            ended = True
        finally:
            sys.settrace(before)
        run.save()
        assert loaded(folder, tmp_path / "copy") == contents(run), line
        run.close()
        line += 2
    assert line > 8
