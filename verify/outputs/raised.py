"""Errors of code under test in place of an output."""

from __future__ import annotations

from dataclasses import dataclass

KIND, MESSAGE = "raised", "message"
"""Names of the places of an error's kind and message among those of outputs, which begin with another character."""

ERRORS = {KIND: "the raised error", MESSAGE: "the message of the error"}
"""Both in words."""


@dataclass(frozen=True)
class Raised:
    """An error of a function in place of its output, or the failure of a command, which has a verb of its own.

    Attributes
    ----------
    error
        Its kind, which is compared: the name of its class, with the exit status of a `SystemExit`.
    message
        Its message, which is compared, too; that of a command, its standard error, is not.
    said
        Both in the words of findings.
    where
        The line that raised it; "" if nobody asked.
    verb
        The verb before `said`.
    """

    error: str
    message: str
    said: str
    where: str = ""
    verb: str = "raised"

    @property
    def compared(self) -> tuple[str, str]:
        """The kind and the message."""
        return self.error, self.message
