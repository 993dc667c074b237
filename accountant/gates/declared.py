"""Assumptions about Python functions that are given to `Private.map`: declared, not proved."""

from __future__ import annotations

import functools
import os
import types
from typing import Any

from accountant.place import Place, calling_place
from mechanisms import Assumption, AssumptionKind


def declared_function(function: Any) -> Assumption:
    """Return the assumption that a function depends on nothing but its argument, and where the function is."""
    code = _code_of(function)
    if code is None:
        return _assumption(_name_of(function), str(calling_place()))
    return _code_assumption(_name_of(function), code)


@functools.lru_cache(maxsize=1024)
def _code_assumption(name: str, code: types.CodeType) -> Assumption:
    file = code.co_filename
    return _assumption(
        name, str(Place(os.path.abspath(file) if os.path.exists(file) else file, code.co_firstlineno))
    )


def _assumption(name: str, where: str) -> Assumption:
    return Assumption(
        AssumptionKind.DECLARED_FUNCTION,
        f"your function {name} in map depends on nothing but its argument",
        where,
    )


def _code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function, method, partial function or callable object; None if it is not Python's."""
    for _ in range(8):  # partial functions of partial functions
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, types.FunctionType):
            return function.__code__
        else:
            called = (vars(cls)["__call__"] for cls in type(function).__mro__ if "__call__" in vars(cls))
            function = next(called, None)
    return None


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(
        getattr(function, "__qualname__", None) or getattr(function, "__name__", type(function).__qualname__)
    )
