"""Deadlines for certified bounds: when the time is over, the answer is the best bound proved so far."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mechanisms.parameters import ParameterError, real

_END: ContextVar[tuple[float, float]] = ContextVar("deadline", default=(math.inf, math.inf))
"""The time at which it is over, and its length in seconds."""
GRACE = 1.0
"""Seconds after a deadline in which a bound that takes little work may still be proved."""


class OutOfTime(Exception):
    """The deadline is over before any bound was proved."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the total time for proved numbers in the block to `seconds`; infinity is no limit.

    After it answers are wider, and still proved: by bounds that are known by then, or that take little time, such as
    some passes over the different mechanisms. These get one more second; then a missing bound counts as infinite. Work
    is stopped between steps of some hundredths of a second. Of nested deadlines the first counts; other threads have
    their own.

    Raises
    ------
    ParameterError
        If the seconds are not a number above 0.
    """
    limit = real("time_limit", seconds)
    if not limit > 0.0:
        raise ParameterError(f"time_limit = {seconds!r}: must be a number of seconds above 0")
    token = _END.set(min(_END.get(), (time.monotonic() + limit, limit)))
    try:
        yield
    finally:
        _END.reset(token)


def time_is_over(grace: float = 0.0) -> bool:
    """Return True if the deadline has passed, `grace` seconds ago or earlier."""
    end = _END.get()[0] + grace
    return end < math.inf and time.monotonic() >= end


def check_time(grace: float = 0.0) -> None:
    """Raise `OutOfTime` if the deadline has passed, `grace` seconds ago or earlier."""
    if time_is_over(grace):
        raise OutOfTime(f"{time_limit_text()} is over")


def time_limit_text() -> str:
    """Return the deadline that counts as words: "the time limit of 60 s"."""
    return f"the time limit of {_END.get()[1]:g} s"
