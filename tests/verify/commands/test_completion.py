"""A shell that asks for completions gets them, exit code 0, and nothing on standard error."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from verify.commands.command_group import exit_code

EXPECTED = {
    "ver": ["verify"],
    "ledger am": ["amend"],
    "verify --eff": ["--effort"],
    "verify --effort ": ["quick", "default", "thorough"],
    "verify --effort q": ["quick"],
    "verify --workers ": ["dask"],
    "verify --composition r": ["renyi"],
    "verify cucb-ldp-b": ["cucb-ldp-bit"],
    "verify zoo/svt6": ["zoo/svt6"],
    "verify --problem mat": [],
    "simulate dp-bandit cucb-ldp-b": ["cucb-ldp-bit"],
    "simulate --problem top": ["top-k"],
    "regret --test lo": ["lower-bound"],
    "list --for top": ["top-k"],
    "list --trust ": ["central", "local", "shuffle", "none"],
    "audit --neighbors z": ["zero-out"],
    "reproduce matroid/fig3": ["matroid/fig3"],
    "ledger create here --learner cucb-ldp-b": ["cucb-ldp-bit"],
    "keys here --scope o": ["observe"],
}


def _asked(shell, line):
    *before, last = f"dpwitness {line}".split(" ")
    place = last if shell == "fish" else str(len(before))
    return {
        "_DPWITNESS_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": f"dpwitness {line}",
        "COMP_CWORD": place,
    }


@pytest.mark.parametrize("line", EXPECTED)
def test_commands_options_values_and_names_are_completed(line, monkeypatch, capsys):
    for name, value in _asked("bash", line).items():
        monkeypatch.setenv(name, value)
    assert exit_code() == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    values = [each.partition(",") for each in shown.out.splitlines()]
    assert [value for kind, _, value in values if kind == "plain"] == EXPECTED[line]
    assert {kind for kind, _, _ in values} <= {"plain", "file"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_the_same(shell, monkeypatch, capsys):
    for name, value in _asked(shell, "verify --eff").items():
        monkeypatch.setenv(name, value)
    assert exit_code() == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "--effort" in shown.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell, monkeypatch, capsys):
    monkeypatch.setenv("_DPWITNESS_COMPLETE", f"{shell}_source")
    assert exit_code() == 0
    shown = capsys.readouterr()
    assert f"_DPWITNESS_COMPLETE={shell}_complete" in shown.out
    assert shown.err == ""


def test_the_program_completes_in_a_process_of_its_own():
    program = Path(sys.executable).with_name("dpwitness")
    ran = subprocess.run(
        [program], env={**os.environ, **_asked("bash", "ver")}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "plain,verify\n", "")


MOST = 0.15  # seconds of processor time, of an idle machine; a busy one is slower
LINES = {line: line.split() for line in ("--version", "--help", "verify --help", "ledger amend --help")}


@pytest.mark.parametrize("line", [*LINES, *EXPECTED])
def test_what_a_shell_asks_for_loads_click_alone(line: str) -> None:
    """Of processor time it takes 0.07 s; the best of some runs is compared, as other work may be in between."""
    code = """if True:
        import sys
        from verify.commands.command_line import main
        try:
            main()
        finally:
            loaded = {name.partition(".")[0] for name in sys.modules}
            assert loaded.isdisjoint({"numpy", "scipy", "rich", "mechanisms", "accountant", "algorithms"}), loaded
    """
    arguments, asked = (LINES[line], {}) if line in LINES else ([], _asked("bash", line))
    times = []
    while not times or (min(times) > MOST and len(times) < 5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        made = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert (made.returncode, made.stderr) == (0, "")
    assert min(times) <= MOST
