"""What entries say, as JSON-able data; `replayed_entries` lists and reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_terms
from accountant.ledger.events import Answered, Charged, ClockConfirmed, DrawnAgain, Settlement
from accountant.ledger.store import ANY
from accountant.place import Place
from accountant.rules.rule import Rule
from accountant.stores.chain import FORMAT
from accountant.stores.file_lock import this_process
from accountant.written_terms import Terms
from mechanisms import Assumption

Body = dict[str, Any]


def begin_body(instance: str, terms: Terms, location: Any, at: int, names: str | None = None) -> Body:
    """Return the first entry of a ledger."""
    begin = {"format": FORMAT, "instance": instance, "terms": terms.to_dict(), "location": location}
    if names is not None:
        begin["names"] = names
    return {"begin": begin, "at": at}


def kind_body(entry: Entry) -> Body:
    """Return a kind of entry: mechanism, sensitivity, charge, place and note."""
    return {"kind": entry_terms(entry)}


def charge_body(
    event: Charged,
    at: int | None,
    paid: Sequence[tuple[int, Sequence[Any]]],
    opened: Sequence[Sequence[Any]],
    source: str | None = None,
) -> Body:
    """Return a charge.

    Parameters
    ----------
    event
        The charge.
    at
        When, here.
    paid
        Kinds of entries, by position, each with the accounts that paid it.
    opened
        New accounts, each with what it is committed to.
    source
        The digest of the ledger that it was imported from, if it was.
    """
    body = _at({"paid": paid}, at, event.drift)
    if opened:
        body["opened"] = opened
    if event.scope != ANY:
        body["for"] = [event.scope.purpose, event.scope.tenant]
    if event.reserved:
        body["holder"] = this_process()
    if event.request is not None:
        body["request"] = event.request
    if source is not None:
        body["source"] = source
    return body


def outcome_body(event: Settlement | DrawnAgain | Answered, position: int) -> Body:
    """Return what became of the charge at a position."""
    if isinstance(event, Answered):
        return {"answered": [position, event.digest]}
    what = "drawn again" if isinstance(event, DrawnAgain) else "returned" if event.returned else "drawn"
    return _at({what: position}, event.at, event.drift)


def clock_body(event: ClockConfirmed) -> Body:
    """Return the statement that a clock is right."""
    return {"clock": event._asdict()}


def numbered_rules(rules: Sequence[Rule], number_of: Callable[[RecordId], int]) -> list[Rule]:
    """Return rules with the numbers of accounts in the place of their names in groups."""
    return [
        replace(rule, groups=tuple(tuple(map(number_of, group)) for group in rule.groups)) for rule in rules
    ]


def rules_body(
    rules: Sequence[Rule], opened: Sequence[Sequence[Any]], by: str, reason: str, at: int, drift: int
) -> Body:
    """Return what an entry says of numbered rules that are in force from here on."""
    body = {"rules": [rule.to_dict() for rule in rules], "by": by, "reason": reason, "opened": opened}
    return _at(body, at, drift)


def saved_body(saved: Sequence[Any], at: int, drift: int) -> Body:
    """Return that a run was saved."""
    return _at({"saved": saved}, at, drift)


def assumption_body(assumption: Assumption) -> Body:
    """Return something that nobody checked."""
    return {"assumed": [assumption.kind.value, assumption.message, assumption.where]}


def closed_body(why: str, where: Place) -> Body:
    """Return that the gate was shut."""
    return {"closed": [why, *where]}


def _at(body: Body, at: int | None, drift: int) -> Body:
    body["at"] = at
    if drift:
        body["drift"] = drift
    return body
