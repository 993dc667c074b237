"""Rules for the values of options. Every refusal is a `ValueError` with the message ``name=value: rule``."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from mechanisms.parameters import quoted

ValueRule = Callable[[str, Any], None]
"""Called with an option's name and value."""


def real_number(holds: Callable[[float], bool] = lambda value: True, words: str = "") -> ValueRule:
    """Return the rule that a value is a number of which something holds; NaN and infinity are numbers."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise _refusal(name, value, "must be a number")
        try:
            as_float = float(value)
        except OverflowError:
            raise _refusal(name, value, "is larger than every float") from None
        if not holds(as_float):
            raise _refusal(name, value, f"must {words}")

    return check


def integer(least: int, most: int | None = None) -> ValueRule:
    """Return the rule that a value is an integer in a range."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise _refusal(name, value, f"must be a whole number of at least {least}")
        if most is not None and int(value) > most:
            raise _refusal(name, value, f"must be at most {most}")

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


def _refusal(name: str, value: Any, rule: str) -> ValueError:
    """Return the error of a value that breaks a rule."""
    return ValueError(f"{name} = {quoted(value)}: {rule}")
