"""Errors of code under test in place of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from verify.findings.subject_error import describe_error

KIND, MESSAGE = "raised", "message"
"""Names of the places of an error's kind and message among those of outputs, which begin with another character."""

ERRORS = {KIND: "the raised error", MESSAGE: "the message of the error"}
"""Both in words."""

_LONGEST = 200  # characters of a kind and message


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
        The line that raised it; "" if it is not needed.
    verb
        The verb before `said`.
    """

    error: str
    message: str
    said: str
    where: str = ""
    verb: str = "raised"

    @classmethod
    def from_error(cls, error: BaseException, where: str = "") -> Self:
        """Return a Python exception: its message on one line, and a long one cut short."""
        said = " ".join(describe_error(error).split())
        said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
        kind, _, message = said.partition(": ")
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
            kind = f"{kind}({status})"
        return cls(kind, message, said, where)

    @property
    def compared(self) -> tuple[str, str]:
        """The kind and the message."""
        return self.error, self.message
