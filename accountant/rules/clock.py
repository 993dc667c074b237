"""Clocks for rules that limit the releases of a number of days."""

from __future__ import annotations

import functools
import time
from pathlib import Path

from mechanisms.parameters import DPWitnessError

DAY = 86_400_000
"""The length of a day in milliseconds."""


class ClockAhead(DPWitnessError, ValueError):
    """The clock is far ahead of the last charge: an operator has to confirm that so much time has really passed."""


def wall() -> int:
    """Return milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000


def running() -> int:
    """Return milliseconds of a monotonic clock, from an arbitrary start; on Linux it also counts suspension."""
    found = time.monotonic_ns() if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME)
    return found // 1_000_000


_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


@functools.cache
def _boot() -> str:
    """Return the boot identifier of this machine; processes of one boot share one running clock; "" if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


class RunningClock:
    """The running clock of this machine, which cannot be set, and its offset behind a ledger's clock.

    The processes of a machine share it until the machine is started again, and note their offsets in the ledger.
    """

    def __init__(self) -> None:
        self._behind: int | None = None

    def note_entry(self, text: str | None, at: int) -> None:
        """Take account of the time of the last entry, and of the clock state that another process noted there."""
        boot, _, behind = (text or "").rpartition(" ")
        known = [at - running()] if self._behind is None else [self._behind, at - running()]
        if boot and boot == _boot():
            known.append(int(behind))
        self._behind = max(known)

    def elapsed_since(self, at: int) -> int:
        """Return how much time has been seen to pass since then."""
        assert self._behind is not None
        return max(0, running() + self._behind - at)

    def text(self) -> str | None:
        """Return the state of the clock as text for the ledger; None without a boot id or before the first entry."""
        return f"{_boot()} {self._behind}" if _boot() and self._behind is not None else None


class ProcessClock:
    """A clock that starts at the machine's time and runs on by itself, even if the machine's clock is set.

    Parameters
    ----------
    earliest
        A lower bound on the time of its start, in milliseconds since 1970.
    """

    def __init__(self, earliest: int = 0) -> None:
        self._begun = max(wall(), earliest)
        self._since = running()

    def milliseconds(self) -> int:
        """Return milliseconds since 1970; never less than before."""
        return self._begun + running() - self._since
