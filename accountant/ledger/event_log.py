"""The events of a ledger in memory, in columns: what many charges have in common is kept once."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterator
from typing import Any

from accountant.filters.composition_theorem import Composition
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_from_terms, entry_terms
from accountant.ledger.events import Charged, LedgerEvent
from accountant.rules.scope import Scope

_RECENT = 4_096
"""So many kinds of charges are kept as objects."""
_BLOCK = 256
"""So many older ones are packed together."""
_NAMES = 65_536
"""Of so many records that paid lately, each name is kept once."""
_NEVER = -(2**63)
"""The time of an event that has none."""

_Kind = tuple[Scope, Entry]
"""What charges have in common: what for, and an entry without records."""


class EventLog:
    """Events in order; only added to.

    A charge of one record takes 32 bytes. Of kinds of charges that are no longer recent, such as those of mechanisms
    with a scale of their own each, their description is kept, compressed.

    Parameters
    ----------
    composition
        The theorem of the charges.

    Attributes
    ----------
    others
        The events that are kept as they are, in order: all but charges, and reservations and charges of requests.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        # One item an event. An interruption (Ctrl-C) may leave more in the first three, which the next event removes.
        self._positions = array("q")
        self._times = array("q")
        self._payers: list[Any] = []  # a record; or the kinds of a charge, with the records of each
        self._events = array("q")  # the kind of a charge by its number; ~number of another event
        self.others: list[LedgerEvent] = []
        self._kinds: dict[int, _Kind] = {}  # those that are not packed
        self._made = 0
        self._numbers: dict[tuple[Any, ...], int] = {}  # by ids of what the kind keeps alive
        self._blocks: list[bytes] = []
        self._names: dict[RecordId, RecordId] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[LedgerEvent]:
        return self.since(0)

    def since(self, first: int) -> Iterator[LedgerEvent]:
        """Yield the events from one on, which is counted from 0."""
        unpacked: dict[int, dict[int, _Kind]] = {}
        for i in range(first, len(self._events)):
            number = self._events[i]
            if number < 0:
                yield self.others[~number]
                continue
            payers, at = self._payers[i], self._times[i]
            paid = payers if type(payers) is tuple else ((number, (payers,)),)
            kinds = [(self._kind(each, unpacked), records) for each, records in paid]
            entries = tuple([entry.of(records) for (_, entry), records in kinds])
            scope = kinds[0][0][0]
            yield Charged(self._positions[i], entries, scope=scope, at=None if at == _NEVER else at)

    def append(self, event: LedgerEvent) -> None:
        """Add an event behind all others."""
        count = len(self._events)
        if len(self._positions) > count:
            del self._positions[count:], self._times[count:], self._payers[count:]
        payers: Any
        at: int | None
        if (
            not isinstance(event, Charged)
            or event.reserved
            or event.request is not None
            or event.drift
            or not event.entries
        ):
            self.others.append(event)
            number, payers, position, at = -len(self.others), None, 0, None
        else:
            position, entries, at, scope = event.position, event.entries, event.at, event.scope
            if len(entries) == 1 and len(entries[0].records) == 1:
                (payers,) = entries[0].records
                payers = self._names.setdefault(payers, payers)
                if len(self._names) >= _NAMES:
                    self._names.clear()
                number = self._number(scope, entries[0])
            else:
                payers = tuple([(self._number(scope, entry), entry.records) for entry in entries])
                number = payers[0][0]
        self._positions.append(position)
        self._times.append(_NEVER if at is None else at)
        self._payers.append(payers)
        self._events.append(number)

    # --- kinds -----------------------------------------------------------------------------------

    def _number(self, scope: Scope, entry: Entry) -> int:
        """Return the number of an entry's kind; as long as the same objects are kept, it is the same."""
        mechanism, moved, charge, _, where, note = entry
        norms = moved and (moved.l1, moved.l2, moved.linf)
        key = id(mechanism), id(charge), norms, where, note, scope.purpose, scope.tenant
        number = self._numbers.get(key)
        if number is None:
            number = self._made
            self._kinds[number] = scope, entry.of(())
            self._made += 1
            self._numbers[key] = number
            if len(self._numbers) > _RECENT + _BLOCK:
                self._pack()
        return number

    def _pack(self) -> None:
        """Pack the oldest kinds of which nothing is lost, in a block; the others stay as they are."""
        end = (len(self._blocks) + 1) * _BLOCK
        written = {i: self._written(self._kinds[i]) for i in range(end - _BLOCK, end)}
        packed = {i: terms for i, terms in written.items() if terms is not None}
        self._blocks.append(zlib.compress(json.dumps(packed).encode("ascii")))
        for key in [key for key, number in self._numbers.items() if number < end]:
            del self._numbers[key]  # before what keeps its ids alive
        for number in packed:
            del self._kinds[number]

    def _written(self, kind: _Kind) -> Any:
        """Return a kind as JSON-able data; None if that is not all of it."""
        scope, entry = kind
        written = scope.purpose, scope.tenant, entry_terms(entry)
        try:
            return written if self._read(written, {}) == kind else None
        except Exception:  # a user's mechanism may raise anything
            return None

    def _read(self, written: Any, charges: dict[tuple[str | None, ...], Any]) -> _Kind:
        purpose, tenant, terms = written
        return Scope(purpose, tenant), entry_from_terms(terms, (), self._composition, charges)

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
            written = json.loads(zlib.decompress(self._blocks[block]))
            unpacked[block] = {int(i): self._read(each, charges) for i, each in written.items()}
        return unpacked[block][number]
