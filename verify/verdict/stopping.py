"""What a verification that is stopped leaves behind: what was found until then, and that it was stopped."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from accountant import Place
from verify.conduct.time_limit import TimeLimitReached, check_time_limit, time_limit
from verify.findings import Statement
from verify.verdict.evidence import Evidence

_HERE = Path(__file__).resolve().parent.parent
_LEAST = 1e-3  # seconds of a limit that is over already: a timer takes 0 for none


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
        with time_limit(max(limit - spent, _LEAST)):
            yield
    except TimeLimitReached as error:
        where = str(_place_of(error))
    except KeyboardInterrupt:
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
    except KeyboardInterrupt:
        evidence.interrupted()


def _place_of(stopped: TimeLimitReached) -> Place:
    """Return where it was: the last line outside of this package and of NumPy."""
    frames = traceback.extract_tb(stopped.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename).resolve()
        if _HERE not in path.parents and "numpy" not in path.parts:
            return Place(frame.filename, frame.lineno or 0)
    return Place(frames[-1].filename, frames[-1].lineno or 0)
