"""Ctrl-C leaves a partial report on standard output, with a verdict and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SUBJECT = '''
import os, signal
from mechanisms import Interval
from verify import claimed

drawn, first_process = 0, os.getpid()

@claimed(data=Interval(0, 1))
def laplace(data, rng, lanes):
    """Presses Ctrl-C after {after} draws, those of each process counted alone, and {presses} times in all."""
    global drawn
    drawn += lanes
    if drawn >= {after}:
        drawn = -10**12
        for number in range({presses}):
            try:
                open(f"{__file__}.{number}", "x").close()
            except FileExistsError:  # another process has pressed it
                continue
            os.kill(first_process, signal.SIGINT)
            break
    return data + rng.laplace(0, 0.5, lanes)
'''


def interrupted(folder: Path, *, workers: int, after: int, presses: int = 1) -> tuple[dict[str, Any], int]:
    """Run the command line on the subject; its report on standard output, and its exit code."""
    path = folder / "subject.py"
    path.write_text(SUBJECT.replace("{after}", str(after)).replace("{presses}", str(presses)))
    run = subprocess.run(
        [
            sys.executable, "-c", "from verify.commands.command_line import main; main()", "verify", f"{path}:laplace",
            "--epsilon", "1", "--samples", "300000", "--workers", str(workers), "--json",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout, run.stderr
    return json.loads(run.stdout), run.returncode


def kinds(report: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in report["findings"]]


@pytest.mark.slow  # test_anytime and test_stopping have it without a process of its own
def test_ctrl_c_in_the_final_test_leaves_its_bound(tmp_path: Path) -> None:
    report, code = interrupted(tmp_path, workers=1, after=400_000)
    assert report["interrupted"]
    assert report["black_box"]["interrupted"]
    assert "interrupted" in kinds(report)
    assert (report["verdict"], code) == ("refuted", 1)
    assert 1.5 < report["lower"]["epsilon"] < 2.0


@pytest.mark.slow  # the two presses from two processes often come in the search, too
def test_ctrl_c_in_the_search_leaves_a_report_without_a_bound(tmp_path: Path) -> None:
    report, code = interrupted(tmp_path, workers=1, after=10_000)
    assert report["interrupted"]
    assert "black_box" not in report
    assert "interrupted" in kinds(report)
    assert (report["verdict"], code) == ("unproven", 3)


@pytest.mark.slow  # conduct/test_interrupts presses while the report is made, without processes
def test_two_ctrl_c_from_two_processes_leave_a_report(tmp_path: Path) -> None:
    """Each worker counts alone, so that it stops anywhere, and the second one may come while the report is written."""
    report, code = interrupted(tmp_path, workers=2, after=260_000, presses=2)
    assert (report["verdict"], code) in (("refuted", 1), ("unproven", 3))
