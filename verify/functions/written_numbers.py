"""Numbers that stand in a function's code: data on which it may do what it does on no others.

A value among a thousand that is treated differently is found by chance once in a thousand tries; but code that treats
it differently names it, mostly. Nothing is called for it, and what is found only ranks pairs of data sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

_MOST = 16  # numbers, in the order in which they stand
_EXACT = 2.0**53  # whole numbers below are all floats
_CONTAINERS = (tuple, frozenset, list, set, dict)


def written_numbers(function: Any) -> list[float]:
    """Return the numbers in the code of a function, of the functions of its module that it names, and among values."""
    found: dict[float, None] = {}
    waiting, seen = [function], set[int]()
    while waiting:
        value = waiting.pop(0)
        value = value.__func__ if type(value) is MethodType else value
        if type(value) is not FunctionType or id(value) in seen:
            continue
        seen.add(id(value))
        names = dict.fromkeys(_names(value.__code__))
        named = [value.__globals__[name] for name in names if name in value.__globals__]
        functions = [each for each in named if type(each) is FunctionType]
        waiting += [each for each in functions if each.__module__ == value.__module__]
        waiting.append(vars(value).get("__wrapped__"))
        for each in (value.__code__, *named):
            found |= dict.fromkeys(_numbers(each))
    return list(found)[:_MOST]


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code reads, in functions within it too."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers of a constant, a container of them, or code."""
    if type(value) in (int, float):
        if abs(value) < _EXACT:
            yield float(value)
    elif isinstance(value, CodeType):
        for part in value.co_consts:
            yield from _numbers(part)
    elif type(value) in _CONTAINERS:
        for part in value:
            yield from _numbers(part)
