"""The ledger in memory: every charge with its records, its release and its line of code."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from accountant.filters.composition_theorem import Composition
from accountant.filters.units import Units, Vector
from accountant.gates.derivation import Derivation
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_from_terms, entry_terms
from accountant.ledger.events import (
    Charge,
    Charged,
    LedgerCommand,
    LedgerEvent,
    Now,
    Ruled,
    Settlement,
)
from accountant.ledger.ledger_state import State, apply, decide, expire, first_refused
from accountant.ledger.store import CannotPay, Holds, Receipt, RuleStanding, Standing, Store, Tally
from accountant.place import Place
from accountant.record_name import canonical_name
from accountant.rules.clock import ProcessClock, RunningClock
from accountant.rules.limits import Row
from accountant.rules.rule import Rule
from accountant.rules.scope import ANY, Scope
from mechanisms import Assumption

_RECENT = 4_096
"""The number of recent kinds of charges that are kept as objects."""
_BLOCK = 256
"""The number of older kinds that are packed together."""
_NAMES = 65_536
"""The number of recent payers with one shared object for each name."""
_NEVER = -(2**63)
"""The stored time of an event without a time."""

_NO_CHARGE = Charged(0, ())
_Kind = tuple[Scope, Entry]
"""The kind of a charge: its scope, and its entry without records."""


class _EventColumns:
    """Events in order; only added to.

    A charge of one record takes 32 bytes. Of kinds of charges that are no longer recent, such as those of mechanisms
    with a scale of their own each, their description is kept, compressed.

    Parameters
    ----------
    composition
        The theorem of the charges.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        # One item an event. An interruption (Ctrl-C) may leave more in the first three, which the next event removes.
        self._positions = array("q")
        self._times = array("q")
        self._payers: list[Any] = []  # a record; or the kinds of a charge, with the records of each
        self._events = array("q")  # the kind of a charge by its number; ~number of another event
        self._others: list[LedgerEvent] = []
        self._kinds: dict[int, _Kind] = {}  # those that are not packed
        self._made = 0
        self._numbers: dict[tuple[Any, ...], int] = {}  # by ids of objects that the kind keeps alive
        self._blocks: list[bytes] = []
        self._derivations: dict[Derivation | None, int] = {}
        self._names: dict[RecordId, RecordId] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[LedgerEvent]:
        return self.tail(0)

    def tail(self, first: int) -> Iterator[LedgerEvent]:
        """Yield the events from one on, which is counted from 0."""
        unpacked: dict[int, dict[int, _Kind]] = {}
        for i in range(first, len(self._events)):
            number = self._events[i]
            if number < 0:
                yield self._others[~number]
                continue
            payers, at = self._payers[i], self._times[i]
            paid = payers if type(payers) is tuple else ((number, (payers,)),)
            kinds = [(self._kind(each, unpacked), records) for each, records in paid]
            entries = tuple([entry.for_records(records) for (_, entry), records in kinds])
            scope = kinds[0][0][0]
            yield Charged(self._positions[i], entries, scope=scope, at=None if at == _NEVER else at)

    def other_events(self) -> list[LedgerEvent]:
        """List the events that are no charges, and the reservations and charges of requests."""
        return [self._others[~number] for number in self._events if number < 0]

    def append(self, event: LedgerEvent) -> None:
        """Add an event behind all others."""
        count = len(self._events)
        if len(self._positions) > count:
            del self._positions[count:], self._times[count:], self._payers[count:]
        payers: Any = None
        charged = event if isinstance(event, Charged) else _NO_CHARGE
        position, entries, reserved, request, scope, at, drift, _ = charged
        if reserved or request is not None or drift or not entries:
            self._others.append(event)
            number, position, at = -len(self._others), 0, None
        else:
            entry = entries[0]
            if len(entries) == 1 and len(entry.records) == 1:
                (payers,) = entry.records
                payers = self._names.setdefault(payers, payers)
                if len(self._names) >= _NAMES:
                    self._names.clear()
                number = self._kind_number(scope, entry)
            else:
                payers = tuple([(self._kind_number(scope, entry), entry.records) for entry in entries])
                number = payers[0][0]
        self._positions.append(position)
        self._times.append(_NEVER if at is None else at)
        self._payers.append(payers)
        self._events.append(number)

    # --- kinds -----------------------------------------------------------------------------------

    def _kind_number(self, scope: Scope, entry: Entry) -> int:
        """Return the number of an entry's kind; as long as the same objects are kept, it is the same."""
        key = (*entry.kind_key(), scope.purpose, scope.tenant, entry.derivation)
        number = self._numbers.get(key)
        if number is None:
            number = self._made
            self._kinds[number] = scope, entry._replace(records=())
            self._made += 1
            self._numbers[key] = number
            if len(self._numbers) > _RECENT + _BLOCK:
                self._pack()
        return number

    def _pack(self) -> None:
        """Pack the oldest kinds of which nothing is lost, in a block; the others stay as they are."""
        end = (len(self._blocks) + 1) * _BLOCK
        numbers = range(end - _BLOCK, end)
        for i in numbers:
            self._derivations.setdefault(self._kinds[i][1].derivation, len(self._derivations))
        ways = list(self._derivations)
        written = {i: self._kind_terms(self._kinds[i], ways) for i in numbers}
        packed = {i: terms for i, terms in written.items() if terms is not None}
        self._blocks.append(zlib.compress(json.dumps(packed).encode("ascii")))
        for key in [key for key, number in self._numbers.items() if number < end]:
            del self._numbers[key]  # before the objects of its ids
        for number in packed:
            del self._kinds[number]

    def _kind_terms(self, kind: _Kind, ways: Sequence[Derivation | None]) -> Any:
        """Return a kind as JSON-able data; None if that is not all of it."""
        scope, entry = kind
        written = scope.purpose, scope.tenant, entry_terms(entry), self._derivations[entry.derivation]
        try:
            return written if self._rebuilt_kind(written, {}, ways) == kind else None
        except Exception:  # a user's mechanism may raise anything
            return None

    def _rebuilt_kind(
        self, written: Any, charges: dict[tuple[str | None, ...], Any], ways: Sequence[Derivation | None]
    ) -> _Kind:
        purpose, tenant, terms, number = written
        entry = entry_from_terms(terms, (), self._composition, charges)
        return Scope(purpose, tenant), entry._replace(derivation=ways[number])

    def _kind(self, number: int, unpacked: dict[int, dict[int, _Kind]]) -> _Kind:
        """Return a kind; `unpacked` keeps as many blocks as charges of one time may have theirs in."""
        kind = self._kinds.get(number)
        if kind is not None:
            return kind
        block = number // _BLOCK
        if block not in unpacked:
            if len(unpacked) > _RECENT // _BLOCK + 1:
                del unpacked[min(unpacked)]
            charges: dict[tuple[str | None, ...], Any] = {}
            written, ways = json.loads(zlib.decompress(self._blocks[block])), list(self._derivations)
            unpacked[block] = {int(i): self._rebuilt_kind(each, charges, ways) for i, each in written.items()}
        return unpacked[block][number]


class Ledger(State, Store):
    """Every charge, and every record's running total under one composition theorem; a `Store` of one process.

    It lasts as long as its process. Callers from several threads hold a lock of their own.

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
        True if some charges are sums of charges that were folded before this ledger was resumed.
    write_ahead
        Function that is called with each event before anything changes or is drawn; if it raises, nothing happens.
    """

    def __init__(self, composition: Composition, rules: Sequence[Rule] = ()) -> None:
        super().__init__(Units(composition))
        self._clock = ProcessClock()
        self.begun = self._clock.milliseconds()
        self.folded = False
        self.events = _EventColumns(composition)
        self.write_ahead: Callable[[LedgerEvent | Assumption], None] | None = None
        self.next_position = 1
        if rules:
            apply(self, Ruled(tuple(rules), "whoever made it", "it was made with them", self.begun))

    @classmethod
    def from_events(
        cls,
        composition: Composition,
        events: Iterable[LedgerEvent],
        rules: Sequence[Rule],
        rows: Mapping[RecordId, Row],
        clock: int,
        drift: int = 0,
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
            The counts of each record under the rules.
        clock
            The time of the last charge; it is not earlier here.
        drift
            Its largest unnoticed advance by then.
        folded
            Whether some of the charges are sums of earlier ones.
        """
        ledger = cls(composition)
        ledger.folded = folded
        times = []
        for event in events:
            if isinstance(event, Ruled):
                ledger.events.append(event)
            else:
                apply(ledger, event)
            times.append(getattr(event, "at", None))
        ledger.begun = min((at for at in times if at is not None), default=clock)
        ledger.set_rules(Ruled(tuple(rules), "", "", clock))
        for record, row in rows.items():
            ledger.set_account(record, ledger.account(record)._replace(counted=row))
        ledger.clock, ledger.drift = clock, drift
        return ledger

    def resume(self, witness: RunningClock) -> None:
        """Go on now, after the last charge.

        Raises
        ------
        ClockAhead
            If a rule looks at the time, and the clock is far ahead of that.
        """
        self._clock = ProcessClock(self.clock)
        if self.limits is not None and self.limits.windows:
            now = self._clock.milliseconds()
            self.drift = self.limits.drift(self.drift, self.clock, now, witness.elapsed_since(self.clock))
            self.clock = now

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget."""
        return () if self.limits is None else self.limits.rules

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back."""
        return tuple(entry for charged in self.charge_events() for entry in charged.entries)

    def current_time(self) -> int | None:
        """Return the time; None if no rule needs it."""
        return None if self.limits is None or not self.limits.windows else self._clock.milliseconds()

    def charge_events(self) -> Iterator[Charged]:
        """Yield the charges that were made together, without reservations that were given back."""
        others = self.events.other_events()
        returned = {each.position for each in others if isinstance(each, Settlement) and each.returned}
        for event in self.events:  # alone: interrupted (Ctrl-C), derived state may be a step behind
            if isinstance(event, Charged) and event.position not in returned:
                yield event

    def __len__(self) -> int:
        return sum(len(charged.entries) for charged in self.charge_events())

    def count_records(self) -> int:
        """Return how many records have paid for anything."""
        return sum(1 for _ in self.records())

    def tallies(self) -> Iterable[Tally]:
        """Return how often there was each kind of charge."""
        # By what is alike by identity (the entries keep it alive): words are made once for each kind.
        found: dict[tuple[object, ...], Tally] = {}
        for entry in (entry for charged in self.charge_events() for entry in charged.entries):
            kind = entry.kind_key()
            _, releases, records = found.get(kind, (entry, 0, 0))
            found[kind] = Tally(entry, releases + 1, records + len(entry.records))
        return found.values()

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return (record for record, account in self.accounts.items() if account.times)

    @contextmanager
    def refusals(
        self, holds: Holds, scope: Scope = ANY
    ) -> Iterator[Callable[[Sequence[Entry]], CannotPay | None]]:
        """Yield the function from entries to the `CannotPay` that a charge would raise; see `Store`."""
        state, now = self._present_state(), self._command_time()
        yield lambda entries: first_refused(state, Charge(entries, holds, scope=scope), now)

    def _command_time(self, command: LedgerCommand | None = None) -> Now | None:
        dated = isinstance(command, Charge) and command.lasts is not None
        return Now(self._clock.milliseconds()) if dated or self.deadlines or self.limits is not None else None

    def _present_state(self) -> State:
        """Return the state now: reservations that have ended are given back, which the next event writes down."""
        first, now = next(iter(self.deadlines), None), self._command_time()
        if first is None or now is None or now.at < first[0]:
            return self
        state = self.overlay()
        expire(state, now, partial(apply, state))
        return state

    def group_mates(
        self, records: Sequence[RecordId], waiting: Sequence[Collection[RecordId]]
    ) -> set[RecordId]:
        """Return the waiting records that are in a group of these records; see `Store`."""
        mates = set() if self.limits is None else self.limits.group_members(records)
        return {mate for mate in mates if any(mate in each for each in waiting)}

    def standings(self, records: Sequence[RecordId]) -> list[Standing]:
        """Return the standing of each record; see `Store`."""
        state, now = self._present_state(), self._clock.milliseconds()
        return [state.standing(canonical_name(record), now) for record in records]

    def rule_standings(self) -> list[RuleStanding]:
        """Return how near each rule's limit is; see `Store`."""
        limits = self.limits
        if limits is None:
            return []
        texts = (
            (record, limits.text(account.counted), 1)
            for record, account in self.accounts.items()
            if account.counted
        )
        found = limits.nearest(texts, self.rule_counts, self._clock.milliseconds())
        return [RuleStanding(rule, *nearest) for rule, nearest in zip(limits.rules, found, strict=True)]

    def do(self, command: LedgerCommand) -> Receipt:
        """Decide on a command, and apply the events that it leads to; see `Store`."""
        now = self._command_time(command)
        if self.deadlines:
            expire(self, now, self.apply)
        found = decide(self, command, now)
        for event in found.events:
            self.apply(event)
        return found

    def apply(self, event: LedgerEvent) -> None:
        """Apply an event, a charge or its outcome, however much records have left."""
        if self.write_ahead is not None:
            self.write_ahead(event)
        apply(self, event)

    def happens(self, event: LedgerEvent) -> None:
        """Keep an event."""
        if isinstance(event, Charged):
            self.next_position = event.position + 1
        self.events.append(event)

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and its total; every different total is compared."""
        found: tuple[RecordId | None, Any] = (None, self.units.amount(self.units.zero))
        seen: set[Vector] = set()
        for record, account in self.accounts.items():
            if account.times and account.spent not in seen:
                seen.add(account.spent)
                spent = self.units.amount(account.spent)
                if found[0] is None or self.units.composition.exceeds(spent, found[1]):
                    found = record, spent
        return found

    def charges(self, record: RecordId) -> list[Entry]:
        """List the charges of `record`."""
        name = canonical_name(record)
        return [entry for entry in self.entries if name in entry.records]

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Report assumptions to the journal, if there is one; the accountant keeps them."""
        if self.write_ahead is not None:
            for assumption in assumptions:
                self.write_ahead(assumption)

    def note_closed(self, why: str, where: Place) -> None:
        """Do nothing: the accountant keeps it as long as this ledger lasts."""
