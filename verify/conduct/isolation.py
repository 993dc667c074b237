"""A subject in a process of its own, so that it can neither end the verification nor influence the verdict.

A subject that ends its process (``os._exit``, a crash in C, memory that runs out) would end the verifier, too, with
an exit code of its choice; one that never returns from C to Python cannot be stopped by a signal; its output would
appear among the results. In a process of its own each is a finding or an input error, and its output is shown line by
line on standard error, made printable, while it runs.

The process returns data: one JSON object a line, of one of six kinds. No object is rebuilt from them, and a line that
cannot be understood is a finding. The caller checks and interprets the data.
"""

from __future__ import annotations

import functools
import json
import math
import multiprocessing
import os
import re
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_json
from verify.conduct.interrupts import count_interrupts
from verify.conduct.progress import Progress
from verify.findings.finding import Finding, Statement
from verify.findings.printable import printable
from verify.findings.subject_error import SubjectError, blamed_place, describe_error, describe_input_error

GRACE = 15.0
"""Seconds beyond the time limit after which a process that has not stopped itself is killed."""

_MOST_BYTES = 64 * 2**20
"""The largest number of bytes that a process may report, a hundred times the longest report."""

MOST_SHOWN = 2**20
"""The largest number of bytes of a process's standard output and error that are shown: some 10,000 lines."""

_POLL = 0.5  # seconds between two checks that it is still alive
_AT_ONCE = 2**16  # bytes
_PIPE = 200  # its number: subjects that close "all" files and open others get small ones
_LONGEST = 10_000  # characters of an error message, or of a traceback


class OwnFault(RuntimeError):
    """An error of dpwitness's own in another process; the traceback there is its note."""


@dataclass(frozen=True)
class Reports:
    """The reports that the work sends to the process that waits for it.

    Attributes
    ----------
    progress
        Reports the share of the work that is done.
    note
        Sends JSON data before the answer.
    """

    progress: Progress
    note: Callable[[Any], None]


def in_own_process(
    work: Callable[[Reports], Any],
    progress: Progress,
    seconds: float,
    *,
    noted: Callable[[Any], None] = lambda data: None,
    errors: Sequence[type[Exception]] = (),
) -> Any:
    """Return the JSON data that `work` returns in a process of its own; or a `Finding` if it left none.

    Where processes cannot be forked (Windows), it runs in this one. Ctrl-C reaches the other process, and its last
    report is waited for; a third one kills it. Its standard output and error are shown on standard error.

    Parameters
    ----------
    work
        Function that does the work, and returns JSON data; called with the receiver of its reports.
    progress
        Function that is called with the reported progress.
    seconds
        The time limit that `work` itself keeps; it is killed 15 seconds later, and at once if this process is.
    noted
        Function that is called with each note.
    errors
        Kinds of errors in its input, each made of one message, special ones first: they are raised here again.

    Raises
    ------
    Exception
        One of `errors` that `work` raised, with its message.
    OwnFault
        If `work` raised anything else.
    KeyboardInterrupt
        At the third Ctrl-C, or if `work` raised it.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return work(Reports(progress, noted))
    (reading, writing), (hearing, printing) = os.pipe(), os.pipe()
    context = multiprocessing.get_context("fork")
    ends = _Ends(reading, writing, hearing, printing)
    process = context.Process(target=_work_apart, args=(work, ends, tuple(errors)))
    received, heard = _Received(progress, noted, errors), _Heard()
    listened = [reading, hearing]
    with count_interrupts() as presses:
        process.start()
        os.close(writing)
        os.close(printing)
        assert process.pid is not None
        presses.first = functools.partial(_interrupt, process.pid)
        deadline = time.monotonic() + seconds + GRACE
        try:
            while time.monotonic() < deadline:
                # Checked before the pipes are read, so that the last bytes written are read too.
                alive = process.is_alive()
                ready = _readable(listened, _POLL if alive else 0.0)
                if hearing in ready:
                    if text := os.read(hearing, _AT_ONCE):
                        heard.take(text)
                    else:
                        listened.remove(hearing)  # it has closed its standard output and error
                if reading in ready:
                    part = os.read(reading, _AT_ONCE)
                    if not part:
                        process.join(_POLL)  # it is about to end
                        return _end_finding(process.exitcode)
                    if received.take(part):
                        return received.answer
                elif not alive:  # workers of its own may hold the pipes open longer than it lived
                    return _end_finding(process.exitcode)
        except _NotUnderstood as error:
            return Statement.ENDS_PROCESS.finding(how=f"reported unreadable data ({error})")
        except _Interrupted:
            if presses.pressed:
                raise KeyboardInterrupt from None
            raise SubjectError("the subject raised KeyboardInterrupt without Ctrl-C") from None
        finally:
            presses.report_follows()
            for kill, number in ((os.killpg, process.pid), (os.kill, process.pid)):
                with suppress(ProcessLookupError, PermissionError):
                    kill(number, signal.SIGKILL)
            process.join()
            if _readable([hearing], 0.0):
                heard.take(os.read(hearing, _AT_ONCE))  # all that fits into a pipe
            heard.end()
            os.close(reading)
            os.close(hearing)
    return Statement.KILLED.finding(grace=GRACE, seconds=seconds)


def found_apart(name: str, find: Callable[[Progress], Any], progress: Progress) -> Any:
    """Return the JSON data that are found of a user's code in a process of its own; see `in_own_process`.

    Raises
    ------
    SubjectError
        If that process left none; the message names the code.
    """
    data = in_own_process(
        lambda reports: find(reports.progress),
        progress,
        math.inf,
        errors=(SubjectError, ValueError, OSError),
    )
    if isinstance(data, Finding):
        raise SubjectError(f"{name}: {data.message}")
    return data


@dataclass(frozen=True)
class _Ends:
    """The file descriptors of two pipes: one for reports, one for standard output and error."""

    reading: int
    writing: int
    hearing: int
    printing: int


def _readable(pipes: Sequence[int], seconds: float) -> set[int]:
    """Return the pipes of which something, or their end, can be read at once, or will be in `seconds` seconds."""
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    return {pipe for pipe, _ in poll.poll(1000.0 * seconds)}


def _interrupt(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGINT)


def _end_finding(code: int | None) -> Finding:
    if code is None:
        how = "closed its channel for reports"
    elif code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    else:
        how = f"ended itself with exit status {code}"
    return Statement.ENDS_PROCESS.finding(how=how)


class _NotUnderstood(ValueError):
    """Data of the other process that are no message of a known kind, or too many."""


class _Interrupted(Exception):
    """The work was ended by a `KeyboardInterrupt`."""


class _Heard:
    """Text that the other process wrote to standard output and error, shown here line by line."""

    def __init__(self) -> None:
        self._left = MOST_SHOWN
        self._line = b""
        self._whose = "" if multiprocessing.parent_process() else "subject: "  # added by the first process

    def take(self, text: bytes) -> None:
        """Show the lines that are complete."""
        *lines, self._line = re.split(rb"[\r\n]+", self._line + text)
        if len(self._line) > _AT_ONCE:
            lines, self._line = [*lines, self._line], b""
        for line in filter(None, lines):
            self._show(line)

    def end(self) -> None:
        """Show the last line, which has no end of line."""
        self.take(b"\n")

    def _show(self, line: bytes) -> None:
        if self._left <= 0 or sys.stderr is None:
            return
        self._left -= len(line)
        shown = printable(line.decode(errors="backslashreplace"))
        print(f"{self._whose}{shown if self._left > 0 else '(more is not shown)'}", file=sys.stderr)


class _Received:
    """The messages received from the other process.

    Attributes
    ----------
    answer
        The data that `work` returned there, once `take` has returned True.
    """

    def __init__(
        self, progress: Progress, noted: Callable[[Any], None], errors: Sequence[type[Exception]]
    ) -> None:
        self.answer: Any = None
        self._progress = progress
        self._noted = noted
        self._errors = {error.__name__: error for error in errors}
        self._line = bytearray()
        self._bytes = 0

    def take(self, part: bytes) -> bool:
        """Read some bytes; return True if they complete the answer."""
        self._bytes += len(part)
        if self._bytes > _MOST_BYTES:
            raise _NotUnderstood(f"more than {_MOST_BYTES:,} bytes")
        first, *others = part.split(b"\n")
        self._line += first
        for next_one in others:
            whole, self._line = bytes(self._line), bytearray(next_one)
            if self._handle_message(whole):
                return True
        return False

    def _handle_message(self, line: bytes) -> bool:
        """Act on one message; return True if it is the answer."""
        try:
            said = from_json(line.decode("ascii"))
        except (UnicodeDecodeError, DataFileError) as error:
            raise _NotUnderstood(str(error)) from None
        match said:
            case {"progress": [int() | float() as share, str() as doing], **more} if not more:
                self._progress(min(max(float(share), 0.0), 1.0), doing)
            case {"note": data, **more} if not more:
                self._noted(data)
            case {"answer": data, **more} if not more:
                self.answer = data
                return True
            case {"error": [str() as kind, str() as message], **more} if not more and kind in self._errors:
                raise self._errors[kind](message)
            case {"fault": [str() as message, str() as trace], **more} if not more:
                fault = OwnFault(message)
                fault.add_note(trace)
                raise fault
            case {"interrupted": True, **more} if not more:
                raise _Interrupted
            case {"ended": str() as how, **more} if not more:
                self.answer = Statement.ENDS_PROCESS.finding(how=how)
                return True
            case _:
                raise _NotUnderstood("no message of a known kind")
        return False


class _PipeReports:
    """Reports to the process that waits, one line each."""

    def __init__(self, pipe: int) -> None:
        import fcntl  # as only systems that fork have it

        with suppress(OSError):  # few file numbers are allowed
            pipe, small = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, _PIPE), pipe
            os.close(small)
        self._pipe = pipe
        self._known = _identity(pipe)
        self._process = os.getpid()

    def progress(self, share: float, doing: str) -> None:
        if os.getpid() == self._process and math.isfinite(share):  # else a copy that the subject has forked
            self._write({"progress": [float(share), doing]})

    def note(self, data: Any) -> None:
        self.send({"note": data})

    def send(self, message: dict[str, Any]) -> None:
        """Send a message of this process; a copy of it that the subject has forked ends here."""
        if os.getpid() != self._process:
            os._exit(1)
        self._write(message)

    def _write(self, message: dict[str, Any]) -> None:
        left = memoryview(json.dumps(message, allow_nan=False).encode("ascii") + b"\n")
        masked = threading.current_thread() is threading.main_thread()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM}) if masked else None
        try:
            if _identity(self._pipe) != self._known:
                os._exit(1)  # the subject has closed it, and its number may be that of a file
            while left:
                left = left[os.write(self._pipe, left) :]
        except OSError:
            os._exit(1)  # no process reads the pipe any more
        finally:
            if before is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _identity(file: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _work_apart(work: Callable[[Reports], Any], ends: _Ends, errors: tuple[type[Exception], ...]) -> None:
    """Do the work in the new process, which leads a group of its own: its workers can be killed with it."""
    os.setpgid(0, 0)
    _die_first()
    _die_with_waiting_process()
    os.close(ends.reading)
    os.close(ends.hearing)
    reports = _PipeReports(ends.writing)
    _redirect_standard_streams(ends.printing)
    try:
        message = {"answer": work(Reports(reports.progress, reports.note))}
    except KeyboardInterrupt:
        message = {"interrupted": True}
    except MemoryError:
        message = {"ended": "ran out of memory"}
    except errors as error:
        kind = next(kind.__name__ for kind in errors if isinstance(error, kind))
        message = {"error": [kind, _cut(describe_input_error(error))]}
    except Exception as error:
        said = f"{_cut(describe_error(error))} (at {blamed_place(error)})"
        message = {"fault": [said, traceback.format_exc()[-_LONGEST:]]}
    except BaseException as error:  # no error of ours: SystemExit, or a class of the subject's
        said = _cut(f"was asked to end by {describe_error(error)}")
        message = {"ended": f"{said} (at {blamed_place(error)})"}
    reports.send(message)


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def _redirect_standard_streams(printing: int) -> None:
    """Send all writes to standard output and error, those from C too, to the waiting process.

    Standard output is the report's alone, and the output of a subject is shown as its own.
    """
    for number in (1, 2):
        os.dup2(printing, number)
    if printing > 2:
        os.close(printing)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr


def _die_with_waiting_process() -> None:
    """End this process and its workers when the waiting process ends: a subject may loop for ever."""
    waits = multiprocessing.parent_process()
    assert waits is not None

    def watch(sentinel: int) -> None:
        connection.wait([sentinel])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, args=(waits.sentinel,), daemon=True).start()


def _die_first() -> None:
    """Ask Linux to end this process, before any other, where memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
