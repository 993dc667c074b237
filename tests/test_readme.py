"""What the README shows runs: every Python block, and every dpwitness command that is not an installation."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
FILES = {
    block.split()[1]: block for block in re.findall(r"```toml\n(# .*?)```", README, flags=re.DOTALL)
}  # their first line names them
SHELL = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("dpwitness ")
]


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.strip().splitlines()[-1][:40])
def test_python_blocks_run(block, tmp_path):
    first = block.split()[:2]
    tests = first[0] == "#" and first[1].startswith("test_")  # such a block is a test file
    script = tmp_path / (first[1] if tests else "block.py")
    script.write_text(block)
    runner = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--dp-effort", "quick"] if tests else []
    command = [sys.executable, *runner, script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


DEAR = ("verify zoo/svt5", "verify published/cascade-ucb-ldp-laplace")
"""Verifications at default effort that the other tests make with fewer draws."""


def tiered(command):
    marks = [pytest.mark.slow] if any(dear in command for dear in DEAR) else []
    return pytest.param(command, id=command, marks=marks)


@pytest.mark.parametrize("command", [tiered(command) for command in SHELL])
def test_commands_run(command, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    program, *arguments = shlex.split(command)
    script = Path(sys.executable).with_name(program)
    done = subprocess.run([script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
