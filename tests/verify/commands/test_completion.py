"""A shell that asks for completions gets them, exit code 0, and nothing on standard error."""

import json
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
ASKED = ["--version", "--help", "verify --help", "ledger amend --help", "ver"]
RUN = """if True:
    import contextlib, json, os, sys, time
    from verify.commands.command_line import main
    times = []
    for environment in json.loads(sys.argv.pop()):
        os.environ |= environment
        before = time.process_time()
        with contextlib.suppress(SystemExit):
            main()
        times.append(time.process_time() - before)
        loaded = {name.partition(".")[0] for name in sys.modules}
        others = loaded & {"numpy", "scipy", "rich", "mechanisms", "accountant", "algorithms"}
        assert not others, (environment, others)
    print("\\n", json.dumps(times))
"""


def _run(environments, *arguments):
    """Return the processor time of a process of its own, and in it of each line; no line loads a package of ours."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run(
        [sys.executable, "-c", RUN, *arguments, json.dumps(environments)],
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (made.returncode, made.stderr) == (0, "")
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, json.loads(made.stdout.splitlines()[-1])


@pytest.mark.parametrize("line", ASKED)
def test_what_a_shell_asks_for_loads_click_alone(line):
    """Of processor time it takes 0.07 s; the best of some runs is compared, as other work may be in between."""
    environments, arguments = ([_asked("bash", line)], ()) if line in EXPECTED else ([{}], line.split())
    assert any(_run(environments, *arguments)[0] <= MOST for _ in range(5))


def test_no_completion_loads_more():
    """One process completes all lines: modules stay loaded, so that a line which loads more takes longer."""
    environments = [_asked("bash", line) for line in EXPECTED]
    runs = [_run(environments)[1]]
    while max(map(min, zip(*runs, strict=True))) > MOST and len(runs) < 5:
        runs.append(_run(environments)[1])
    slow = [line for line, times in zip(EXPECTED, zip(*runs, strict=True), strict=True) if min(times) > MOST]
    assert not slow
