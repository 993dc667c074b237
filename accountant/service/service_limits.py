"""Limits of a service: sizes, times, and requests a second."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields

from accountant.ledger.quote import LONGEST
from mechanisms.parameters import ParameterError

SHORTEST = 0.001
"""Seconds that a reservation of a service lasts at least."""


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of a service.

    Attributes
    ----------
    max_body
        Bytes of a request's body.
    timeout
        Seconds from the first byte of a request to its answer. A charge that takes longer may be made all the same:
        asked again with the same request key, it is charged once.
    requests_per_second
        Requests a second, for each key, and for all requests together that lack a needed one.
    at_once, each_at_once
        Requests in work at one time, from the beginning of their bodies on: of all, and of one key.
    connections
        Open connections; one more replaces one without a request in work.
    records, numbers
        Records of one release, and numbers of all of its records' values together.
    repeated
        Draws of a `Repeated` mechanism.
    reservation
        The most seconds that a reservation waits for its values, and the default.
    open_tickets
        Actions of a run that wait for their feedback; for one more, the oldest are withdrawn of the key that has most.
    """

    max_body: int = 1 << 20
    timeout: float = 30.0
    requests_per_second: float = 1_000.0
    at_once: int = 256
    each_at_once: int = 128
    connections: int = 256
    records: int = 10_000
    numbers: int = 200_000
    repeated: int = 1_000
    reservation: float = 86_400.0
    open_tickets: int = 10_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ParameterError(f"{field.name} = {getattr(self, field.name)!r}: must be positive")
        if not SHORTEST <= self.reservation <= LONGEST:
            raise ParameterError(
                f"reservation = {self.reservation!r}: must be seconds from {SHORTEST:g} to {LONGEST:g}"
            )


class Places:
    """A limit on requests at one time: of all, and of each name.

    Parameters
    ----------
    most, each
        The limit for all, and for each name.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._counting = threading.Lock()
        self._taken: Counter[str | None] = Counter()

    def take(self, name: str | None) -> Callable[[], None] | None:
        """Take a place, and return a function that gives it back once; None if no place is free."""
        with self._counting:
            if self._taken.total() >= self._most or self._taken[name] >= self._each:
                return None
            self._taken[name] += 1
        once = threading.Lock()

        def end() -> None:
            if once.acquire(blocking=False):
                with self._counting:
                    self._taken[name] -= 1

        return end


class Rate:
    """A limit on requests a second for each name, with twice as many at once.

    Parameters
    ----------
    limit
        Requests a second.
    clock
        Function that returns seconds.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._counting = threading.Lock()
        self._free: dict[str | None, tuple[float, float]] = {}  # the free number, and its time

    def admits(self, name: str | None) -> bool:
        """Return True if one more request may come now, and count it; names are few: those of keys."""
        most = max(1.0, 2.0 * self._limit)
        with self._counting:
            now = self._clock()
            free, since = self._free.get(name, (most, now))
            free = min(most, free + (now - since) * self._limit)
            admitted = free >= 1.0
            self._free[name] = (free - 1.0 if admitted else free, now)
            return admitted
