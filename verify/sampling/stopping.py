"""Verifications that are stopped by time or Ctrl-C: earlier findings are kept, and the stop is one more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from verify.conduct.interrupts import Stop
from verify.conduct.time_limit import TimeLimitReached, check_time_limit, time_limit
from verify.findings.finding import Statement
from verify.findings.subject_error import failing_place
from verify.sampling.evidence import Evidence


@contextmanager
def stopped_in_time(evidence: Evidence, seconds: float, spent: float = 0.0) -> Iterator[None]:
    """End the block after `seconds` or at Ctrl-C, and add a finding on that.

    A layer that has a valid result when it is stopped returns it, and ends by itself. Of the seconds, `spent` were over
    before.

    Raises
    ------
    ParameterError
        If `seconds` is not a number above 0.
    """
    limit, start, where = check_time_limit(seconds), time.monotonic() - spent, ""
    try:
        with time_limit(limit - spent):
            yield
    except TimeLimitReached as error:
        where = str(failing_place(error))
    except Stop:
        evidence.details["interrupted"] = True
        evidence.findings.append(Statement.STOPPED_EARLY.finding())
    if time.monotonic() - start >= limit:
        evidence.findings.append(Statement.TIME_LIMIT.finding(where, seconds=limit))


@contextmanager
def stopped_by_hand(evidence: Evidence) -> Iterator[None]:
    """End the block at Ctrl-C, and add a finding on that: for black-box tests, the last layer.

    A time limit passes through.
    """
    try:
        yield
    except TimeLimitReached:
        raise
    except Stop:
        evidence.note_interruption()
