"""Rules for the values of options. Every refusal is a `ParameterError` with the message ``name = value: rule``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechanisms.parameters import ParameterError, quoted, real, whole_number

ValueRule = Callable[[str, Any], None]
"""Function of an option's name and value that raises an error if the value breaks the rule."""


def real_number(holds: Callable[[float], bool] = lambda value: True, words: str = "") -> ValueRule:
    """Return the rule that a value is a number of which something holds; infinity is one."""

    def check(name: str, value: Any) -> None:
        if not holds(real(name, value)):
            raise _refusal(name, value, f"must {words}")

    return check


def integer(least: int, bits: int = 63) -> ValueRule:
    """Return the rule that a value is a whole number from `least` on, and below 2^bits."""

    def check(name: str, value: Any) -> None:
        whole_number(name, value, least=least, bits=bits)

    return check


def one_of(choices: tuple[str, ...]) -> ValueRule:
    """Return the rule that a value is one of these names."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str):
            raise _refusal(name, value, "must be a name")
        if value not in choices:
            raise _refusal(name, value, f"must be one of {', '.join(choices)}")

    return check


def satisfies(holds: Callable[[Any], bool], words: str) -> ValueRule:
    """Return the rule that something holds of a value: that it is `words`."""

    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise _refusal(name, value, f"must be {words}")

    return check


def accepted_by(make: Callable[[Any], Any]) -> ValueRule:
    """Return the rule that `make` accepts the value; it refuses with its own message."""

    def check(name: str, value: Any) -> None:
        make(value)

    return check


def _refusal(name: str, value: Any, rule: str) -> ParameterError:
    """Return the error of a value that breaks a rule."""
    return ParameterError(f"{name} = {quoted(value)}: {rule}")
