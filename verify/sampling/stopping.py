"""What a verification that is stopped leaves behind: what was found until then, and that it was stopped."""

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
    """End the block after `seconds` or at Ctrl-C, and say so among the findings.

    A layer that has something valid to say when it is stopped says it, and ends by itself. Of the seconds, `spent` were
    over before.

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
        where = str(failing_place(error, own=("verify", "numpy")))
    except Stop:
        evidence.details["interrupted"] = True
        evidence.findings.append(Statement.STOPPED_EARLY.finding())
    if time.monotonic() - start >= limit:
        evidence.findings.append(Statement.TIME_LIMIT.finding(where, seconds=limit))


@contextmanager
def stopped_by_hand(evidence: Evidence) -> Iterator[None]:
    """End the block at Ctrl-C and remark on it: for black-box tests, after which no check is left to be done.

    A time limit passes through.
    """
    try:
        yield
    except TimeLimitReached:
        raise
    except Stop:
        evidence.note_interruption()
