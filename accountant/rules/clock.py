"""What time it is, for limits on what is released in some days."""

from __future__ import annotations

import time

DAY = 86_400_000
"""Milliseconds."""


class ClockAhead(ValueError):
    """The clock is far ahead of the last charge: somebody has to say that so much time has really passed."""


def wall() -> int:
    """Return milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000


def running() -> int:
    """Return milliseconds by a clock that nobody can set, from a moment of its own."""
    return time.monotonic_ns() // 1_000_000


class ProcessClock:
    """The time since a process began to look, however the machine's clock is set meanwhile.

    Parameters
    ----------
    earliest
        It was not earlier then.
    """

    def __init__(self, earliest: int = 0) -> None:
        self._begun = max(wall(), earliest)
        self._since = running()

    def now(self) -> int:
        """Return milliseconds since 1970; never less than before."""
        return self._begun + running() - self._since
