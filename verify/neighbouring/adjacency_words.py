"""Adjacencies and domains as text, for the command line: ``within(box(-10, 10, 5), linf=1)``.

The text is parsed, never evaluated: only the names below, numbers, lists and ``inf`` mean something.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mechanisms import Ball, Box, Categories, Integers, Interval, OneHot
from mechanisms.parameters import ParameterError
from verify.neighbouring.adjacency import (
    AddOrRemoveOne,
    Adjacency,
    AnyTwo,
    Listed,
    ReplaceOne,
    Within,
    as_adjacency,
)

DOMAINS: Mapping[str, Callable[..., Any]] = {
    "interval": Interval,
    "box": Box,
    "ball": Ball,
    "integers": Integers,
    "categories": Categories,
    "one_hot": OneHot,
}
"""Names of domains."""

ADJACENCIES: Mapping[str, Callable[..., Any]] = {
    "any_two": AnyTwo,
    "within": Within,
    "replace_one": ReplaceOne,
    "add_or_remove_one": AddOrRemoveOne,
    "listed": Listed,
}
"""Names of adjacencies."""

SIGNATURES: Mapping[str, str] = {
    "interval": "interval(lower, upper)",
    "box": "box(lower, upper, size)",
    "ball": "ball(radius, size, order=2)",
    "integers": "integers(lower, upper, size=1)",
    "categories": "categories(size)",
    "one_hot": "one_hot(size)",
    "any_two": "any_two(domain)",
    "within": "within(domain, l1=..., l2=..., linf=...)",
    "replace_one": "replace_one(domain, records)",
    "add_or_remove_one": "add_or_remove_one(domain, records)",
    "listed": "listed([[data, other], ...])",
}
"""How each is written."""


def adjacency_from_words(text: str) -> Adjacency:
    """Return the adjacency that a text names; any two points of a domain where it names a domain.

    Raises
    ------
    ParameterError
        If the text cannot be read, or names something unknown or out of range.

    Examples
    --------
    >>> adjacency_from_words("within(box(-10, 10, 5), linf=1)").linf
    1.0
    >>> adjacency_from_words("interval(0, 1)").words
    'any two points of Interval(lower=0.0, upper=1.0)'
    """
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"{text!r}: cannot be read; {_written()}") from None
    try:
        found = _value(expression, text)
        return as_adjacency(found)
    except ParameterError as error:
        message = str(error)
        raise ParameterError(message if text in message else f"{text!r}: {message}") from None


def _value(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, node, text)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _value(operand, text)
            if isinstance(number, int | float):
                return -number if isinstance(sign, ast.USub) else number
        case ast.Name(id="inf"):
            return math.inf
        case ast.List(elts=entries) | ast.Tuple(elts=entries):
            return [_value(entry, text) for entry in entries]
    raise ParameterError(f"{text!r}: {ast.unparse(node)!r} means nothing here; {_written()}")


def _called(name: str, call: ast.Call, text: str) -> Any:
    known = {**DOMAINS, **ADJACENCIES}
    key = name.lower()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else _written()
        raise ParameterError(f"{text!r}: unknown name {name!r}; {hint}")
    arguments = [_value(argument, text) for argument in call.args]
    named = {keyword.arg: _value(keyword.value, text) for keyword in call.keywords if keyword.arg is not None}
    try:
        if key == "listed":
            return Listed(_pairs(arguments, text))
        return known[key](*arguments, **named)
    except TypeError:
        raise ParameterError(f"{text!r}: {name} is written {SIGNATURES[key]}") from None


def _pairs(arguments: list[Any], text: str) -> list[tuple[Any, Any]]:
    listed = arguments[0] if len(arguments) == 1 else None
    if not isinstance(listed, list) or not all(isinstance(two, list) and len(two) == 2 for two in listed):
        raise ParameterError(f"{text!r}: listed is written {SIGNATURES['listed']}")
    try:
        return [(np.array(data), np.array(other)) for data, other in listed]
    except ValueError:
        raise ParameterError(f"{text!r}: a data set must be a number or a table of numbers") from None


def _written() -> str:
    return f"write a domain ({', '.join(DOMAINS)}) or an adjacency ({', '.join(ADJACENCIES)})"
