"""What the README shows runs: every Python block, and every dpwitness command that is not an installation."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from verify.command_line import main

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
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = block.split()[:2]
    if first[0] == "#" and first[1].startswith(
        "test_"
    ):  # such a block is a test file, run as its reader would
        (tmp_path / first[1]).write_text(block)
        command = [sys.executable, "-m", "pytest", "-q", "--dp-effort", "quick", "-k", "opendp", first[1]]
        assert subprocess.run(command, check=False).returncode == 0
    else:
        (tmp_path / "block.py").write_text(block)
        runpy.run_path("block.py", run_name="__main__")


SCALE = (Path(__file__).parent.parent / "docs" / "scale.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", SCALE, flags=re.DOTALL))
def test_python_of_the_page_on_scale_runs(block, tmp_path, monkeypatch):
    test_python_blocks_run(block, tmp_path, monkeypatch)


def test_commands_of_the_page_on_scale_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shown = [line.partition(" #")[0] for line in SCALE.splitlines() if line.startswith("dpwitness simulate")]
    for command in [line for line in shown if "--scheduler" not in line]:
        fewer = command.replace("--horizon 20000 --runs 1000", "--horizon 100 --runs 130")
        assert fewer != command
        monkeypatch.setattr(sys, "argv", shlex.split(fewer))
        with pytest.raises(SystemExit) as exit_:
            main()
        assert not exit_.value.code
        err = capsys.readouterr().err
        assert not err or "--part" in command
    assert len(shown) == 6


DEAR = ("verify zoo/svt5", "verify published/cascade-ucb-ldp-laplace")
"""Verifications at default effort that the other tests make with fewer draws."""
FEWER = {"--horizon 20000": "--horizon 1000", "--runs 50": "--runs 4"}
"""Sizes that change what is drawn, and not whether it works."""


def tiered(command):
    marks = [pytest.mark.slow] if any(dear in command for dear in DEAR) else []
    for shown, fewer in FEWER.items():
        command = command.replace(shown, fewer)
    return pytest.param(command, id=command, marks=marks)


@pytest.mark.parametrize("command", [tiered(command) for command in SHELL])
def test_commands_run(command, tmp_path, monkeypatch, capsys):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for each in (*writing_what_is_read_by(command), command):
        monkeypatch.setattr(sys, "argv", shlex.split(each))
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code in (0, 1)
        assert capsys.readouterr().err == ""


def writing_what_is_read_by(command):
    """Return the commands of the README whose -o is a file that this one reads."""
    written = {line.partition(" -o ")[2]: line for line in SHELL if " -o " in line}
    return [written[word] for word in shlex.split(command.partition(" -o ")[0]) if word in written]


@pytest.mark.slow
def test_the_whole_test_file_of_the_readme_passes(tmp_path):
    (block,) = (block for block in PYTHON if block.startswith("# test_"))
    (tmp_path / "test_privacy.py").write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "--dp-effort", "quick", "test_privacy.py"]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode == 0
