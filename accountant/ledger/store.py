"""The interface of ledgers, in memory or durable: accounts that are charged, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from accountant.budget import Amount
from accountant.filters.units import Vector
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.events import KeepAnswer, LedgerCommand, Settle
from accountant.place import Place
from accountant.rules.rule import Rule
from accountant.rules.scope import ANY, Scope
from mechanisms import Assumption, Neighbouring
from mechanisms.parameters import DPWitnessError

Holds = Callable[[Vector], bool]
"""Test of a total in units: True if it is within the budget; the same one for every store of an accountant."""


class CannotPay(Exception):
    """A record's account has less than the charge; nothing was charged.

    Attributes
    ----------
    record, charge, spent
        The first record that cannot pay, the price, and its spent total.
    rule
        The rule that has no room; None for the budget.
    again
        The time at which the rule will have room, if nothing else is charged; None if time alone makes none.
    """

    def __init__(
        self,
        record: RecordId,
        charge: Amount,
        spent: Any,
        rule: Rule | None = None,
        again: datetime | None = None,
    ) -> None:
        self.record = record
        self.charge = charge
        self.spent = spent
        self.rule = rule
        self.again = again


class Settled(DPWitnessError, ValueError):
    """A reservation was drawn or given back before, here or in another process.

    Attributes
    ----------
    returned
        True if it was given back; else it was drawn, or never made.
    """

    def __init__(self, message: str, *, returned: bool) -> None:
        super().__init__(message)
        self.returned = returned


class KeyUsed(DPWitnessError, ValueError):
    """A request's key was used for something else before."""


class AnswerErased(DPWitnessError, ValueError):
    """A request was answered, and its answer was erased: it is never drawn anew."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The payments of a record by now.

    Attributes
    ----------
    spent
        The total, reservations included.
    counted
        The present counts of each rule that counts charges of the record, or of its group.
    """

    spent: Any
    counted: Sequence[tuple[Rule, Any]]


class Tally(NamedTuple):
    """The number of equal entries of a ledger, without reservations that were given back.

    Attributes
    ----------
    entry
        The entry, without its records.
    releases
        The number of releases.
    records
        The number of charged records, each counted as often as it was charged.
    """

    entry: Entry
    releases: int
    records: int


@dataclass(frozen=True, slots=True)
class RuleStanding:
    """The distance of a rule's limit from the records that it counts.

    Attributes
    ----------
    rule
        The rule.
    nearest
        The record that is nearest to the limit, or the members of the group; empty if it has counted nothing.
    spent
        Their present count under the rule, open reservations included.
    nearly
        The number of records, or groups, with at least `accountant.filters.share.NEARLY_SPENT` of the limit spent;
        None if that share is no single number, or there is no limit.
    """

    rule: Rule
    nearest: tuple[RecordId, ...]
    spent: Any
    nearly: int | None


class Receipt(NamedTuple):
    """The answer of a ledger to a command.

    Attributes
    ----------
    position
        The position of the charge in the store, from 1.
    repeated
        True if a request with this key was charged before: nothing was charged now.
    answer
        The answer to that request, if it has one; then nothing may be drawn again.
    events
        The events that the command led to, in order (`accountant.ledger.events`).
    until
        The deadline of a reservation, in milliseconds since 1970; None without.
    """

    position: int = 0
    repeated: bool = False
    answer: bytes | None = None
    events: Sequence[Any] = ()
    until: int | None = None


class Store(Protocol):
    """Every record's account.

    A method has had all of its effect when it returns, durably where the store lasts, or none. Charges of one record
    are totally ordered: each is checked against all before it. Nothing that was charged is ever taken out, but for
    reservations that were not drawn.
    """

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every entry: one record is replaced, as movements are found for that."""
        return Neighbouring.REPLACE_ONE

    @property
    def entries(self) -> Sequence[Entry]:
        """All charges in order, but for reservations that were given back."""

    def __len__(self) -> int: ...

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget, now."""

    def do(self, command: LedgerCommand) -> Receipt:
        """Carry out a command: check every record and charge all or none, settle a reservation, or keep an answer.

        Raises
        ------
        CannotPay
            If a record cannot pay.
        NotPermitted
            If no rule permits charges for this.
        ClockAhead
            If a rule looks at the time and the clock is far ahead of the last charge.
        KeyUsed
            If the key was used for another charge, or a release's for a reservation; or nothing was charged by it.
        Settled
            If the reservation, or the key's, was given back; or was drawn, or its deadline has passed.
        AnswerErased
            If the key's answer was erased.
        """

    def keep_answer(self, request: str, answer: bytes) -> bytes:
        """Keep the answer to a request, unless another answer is kept; return the one that is kept."""
        kept = self.do(KeepAnswer(request, answer)).answer
        assert kept is not None
        return kept

    def draw(self, position: int) -> None:
        """Make a reservation final, before its noise is drawn."""
        self.do(Settle(position, returned=False))

    def give_back(self, position: int) -> None:
        """Give a reservation's charge back: nothing was drawn, and nothing can be any more."""
        self.do(Settle(position, returned=True))

    def refusals(
        self, holds: Holds, scope: Scope = ANY
    ) -> AbstractContextManager[Callable[[Sequence[Entry]], CannotPay | None]]:
        """Yield the function from entries to the `CannotPay` that a charge would raise, all at one moment."""

    def group_mates(
        self, records: Sequence[RecordId], waiting: Sequence[Collection[RecordId]]
    ) -> Set[RecordId]:
        """Return the waiting records that are in a group of these records, by the rules."""

    def standings(self, records: Sequence[RecordId]) -> list[Standing]:
        """Return the standing of each of these records, all at one moment."""

    def rule_standings(self) -> list[RuleStanding]:
        """Return the distance to each rule's limit, all at one moment; every account is read."""

    def spent(self, record: RecordId) -> Any:
        """Return the amount that `record` has spent, reservations included."""
        return self.standings([record])[0].spent

    def tallies(self) -> Iterable[Tally]:
        """Return how often there was each kind of charge; a ledger that lasts keeps count."""

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and its total."""

    def count_records(self) -> int:
        """Return how many records have paid for anything."""

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""

    def charges(self, record: RecordId) -> list[Entry]:
        """List the charges of `record`."""

    def note_assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Keep the unchecked assumptions of releases."""

    def note_closed(self, why: str, where: Place) -> None:
        """Keep that the gate was shut: no charge is made any more."""
