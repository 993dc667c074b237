"""Commands to a ledger, and the events that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from accountant.filters.units import Vector
from accountant.ledger.entry import Entry
from accountant.rules.rule import Rule
from accountant.rules.scope import ANY, Scope

# --- commands -----------------------------------------------------------------------------------------


class Now(NamedTuple):
    """The time of a command.

    Attributes
    ----------
    at
        Milliseconds since 1970.
    witnessed
        The part of the time since the last event that was measured by a clock that cannot be set; None for all of it.
    """

    at: int
    witnessed: int | None = None


class Charge(NamedTuple):
    """Entries to be charged together, all or none.

    Attributes
    ----------
    entries
        The records to charge, with their prices.
    holds
        Test of a total: True if it is within the budget.
    hold
        True for a reservation: only that may be given back, and nothing is drawn before it is settled.
    request
        A key of the caller's: of all charges with one key, in any process, only one is made. A charge that is no
        reservation, with the key of an open reservation, makes that one final.
    scope
        The purpose of the charge, and the tenant that learns the output.
    lasts
        Milliseconds after which the ledger itself gives back a reservation that was not drawn, at the next charge or
        settlement by any caller; None for never.
    """

    entries: Sequence[Entry]
    holds: Callable[[Vector], bool]
    hold: bool = False
    request: str | None = None
    scope: Scope = ANY
    lasts: int | None = None


class Settle(NamedTuple):
    """A reservation to be drawn, or given back."""

    position: int
    returned: bool


class KeepAnswer(NamedTuple):
    """The answer to a request, kept unless another answer is."""

    request: str
    answer: bytes


LedgerCommand = Charge | Settle | KeepAnswer

# --- events -------------------------------------------------------------------------------------------


class Charged(NamedTuple):
    """Entries that were charged together.

    Attributes
    ----------
    position
        The number of this charge, from 1.
    entries
        The records that paid, with their prices.
    reserved
        True if they were a reservation when they were charged.
    request
        The caller's key, if there is one.
    scope
        The purpose and tenant of the charge.
    at
        Its time, if a rule depends on time, or the reservation has a deadline.
    drift
        The largest unnoticed advance of the clock by then, in milliseconds.
    until
        The deadline of a reservation: from then on it is given back, and never drawn.
    """

    position: int
    entries: tuple[Entry, ...]
    reserved: bool = False
    request: str | None = None
    scope: Scope = ANY
    at: int | None = None
    drift: int = 0
    until: int | None = None


class Settlement(NamedTuple):
    """A reservation that was drawn, or given back; when, and by a clock that has drifted so far."""

    position: int
    returned: bool
    at: int | None = None
    drift: int = 0


class DrawnAgain(NamedTuple):
    """A request that was charged and never answered, drawn on a later day; when, by a clock that drifted so far."""

    request: str
    at: int
    drift: int = 0


class Answered(NamedTuple):
    """A request that was answered.

    Attributes
    ----------
    request
        Its key.
    digest
        The SHA-256 of the answer: of one that was erased it is known that there was one.
    answer
        The answer; None if it was erased.
    """

    request: str
    digest: str
    answer: bytes | None = None


class Ruled(NamedTuple):
    """Limits beside the budget, in force from here on, with their author, reason, time and clock."""

    rules: tuple[Rule, ...]
    by: str
    reason: str
    at: int
    drift: int = 0


class ClockConfirmed(NamedTuple):
    """A statement that the clock is right, however far it is ahead of the last event; it has not drifted then."""

    at: int
    by: str
    reason: str


LedgerEvent = Charged | Settlement | Answered | DrawnAgain | Ruled | ClockConfirmed
