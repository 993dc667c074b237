"""The messages of a bandit's rounds: values that one of its methods returns, or that are read after each round."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from verify.bandits.calling.bandit_calls import BanditError, methods_of

Message = str | Callable[[Any], Any]
"""The name of a method of the bandit (of a part of it: ``"channel.send"``), or a function of the bandit."""


@dataclass
class MessageLog:
    """Log of the messages of one run after the other.

    A method is watched in each bandit object: each value that it returns is a message of the round of the call. A
    function is called once after every round.

    Attributes
    ----------
    message
        The method's name, or the function.
    kept
        The rounds, from 0, of which messages are kept; others are forgotten at once.
    runs
        For every run that was begun, the messages of the rounds in `kept`, in the order of `kept`: nothing (None) if
        there were none, the message itself if there was one, else a list of them.
    """

    message: Message
    kept: Collection[int]
    runs: list[list[Any]] = field(default_factory=list)
    _sent: dict[int, list[Any]] = field(default_factory=dict)

    def begin(self, bandit: Any, number: Callable[[], int]) -> None:
        """Begin the run of a fresh bandit.

        Parameters
        ----------
        bandit
            Its method is replaced in this object by one that also logs the value it returns.
        number
            Function that returns the number of the round that is played, from 0.

        Raises
        ------
        BanditError
            If it has no such method, or the method cannot be replaced.
        """
        self._sent = {each: [] for each in self.kept}
        self.runs.append([])
        if not isinstance(self.message, str):
            return
        *parts, name = self.message.split(".")
        owner = bandit
        for part in parts:
            owner = getattr(owner, part, None)
        method = getattr(owner, name, None)
        if not callable(method):
            raise BanditError(
                f"message = {self.message!r}: {type(bandit).__qualname__} has no such method; it has "
                f"{', '.join(methods_of(bandit)) or 'none'}; give message=..., the name of the method that returns "
                "the sent value, or a function of the bandit that returns the value stored after a round"
            )

        def note_message(*args: Any, **kwargs: Any) -> Any:
            returned = method(*args, **kwargs)
            self._note(number(), returned)
            return returned

        try:
            setattr(owner, name, note_message)
        except AttributeError:
            raise BanditError(
                f"message = {self.message!r}: this method of {type(owner).__qualname__} cannot be replaced by one that "
                "logs its values; give message=..., a function of the bandit"
            ) from None

    def end_round(self, bandit: Any, number: int) -> None:
        """Record the message that is read of the bandit after a round."""
        if not isinstance(self.message, str) and number in self._sent:
            self._note(number, self.message(bandit))

    def end(self) -> None:
        """End the run."""
        self.runs[-1] = [
            each if len(each) > 1 else each[0] if each else None
            for each in (self._sent[number] for number in self.kept)
        ]

    def _note(self, number: int, message: Any) -> None:
        if number in self._sent:
            self._sent[number].append(_copied_message(message))


def _copied_message(message: Any) -> Any:
    """Return a copy of a message, which later changes of its parts do not affect."""
    return message if isinstance(message, int | float | str | None) else copy.deepcopy(message)
