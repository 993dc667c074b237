"""JSON bodies of charges and outcomes; `replayed_entries` lists and reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accountant.ledger.entry import Entry
from accountant.ledger.events import Answered, Charged, DrawnAgain, Settlement
from accountant.rules.scope import ANY, Scope
from accountant.stores.chain import FORMAT
from accountant.stores.file_lock import this_process
from accountant.terms import Terms

_Body = dict[str, Any]

RARE_WORDS = "adopted", "anchore", "assumed", 'closed"', 'fold":{', 'key":{"', 'rules":'
"""The third to ninth character of rare entries, which are read at any position when a store is opened."""


def begin_body(instance: str, terms: Terms, location: Any, at: int, names: str | None = None) -> _Body:
    """Return the first entry of a ledger."""
    begin = {"format": FORMAT, "instance": instance, "terms": terms.to_dict(), "location": location}
    if names is not None:
        begin["names"] = names
    return {"begin": begin, "at": at}


def charge_body(
    event: Charged,
    at: int | None,
    paid: Sequence[tuple[int, Sequence[Any]]],
    opened: Sequence[Sequence[Any]],
    source: str | None = None,
) -> _Body:
    """Return a charge.

    Parameters
    ----------
    event
        The charge.
    at
        The time of the charge in this store.
    paid
        Kinds of entries, by position, each with the accounts that paid it.
    opened
        New accounts, each with its commitment to a name.
    source
        The digest of the ledger that it was imported from, if it was.
    """
    body = add_time({"paid": paid}, at, event.drift)
    if opened:
        body["opened"] = opened
    if event.scope != ANY:
        body["for"] = [event.scope.purpose, event.scope.tenant]
    if event.reserved:
        body["holder"] = this_process()
    if event.until is not None:
        body["until"] = event.until
    if event.request is not None:
        body["request"] = event.request
    if source is not None:
        body["source"] = source
    return body


def add_to_tally(
    tally: dict[int, tuple[int, int]], paid: Iterable[tuple[int, Sequence[Any]]], times: int
) -> None:
    """Count the kinds of a charge, and the records that paid for each; -1 times if it was given back."""
    for kind, payers in paid:
        releases, records = tally.get(kind, (0, 0))
        tally[kind] = releases + times, records + times * len(payers)


def charge_of(position: int, body: Mapping[str, Any], entries: tuple[Entry, ...]) -> Charged:
    """Return the charge that `charge_body` described, of these entries."""
    scope = Scope(*body["for"]) if "for" in body else ANY
    request, until, drift = body.get("request"), body.get("until"), body.get("drift", 0)
    return Charged(position, entries, "holder" in body, request, scope, body["at"], drift, until)


def outcome_body(event: Settlement | DrawnAgain | Answered, position: int) -> _Body:
    """Return the outcome of the charge at a position."""
    if isinstance(event, Answered):
        return {"answered": [position, event.digest]}
    what = "drawn again" if isinstance(event, DrawnAgain) else "returned" if event.returned else "drawn"
    return add_time({what: position}, event.at, event.drift)


def add_time(body: _Body, at: int | None, drift: int) -> _Body:
    """Add a time to an entry, and the drift by which the clock may have run ahead unseen by then."""
    body["at"] = at
    if drift:
        body["drift"] = drift
    return body
