"""Learners to which every user sends one message, drawn by the learner's gate or by the user's own device."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Accountant, Private
from accountant.gates.lineage import RecordId
from algorithms.structured_learner import HorizonLearner, StructureType
from algorithms.tickets import Ticket
from mechanisms import Box, Domain, Mechanism, OneHot, mechanism_from_dict
from mechanisms.arrays import IntArray
from mechanisms.parameters import ParameterError

_DOMAINS: Mapping[str, Any] = {"Box": Box, "OneHot": OneHot}


@dataclass(frozen=True, eq=False)
class Question:
    """Public question to a user about the feedback on an action.

    Attributes
    ----------
    mechanism
        The mechanism that draws the message from the feedback on the whole action.
    domain
        The domain of the feedback.
    about
        The arms that the message is about, shape (lanes, k).
    """

    mechanism: Mechanism
    domain: Domain
    about: IntArray

    def answer(
        self,
        accountant: Accountant,
        feedback: Sequence[float],
        record: RecordId,
        *,
        request: str | None = None,
    ) -> npt.NDArray[Any]:
        """Return the message, drawn where the feedback is.

        Parameters
        ----------
        accountant
            The accountant on the user's own device: it charges for every message, for any asker, and refuses one beyond
            the user's budget there.
        feedback
            On the action's arms, in their order; it does not leave the device.
        record
            The name of the user in the device's ledger.
        request
            As for `Accountant.release`: a ticket's name, so that one question has one answer, also after a crash.

        Returns
        -------
        ndarray
            The message, shape (1, n).

        Raises
        ------
        DomainError
            If the feedback does not lie in the domain.
        Refusal
            If the accountant refuses; nothing was drawn.
        """
        missing = self.domain.shape[0] - len(feedback)  # an action may have fewer arms than the longest
        private = accountant.private([*feedback, *[0.0] * missing], self.domain, record)
        return accountant.release(self.mechanism, private, request=request)

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON-able data, exact to the last bit."""
        domain = {field.name: getattr(self.domain, field.name) for field in fields(self.domain)}  # type: ignore[arg-type]
        return {
            "mechanism": self.mechanism.to_dict(),
            "domain": {"kind": type(self.domain).__name__, **domain},
            "about": self.about.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Question:
        """Return the question that `to_dict` described.

        Raises
        ------
        ParameterError
            If it described none.
        """
        try:
            domain = dict(saved["domain"])
            about = np.array(saved["about"], dtype=np.int64)
            return cls(mechanism_from_dict(saved["mechanism"]), _DOMAINS[domain.pop("kind")](**domain), about)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ParameterError(f"question: is none that to_dict() returns: {error!r}") from None


class MessageLearner(HorizonLearner[StructureType]):
    """A learner to which every user sends one message about the feedback on one action.

    The question to a user is public (`ask`), and the learner learns from the message alone (`hear`). So the message may
    be drawn by the gate, from private feedback (`observe`), or on the user's device, which nothing else leaves (`pose`,
    `Question.answer`, `observe_message`): messages, and the learning from them, are the same.

    Parameters
    ----------
    structure, gate, horizon
        As for `HorizonLearner`.
    """

    @abc.abstractmethod
    def ask(self, action: IntArray) -> Question:
        """Return the question to the next user about an action; the same until the question has been used."""

    def reset_user(self) -> None:
        """Let the next user be asked anew: this one has been."""

    @abc.abstractmethod
    def hear(self, about: IntArray, message: npt.NDArray[Any]) -> None:
        """Learn from a message about these arms."""

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Draw the user's message, and learn from it."""
        question = self.ask(action)
        message = self.gate.release(question.mechanism, feedback)
        self.reset_user()
        self.hear(question.about, message)

    def pose(self, ticket: Ticket | str) -> Question:
        """Return the question to the user of a ticket: for a device, which may answer after other users were asked.

        Raises
        ------
        TicketRefused
            If the ticket is not open.
        """
        question = self.ask(self.waiting.find(ticket).action)
        self.reset_user()
        return question

    def observe_message(
        self, question: Question, message: npt.ArrayLike, record: RecordId, *, ticket: Ticket | str
    ) -> None:
        """Learn from a message that the device of a user has drawn.

        The accountant charges the user as if it had drawn the message itself. It assumes that the device answered the
        question as asked; the guarantee to the device's owner is the device's own.

        Parameters
        ----------
        question
            The question that `pose` returned for the ticket.
        message
            The message that `Question.answer` returned.
        record
            The owner of the device.
        ticket
            The ticket, or its name.

        Raises
        ------
        TicketRefused
            If the ticket is not open.
        ParameterError
            If it is no message that the mechanism outputs, or the gate is no accountant.
        Refusal
            If the gate refuses the record. Nothing is charged or learned, as with all of these; the ticket stays open.
        """
        own = self.waiting.find(ticket)
        if not isinstance(self.gate, Accountant):
            raise ParameterError(
                f"gate = {self.gate!r}: must be an Accountant, to receive what others have drawn"
            )
        received = self.gate.receive(question.mechanism, message, question.domain, record)
        self.hear(question.about, received)
        self.waiting.close(own)
        self.rounds.add(None, self)
        self.update_epoch()
