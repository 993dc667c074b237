"""The per-record ledger in memory: who paid what, for which release, and where in the code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.store import ANY, CannotPay, Fits, KeyUsed, Receipt, RuleStanding, Settled, Standing
from accountant.ledger.totals import Totals
from accountant.place import Place
from accountant.record_name import canonical_name
from accountant.rules.clock import ProcessClock
from accountant.rules.limits import Limits, Row
from accountant.rules.rule import Rule
from accountant.rules.scope import Scope
from mechanisms import Assumption, Neighbouring


class Charged(NamedTuple):
    """Entries that were charged together.

    Attributes
    ----------
    position
        The number of this charge, from 1.
    entries
        Who paid what.
    reserved
        Whether they were a reservation when they were charged.
    request
        The key of the caller's, if there is one.
    scope
        What it was for.
    at
        When, if a rule looks at the time.
    """

    position: int
    entries: tuple[Entry, ...]
    reserved: bool = False
    request: str | None = None
    scope: Scope = ANY
    at: int | None = None


class Settlement(NamedTuple):
    """A reservation that was drawn, or given back; when, if a rule looks at the time."""

    position: int
    returned: bool
    at: int | None = None


class DrawnAgain(NamedTuple):
    """A request that was charged and never answered, drawn on a later day; when."""

    request: str
    at: int


class Answered(NamedTuple):
    """What a request was answered."""

    request: str
    answer: bytes


class Ruled(NamedTuple):
    """Limits beside the budget that are in force from here on; who set them when, and why."""

    rules: tuple[Rule, ...]
    by: str
    reason: str
    at: int


LedgerEvent = Charged | Settlement | Answered | DrawnAgain | Ruled


class Ledger:
    """Every charge, and every record's running total under one composition theorem; a `Store` of one process.

    It lasts as long as its process. Whoever calls it from several threads holds a lock of their own.

    Parameters
    ----------
    composition
        The theorem.
    rules
        Limits beside the budget, checked.

    Attributes
    ----------
    events
        All that happened, in order: it is only added to.
    folded
        Whether some charges are sums of what was folded before it was gone on with.
    write_ahead
        Is told what is about to happen, before anything changes or is drawn; if it raises, nothing happens.
    """

    def __init__(self, composition: Composition, rules: Sequence[Rule] = ()) -> None:
        self._clock = ProcessClock()
        self.begun = self._clock.now()
        self.folded = False
        self.events: list[LedgerEvent] = []
        self.write_ahead: Callable[[LedgerEvent | Assumption], None] | None = None
        if rules:
            self.events.append(Ruled(tuple(rules), "whoever made it", "it was made with them", self.begun))
        self._limits = Limits(rules, composition) if rules else None
        self._rows: dict[RecordId, Row] = {}
        self._stamps: dict[int, int] = {}
        self._totals = Totals(composition)
        self._reserved: dict[int, tuple[Entry, ...]] = {}
        self._returned: set[int] = set()
        self._requests: dict[str, Charged] = {}
        self._answers: dict[str, bytes] = {}

    @classmethod
    def of(
        cls,
        composition: Composition,
        events: Iterable[LedgerEvent],
        rules: Sequence[Rule],
        rows: Mapping[RecordId, Row],
        clock: int,
        *,
        folded: bool = False,
    ) -> Ledger:
        """Return a ledger that goes on with one of an earlier process.

        Parameters
        ----------
        composition
            The theorem.
        events
            All that happened, in order.
        rules
            Those that are in force after it.
        rows
            What they count of each record.
        clock
            The time of the last charge; it is not earlier here.
        folded
            Whether some of the charges are sums of earlier ones.

        Raises
        ------
        ClockAhead
            If a rule looks at the time, and the clock is far ahead of that.
        """
        ledger = cls(composition)
        ledger.folded = folded
        ledger._limits = Limits(rules, composition) if rules else None
        if ledger._limits is not None:
            ledger._limits.check_clock(ledger._clock.now(), clock)
        ledger._clock = ProcessClock(clock)
        for event in events:
            ledger._note(event)
        times = (event.at for event in ledger.events if not isinstance(event, Answered))
        ledger.begun = min((at for at in times if at is not None), default=clock)
        ledger._rows = dict(rows)
        return ledger

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every entry: one record is replaced, as movements are found for that."""
        return Neighbouring.REPLACE_ONE

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget."""
        return () if self._limits is None else self._limits.rules

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back."""
        return tuple(entry for charged in self.charged() for entry in charged.entries)

    def now(self) -> int | None:
        """Return the time; None if no rule looks at it."""
        return None if self._limits is None or not self._limits.windows else self._clock.now()

    def charged(self) -> Iterator[Charged]:
        """Yield what was charged together, but for reservations that were given back."""
        returned = {each.position for each in self.events if isinstance(each, Settlement) and each.returned}
        for event in self.events:  # alone: interrupted (Ctrl-C), what else is kept may be a step behind
            if isinstance(event, Charged) and event.position not in returned:
                yield event

    def is_reserved(self, position: int) -> bool:
        """Whether a charge is a reservation that is neither drawn nor given back."""
        return position in self._reserved

    def __len__(self) -> int:
        return sum(len(charged.entries) for charged in self.charged())

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return self._totals.records()

    def spent(self, record: RecordId) -> Any:
        """Return what `record` has spent in the theorem's currency."""
        return self._totals.spent(canonical_name(record))

    def after(self, record: RecordId, charge: Amount) -> Any:
        """Return what `record` would have spent after one more `charge`; changes nothing."""
        return self._totals.after(record, charge)

    def first_refused(self, entries: Sequence[Entry], fits: Fits, scope: Scope = ANY) -> CannotPay | None:
        """Return the `CannotPay` that `charge` would raise; see `Store`."""
        paid: dict[RecordId, Any] = {}  # by this charge, which may name a record twice
        for entry in entries:
            for record in entry.records:
                before = paid.get(record, self._totals.spent(record))
                paid[record] = self._totals.plus(before, entry.charge)
                if not self._totals.is_within(paid[record], fits):
                    return CannotPay(record, entry.charge, before)
        return (
            None if self._limits is None else self._no_room(self._limits, entries, scope, self._clock.now())
        )

    def _no_room(
        self, limits: Limits, entries: Sequence[Entry], scope: Scope, now: int, *, windows_only: bool = False
    ) -> CannotPay | None:
        """Return why a rule has no room for a charge."""
        counting = limits.counting(scope, windows_only=windows_only)
        asked = [(record, entry.charge) for entry in entries for record in entry.records]
        refused = limits.refused(asked, self._row, counting, now)
        return (
            None
            if refused is None
            else CannotPay(*asked[refused.which], refused.spent, refused.rule, refused.again)
        )

    def _row(self, record: RecordId) -> Row:
        """Return what rules count of a record."""
        assert self._limits is not None
        return self._rows.get(record, self._limits.zero)

    def together(self, records: Sequence[RecordId], waiting: Sequence[Collection[RecordId]]) -> set[RecordId]:
        """Return those who wait and are in a group of these records; see `Store`."""
        mates = set() if self._limits is None else self._limits.together(records)
        return {mate for mate in mates if any(mate in each for each in waiting)}

    def standings(self, records: Sequence[RecordId]) -> list[Standing]:
        """Return how records stand; see `Store`."""
        limits, names = self._limits, list(map(canonical_name, records))
        if limits is None:
            return [Standing(self._totals.spent(name), ()) for name in names]
        now = self._clock.now()
        return [Standing(self._totals.spent(name), limits.counts(name, self._row, now)) for name in names]

    def rule_standings(self) -> list[RuleStanding]:
        """Return how near each rule's limit is; see `Store`."""
        limits = self._limits
        if limits is None:
            return []
        texts = ((record, limits.text(row), 1) for record, row in self._rows.items())
        found = limits.nearest(texts, self._row, self._clock.now())
        return [RuleStanding(rule, *nearest) for rule, nearest in zip(limits.rules, found, strict=True)]

    def charge(
        self,
        entries: Sequence[Entry],
        fits: Fits,
        *,
        hold: bool = False,
        request: str | None = None,
        scope: Scope = ANY,
    ) -> Receipt:
        """Check every record and charge all, or none; see `Store`."""
        if request is not None and request in self._requests:
            earlier = self._requests[request]
            check_same_request(
                request, _release(earlier.entries) == _release(entries) and earlier.scope == scope
            )
            position = earlier.position
            state = (
                "returned"
                if position in self._returned
                else "reserved"
                if self.is_reserved(position)
                else "drawn"
            )
            if settles(request, position, state if earlier.reserved else None, hold):
                self.draw(position)
            elif request not in self._answers and not hold:
                self._draw_again(earlier)
            return Receipt(earlier.position, True, self._answers.get(request))
        refused = self.first_refused(entries, fits, scope)
        if refused is not None:
            raise refused
        return Receipt(self.commit(entries, hold=hold, request=request, scope=scope))

    def commit(
        self,
        entries: Sequence[Entry],
        *,
        hold: bool = False,
        request: str | None = None,
        scope: Scope = ANY,
    ) -> int:
        """Charge the entries' records, whatever they have left; return the number of the charge."""
        charged = Charged(self.next_position(), tuple(entries), hold, request, scope, self._stamp())
        self.apply(charged)
        return charged.position

    def next_position(self) -> int:
        """Return the number of the next charge."""
        for event in reversed(self.events):
            if isinstance(event, Charged):
                return event.position + 1
        return 1

    def _stamp(self) -> int | None:
        return None if self._limits is None else self._clock.now()

    def apply(self, event: LedgerEvent) -> None:
        """Let something happen, whatever records have left: a charge, or what becomes of one."""
        if self.write_ahead is not None:
            self.write_ahead(event)
        limits = self._limits
        if limits is None or isinstance(event, Answered | Ruled):
            self._note(event)
        elif isinstance(event, Settlement):
            self._settle(limits, event)
        else:
            self._count(limits, event)
            self._note(event)

    def _settle(self, limits: Limits, event: Settlement) -> None:
        """Settle a reservation that rules count; interrupted (Ctrl-C), their counts are too high, never too low."""
        position = event.position
        assert event.at is not None
        records = {record for entry in self._reserved[position] for record in entry.records}
        if event.returned:
            self._note(event)
        for record in records:
            row = self._row(record)
            self._rows[record] = (
                limits.returned(row, position) if event.returned else limits.drawn(row, position, event.at)
            )
        if not event.returned:
            self._note(event)

    def _count(self, limits: Limits, event: Charged | DrawnAgain) -> None:
        """Let rules count a charge that is about to happen, or to be drawn again."""
        assert event.at is not None
        again = isinstance(event, DrawnAgain)
        charged = self._requests[event.request] if isinstance(event, DrawnAgain) else event
        counting = limits.counting(charged.scope, windows_only=again, strict=False)
        for entry in charged.entries:
            for record in entry.records:
                row = self._row(record)
                self._rows[record] = (
                    limits.reserved(record, row, entry.charge, counting, charged.position)
                    if charged.reserved and not again
                    else limits.charged(record, row, entry.charge, counting, event.at)
                )

    def _note(self, event: LedgerEvent) -> None:
        """Let something have happened; what rules count of it is known."""
        if isinstance(event, Charged):
            if event.at is not None:
                self._stamps[event.position] = event.at
            for entry in event.entries:
                for record in entry.records:
                    self._totals.add(record, entry.charge, held=event.reserved)
            self.events.append(event)  # interrupted before (Ctrl-C), totals are too high, never too low
            if event.reserved:
                self._reserved[event.position] = event.entries
            if event.request is not None:
                self._requests[event.request] = event
            return
        self.events.append(event)
        if isinstance(event, Answered):
            self._answers[event.request] = event.answer
        elif isinstance(event, DrawnAgain):
            self._stamps[self._requests[event.request].position] = event.at
        elif isinstance(event, Settlement) and event.returned:
            self._returned.add(event.position)
            self._pay_back(self._reserved[event.position])
            del self._reserved[event.position]
        elif isinstance(event, Settlement):
            if event.at is not None:
                self._stamps[event.position] = event.at
            del self._reserved[event.position]

    def answered(self, request: str, answer: bytes) -> bytes:
        """Keep the answer to a request, or return the one that is kept; see `Store`."""
        if request not in self._answers:
            self.apply(Answered(request, answer))
        return self._answers[request]

    def draw(self, position: int) -> None:
        """Make a reservation final; see `Store`."""
        self._end(position, returned=False)

    def _end(self, position: int, *, returned: bool) -> None:
        if position not in self._reserved:
            raise already_settled(position, returned=position in self._returned)
        self.apply(Settlement(position, returned, self._stamp()))

    def _draw_again(self, charged: Charged) -> None:
        """Stamp a charge anew whose outputs were never shown and are drawn now, if that is on another day.

        Raises
        ------
        CannotPay
            If a window has no room for it today.
        """
        limits, now = self._limits, self._clock.now()
        if limits is None or not limits.stale(self._stamps[charged.position], now):
            return
        refused = self._no_room(limits, charged.entries, charged.scope, now, windows_only=True)
        if refused is not None:
            raise refused
        assert charged.request is not None
        self.apply(DrawnAgain(charged.request, now))

    def give_back(self, position: int) -> None:
        """Give a reservation's charge back; see `Store`."""
        self._end(position, returned=True)

    def _pay_back(self, entries: Sequence[Entry]) -> None:
        paid = [(record, entry.charge) for entry in entries for record in entry.records]
        if any(None in self._totals.spent(record).values for record, _ in paid):
            # What is infinite hides what else was paid.
            affected = {record for record, _ in paid}
            left = (
                (record, entry) for entry in self.entries for record in affected.intersection(entry.records)
            )
            self._totals.recount(affected, ((record, entry.charge) for record, entry in left))
        else:
            for record, charge in paid:
                self._totals.take_back(record, charge)

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent."""
        return self._totals.worst()

    def charges(self, record: RecordId) -> list[Entry]:
        """List what `record` was charged for."""
        name = canonical_name(record)
        return [entry for entry in self.entries if name in entry.records]

    def declassifications(self) -> list[Entry]:
        """List the places where data left unprotected."""
        return [entry for entry in self.entries if entry.mechanism is None]

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Say that they are made, if somebody writes it down; the accountant keeps them."""
        if self.write_ahead is not None:
            for assumption in assumptions:
                self.write_ahead(assumption)

    def note_closed(self, why: str, where: Place) -> None:
        """Do nothing: the accountant keeps it as long as this ledger lasts."""


def _release(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return what makes two charges the same release: a retry may come from another line."""
    return [(entry.mechanism, entry.sensitivity, entry.charge, entry.records) for entry in entries]


def already_settled(position: int, *, returned: bool) -> Settled:
    """Return the refusal to settle a reservation twice."""
    return Settled(f"reservation {position} was drawn or given back before, or never made", returned=returned)


def settles(request: str, position: int, state: str | None, hold: bool) -> bool:
    """Return whether a charge that repeats a request's makes its reservation final.

    Parameters
    ----------
    request, position
        The key, and where its charge stands.
    state
        What became of the reservation; None if it is none.
    hold
        Whether the charge that repeats it is a reservation.

    Raises
    ------
    Settled
        If it was given back.
    KeyUsed
        If only the new one is a reservation.
    """
    if state == "returned":
        raise Settled(
            f"request={request!r}: reservation {position} was given back; another one needs a key of its own",
            returned=True,
        )
    if hold and state is None:
        raise KeyUsed(
            f"request={request!r}: this key was used for a release; a reservation needs a key of its own"
        )
    return state == "reserved" and not hold


def check_same_request(request: str, same: bool) -> None:
    """Raise `KeyUsed` unless a request's key stands for the same charge as before."""
    if not same:
        raise KeyUsed(
            f"request={request!r}: this key was used for another release; a retry must be of the same mechanism and "
            "records, and another release needs a key of its own"
        )
