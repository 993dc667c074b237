"""The tickets of a run that wait for feedback, with their age, and the withdrawal of old ones.

A run keeps of each ticket its record, the client that asked, the question to the record's device (None under central
trust), and the time, in milliseconds since 1970 by the clock of the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from accountant.gates.lineage import RecordId
from accountant.rules import clock
from algorithms.durable.durable_run import DurableRun
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.structured_learner import StructuredLearner

AnyLearner = StructuredLearner[Any] | ContextualLearner
Run = DurableRun[AnyLearner]
"""The runs of learners that hand out tickets."""
Kept = Callable[[str], Any]
"""Function that returns the value kept under a name, None if there is none."""


@dataclass(frozen=True)
class HandedOut:
    """Data of a ticket beside its action.

    Attributes
    ----------
    record
        The record to which the action was shown.
    client
        The client that asked for it.
    question
        The question to the record's device; None under central trust.
    since
        The time of issue, in milliseconds since 1970; None for a ticket of an earlier version.
    """

    record: RecordId
    client: str
    question: dict[str, Any] | None = None
    since: int | None = None

    def json(self) -> list[Any]:
        """Return the values to be stored."""
        return [self.record, self.client, self.question, self.since]


@dataclass(frozen=True)
class OpenTicket:
    """A ticket that waits for its feedback.

    Attributes
    ----------
    name, arms
        The name of the ticket, and the arms of its action.
    handed_out
        Its stored data; None if it was handed out in Python.
    """

    name: str
    arms: tuple[int, ...]
    handed_out: HandedOut | None

    @property
    def issue_time(self) -> int | None:
        """When it was handed out, in milliseconds since 1970; None if that is not known."""
        return None if self.handed_out is None else self.handed_out.since

    def json(self) -> dict[str, Any]:
        """Return it as JSON data; a time as ISO 8601 has it."""
        since = self.issue_time
        return {
            "ticket": self.name,
            "action": list(self.arms),
            "record": None if self.handed_out is None else self.handed_out.record,
            "since": None
            if since is None
            else datetime.fromtimestamp(since / 1000, UTC).isoformat(timespec="seconds"),
        }


def kept_as(ticket: str) -> str:
    """Return the name by which a run stores a ticket's data."""
    return json.dumps(["ticket", ticket])


def stored_ticket(kept: Kept, ticket: str) -> HandedOut | None:
    """Return the stored data of a ticket; None if it was issued in Python."""
    found = kept(kept_as(ticket))
    return None if found is None else HandedOut(*found)


def kept_by(run: Run) -> Kept:
    """Return a function that reads the values kept by a run."""

    def read_kept(name: str) -> Any:
        found = run.extra_state(name)
        return None if found is None else json.loads(found)

    return read_kept


def open_tickets(run: Run, kept: Kept, most: int | None = None) -> list[OpenTicket]:
    """Return the open tickets, at most `most`, in the order in which they were handed out."""
    tickets = list(run.learner.waiting.tickets.values())[:most]
    return [
        OpenTicket(
            each.name, tuple(int(arm) for arm in each.action[0] if arm >= 0), stored_ticket(kept, each.name)
        )
        for each in tickets
    ]


def withdraw_older(run: Run, kept: Kept, age: int) -> list[str]:
    """Withdraw the open tickets that were handed out `age` milliseconds ago, or earlier; return their names.

    Tickets without a known time stay open. The lost feedback is chosen by times alone, not by data. No charge changes:
    a new ticket charges nothing, and an observed one is not open any more.
    """
    now, gone = clock.wall(), list[str]()
    for ticket in run.learner.waiting.tickets.values():
        found = stored_ticket(kept, ticket.name)
        if found is not None and found.since is not None and now - found.since >= age:
            run.learner.waiting.close(ticket)
            gone.append(ticket.name)
    return gone
