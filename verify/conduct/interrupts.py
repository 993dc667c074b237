"""Ctrl-C during a verification: the first one stops it, and only the third loses its report."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = 3  # a double press is common, and must not lose the report; a third press ends it


class Stop(KeyboardInterrupt):
    """A stop of the work, by Ctrl-C or by a limit."""


def subject_exceptions() -> tuple[type[BaseException], ...]:
    """Return the classes of exceptions that an ``except`` around code under test catches: all, unless it was stopped.

    While presses of Ctrl-C are counted, a `KeyboardInterrupt` that is no `Stop` is the code's own. Otherwise Python's
    handler may have raised it.
    """
    uncounted = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    stopped = isinstance(sys.exc_info()[1], KeyboardInterrupt if uncounted else Stop)
    return () if stopped else (BaseException,)


class _Interrupts:
    """The presses of Ctrl-C while a verification runs and its report is made.

    Attributes
    ----------
    first
        Done at the first press; it raises `Stop`, unless another process does the work. The second press does nothing,
        the third raises `Stop`.
    """

    def __init__(self) -> None:
        self.first: Callable[[], None] = _stop
        self._presses = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Count a press: this is the handler of the signal."""
        self._presses += 1
        if self._presses == 1:
            self.first()
        elif self._presses >= _ENDING:
            raise Stop

    @property
    def pressed(self) -> bool:
        """True if Ctrl-C was pressed."""
        return self._presses > 0

    def report_follows(self) -> None:
        """Ignore a first press from here on, as only the report is left."""
        self.first = lambda: None


@contextmanager
def count_interrupts() -> Iterator[_Interrupts]:
    """Count Ctrl-C in the block; an inner block counts on with the outer one's.

    Outside the main thread, and where Ctrl-C is ignored, as in the background of a shell, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if isinstance(before, _Interrupts):
        yield before
        return
    counted = _Interrupts()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if before in (signal.SIG_IGN, None) or not in_main_thread:
        yield counted
        return
    signal.signal(signal.SIGINT, counted)
    try:
        yield counted
    finally:
        signal.signal(signal.SIGINT, before)


def _stop() -> None:
    raise Stop
