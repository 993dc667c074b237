"""Refusals of a service, as it answers them."""

from __future__ import annotations

from accountant.refusals import Refusal
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
        return {"error": {"kind": self.kind, **named, "message": self.message[:_LONGEST]}}


_LONGEST = 1_000


def invalid(parameter: str, message: str) -> ServiceProblem:
    """Return the refusal of a parameter."""
    return ServiceProblem(422, "invalid", message, parameter)


def kind_of(refused: Refusal) -> str:
    """Return the class's name in the spelling of kinds: lower case with hyphens."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in type(refused).__name__).lstrip("-")
