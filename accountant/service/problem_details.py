"""Refusals of a service: an HTTP status, and a JSON error without private values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from mechanisms.parameters import DPWitnessError


class ServiceProblem(DPWitnessError):
    """The reason why a request is not done, in words without private values.

    Attributes
    ----------
    status
        The HTTP status.
    kind
        A short stable name.
    message
        The parameter's value, if it is public, and the rule.
    parameter
        The wrong place in the body, as ``data[0].value``; None if it is no parameter.
    """

    def __init__(self, status: int, kind: str, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.parameter = parameter

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Return JSON-able data."""
        named = {} if self.parameter is None else {"parameter": self.parameter}
        return {"error": {"kind": self.kind, **named, "message": str(self)}}


def invalid(parameter: str, message: str) -> ServiceProblem:
    """Return the refusal of a parameter."""
    return ServiceProblem(422, "invalid", message, parameter)


def kind_of(refused: Exception) -> str:
    """Return the class's name in the spelling of kinds: lower case with hyphens."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in type(refused).__name__).lstrip("-")


Problems: TypeAlias = Mapping[type[Exception], tuple[int, str, str] | tuple[int, str, str, str]]
"""For classes of exceptions the status, the kind ("" for the name of the class), the message and, at most, a parameter.

The first class is taken that an exception is of. Its message may have the exception itself, as ``{0}``, and the name of
the exception's class, as ``{1}``.
"""


@contextmanager
def answered_as(problems: Problems) -> Iterator[None]:
    """Raise a problem in place of an exception of one of these classes."""
    try:
        yield
    except tuple(problems) as error:
        status, kind, message, *where = next(problems[of] for of in problems if isinstance(error, of))
        said = message.format(error, type(error).__name__)
        raise ServiceProblem(status, kind or kind_of(error), said, *where) from None
