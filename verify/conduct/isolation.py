"""Running a verification in a process of its own, so that a subject can take nothing down but itself.

A subject that ends its process (``os._exit``, a crash in C, memory that runs out) would end the verifier, too; one
that never returns from C to Python cannot be stopped by a signal. In a process of its own either is a finding.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from verify.conduct.interrupts import interrupts
from verify.conduct.progress import Progress
from verify.findings import Finding, Statement
from verify.subject_error import SubjectError

Result = TypeVar("Result")

GRACE = 15.0
"""Seconds beyond the time limit after which a process that has not stopped itself is killed."""

_POLL = 0.5  # seconds between two looks whether it is still alive


def in_own_process(
    work: Callable[[Progress], Result], progress: Progress, seconds: float
) -> Result | Finding:
    """Return what `work` returns in a process of its own; or, if it ended or had to be killed, that it did.

    Where processes cannot be forked (Windows), it runs in this one. Ctrl-C reaches the other process, and what it
    leaves is waited for; a third one kills it.

    Parameters
    ----------
    work
        Called with a function to report progress to. What it returns must be picklable.
    progress
        Called with the progress reported.
    seconds
        The time limit that `work` itself keeps; it is killed 15 seconds later.

    Raises
    ------
    Exception
        What `work` raised, or a `SubjectError` that says it, if it is not picklable.
    KeyboardInterrupt
        At the third Ctrl-C, or if `work` raised it.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return work(progress)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(work, theirs))
    with interrupts() as presses:
        process.start()
        theirs.close()
        assert process.pid is not None
        presses.first = functools.partial(_interrupt, process.pid)
        deadline = time.monotonic() + seconds + GRACE
        try:
            while time.monotonic() < deadline:
                try:
                    alive = (
                        process.is_alive()
                    )  # asked before the pipe: what was sent last is read in any case
                    if ours.poll(_POLL if alive else 0.0):
                        kind, content = ours.recv()
                        if kind == "progress":
                            progress(*content)
                        elif kind == "raised":
                            raise content
                        else:
                            result: Result = content
                            return result
                    elif not alive:  # workers of its own hold the pipe open longer than it lived
                        return _ended(process.exitcode or 0)
                except EOFError:
                    process.join(_POLL)  # it is about to end
                    if not process.is_alive():
                        return _ended(process.exitcode or 0)
        finally:
            presses.report_follows()
            for kill, number in ((os.killpg, process.pid), (os.kill, process.pid)):
                with suppress(ProcessLookupError, PermissionError):
                    kill(number, signal.SIGKILL)
            process.join()
            ours.close()
    return Statement.KILLED.finding(grace=GRACE, seconds=seconds)


def _interrupt(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGINT)


def _report(work: Callable[[Progress], Any], there: Connection) -> None:
    """Do the work in the new process, which leads a group of its own: its workers can be killed with it."""
    os.setpgid(0, 0)

    def progress(share: float, doing: str) -> None:
        there.send(("progress", (share, doing)))

    try:
        message = ("returned", work(progress))
        there.send(message)
    except BaseException as error:  # whatever it is, it is raised again in the other process
        there.send(("raised", _picklable(error)))


def _picklable(error: BaseException) -> BaseException:
    with suppress(Exception):
        again = pickle.loads(pickle.dumps(error))
        if type(again) is type(error) and str(again) == str(error):
            return error
    return SubjectError(f"{type(error).__name__}: {error}")


def _ended(code: int) -> Finding:
    how = (
        f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended itself with exit status {code}"
    )
    return Statement.ENDS_PROCESS.finding(how=how)
