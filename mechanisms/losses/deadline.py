"""Deadlines for certified numbers: the answer is the best bound proved by then."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mechanisms.parameters import ParameterError, real

_END: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(Exception):
    """The deadline is over before any bound was proved."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the time for proved numbers in the block to so many seconds in all; infinity is no limit.

    Later answers are wider, and still proved: by bounds that are known by then, or that take no time: some passes over
    the different mechanisms, 30 µs for each that is sampled. Work is stopped between steps of some hundredths of a
    second. Of deadlines in one another the first counts; other threads have their
    own.

    Raises
    ------
    ParameterError
        If the seconds are not a number above 0.
    """
    limit = real("time_limit", seconds)
    if not limit > 0.0:
        raise ParameterError(f"time_limit = {seconds!r}: must be a number of seconds above 0")
    token = _END.set(min(_END.get(), time.monotonic() + limit))
    try:
        yield
    finally:
        _END.reset(token)


def time_is_over() -> bool:
    """Return True if the deadline has passed."""
    end = _END.get()
    return end < math.inf and time.monotonic() >= end


def check_time() -> None:
    """Raise `OutOfTime` if the deadline has passed."""
    if time_is_over():
        raise OutOfTime("the time limit is over")
