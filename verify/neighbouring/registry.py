"""All adjacencies, and their syntax on the command line with domains: ``within(box(-10, 10, 5), linf=1)``.

The text is parsed, never evaluated: only the names below, numbers, lists and ``inf`` mean something.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from mechanisms import Ball, Box, Categories, Domain, Integers, Interval, OneHot
from mechanisms.parameters import ParameterError
from verify.neighbouring.add_or_remove_one import AddOrRemoveOne
from verify.neighbouring.adjacency import Adjacency
from verify.neighbouring.listed import Listed
from verify.neighbouring.replace_one import ReplaceOne
from verify.neighbouring.within import AnyTwo, Within

ADJACENCIES = (AnyTwo, Within, ReplaceOne, AddOrRemoveOne, Listed)
"""The adjacencies that the command line knows; `written` has the syntax of each."""


class _Constructor(NamedTuple):
    """A domain or adjacency that a text may name: the callable that makes it, and the form of the call."""

    make: Callable[..., Any]
    written: str

    @property
    def name(self) -> str:
        return self.written.partition("(")[0]


_DOMAINS = (
    _Constructor(Interval, "interval(lower, upper)"),
    _Constructor(Box, "box(lower, upper, size)"),
    _Constructor(Ball, "ball(radius, size, order=2)"),
    _Constructor(Integers, "integers(lower, upper, size=1)"),
    _Constructor(Categories, "categories(size)"),
    _Constructor(OneHot, "one_hot(size)"),
)
_RELATIONS = tuple(_Constructor(adjacency, adjacency.written) for adjacency in ADJACENCIES)
_KNOWN = {known.name: known for known in (*_DOMAINS, *_RELATIONS)}


def as_adjacency(data: object, name: str = "data") -> Adjacency:
    """Return an adjacency as it is, a domain as `AnyTwo` of its points, and a list as all pairs of its data sets.

    Parameters
    ----------
    data
        The adjacency, domain or list.
    name
        The parameter that it was given as.

    Raises
    ------
    ParameterError
        If `data` is none of these.
    """
    if isinstance(data, Adjacency) and not isinstance(data, type):
        return data
    if isinstance(data, Domain) and not isinstance(data, type):
        return AnyTwo(data)
    if isinstance(data, list) and len(data) > 1:
        return Listed(itertools.combinations(data, 2))
    raise ParameterError(
        f"{name} = {data!r:.200}: must be a domain, such as Interval(0, 1), an adjacency, such as Within or "
        "ReplaceOne, or a list of two or more data sets"
    )


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
    >>> adjacency_from_words("interval(0, 1)").description
    'any two points of [0, 1]'
    """
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"{text!r}: cannot be read; {_known_names()}") from None
    try:
        found = _value(expression, text)
        return as_adjacency(found)
    except ParameterError as error:
        message = str(error)
        raise ParameterError(message if text in message else f"{text!r}: {message}") from None


def _value(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return _make_named(name, node, text)
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
    raise ParameterError(f"{text!r}: {ast.unparse(node)!r} means nothing here; {_known_names()}")


def _make_named(name: str, call: ast.Call, text: str) -> Any:
    key = name.lower()
    if key not in _KNOWN:
        near = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else _known_names()
        raise ParameterError(f"{text!r}: unknown name {name!r}; {hint}")
    arguments = [_value(argument, text) for argument in call.args]
    named = {keyword.arg: _value(keyword.value, text) for keyword in call.keywords if keyword.arg is not None}
    try:
        return _KNOWN[key].make(*arguments, **named)
    except TypeError:
        raise ParameterError(f"{text!r}: {name} is written {_KNOWN[key].written}") from None


def _known_names() -> str:
    domains, relations = (", ".join(known.name for known in group) for group in (_DOMAINS, _RELATIONS))
    return f"write a domain ({domains}) or an adjacency ({relations})"
