"""The Python blocks and dpwitness commands of README and guides run, all that are no installation."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from verify.commands.command_line import main

ROOT = Path(__file__).parent.parent
PAGES = {
    path.stem: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md")))
}


def blocks(language, text):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


VERIFIES = ("verify", "regret", "learners", "simulate")
"""Pages whose blocks verify or play long: like all that is slow here, run by .ci/run."""

PYTHON = [
    pytest.param(
        block,
        id=f"{name}-{block.strip().splitlines()[-1][:40]}",
        marks=[pytest.mark.slow] if name in VERIFIES else [],
    )
    for name, text in PAGES.items()
    for block in blocks("python", text)
]
TEST_FILE = "# test_privacy.py\n"


@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if block.startswith(TEST_FILE):  # a test file, run as its reader would
        (tmp_path / "test_privacy.py").write_text(block)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--dp-effort",
            "quick",
            "-k",
            "opendp",
            "test_privacy.py",
        ]
        assert subprocess.run(command, check=False).returncode == 0
    else:
        (tmp_path / "block.py").write_text(block)
        runpy.run_path("block.py", run_name="__main__")


def test_commands_of_many_machines_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    section = PAGES["simulate"].partition("## Many runs, many machines")[2]
    shown = [line for line in section.splitlines() if line.startswith("dpwitness simulate")]
    for command in [line for line in shown if "dask" not in line]:
        fewer = command.replace("--horizon 20000 --runs 1000", "--horizon 100 --runs 130")
        assert fewer != command
        monkeypatch.setattr(sys, "argv", shlex.split(fewer))
        with pytest.raises(SystemExit) as exit_:
            main()
        assert not exit_.value.code
        assert not capsys.readouterr().err
    assert len(shown) == 2


DEAR = (
    "dpwitness verify ",
    "dpwitness check ",
    ".png",
    "--proof",
    "dpwitness simulate ",
    "reproduce matroid/table2_0",
    "-o report.html",
)
"""What takes more than a third of a second; .ci/run runs it."""
FEWER = {"--horizon 20000": "--horizon 1000", "--runs 50": "--runs 4"}
"""Sizes that change what is drawn, and not whether it works."""


def tiered(page, command):
    marks = [pytest.mark.slow] if any(dear in command for dear in DEAR) else []
    for shown, fewer in FEWER.items():
        command = command.replace(shown, fewer)
    return pytest.param(page, command, id=command, marks=marks)


SHELL = [
    tiered(page, line)
    for page, text in PAGES.items()
    for block in blocks("sh", text)
    for line in block.splitlines()
    if line.startswith("dpwitness ")
]


@pytest.mark.parametrize(("page", "command"), SHELL)
def test_commands_run(page, command, tmp_path, monkeypatch, capsys):
    for name, text in re.findall(r"```(?:toml|python)\n# (\S+\.\w+)\n(.*?)```", PAGES[page], flags=re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for each in (*writing_what_is_read_by(page, command), command):
        monkeypatch.setattr(sys, "argv", shlex.split(each))
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code in (0, 1)
        assert capsys.readouterr().err == ""


WRITES = re.compile(r" (?:-o|--certificate|--proof) (\S+)")


def writing_what_is_read_by(page, command):
    """Return the commands of the page that write a file that this one reads."""
    lines = [line for block in blocks("sh", PAGES[page]) for line in block.splitlines()]
    written = {file: line for line in lines for file in WRITES.findall(line)}
    return [written[word] for word in shlex.split(WRITES.sub("", command)) if word in written]


LONG = [
    line.removeprefix("$ ")
    for block in blocks("console", PAGES["regret"])
    for line in block.splitlines()
    if line.startswith("$ ")
]


@pytest.mark.slow
@pytest.mark.parametrize("command", LONG)
def test_commands_of_the_guide_to_regret_run(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code in (0, None, 3)  # 3: vacuous, as the guide says of most bounds
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_whole_test_file_of_the_guide_passes(tmp_path):
    (block,) = (block for block in blocks("python", PAGES["verify"]) if block.startswith(TEST_FILE))
    (tmp_path / "test_privacy.py").write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "--dp-effort", "quick", "test_privacy.py"]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode == 0
