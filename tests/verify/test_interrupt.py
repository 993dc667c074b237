"""Ctrl-C leaves a partial report on standard output, with a verdict and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    ("workers", "after", "presses", "stage"),
    [(1, 4_000_000, 1, "final"), (2, 2_600_000, 2, "any"), (1, 10_000, 1, "search")],
)
def test_ctrl_c_leaves_a_report(tmp_path: Path, workers: int, after: int, presses: int, stage: str) -> None:
    path = tmp_path / "subject.py"
    path.write_text(SUBJECT.replace("{after}", str(after)).replace("{presses}", str(presses)))
    run = subprocess.run(
        [
            sys.executable, "-c", "from verify.command_line import main; main()", "verify", f"{path}:laplace",
            "--epsilon", "1", "--samples", "3000000", "--workers", str(workers), "--json",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    result = json.loads(run.stdout)
    kinds = [finding["kind"] for finding in result["findings"]]
    if stage == "final":
        assert result["interrupted"]
        assert result["black_box"]["interrupted"]
        assert "interrupted" in kinds
        assert (result["verdict"], run.returncode) == ("refuted", 1)
        assert 1.5 < result["lower"]["epsilon"] < 2.0
    elif stage == "search":
        assert result["interrupted"]
        assert "black_box" not in result
        assert "interrupted" in kinds
        assert (result["verdict"], run.returncode) == ("unproven", 3)
    else:  # the two processes count apart, so that where it stops is not known
        assert run.returncode in (1, 3)
