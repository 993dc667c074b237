"""Numbers in a function's code: data with these values may be treated as special cases.

One value in a thousand that is treated differently is found by chance once in a thousand tries, but it is mostly
written in the code. The function is not called for this, and the numbers only rank pairs of data sets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

_MOST = 16  # numbers
_MOST_STEPS = 10_000  # each takes one value, or finds a container exhausted
_EXACT = 2.0**53  # whole numbers below are all floats


def written_numbers(function: Any) -> Iterator[float]:
    """Yield the first numbers in a function's code, in its own values and in those of its module that it names.

    Code, functions and containers take turns, so that a long table hides no other number; each is looked into once, as
    they may hold themselves.
    """
    waiting, seen, found = deque([iter([function])]), set[int](), set[float]()
    for _ in range(_MOST_STEPS):
        if not waiting or len(found) == _MOST:
            return
        parts = waiting.popleft()
        for value in islice(parts, 1):
            waiting.append(parts)
            if type(value) in (int, float) or issubclass(type(value), np.integer):
                if -_EXACT < value < _EXACT and float(value) not in found:
                    found.add(float(value))
                    yield float(value)
            elif type(value) in _HELD and id(value) not in seen:
                seen.add(id(value))
                waiting.append(iter(_HELD[type(value)](value)))


def _values_of(function: FunctionType) -> Iterator[Any]:
    """Yield a function's code and defaults, the function it wraps, and the values of its variables from outside.

    A function that is named in the code is looked into only if it is of the same module.
    """
    yield from (function.__code__, function.__defaults__, function.__kwdefaults__)
    yield vars(function).get("__wrapped__")
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not set yet
            yield cell.cell_contents
    for name in dict.fromkeys(_names(function.__code__)):
        value = function.__globals__.get(name)
        if type(value) is not FunctionType or value.__module__ == function.__module__:
            yield value


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code reads, in functions within it too."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


_HELD: dict[type, Callable[[Any], Iterable[Any]]] = {
    **dict.fromkeys((tuple, list, set, frozenset), iter),
    dict: lambda held: chain(held, held.values()),
    CodeType: lambda code: code.co_consts,
    FunctionType: _values_of,
    MethodType: lambda method: [method.__func__],
    partial: lambda call: [call.func, call.args, call.keywords],
}
"""The parts of values, by their exact types: a subclass of the user's may run its own code when it is asked."""
