"""A time limit on code that may never return."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mechanisms.parameters import ParameterError, real
from verify.conduct.interrupts import Stop

SECONDS = 600.0
"""The default time limit of one verification."""

_LONGEST = 1e8  # seconds, three years: more is no limit, and beyond a timer's range
_LEAST = 1e-3  # of a limit that is over already: a timer takes 0 for none
_AGAIN = 0.5  # seconds after which a limit that was swallowed by a bare `except:` is raised again


class TimeLimitReached(Stop):
    """Code ran longer than it may.

    It is no `Exception`, so that code under test that catches these does not swallow it, and a test that survives
    Ctrl-C with a partial result does the same here.
    """


def check_time_limit(seconds: float) -> float:
    """Return a time limit in seconds, infinity for none.

    Raises
    ------
    ParameterError
        If it is not a number above 0.
    """
    value = real("time_limit", seconds)
    if not value > 0.0:
        raise ParameterError(f"time_limit = {seconds!r}: must be a number of seconds above 0")
    return value


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitReached` in the block once `seconds` of wall-clock time are over, at once if they are already.

    Limits may be nested: the inner one takes nothing from the outer one, which holds even if the inner is longer.
    Outside the main thread, and on systems without SIGALRM, there is no limit: a signal reaches the main thread only.
    Code that never returns from C to Python is stopped as soon as it does return.
    """
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not can or seconds > _LONGEST:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeLimitReached(f"stopped after {seconds:g} s")

    outer, began = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(min(seconds, outer or math.inf), _LEAST), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            spent = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(outer - spent, _LEAST), _AGAIN)
