"""State that a class keeps outside of its objects from one run to the next, as in caches and module variables.

Runs are independent draws only if nothing of one reaches the next. A class may keep more than its objects: lists,
counters and dictionaries of its module or of the class, default arguments that are changed, caches, iterators that
deal out noise. Caches of `functools` are emptied before every run, as in a process of its own; of the rest, changes
are reported.
"""

from __future__ import annotations

import collections
import hashlib
import inspect
import os
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpwitness import is_of_library
from verify.conduct.process_state import subjects_own

_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque, bytearray)
_MOST_BYTES = 10_000_000  # of an array that is digested whole
_MOST_ENTRIES = 10_000  # of a container that is
_OTHERS = ("builtins", "numpy", "random", "math", "abc", "typing")  # modules whose state is not the subject's

_caches: WeakKeyDictionary[type, list[Callable[[], object]]] = WeakKeyDictionary()


def function_caches(made: Any) -> list[Callable[[], object]]:
    """Return functions that empty the caches of the functions of an object's module and classes, found once a class."""
    if type(made) not in _caches:
        _caches[type(made)] = _find_caches(made)
    return _caches[type(made)]


def _find_caches(made: Any) -> list[Callable[[], object]]:
    found: dict[int, Callable[[], object]] = {}
    for _, value in _outside_values(made):
        clear = getattr(value, "cache_clear", None)
        if callable(clear) and not inspect.isclass(value):
            found[id(value)] = clear
    return list(found.values())


def class_state(made: Any) -> dict[str, str]:
    """Return a digest of everything that outlives an object of a class, by its name.

    Generators of random numbers are left out: their next draws are independent of earlier ones.
    """
    found = {"os.environ": _digest(dict(os.environ))}
    for name, value in _outside_values(made):
        if isinstance(value, _PLAIN):
            found[name] = repr(value)
        elif isinstance(value, (*_CONTAINERS, np.ndarray)) or (
            isinstance(value, Iterator) and not hasattr(value, "fileno")  # a file is none
        ):
            found[name] = _digest(value)
        for argument, default in _defaults(value):
            found[f"{name}({argument}=...)"] = _digest(default)
    return found


def changed_state(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names of the entries that differ between two states, sorted."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _outside_values(made: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values in the modules of an object's classes and in the classes there, each with its name."""
    for module_name, namespace in sorted(_namespaces(made).items()):
        for name, value in list(namespace.items()):
            if name.startswith("__") or inspect.ismodule(value) or isinstance(value, _GENERATORS):
                continue
            yield name, value
            if inspect.isclass(value) and value.__module__ == module_name:
                yield from _of_class(value)
    for base in type(made).__mro__:
        if base.__module__ not in sys.modules or "<locals>" in base.__qualname__:
            yield from _of_class(base)


@subjects_own()  # a user's modules may have names of this library's
def _namespaces(made: Any) -> dict[str, dict[str, Any]]:
    """Return the namespaces of the modules of an object's classes, by module name.

    A class's functions know their own module, even where another one was imported under the same name since.
    """
    found: dict[str, dict[str, Any]] = {}
    for base in type(made).__mro__:
        name = base.__module__
        if name.partition(".")[0] in _OTHERS or is_of_library(base):
            continue
        functions = [value for value in vars(base).values() if inspect.isfunction(value)]
        own = [each.__globals__ for each in functions if each.__globals__.get("__name__") == name]
        if own:
            found[name] = own[0]
        elif name in sys.modules:
            found[name] = vars(sys.modules[name])
    return found


def _of_class(owner: type) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(owner).items()):
        own = name in ("__init__", "__call__") or not name.startswith("__")
        if own and not isinstance(value, _GENERATORS):
            yield f"{owner.__name__}.{name}", getattr(value, "__func__", value)


def _defaults(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the default arguments of a function that can be changed."""
    if inspect.isfunction(function):
        for each in inspect.signature(function).parameters.values():
            if isinstance(each.default, list | dict | set | np.ndarray | collections.deque):
                yield each.name, each.default


def _digest(value: Any) -> str:
    """Return a digest of a value; of a large one of its size and its ends."""
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            flat = value.reshape(-1)
            some = flat if value.nbytes <= _MOST_BYTES else np.concatenate([flat[:1000], flat[-1000:]])
            return f"{value.shape}{hashlib.sha256(some.tobytes()).hexdigest()}"
        return repr(value.shape)
    size = len(value) if hasattr(value, "__len__") else 0
    if size > _MOST_ENTRIES:
        return repr(size)
    try:
        with warnings.catch_warnings():
            # Python 3.12 and 3.13 warn of iterators; where that is an error, it would hide their state.
            warnings.simplefilter("ignore")
            return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # it has no bytes
        return repr(size)
