"""The command as a process: whatever subjects, files, readers and disks do, the exit code means what it says.

Every case is a fork of this process, as a start of Python costs a second.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from verify.commands import command_group
from verify.commands.command_line import main

RELEASES = '{"release": [{"mechanism": "laplace", "scale": 1.0, "sensitivity": 1.0}]}'
FUNCTION = """
import os, signal, sys, time
from mechanisms import Interval
from verify import claimed

{0}

@claimed(data=Interval(0, 1))
def f(data, rng, lanes):
    return data + rng.laplace(size=lanes)
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def command(
    *arguments: str, out: int | None = None, err: int | None = None, closed: tuple[int, ...] = ()
) -> Ran:
    """Run the command in a process of its own, with these files as standard output and error."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        child = os.fork()
        if child == 0:
            _become(arguments, out or said.fileno(), err or complained.fileno(), closed)
        _, status = os.waitpid(child, 0)
        written = []
        for file in (said, complained):
            file.seek(0)
            written.append(file.read().decode())
    return Ran(os.waitstatus_to_exitcode(status), *written)


def _become(arguments: tuple[str, ...], out: int, err: int, closed: tuple[int, ...]) -> None:
    """Be the command, as Python starts it; never returns."""
    code = 99
    try:
        for number, file in ((1, out), (2, err)):
            os.dup2(file, number)
        os.closerange(3, 4096)
        for number in closed:
            os.close(number)
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = None if number in closed else open(number, "w", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        sys.argv = ["dpwitness", *arguments]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        os._exit(code)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("at_import", "words"),
    [
        ("os._exit(0)", "ended itself with exit status 0"),
        ("sys.exit(0)", "does not import: SystemExit: 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt without Ctrl-C"),
        ("raise RuntimeError('\\x1b[31mCERTIFIED\\n')", "RuntimeError: \\x1b[31mCERTIFIED"),
        ("while True: pass", "does not import within the time limit of 0.5 s"),
        ("os.closerange(0, 4096)", "ended itself with exit status 1"),
        (
            "for i in range(3, 4096):\n    try: os.write(i, b'{}\\n')\n    except OSError: pass",
            "reported unreadable data",
        ),
    ],
)
def test_what_happens_at_import_is_an_input_error(file, at_import: str, words: str) -> None:
    subject = file("subject.py", FUNCTION.format(at_import))
    ran = command("verify", f"{subject}:f", "--epsilon", "1", "--time-limit", "0.5", "--json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"release":' * 100_000, '{"release": NaN}', "\x00", '"\x1b"']
)
def test_a_file_that_cannot_be_read_is_an_input_error(file, text: str) -> None:
    ran = command("audit", file("releases.json", text))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.isprintable() or ran.err[:-1].isprintable()


def gone() -> int:
    """Return the number of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.few(1)
@pytest.mark.parametrize("budget", ["2", "0.5"])
def test_a_reader_who_has_gone_changes_no_exit_code(file, budget: str) -> None:
    audit = ("audit", file("releases.json", RELEASES), "--budget", budget)
    expected = 0 if budget == "2" else 1
    writing = gone()
    assert [command(*audit, out=writing), command(*audit, "--json", out=writing)] == [
        Ran(expected, "", "")
    ] * 2
    assert command(*audit, err=writing).code == expected
    assert command(*audit, closed=(1,)) == Ran(expected, "", "")
    assert command(*audit, closed=(0, 1, 2)) == Ran(expected, "", "")
    os.close(writing)


def test_help_and_lists_may_be_cut_short() -> None:
    writing = gone()
    assert [command(name, out=writing).code for name in ("--help", "--version", "list")] == [0, 0, 0]
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no such file")
def test_a_file_that_nobody_reads_is_said_and_is_no_error_of_our_own(tmp_path) -> None:
    made = command("ledger", "create", str(tmp_path / "a.db"), "--epsilon", "3")
    assert made.code == 0
    writing = gone()
    (tmp_path / "out.json").symlink_to("/dev/stdout")
    ran = command("ledger", "show", str(tmp_path / "a.db"), "-o", str(tmp_path / "out.json"), out=writing)
    os.close(writing)
    assert (ran.code, ran.err) == (2, "dpwitness: the output cannot be written: nobody reads it any more\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is full")
def test_a_full_disk_is_said_and_is_no_verdict(file) -> None:
    releases = file("releases.json", RELEASES)
    full = os.open("/dev/full", os.O_WRONLY)
    for arguments in (("audit", releases), ("audit", releases, "--json"), ("--help",)):
        ran = command(*arguments, out=full)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "No space left on device" in ran.err
    assert command("audit", "nowhere.json", err=full).code == 2
    os.close(full)


def fails(*_: object, **__: object) -> None:
    raise ZeroDivisionError("of ours\x1b[31m")


def test_an_error_of_our_own_is_one_line_and_a_traceback_only_if_asked_for(file, monkeypatch) -> None:
    monkeypatch.setattr("verify.commands.audit_command.audit", fails)
    releases = file("releases.json", RELEASES)
    plain, debug = command("audit", releases), command("audit", releases, "--debug")
    assert (plain.code, debug.code) == (4, 4)
    assert plain.err.count("\n") == 1
    assert "an error of its own: ZeroDivisionError: of ours\\x1b[31m" in plain.err
    assert "Traceback" in debug.err
    assert "\x1b" not in debug.err


@pytest.mark.slow
def test_an_error_of_our_own_in_the_process_of_a_subject_is_said_alike(file, monkeypatch) -> None:
    monkeypatch.setattr("verify.verification.verification._collect", fails)
    subject = file("subject.py", FUNCTION.format(""))
    ran = command("verify", f"{subject}:f", "--epsilon", "1", "--debug")
    assert ran.code == 4
    assert "an error of its own: ZeroDivisionError" in ran.err
    assert "in _answer" in ran.err


def test_too_much_memory_is_an_input_error(monkeypatch) -> None:
    def grows(*_: object) -> None:
        raise MemoryError("Unable to allocate 1.42 PiB")

    monkeypatch.setattr(command_group.cli, "main", lambda **_: grows())
    ran = command("list")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "memory does not suffice" in ran.err


def test_ctrl_c_while_libraries_are_loaded_is_one_line(monkeypatch) -> None:
    def pressed() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_group, "exit_code", pressed)
    assert command("list") == Ran(130, "", "dpwitness: interrupted\n")


def test_usage_without_arguments_is_as_it_is_written() -> None:
    ran = command()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: ")
    assert ran.err.count("\n") > 10
