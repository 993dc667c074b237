"""A subject in a process of its own: results and errors come back, and deaths and endless C code are findings."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from verify import verify
from verify.conduct import isolation
from verify.conduct.isolation import OwnFault, in_own_process
from verify.conduct.progress import no_progress
from verify.findings.finding import Finding
from verify.findings.subject_error import SubjectError

SUBJECTS = Path(__file__).parents[1] / "subjects" / "misbehaving.py"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "limit", "kind", "words"),
    [
        ("ends_the_process", 600.0, "ends-process", "ended itself with exit status 7"),
        ("never_returns_from_c", 2.0, "time-limit", "did not return from native code"),
    ],
)
def test_a_subject_takes_nothing_down_but_itself(name, limit, kind, words, monkeypatch) -> None:
    monkeypatch.setattr(isolation, "GRACE", 0.5)
    result = verify(f"{SUBJECTS}:{name}", epsilon=1.0, effort="quick", time_limit=limit, isolated=True)
    assert result.verdict == "unproven"
    assert result.exit_code == 3
    (finding,) = result.findings
    assert finding.kind == kind
    assert words in finding.message


@pytest.mark.slow
def test_a_process_of_its_own_changes_no_result() -> None:
    apart, here = (
        verify(f"{SUBJECTS}:no_noise", epsilon=1.0, effort="quick", samples=40_000, isolated=isolated)
        for isolated in (True, False)
    )
    assert apart.verdict == "refuted"
    another = {"witness": None, "date": ""}
    assert {**apart.json(), **another} == {**here.json(), **another}
    assert apart.witness == here.witness


def test_results_and_progress_come_back() -> None:
    told: list[tuple[float, str]] = []

    def work(reports):
        reports.progress(0.5, "half")
        reports.note("a note")
        return [os.getpid(), {"a": [1.0]}]

    noted: list[object] = []
    result = in_own_process(work, lambda share, doing: told.append((share, doing)), 10.0, noted=noted.append)
    assert result[0] != os.getpid()
    assert result[1] == {"a": [1.0]}
    assert told == [(0.5, "half")]
    assert noted == ["a note"]
    assert not multiprocessing.active_children()


def raises(error):
    def work(reports):
        raise error

    return work


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (SubjectError("no such subject"), SubjectError, "^no such subject$"),
        (ValueError("no number"), ValueError, "^no number$"),
        (RecursionError("deep"), OwnFault, "RecursionError: deep"),
        (KeyError("lost"), OwnFault, "KeyError: 'lost'"),
        (KeyboardInterrupt(), SubjectError, "raised KeyboardInterrupt without Ctrl-C"),
    ],
)
def test_errors_are_raised_here(error, kind, words) -> None:
    with pytest.raises(kind, match=words):
        in_own_process(raises(error), no_progress, 10.0, errors=(SubjectError, ValueError))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "ran out of memory"),
        (SystemExit(3), "was asked to end by SystemExit: 3 (at "),
        (GeneratorExit(), "by GeneratorExit (at "),
    ],
)
def test_work_that_ends_the_process_is_a_finding(error, words) -> None:
    found = in_own_process(raises(error), no_progress, 10.0)
    assert isinstance(found, Finding)
    assert words in found.message


def test_a_death_is_seen_even_if_children_hold_its_pipe_open() -> None:
    def work(reports):
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(4)

    found = in_own_process(work, no_progress, 100.0)  # else it would be seen when that is over
    assert isinstance(found, Finding)
    assert "exit status 4" in found.message


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: os._exit(3), "exit status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"),
    ],
)
def test_a_death_is_a_finding(end, words) -> None:
    found = in_own_process(lambda reports: end(), no_progress, 10.0)
    assert isinstance(found, Finding)
    assert found.kind == "ends-process"
    assert words in found.message


def test_what_never_returns_from_c_is_killed_with_its_workers(monkeypatch) -> None:
    monkeypatch.setattr(isolation, "GRACE", 0.5)
    reading, writing = os.pipe()

    def work(reports):
        child = os.fork()
        if child == 0:
            time.sleep(1000)
        os.write(writing, str(child).encode())
        return sum(itertools.count())

    found = in_own_process(work, no_progress, 0.2)
    assert isinstance(found, Finding)
    assert found.kind == "time-limit"
    worker = int(os.read(reading, 100))
    time.sleep(0.2)  # until it is gone
    status = Path(f"/proc/{worker}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"
    os.close(reading)
    os.close(writing)


def test_it_does_not_outlive_the_process_that_waits() -> None:
    reading, writing = os.pipe()

    def loops(reports):
        os.write(writing, b"running")
        while True:
            pass

    waits = os.fork()
    if waits == 0:
        in_own_process(loops, no_progress, 1000.0)
    assert os.read(reading, 100) == b"running"
    os.close(writing)
    os.kill(waits, signal.SIGKILL)
    os.waitpid(waits, 0)
    ended, _, _ = select.select([reading], [], [], 60.0)  # at its end, as nobody can write to it any more
    assert ended
    assert os.read(reading, 100) == b""
    os.close(reading)


def test_ctrl_c_reaches_it_and_is_waited_for() -> None:
    def work(reports):
        try:
            while True:  # an interrupt within a callback of the garbage collector is lost
                reports.progress(0.1, "waiting")
                time.sleep(20)
        except KeyboardInterrupt:
            return "a partial result"

    def interrupt(share, doing):
        os.kill(os.getpid(), signal.SIGINT)

    assert in_own_process(work, interrupt, 60.0) == "a partial result"


def test_a_third_ctrl_c_ends_all() -> None:
    def work(reports):
        for share in (0.1, 0.2, 0.3):
            try:
                reports.progress(share, "waiting")
                time.sleep(1000 if share == 0.3 else 1.0)
            except KeyboardInterrupt:
                continue

    def interrupt(share, doing):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        in_own_process(work, interrupt, 60.0)
    assert not multiprocessing.active_children()


def test_what_it_writes_is_shown_printable_and_line_by_line(capsys) -> None:
    def work(reports):
        print("one\x1b[31m\ntwo\r", end="")
        sys.__stdout__.write("three\n")
        sys.__stdout__.flush()
        os.system("printf 'four\\n\\377'")
        threading.Thread(target=lambda: time.sleep(1.0) or print("late"), daemon=True).start()

    in_own_process(work, no_progress, 10.0)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        f"subject: {text}" for text in ("one\\x1b[31m", "two", "three", "four", "\\xff")
    ]


def test_endless_output_is_shown_up_to_a_point(monkeypatch, capsys) -> None:
    monkeypatch.setattr(isolation, "MOST_SHOWN", 10_000)

    def work(reports):
        for _ in range(1_000):
            os.write(2, b"x" * 999 + b"\n")

    assert in_own_process(work, no_progress, 10.0) is None
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "subject: (more is not shown)"


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_without_a_message_is_still_said() -> None:
    with pytest.raises(OwnFault, match=r"_Unspeakable: \(its message cannot be read\)"):
        in_own_process(raises(_Unspeakable()), no_progress, 10.0)


def test_standard_streams_may_be_closed_in_it() -> None:
    def work(reports):
        os.closerange(0, 3)
        reports.progress(0.5, "half")
        return "done"

    assert in_own_process(work, no_progress, 10.0) == "done"


def test_whose_words_they_are_is_said_once(capsys) -> None:
    def work(reports):
        print("outside")
        return in_own_process(lambda reports: print("inside"), no_progress, 10.0)

    in_own_process(work, no_progress, 10.0)
    assert capsys.readouterr().err.splitlines() == ["subject: outside", "subject: inside"]
