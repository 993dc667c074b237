"""Tickets: what credits feedback that comes late, out of order or never to the action that it is about."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from mechanisms.arrays import IntArray


class TicketRefused(ValueError):
    """Feedback came with a ticket that is not open: used, withdrawn, or of another run."""


class AmbiguousFeedback(ValueError):
    """Feedback came without a ticket while earlier, other actions wait for theirs: whose it is cannot be known."""


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One action that was handed out, and waits for its feedback.

    Attributes
    ----------
    run, number
        Which run of a learner handed it out, and as its how manyth.
    action
        What `act` would have returned, shape (lanes, size).
    """

    run: str
    number: int
    action: IntArray

    @property
    def name(self) -> str:
        """The ticket as a word, by which it is known after a restart and outside of Python."""
        return f"{self.run}-{self.number}"


class OpenActions:
    """The actions of one learner whose feedback has not come.

    Attributes
    ----------
    run
        The word for this run; drawn with the first ticket.
    issued
        How many tickets were.
    tickets
        Those that are open, by their numbers.
    asked
        How many calls of `act` returned the last action and were not observed.
    overtaken
        How many returned another one before, and were not observed.
    """

    def __init__(self) -> None:
        self.run = ""
        self.issued = 0
        self.tickets: dict[int, Ticket] = {}
        self.asked = 0
        self.overtaken = 0

    def ask(self, action: IntArray, last: IntArray | None) -> None:
        """Note that an action is returned without a ticket, after `last`."""
        if self.asked and not np.array_equal(action, last):  # type: ignore[arg-type]
            self.overtaken += self.asked
            self.asked = 0
        self.asked += 1

    def check_one(self) -> None:
        """Raise `AmbiguousFeedback` unless feedback without a ticket can only be on the last action."""
        if self.overtaken:
            raise AmbiguousFeedback(
                f"{self.overtaken} earlier calls of act returned other actions and wait for their feedback: whose is "
                "this? Call act once for every round that is observed, or hand out a ticket for each "
                "(`learner.issue()`) and pass it with its feedback (`withdraw` forgets the calls that wait)"
            )

    def answered(self, rounds: int) -> None:
        """Note that feedback on so many rounds came without a ticket."""
        self.asked = max(self.asked - rounds, 0)

    def issue(self, action: IntArray) -> Ticket:
        """Return a new ticket, with an action of its own."""
        if not self.run:
            self.run = os.urandom(8).hex()
        self.issued += 1
        ticket = Ticket(self.run, self.issued, action.copy())
        ticket.action.flags.writeable = False
        self.tickets[self.issued] = ticket
        return ticket

    def find(self, ticket: Ticket | str) -> Ticket:
        """Return this run's own open ticket of that name.

        Raises
        ------
        TicketRefused
            If it has none.
        """
        name = ticket.name if isinstance(ticket, Ticket) else ticket
        run, _, number = str(name).rpartition("-")
        if not self.run or run != self.run or not number.isdecimal():
            self._refuse(name, "it is not of this run")
        found = self.tickets.get(int(number))
        if found is None:
            self._refuse(
                name, "it was used or withdrawn" if 0 < int(number) <= self.issued else "it was never issued"
            )
        return found

    def close(self, ticket: Ticket) -> None:
        """Let a ticket be used, or withdrawn."""
        del self.tickets[ticket.number]

    def _refuse(self, name: object, why: str) -> NoReturn:
        raise TicketRefused(f"ticket={str(name)!r}: {why}; open tickets are those in `learner.tickets`")
