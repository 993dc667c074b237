"""A ledger as a state machine: a command leads to an event or a refusal, and events change the state.

`decide` and `apply` alone define the behaviour of a ledger. They touch nothing but a `State`: the ledger in memory has
one of dictionaries, a transaction of a database has one that is filled with the rows that commands name and written at
its end, and a verification of entries decides each of them again.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import ChainMap
from collections.abc import Callable, MutableMapping, Sequence
from datetime import UTC, datetime
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
from accountant.ledger.store import AnswerErased, CannotPay, KeyUsed, Receipt, Settled, Standing
from accountant.recorded import describe
from accountant.rules.clock import ClockAhead
from accountant.rules.limits import Limits, Row


class Account(NamedTuple):
    """The payments of a record.

    Attributes
    ----------
    spent
        The total, reservations included.
    times
        The number of charges that it paid.
    counted
        Its counts under each rule; empty as long as it has paid nothing.
    """

    spent: Vector
    times: int = 0
    counted: Row = ()


class Request(NamedTuple):
    """The charge of a caller's key.

    Attributes
    ----------
    position
        The position of the charge in the ledger.
    stamp
        The time at which the answer was charged, or drawn later, if a rule depends on time.
    digest
        The digest of its answer; None if there was none.
    answer
        Its answer; None if there was none, or it was erased.
    """

    position: int
    stamp: int | None
    digest: str | None = None
    answer: bytes | None = None


class State:
    """The state after events, in dictionaries; a storage too large for memory overrides the lookups.

    Parameters
    ----------
    units
        The theorem's.

    Attributes
    ----------
    accounts
        Accounts by record, or by the storage's name for it.
    reservations
        ``"reserved"``, ``"drawn"`` or ``"returned"``, by the position of the charge.
    deadlines
        The deadlines of reservations, the earliest first, each with its position; a heap.
    requests
        Requests by their keys.
    named
        Charges that later events may name: of reservations and of requests, by position.
    limits
        The rules in force; None without.
    clock, drift
        The time of the last event, where a rule depends on it, and the clock's largest unnoticed advance by then.
    next_position
        The position of the next charge; 0 if the storage assigns it when it is written.
    """

    def __init__(self, units: Units) -> None:
        self.count_in(units)
        self.accounts: MutableMapping[RecordId, Account] = {}
        self.reservations: MutableMapping[int, str] = {}
        self.deadlines: list[tuple[int, int]] = []
        self.requests: dict[str, Request] = {}
        self.named: dict[int, Charged] = {}
        self.limits: Limits | None = None
        self.clock = 0
        self.drift = 0
        self.next_position = 0

    def count_in(self, units: Units) -> None:
        """Count in the units of a theorem, before anything happens."""
        self.units = units
        self._none = Account(units.zero)

    def overlay(self) -> State:
        """Return a state that begins as this one, which it leaves as it is."""
        found = State(self.units)
        found.accounts, found.reservations = ChainMap({}, self.accounts), ChainMap({}, self.reservations)
        found.deadlines, found.named, found.requests = list(self.deadlines), self.named, self.requests
        found.limits, found.clock, found.drift = self.limits, self.clock, self.drift
        return found

    def account(self, record: RecordId) -> Account:
        """Return an account."""
        return self.accounts.get(record, self._none)

    def set_account(self, record: RecordId, account: Account) -> None:
        """Change an account."""
        self.accounts[record] = account

    def reservation(self, position: int) -> str | None:
        """Return the outcome of a reservation; None if none was made there."""
        return self.reservations.get(position)

    def set_reservation(self, position: int, state: str) -> None:
        """Change a reservation, or make it."""
        self.reservations[position] = state

    def due(self, at: int) -> int | None:
        """Return an open reservation with a deadline that has passed by then; None if there is none."""
        while self.deadlines and self.deadlines[0][0] <= at:
            position = self.deadlines[0][1]
            if self.reservation(position) == "reserved":
                return position
            heapq.heappop(self.deadlines)
        return None

    def request(self, key: str) -> Request | None:
        """Return a request."""
        return self.requests.get(key)

    def check_unanswered(self, request: Request) -> None:
        """Refuse if events have answered a request that the state has no answer of; a storage may have lost it."""

    def set_request(self, key: str, request: Request) -> None:
        """Change a request, or make it."""
        self.requests[key] = request

    def charge_at(self, position: int) -> Charged:
        """Return the charge of a reservation, or a request."""
        return self.named[position]

    def name(self, charged: Charged) -> None:
        """Keep a charge that later events may name."""
        self.named[charged.position] = charged

    def happens(self, event: LedgerEvent) -> None:
        """Keep an event: from here on it has happened, also for a caller that is interrupted now (Ctrl-C)."""

    def set_rules(self, ruled: Ruled) -> None:
        """Put rules in force; the storage, which has the earlier charges, finds their counts."""
        self.limits = Limits(ruled.rules, self.units) if ruled.rules else None

    def rule_counts(self, record: RecordId) -> Row:
        """Return the counts of the rules for a record."""
        assert self.limits is not None
        return self.account(record).counted or self.limits.zero

    def standing(self, record: RecordId, now: int) -> Standing:
        """Return the standing of a record."""
        counted = () if self.limits is None else self.limits.counts(record, self.rule_counts, now)
        return Standing(self.units.amount(self.account(record).spent), counted)

    def count(self, entry: Entry, counting: Sequence[int], at: int, held: int | None = None) -> None:
        """Let rules count a charge; one that is reserved at a position counts until it is settled."""
        limits, price = self.limits, self.units.price(entry.charge)
        assert limits is not None
        for record in entry.records:
            row = self.rule_counts(record)
            row = (
                limits.with_charge(record, row, price, counting, at)
                if held is None
                else limits.with_reservation(record, row, price, counting, held)
            )
            self.set_account(record, self.account(record)._replace(counted=row))


# --- deciding -------------------------------------------------------------------------------------------


def decide(state: State, command: LedgerCommand, now: Now | None) -> Receipt:
    """Return the event that a command leads to, and its receipt; nothing has happened yet.

    A storage that numbers charges when they are written gives their positions later.

    Raises
    ------
    CannotPay, NotPermitted, ClockAhead, KeyUsed, Settled, AnswerErased
        If it is refused; see `Store`.
    """
    if isinstance(command, Charge):
        entries, _, hold, key, scope, lasts = command
        earlier = None if key is None else state.request(key)
        if earlier is not None:
            return _repeated(state, command, earlier, now)
        refused = first_refused(state, command, now)
        if refused is not None:
            raise refused
        at, drift = stamp(state, now)
        position, until = state.next_position, None if lasts is None or at is None else at + lasts
        event = Charged(position, tuple(entries), hold, key, scope, at, drift, until)
        return Receipt(position, False, None, (event,), until)
    if isinstance(command, Settle):
        return Receipt(command.position, events=(_settlement(state, *command, now),))
    request = state.request(command.request)
    if request is None:
        raise KeyUsed(f"request = {command.request!r}: nothing was charged by this key")
    if request.digest is None:
        state.check_unanswered(request)
        digest = hashlib.sha256(command.answer).hexdigest()
        answered = Answered(command.request, digest, command.answer)
        return Receipt(request.position, True, command.answer, (answered,))
    return Receipt(request.position, True, _kept_answer(command.request, request))


def _settlement(state: State, position: int, returned: bool, now: Now | None) -> Settlement:
    """Return the settlement of a reservation, which is drawn before its deadline or never."""
    became = state.reservation(position)
    until = state.charge_at(position).until if became in ("reserved", "returned") else None
    if became != "reserved":
        words = "was drawn or given back before, or never made" if until is None else _deadline_words(until)
        raise Settled(f"reservation {position} {words}", returned=became == "returned")
    at, drift = stamp(state, now)
    if until is not None and not returned and at is not None and at >= until:
        raise Settled(f"reservation {position} {_deadline_words(until)}", returned=True)
    return Settlement(position, returned, at, drift)


def _deadline_words(until: int) -> str:
    last = datetime.fromtimestamp(until / 1_000, UTC)
    return f"is given back; it was to be drawn before {last:%Y-%m-%d %H:%M:%S} UTC"


def expire(state: State, now: Now | None, happen: Callable[[LedgerEvent], object]) -> None:
    """Give back the reservations with deadlines that have passed, before something else is decided.

    A reservation that may have been sampled is *drawn* in the ledger, and stays charged at any time of the clock: a
    wrong clock ends reservations early or late, and nothing else.

    Parameters
    ----------
    state, now
        As for `decide`; a clock that a rule does not believe ends nothing.
    happen
        Lets an event happen.
    """
    try:
        at, drift = stamp(state, now)
    except ClockAhead:
        return
    while at is not None and (position := state.due(at)) is not None:
        happen(Settlement(position, True, at, drift))


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


def _kept_answer(key: str, request: Request) -> bytes | None:
    """Return the answer to a request; None if it has none yet."""
    if request.digest is not None and request.answer is None:
        raise AnswerErased(
            f"request = {key!r}: was answered, and the answer is gone: it is not drawn anew, which would be another "
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
            f"request = {key!r}: this key was used for another release; a retry must be of the same mechanism and "
            "records, and another release needs a key of its own"
        )
    if became == "returned":
        words = "was given back" if charged.until is None else _deadline_words(charged.until)
        raise Settled(
            f"request = {key!r}: reservation {position} {words}; another one needs a key of its own",
            returned=True,
        )
    if command.hold and became is None:
        raise KeyUsed(
            f"request = {key!r}: this key was used for a release; a reservation needs a key of its own"
        )
    answer = _kept_answer(key, earlier)
    if answer is None:
        state.check_unanswered(earlier)
    if command.hold:
        return Receipt(position, True, answer, until=charged.until)
    if became == "reserved":
        return Receipt(position, True, answer, (_settlement(state, position, False, now),))
    if answer is None and _is_stale(state, earlier, now):
        assert state.limits is not None
        counting = state.limits.counting(charged.scope, windows_only=True)
        at, drift = stamp(state, now)
        assert at is not None
        refused = _no_room(state, charged.entries, counting, at)
        if refused is not None:
            raise refused
        return Receipt(position, True, None, (DrawnAgain(key, at, drift),))
    return Receipt(position, True, answer)


def _is_stale(state: State, request: Request, now: Now | None) -> bool:
    """True if a request was charged on an earlier day than it is drawn, and a rule counts days."""
    limits = state.limits
    if limits is None or not limits.windows or now is None:
        return False
    return limits.is_stale(request.stamp or 0, max(now.at, state.clock))


def _release(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return the parts that are equal in two charges of one release: a retry may come from another line."""
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

    Permissions are checked first, then a tenant's own rules, and last the rules that count other tenants, too: a
    refusal by its own rules reveals to a tenant its own charges alone (`accountant.rules.reach`).

    Raises
    ------
    NotPermitted, ClockAhead
        As `decide`.
    """
    limits = state.limits
    if limits is None:
        return _over_budget(state, command)
    counting, at = limits.counting(command.scope), stamp(state, now)[0]
    own = tuple(i for i in counting if limits.rules[i].tenant is not None)
    return (
        _no_room(state, command.entries, own, at)
        or _over_budget(state, command)
        or _no_room(state, command.entries, tuple(i for i in counting if i not in own), at)
    )


def _over_budget(state: State, command: Charge) -> CannotPay | None:
    """Return why the budget has no room for a charge."""
    plus, price_of, holds = state.units.add, state.units.price, command.holds
    paid: dict[RecordId, Vector] = {}  # by this charge, which may name a record twice
    for entry in command.entries:
        price = price_of(entry.charge)
        for record in entry.records:
            before = paid[record] if record in paid else state.account(record).spent
            after = paid[record] = plus(before, price)
            if not holds(after):
                return CannotPay(record, entry.charge, state.units.amount(before))
    return None


def _no_room(
    state: State, entries: Sequence[Entry], counting: Sequence[int], at: int | None
) -> CannotPay | None:
    """Return why one of these rules has no room for a charge."""
    if not counting:
        return None
    assert state.limits is not None
    price_of = state.units.price
    asked = [(record, price_of(entry.charge)) for entry in entries for record in entry.records]
    refused = state.limits.first_refusal(asked, state.rule_counts, counting, at or 0)
    if refused is None:
        return None
    charges = [entry.charge for entry in entries for _ in entry.records]
    spent = state.units.amount(refused.spent)
    return CannotPay(asked[refused.which][0], charges[refused.which], spent, refused.rule, refused.again)


# --- applying -------------------------------------------------------------------------------------------


def apply(state: State, event: LedgerEvent) -> None:
    """Let an event happen. Interrupted (Ctrl-C), totals and counts are too high, never too low."""
    if isinstance(event, Charged):
        plus, price_of, limits = state.units.add, state.units.price, state.limits
        for entry in event.entries:
            price = price_of(entry.charge)
            for record in entry.records:
                spent, times, counted = state.account(record)
                state.set_account(record, Account(plus(spent, price), times + 1, counted))
        if limits is not None:
            count_event(state, event)
        if event.reserved or event.request is not None:
            state.name(event)
        state.happens(event)
        if event.reserved:
            state.set_reservation(event.position, "reserved")
            if event.until is not None:
                heapq.heappush(state.deadlines, (event.until, event.position))
        if event.request is not None:
            state.set_request(event.request, Request(event.position, event.at))
    elif isinstance(event, Settlement):
        _settle(state, event)
    elif isinstance(event, DrawnAgain):
        request = state.request(event.request)
        assert request is not None
        if state.limits is not None:
            count_event(state, event)
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
        if event.at > state.clock:
            state.clock = event.at
        state.drift = event.drift


def _settle(state: State, event: Settlement) -> None:
    position = event.position
    charged = state.charge_at(position)
    if event.returned:
        state.happens(event)
        state.set_reservation(position, "returned")
        for entry in charged.entries:
            price = state.units.price(entry.charge)
            for record in entry.records:
                before = state.account(record)
                state.set_account(
                    record, Account(minus(before.spent, price), before.times - 1, before.counted)
                )
    if state.limits is not None:
        count_event(state, event)
    if not event.returned:
        state.happens(event)
        state.set_reservation(position, "drawn")
        if charged.request is not None:
            request = state.request(charged.request)
            assert request is not None
            state.set_request(charged.request, request._replace(stamp=event.at))


def count_event(state: State, event: LedgerEvent) -> None:
    """Let the rules in force count a charge, its settlement, or that it was drawn again."""
    limits = state.limits
    assert limits is not None
    if isinstance(event, Charged):
        counting = limits.counting(event.scope, strict=False)
        for entry in event.entries:
            state.count(entry, counting, event.at or 0, event.position if event.reserved else None)
    elif isinstance(event, DrawnAgain):
        request = state.request(event.request)
        assert request is not None
        charged = state.charge_at(request.position)
        counting = limits.counting(charged.scope, windows_only=True, strict=False)
        for entry in charged.entries:
            state.count(entry, counting, event.at)
    elif isinstance(event, Settlement):
        position = event.position
        settled: Callable[[Row], Row] = (
            (lambda row: limits.without_reservation(row, position))
            if event.returned
            else (lambda row: limits.with_draw(row, position, event.at or 0))
        )
        entries = state.charge_at(position).entries
        for record in {record for entry in entries for record in entry.records}:
            state.set_account(
                record, state.account(record)._replace(counted=settled(state.rule_counts(record)))
            )


def repeated_command(
    state: State, event: Charged | Settlement | DrawnAgain, holds: Callable[[Vector], bool]
) -> LedgerCommand:
    """Return the command that an event was decided for: a verification decides it again."""
    if isinstance(event, Charged):
        lasts = None if event.until is None else event.until - (event.at or 0)
        return Charge(event.entries, holds, event.reserved, event.request, event.scope, lasts)
    if isinstance(event, Settlement):
        return Settle(event.position, event.returned)
    request = state.request(event.request)
    assert request is not None
    charged = state.charge_at(request.position)
    return Charge(charged.entries, holds, False, charged.request, charged.scope)
