"""Named settings of a problem: their kinds, ranges and defaults, and the reading of ``key=value``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Literal

from algorithms.problems.problem_errors import SettingError
from mechanisms.parameters import quoted

Value = int | float | str
"""The value of a setting of a problem or a learner."""

_SHORT = 80  # characters of a list of names that is shown in full


@dataclass(frozen=True)
class Parameter:
    """One setting: its name, its values, and its meaning.

    Attributes
    ----------
    name
        The key in ``key=value``.
    kind
        ``"int"``, ``"float"`` or ``"str"``.
    default
        The value when the key is not given.
    low, high
        The closed range of a number; None means no limit.
    meaning
        One line for a reader.
    choices
        The only values allowed of a ``"str"``; empty means any.
    """

    name: str
    kind: Literal["int", "float", "str"]
    default: Value
    low: float | None = None
    high: float | None = None
    meaning: str = ""
    choices: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """Condition on a value, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        noun = {"int": "an integer", "float": "a number", "str": "a text"}[self.kind]
        if self.low is not None and self.high is not None:
            return f"{noun} in [{self.low:g}, {self.high:g}]"
        if self.low is not None:
            return f"{noun} of at least {self.low:g}"
        if self.high is not None:
            return f"{noun} of at most {self.high:g}"
        return noun

    def parse(self, value: Value) -> Value:
        """Return `value` (as typed, or already of its kind) as a checked value of this parameter.

        Raises
        ------
        SettingError
            Naming the parameter, the value and the rule.
        """
        try:
            parsed = self._converted(value)
        except (ValueError, OverflowError):
            parsed = None
        if parsed is None or not self._allows(parsed):
            given = value if isinstance(value, str) else quoted(value)
            raise SettingError(f"{self.name} = {given}: must be {self.rule}")
        return parsed

    def _converted(self, value: Value) -> Value | None:
        if self.kind == "str":
            return str(value)
        if isinstance(value, str):
            return int(value) if self.kind == "int" else float(value)
        if isinstance(value, bool) or (self.kind == "int" and value != int(value)):
            return None
        return int(value) if self.kind == "int" else float(value)

    def _allows(self, value: Value) -> bool:
        if isinstance(value, str):
            return not self.choices or value in self.choices
        return (
            isfinite(value)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
        )


def parse_settings(settings: Mapping[str, Value], parameters: Iterable[Parameter]) -> dict[str, Value]:
    """Return the value of every parameter: as set, or its default.

    >>> parse_settings({"items": "12"}, [Parameter("items", "int", 20, 1, 100, "number of items")])
    {'items': 12}

    Raises
    ------
    SettingError
        If a key is unknown (the message lists the known ones), or a value malformed or out of range.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for key in settings:
        known_name("parameter", key, known)
    return {name: parameter.parse(settings.get(name, parameter.default)) for name, parameter in known.items()}


def check_shared(settings: Iterable[str], takers: Mapping[str, Iterable[Parameter]]) -> None:
    """Refuse a key of settings that are shared out between several, by their names, if none of them takes it.

    Raises
    ------
    SettingError
        If there is one; the message suggests the closest known key, and lists the keys of each.
    """
    known = {taker: [parameter.name for parameter in parameters] for taker, parameters in takers.items()}
    every = [name for names in known.values() for name in names]
    for key in settings:
        if key not in every:
            words = "; ".join(f"{taker} takes {', '.join(names) or 'none'}" for taker, names in known.items())
            raise SettingError(f"unknown parameter {quoted(key)}: {spelling_suggestion(key, every)}{words}")


def known_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return `name` if it is among the known ones.

    Raises
    ------
    SettingError
        Otherwise, suggesting the three closest names, or saying all if they are few.
    """
    names = list(known)
    if name in names:
        return name
    raise SettingError(f"unknown {what} {quoted(name)}: {_nearest(name, names)}")


def _nearest(name: str, names: Sequence[str]) -> str:
    """Return all names if their list is short, with the closest, else the three closest, as a question."""
    every = ", ".join(names) or "none"
    if len(every) <= _SHORT:
        return f"{spelling_suggestion(name, names)}known are {every}"
    *first, last = get_close_matches(name, names, n=3, cutoff=0.0)
    return f"did you mean {', '.join(first)} or {last}?"


def spelling_suggestion(name: str, known: Sequence[str]) -> str:
    """Return a question whether the closest known name is meant; nothing if none is close."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}? " if close else ""
