"""Tickets, which credit feedback that is late, out of order or missing to the action that it is about."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

import numpy as np

from mechanisms.arrays import IntArray
from mechanisms.parameters import DPWitnessError, quoted

_DIGITS = 19  # of the largest int64, which no ticket's number exceeds; Python refuses to read more than 4,300
_BITS = 63  # of a ticket's word, which is kept as an int64


class TicketRefused(DPWitnessError, ValueError):
    """Feedback came with a ticket that is not open: used, withdrawn, or of another run."""


class AmbiguousFeedback(DPWitnessError, ValueError):
    """Feedback without a ticket cannot be assigned while earlier, different actions wait for theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One action that was handed out, and waits for its feedback.

    Attributes
    ----------
    word, number
        A random word, and its serial number in its run. A run that is loaded from an older save hands out the same
        numbers again: by the word, tickets issued after that save are recognised.
    action
        The action that `act` would have returned, shape (lanes, size).
    """

    word: str
    number: int
    action: IntArray

    @property
    def name(self) -> str:
        """The ticket as a word, by which it is known after a restart and outside of Python."""
        return f"{self.word}-{self.number}"


class OpenActions:
    """The actions of one learner that wait for feedback.

    Attributes
    ----------
    issued
        The number of tickets issued.
    open
        The numbers of those that are open, ascending, their words and their actions: one array each, since every save
        of a run writes them all, and all in one step, since an interruption may fall on any line.
    asked
        The number of calls of `act` that returned the last action and were not observed.
    overtaken
        The number of calls that returned another one before, and were not observed.
    """

    def __init__(self) -> None:
        self.issued = 0
        none: IntArray = np.zeros(0, dtype=np.int64)
        self.open: tuple[IntArray, IntArray, IntArray] = none, none.copy(), none.copy()
        self.asked = 0
        self.overtaken = 0

    def __len__(self) -> int:
        """Return the number of open tickets."""
        return int(self.open[0].size)

    @property
    def tickets(self) -> dict[int, Ticket]:
        """The open tickets, by their numbers."""
        return {int(number): self._ticket(i) for i, number in enumerate(self.open[0])}

    def _ticket(self, at: int) -> Ticket:
        numbers, words, actions = self.open
        ticket = Ticket(f"{words[at]:016x}", int(numbers[at]), actions[at].copy())
        ticket.action.flags.writeable = False
        return ticket

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

    def note_feedback(self, rounds: int) -> None:
        """Note that feedback on `rounds` rounds came without a ticket."""
        self.asked = max(self.asked - rounds, 0)

    def issue(self, action: IntArray) -> Ticket:
        """Return a new ticket, with an action of its own."""
        self.issued += 1
        numbers, words, actions = self.open
        own = action[None].copy()
        self.open = (
            np.append(numbers, self.issued),
            np.append(words, secrets.randbits(_BITS)),
            np.concatenate([actions, own]) if numbers.size else own,
        )
        return self._ticket(-1)

    def find(self, ticket: Ticket | str) -> Ticket:
        """Return this run's own open ticket of that name.

        Raises
        ------
        TicketRefused
            If it has none.
        """
        name = ticket.name if isinstance(ticket, Ticket) else ticket
        _, _, number = name.rpartition("-") if isinstance(name, str) else ("", "", "")
        if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
            self._refuse(name, "it is not of this run")
        numbers, wanted = self.open[0], min(int(number), self.issued + 1)
        at = int(np.searchsorted(numbers, wanted))
        if at == numbers.size or numbers[at] != wanted:
            closed = 0 < int(number) <= self.issued
            self._refuse(
                name,
                "it was used or withdrawn, or it is not of this run" if closed else "it was never issued",
            )
        found = self._ticket(at)
        if found.name != name:  # another run's, one that an older save has forgotten, or other digits
            self._refuse(name, "it is not of this run")
        return found

    def close(self, ticket: Ticket) -> None:
        """Let a ticket be used, or withdrawn."""
        numbers, words, actions = self.open
        kept = numbers != ticket.number
        self.open = numbers[kept], words[kept], actions[kept]

    def _refuse(self, name: object, why: str) -> NoReturn:
        raise TicketRefused(f"ticket = {quoted(name)}: {why}; open tickets are those in `learner.tickets`")


class TicketedLearner:
    """Base class of learners that accept feedback with a ticket, late and in any order.

    Attributes
    ----------
    waiting
        The actions that wait for feedback.
    """

    def __init__(self) -> None:
        self.waiting = OpenActions()

    @property
    def tickets(self) -> Mapping[int, Ticket]:
        """The open tickets by their numbers; read-only."""
        return MappingProxyType(self.waiting.tickets)

    def withdraw(self, ticket: Ticket | str | None = None) -> None:
        """Forget actions for which no feedback will come: that of a ticket, or all without a ticket.

        Raises
        ------
        TicketRefused
            If the ticket is not open.
        """
        if ticket is None:
            self.waiting.asked = self.waiting.overtaken = 0
        else:
            self.waiting.close(self.waiting.find(ticket))
