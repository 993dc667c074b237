"""Runs on the command line are stored, stopped, gone on with and extended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from verify.commands.command_group import exit_code

SHORT = ["simulate", "cucb-ldp2", "--horizon", "60", "--runs", "150", "--json"]
OWN = """
from algorithms import CUCB
from algorithms.claim import ClaimForm
from algorithms.semi_bandits.cucb_ldp import CUCBLDP2
class Mine(CUCBLDP2):
    pass
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dpwitness", *arguments])
        code = exit_code()
        out, err = capsys.readouterr()
        return code, out, err

    return call


def regret(out: str) -> Any:
    told = json.loads(out)
    return told["regret_mean"], told["regret_sem"], told["runs"]


def undated(out: str) -> str:
    """Return what a command told, but for when."""
    told, dates = re.subn(r'"date": "[^"]*"', "", out)
    assert dates
    return told


@pytest.mark.slow_cells("a file's")
@pytest.mark.parametrize("own", [False, True], ids=["registered", "a file's"])
def test_a_cache_changes_no_result(run: Any, tmp_path: Path, own: bool) -> None:
    arguments = list(SHORT)
    if own:
        (tmp_path / "mine.py").write_text(OWN)
        arguments[1] = f"{tmp_path / 'mine.py'}:Mine"
    code, out, _ = run(*arguments)
    assert code == 0
    cache = tmp_path / "cache"
    for workers in ("2", "1"):
        code, cached, _ = run(*arguments, "--cache", str(cache), "--workers", workers)
        assert code == 0
        assert regret(cached) == regret(out)
        assert len(list(cache.rglob("*.block"))) == 3
    assert json.loads(cached)["lane_rounds_per_second"] == 0.0  # all were there


def test_linear_runs_are_stored_too(run: Any, tmp_path: Path) -> None:
    arguments = ["simulate", "dp-dpe-local", "--horizon", "300", "--set", "population=4000", "--json"]
    _, few, _ = run(*arguments, "--runs", "2", "--cache", str(tmp_path))
    assert len(list(tmp_path.rglob("*.block"))) == 2
    _, out, _ = run(*arguments, "--runs", "3", "--cache", str(tmp_path), "--workers", "2")
    _, alone, _ = run(*arguments, "--runs", "3")
    assert regret(out) == regret(alone) != regret(few)
    assert len(list(tmp_path.rglob("*.block"))) == 3


def test_a_damaged_block_is_refused_by_name(run: Any, tmp_path: Path) -> None:
    run(*SHORT, "--cache", str(tmp_path))
    next(tmp_path.rglob("2.block")).write_bytes(b"")
    code, out, err = run(*SHORT, "--cache", str(tmp_path))
    assert (code, out) == (2, "")
    assert "2.block: is no stored block" in err


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    arguments = [
        sys.executable, "-c", "from verify.commands.command_line import main; main()",
        "simulate", "cucb-ldp2", "--horizon", "1000", "--runs", "2100", "--cache", str(store), "--workers", "2",
    ]  # fmt: skip
    started = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    while len(list(store.rglob("*.block"))) < 16:
        time.sleep(0.05)
        assert started.poll() is None
    os.kill(started.pid, signal.SIGINT)
    _, err = started.communicate()
    assert started.returncode == 130
    assert f"is stored in {store}: the same command goes on from there" in err
    kept = {file: file.stat().st_mtime_ns for file in store.rglob("*.block")}
    assert 16 <= len(kept) < 33
    done = subprocess.run([*arguments, "--json"], stdout=subprocess.PIPE, check=True)
    alone = subprocess.run([*arguments[:-4], "--json"], stdout=subprocess.PIPE, check=True)
    assert regret(done.stdout.decode()) == regret(alone.stdout.decode())
    assert {file: file.stat().st_mtime_ns for file in kept} == kept


@pytest.mark.slow
def test_regret_is_the_same_from_a_cache(run: Any, tmp_path: Path) -> None:
    arguments = ["regret", "cucb-ldp-bit", "--horizon", "60", "--runs", "70", "--json"]
    code, alone, _ = run(*arguments)
    for workers in ("1", "2"):
        again, out, _ = run(*arguments, "--cache", str(tmp_path), "--workers", workers)
        assert (again, undated(out)) == (code, undated(alone))
        assert len(list(tmp_path.rglob("*.block"))) == 2


def test_a_lower_bound_is_asked_about_stored_runs(run: Any, tmp_path: Path) -> None:
    test = ["--test", "lower-bound", "--set", "claim=0.1"]
    arguments = ["regret", "cucb", *test, "--horizon", "300", "--runs", "70", "--json"]
    assert run(*arguments, "--cache", str(tmp_path))[:2] == run(*arguments)[:2]
    assert len(list(tmp_path.rglob("*.block"))) == 4
