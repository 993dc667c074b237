"""The constructor arguments of a learner, by parameter name."""

from __future__ import annotations

import inspect
import numbers
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

_BuiltType = TypeVar("_BuiltType")
_GateType = TypeVar("_GateType")
Plain = bool | int | float | str | None


def build_watched(
    build: Callable[[_GateType], _BuiltType], gate: _GateType
) -> tuple[_BuiltType, dict[str, Plain]]:
    """Build an object on a gate; return it and the plain arguments of its constructor: numbers, texts, None.

    A profile function sees the constructor's call, so it does not matter how `build` makes the object; arguments that a
    constructor passes on under another name (to its base class, say) are included. If there is a profile function
    already, or no constructor in Python, no arguments are returned.
    """
    if sys.getprofile() is not None:
        return build(gate), {}
    seen: dict[int, tuple[object, dict[str, Any]]] = {}  # by id; objects are kept, so that ids stay theirs

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "__init__":
            names, _, keywords, values = inspect.getargvalues(frame)
            if names:
                made = values[names[0]]
                given = {name: values[name] for name in names[1:]} | (values[keywords] if keywords else {})
                outer = seen[id(made)][1] if id(made) in seen else {}
                seen[id(made)] = made, given | outer

    sys.setprofile(watch)
    try:
        built = build(gate)
    finally:
        sys.setprofile(None)
    _, given = seen.get(id(built), (None, {}))
    return built, {
        name: _plain(value)
        for name, value in given.items()
        if value is None or isinstance(value, str | numbers.Real)
    }


def differing(saved: dict[str, Plain], now: dict[str, Plain]) -> list[str]:
    """Say which arguments of both differ, and how."""
    common = sorted(saved.keys() & now.keys())
    return [
        f"{name} ({saved[name]!r} then, {now[name]!r} now)"
        for name in common
        if saved[name] != now[name]
        and (saved[name] == saved[name] or now[name] == now[name])  # NaN is itself
    ]


def _plain(value: Any) -> Plain:
    if value is None or isinstance(value, bool | str):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)
