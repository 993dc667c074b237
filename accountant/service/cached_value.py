"""Cached values: the longer one takes to compute, the more rarely it is computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_QUICK = 0.2
"""Seconds: a value that takes no longer is read each time."""


class CachedValue(Generic[T]):
    """A cached value for all callers: reading it takes a tenth of the time at most, as a slow reading serves longer.

    Or, with `lasts`, it is read at most once in so many seconds.

    Parameters
    ----------
    read
        Reads the value; one call at a time.
    clock
        Function that returns seconds.
    lasts
        Seconds for which a reading serves, however long it took; None for a time that depends on that.
    """

    def __init__(
        self,
        read: Callable[[], T],
        clock: Callable[[], float] = time.monotonic,
        lasts: float | None = None,
    ) -> None:
        self._read = read
        self._clock = clock
        self._lasts = lasts
        self._reading = threading.Lock()
        self._found: tuple[T, float] | None = None  # and the end of its service

    def get(self) -> T:
        """Return the current value, or one no older than the class permits."""
        with self._reading:
            began = self._clock()
            if self._found is None or began >= self._found[1]:
                self._found = None
                found, ended = self._read(), self._clock()
                took = ended - began
                lasts = (10 * took if took > _QUICK else 0.0) if self._lasts is None else self._lasts
                self._found = found, ended + lasts
            return self._found[0]
