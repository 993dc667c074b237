"""A ledger as a fold: what is asked leads to events or a refusal, and events change the state.

`decide` and `apply` are the only places that say what a ledger does. They touch nothing but a `State`: the ledger in
memory has one of dictionaries, a transaction of a database has one that is filled with the rows that commands name and
written at its end, and whoever verifies entries decides each of them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from accountant.filters.units import Units, Vector, minus
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.events import (
    Answered,
    Charge,
    Charged,
    DrawnAgain,
    LedgerCommand,
    LedgerEvent,
    Now,
    Ruled,
    Settle,
    Settlement,
)
from accountant.ledger.store import AnswerErased, CannotPay, KeyUsed, Receipt, Settled
from accountant.recorded import describe
from accountant.rules.limits import Limits, Row
from accountant.rules.scope import Scope


class Account(NamedTuple):
    """The payments of a record.

    Attributes
    ----------
    spent
        In all, what is reserved included.
    times
        In how many charges.
    counted
        What each rule counts of it; empty for what it counts of who has paid nothing.
    """

    spent: Vector
    times: int = 0
    counted: Row = ()


class Request(NamedTuple):
    """The charge of a caller's key.

    Attributes
    ----------
    position
        Where it stands.
    stamp
        When what it is answered was charged, or drawn later, if a rule looks at the time.
    digest
        Of its answer; None if there was none.
    answer
        Its answer; None if there was none, or it was erased.
    """

    position: int
    stamp: int | None
    digest: str | None = None
    answer: bytes | None = None


class State:
    """The state after events, in dictionaries; a storage that has more than fits them overrides how it is looked up.

    Parameters
    ----------
    units
        The theorem's.

    Attributes
    ----------
    accounts
        By record, or what the storage calls it.
    reservations
        ``"reserved"``, ``"drawn"`` or ``"returned"``, by where they were charged.
    requests
        By their keys.
    named
        Charges that later events may name: of reservations and of requests, by position.
    limits
        The rules in force; None without.
    clock, drift
        The time of the last event, where a rule looks at it, and by how much it may have run ahead unseen.
    """

    def __init__(self, units: Units) -> None:
        self.count_in(units)
        self.accounts: dict[RecordId, Account] = {}
        self.reservations: dict[int, str] = {}
        self.requests: dict[str, Request] = {}
        self.named: dict[int, Charged] = {}
        self.limits: Limits | None = None
        self.clock = 0
        self.drift = 0

    def count_in(self, units: Units) -> None:
        """Count in the units of a theorem, before anything happens."""
        self.units = units
        self._none = Account(units.zero)

    def account(self, record: RecordId) -> Account:
        """Return an account."""
        return self.accounts.get(record, self._none)

    def put(self, record: RecordId, account: Account) -> None:
        """Change an account."""
        self.accounts[record] = account

    def reservation(self, position: int) -> str | None:
        """Return the outcome of a reservation; None if none was made there."""
        return self.reservations.get(position)

    def set_reservation(self, position: int, state: str) -> None:
        """Change a reservation, or make it."""
        self.reservations[position] = state

    def request(self, key: str) -> Request | None:
        """Return a request."""
        return self.requests.get(key)

    def set_request(self, key: str, request: Request) -> None:
        """Change a request, or make it."""
        self.requests[key] = request

    def charge_at(self, position: int) -> Charged:
        """Return the charge of a reservation, or a request."""
        return self.named[position]

    def name(self, charged: Charged) -> None:
        """Keep a charge that later events may name."""
        self.named[charged.position] = charged

    def next_position(self) -> int:
        """Return the position of the next charge; 0 if the storage assigns it when it is written."""
        return 0

    def happens(self, event: LedgerEvent) -> None:
        """Keep an event: from here on it has happened, also for a caller that is interrupted now (Ctrl-C)."""

    def set_rules(self, ruled: Ruled) -> None:
        """Put rules in force; the storage, which has the earlier charges, finds their counts."""
        self.limits = Limits(ruled.rules, self.units) if ruled.rules else None

    def counted(self, record: RecordId) -> Row:
        """Return the counts of the rules for a record."""
        assert self.limits is not None
        return self.account(record).counted or self.limits.zero

    def count(self, entry: Entry, counting: Sequence[int], at: int, held: int | None = None) -> None:
        """Let rules count a charge; one that is reserved at a position counts until it is settled."""
        limits, price = self.limits, self.units.price(entry.charge)
        assert limits is not None
        for record in entry.records:
            row = self.counted(record)
            row = (
                limits.with_charge(record, row, price, counting, at)
                if held is None
                else limits.with_reservation(record, row, price, counting, held)
            )
            self.put(record, self.account(record)._replace(counted=row))


# --- deciding -------------------------------------------------------------------------------------------


def decide(state: State, command: LedgerCommand, now: Now | None) -> Receipt:
    """Return the event that a command leads to, and its receipt; nothing has happened yet.

    A storage that numbers charges when they are written says later where one stands.

    Raises
    ------
    CannotPay, NotPermitted, ClockAhead, KeyUsed, Settled, AnswerErased
        If it is refused; see `Store`.
    """
    if isinstance(command, Charge):
        earlier = None if command.request is None else state.request(command.request)
        if earlier is not None:
            return _repeated(state, command, earlier, now)
        refused = first_refused(state, command, now)
        if refused is not None:
            raise refused
        at, drift = stamp(state, now)
        entries, position = tuple(command.entries), state.next_position()
        event = Charged(position, entries, command.hold, command.request, command.scope, at, drift)
        return Receipt(position, events=(event,))
    if isinstance(command, Settle):
        became = state.reservation(command.position)
        if became != "reserved":
            raise Settled(
                f"reservation {command.position} was drawn or given back before, or never made",
                returned=became == "returned",
            )
        return Receipt(command.position, events=(Settlement(*command, *stamp(state, now)),))
    request = state.request(command.request)
    if request is None:
        raise KeyUsed(f"request={command.request!r}: nothing was charged by this key")
    if request.digest is None:
        digest = hashlib.sha256(command.answer).hexdigest()
        answered = Answered(command.request, digest, command.answer)
        return Receipt(request.position, True, command.answer, (answered,))
    return Receipt(request.position, True, _kept(command.request, request))


def stamp(state: State, now: Now | None) -> tuple[int | None, int]:
    """Return the stamp of an event, and the clock's drift; where a rule needs the time, it never goes back."""
    if now is None:
        return None, state.drift
    limits = state.limits
    if limits is None or not limits.windows:
        return now.at, state.drift
    at = max(now.at, state.clock)
    witnessed = at - state.clock if now.witnessed is None else now.witnessed
    return at, limits.drift(state.drift, state.clock, at, witnessed)


def _kept(key: str, request: Request) -> bytes | None:
    """Return what a request was answered; None if it was not."""
    if request.digest is not None and request.answer is None:
        raise AnswerErased(
            f"request={key!r}: was answered, and the answer is gone: it is not drawn anew, which would be another "
            "answer for the same charge; another release needs a key of its own"
        )
    return request.answer


def _repeated(state: State, command: Charge, earlier: Request, now: Now | None) -> Receipt:
    """Decide on a charge with the key of an earlier one."""
    key, position = command.request, earlier.position
    charged, became = state.charge_at(position), state.reservation(position)
    assert key is not None
    if charged.scope != command.scope or _release(charged.entries) != _release(command.entries):
        raise KeyUsed(
            f"request={key!r}: this key was used for another release; a retry must be of the same mechanism and "
            "records, and another release needs a key of its own"
        )
    if became == "returned":
        raise Settled(
            f"request={key!r}: reservation {position} was given back; another one needs a key of its own",
            returned=True,
        )
    if command.hold and became is None:
        raise KeyUsed(
            f"request={key!r}: this key was used for a release; a reservation needs a key of its own"
        )
    answer = _kept(key, earlier)
    if command.hold:
        return Receipt(position, True, answer)
    if became == "reserved":
        return Receipt(position, True, answer, (Settlement(position, False, *stamp(state, now)),))
    if answer is None and _is_stale(state, earlier, now):
        refused = _no_room(state, charged.entries, charged.scope, now, windows_only=True)
        if refused is not None:
            raise refused
        at, drift = stamp(state, now)
        assert at is not None
        return Receipt(position, True, None, (DrawnAgain(key, at, drift),))
    return Receipt(position, True, answer)


def _is_stale(state: State, request: Request, now: Now | None) -> bool:
    """True if a request was charged on an earlier day than it is drawn, and a rule counts days."""
    limits = state.limits
    if limits is None or not limits.windows or now is None:
        return False
    return limits.stale(request.stamp or 0, max(now.at, state.clock))


def _release(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return what makes two charges the same release: a retry may come from another line."""
    return [
        (
            None if entry.mechanism is None else describe(entry.mechanism),
            entry.sensitivity,
            entry.charge.values,
            sorted(entry.records, key=repr),
        )
        for entry in entries
    ]


def first_refused(state: State, command: Charge, now: Now | None) -> CannotPay | None:
    """Return why the first record that cannot pay for all it is asked for cannot.

    Raises
    ------
    NotPermitted, ClockAhead
        As `decide`.
    """
    plus, price_of, holds = state.units.plus, state.units.price, command.holds
    paid: dict[RecordId, Vector] = {}  # by this charge, which may name a record twice
    for entry in command.entries:
        price = price_of(entry.charge)
        for record in entry.records:
            before = paid[record] if record in paid else state.account(record).spent
            after = paid[record] = plus(before, price)
            if not holds(after):
                return CannotPay(record, entry.charge, state.units.amount(before))
    return None if state.limits is None else _no_room(state, command.entries, command.scope, now)


def _no_room(
    state: State, entries: Sequence[Entry], scope: Scope, now: Now | None, *, windows_only: bool = False
) -> CannotPay | None:
    """Return why a rule has no room for a charge."""
    limits = state.limits
    if limits is None:
        return None
    counting = limits.counting(scope, windows_only=windows_only)
    at, _ = stamp(state, now)
    price_of = state.units.price
    asked = [(record, price_of(entry.charge)) for entry in entries for record in entry.records]
    refused = limits.refused(asked, state.counted, counting, at or 0)
    if refused is None:
        return None
    charges = [entry.charge for entry in entries for _ in entry.records]
    spent = state.units.amount(refused.spent)
    return CannotPay(asked[refused.which][0], charges[refused.which], spent, refused.rule, refused.again)


# --- applying -------------------------------------------------------------------------------------------


def apply(state: State, event: LedgerEvent) -> None:
    """Let an event happen. Interrupted (Ctrl-C), totals and counts are too high, never too low."""
    if isinstance(event, Charged):
        _book(state, event)
    elif isinstance(event, Settlement):
        _settle(state, event)
    elif isinstance(event, DrawnAgain):
        request = state.request(event.request)
        assert request is not None
        if state.limits is not None:
            charged = state.charge_at(request.position)
            counting = state.limits.counting(charged.scope, windows_only=True, strict=False)
            for entry in charged.entries:
                state.count(entry, counting, event.at)
        state.happens(event)
        state.set_request(event.request, request._replace(stamp=event.at))
    elif isinstance(event, Answered):
        request = state.request(event.request)
        assert request is not None
        state.happens(event)
        state.set_request(event.request, request._replace(digest=event.digest, answer=event.answer))
        return
    elif isinstance(event, Ruled):
        state.happens(event)
        state.clock, state.drift = max(state.clock, event.at), event.drift
        state.set_rules(event)
        return
    else:
        state.happens(event)
        state.clock, state.drift = max(state.clock, event.at), 0
        return
    if event.at is not None:
        state.clock = max(state.clock, event.at)
        state.drift = event.drift


def _book(state: State, event: Charged) -> None:
    plus, price_of, limits = state.units.plus, state.units.price, state.limits
    for entry in event.entries:
        price = price_of(entry.charge)
        for record in entry.records:
            spent, times, counted = state.account(record)
            state.put(record, Account(plus(spent, price), times + 1, counted))
        if limits is not None:
            counting = limits.counting(event.scope, strict=False)
            state.count(entry, counting, event.at or 0, event.position if event.reserved else None)
    if event.reserved or event.request is not None:
        state.name(event)
    state.happens(event)
    if event.reserved:
        state.set_reservation(event.position, "reserved")
    if event.request is not None:
        state.set_request(event.request, Request(event.position, event.at))


def _settle(state: State, event: Settlement) -> None:
    position, limits = event.position, state.limits
    charged = state.charge_at(position)
    if event.returned:
        state.happens(event)
        state.set_reservation(position, "returned")
        for entry in charged.entries:
            price = state.units.price(entry.charge)
            for record in entry.records:
                before = state.account(record)
                state.put(record, Account(minus(before.spent, price), before.times - 1, before.counted))
    if limits is not None:
        settled: Callable[[Row], Row] = (
            (lambda row: limits.without_reservation(row, position))
            if event.returned
            else (lambda row: limits.with_draw(row, position, event.at or 0))
        )
        for record in {record for entry in charged.entries for record in entry.records}:
            state.put(record, state.account(record)._replace(counted=settled(state.counted(record))))
    if not event.returned:
        state.happens(event)
        state.set_reservation(position, "drawn")
        if charged.request is not None:
            request = state.request(charged.request)
            assert request is not None
            state.set_request(charged.request, request._replace(stamp=event.at))


def repeated_command(
    state: State, event: Charged | Settlement | DrawnAgain, holds: Callable[[Vector], bool]
) -> LedgerCommand:
    """Return the command that an event was decided for: a verification decides it again."""
    if isinstance(event, Settlement):
        return Settle(event.position, event.returned)
    if isinstance(event, DrawnAgain):
        request = state.request(event.request)
        assert request is not None
        event = state.charge_at(request.position)
        return Charge(event.entries, holds, False, event.request, event.scope)
    return Charge(event.entries, holds, event.reserved, event.request, event.scope)
