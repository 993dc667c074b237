"""The public state of a learner: all numbers reachable from its attributes, outside of private values.

Private data are held by `Private` values and sums, which the gates keep. All other state of a learner follows from
released values and public randomness, and so is the same in a replay, bit for bit: also state that no action shows yet.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from accountant import Private, PrivateSums

PublicState = Mapping[str, bytes]
"""A digest of the value of each attribute, by the attribute's path."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_DEEPEST = 6
_MOST = 10_000  # places that are looked at


def public_state(learner: object) -> PublicState:
    """Return the public state of a learner, by the paths of its attributes.

    It includes the state of Python's and NumPy's global generators, which would reveal a seed made of data. Attributes,
    slots, containers, variables that functions enclose and plain objects are followed; not private values, gates,
    generators of random numbers, classes and modules, and nothing deeper than six steps.
    """
    found: dict[str, bytes] = {}
    for path, content in (*_seedable(), *_places(learner, "", 0, set())):
        found[path] = hashlib.blake2b(content, digest_size=12).digest()
        if len(found) >= _MOST:
            break
    return found


def _seedable() -> Iterator[tuple[str, bytes]]:
    """Yield the states of the generators that code anywhere can seed."""
    # Words as bytes: to write them out takes ten, and of NumPy's a hundred times longer.
    version, words, normal = random.getstate()
    yield (
        "the generator of `random`",
        f"{version} {normal!r} ".encode() + np.array(words, np.uint64).tobytes(),
    )
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the subject's, which may use it
    yield "the generator of `numpy.random`", b"|".join(part for _, part in _places(state, "", 0, set()))


def is_due(step: int) -> bool:
    """Return True if a learner's state is compared after this step of a run, besides the last: 1, 2, 4, 8, ..."""
    return step & (step - 1) == 0


def first_difference(one: PublicState, other: PublicState, but: frozenset[str] = frozenset()) -> str:
    """Return the first path at which two states differ, "" if there is none."""
    paths = dict.fromkeys([*one, *other])
    return next((path for path in paths if path not in but and one.get(path) != other.get(path)), "")


def state_differences(one: PublicState, other: PublicState) -> frozenset[str]:
    """Return all paths at which two states differ."""
    return frozenset(path for path in {*one, *other} if one.get(path) != other.get(path))


def _places(value: Any, path: str, depth: int, above: set[int]) -> Iterator[tuple[str, bytes]]:
    if isinstance(value, _PLAIN):
        yield path, repr(value).encode("utf-8", "replace")
        return
    if type(value) is np.ndarray and value.dtype.kind in "biufcSU":
        yield path, repr((value.shape, value.dtype.str)).encode() + value.tobytes()
        return
    if depth == _DEEPEST or id(value) in above or _is_left_out(value):
        return
    below = above | {id(value)}
    for name, part in _parts(value):
        yield from _places(part, f"{path}{name}", depth + 1, below)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"[{key!r:.40}]", part
    elif isinstance(value, list | tuple | deque):
        for index, part in enumerate(value):
            yield f"[{index}]", part
    elif isinstance(value, set | frozenset):
        for index, part in enumerate(sorted(repr(each) for each in value if isinstance(each, _PLAIN))):
            yield f"{{{index}}}", part
    elif isinstance(value, FunctionType):
        for name, part in enclosed(value):
            yield f".{name}", part
    else:
        for name, part in attributes(value):
            yield f".{name}", part


def enclosed(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the variables that a function encloses, by names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # nothing is in it yet
            yield name, cell.cell_contents


def attributes(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, by names: those of its dictionary and of its slots."""
    yield from getattr(value, "__dict__", {}).items()
    for name in _slots(type(value)):
        with contextlib.suppress(AttributeError):
            yield name, object.__getattribute__(value, name)


def _slots(kind: type) -> Iterator[str]:
    """Yield the names of slots that a class of Python code has."""
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield (
                f"_{base.__name__.lstrip('_')}{name}"
                if name.startswith("__") and not name.endswith("__")
                else name
            )


def _is_left_out(value: Any) -> bool:
    if isinstance(value, Private | PrivateSums | type | ModuleType | BuiltinFunctionType | MethodType):
        return True
    kind = type(value)  # an instance's own attributes could be a private value's answer
    return all(hasattr(kind, name) for name in ("private", "sums", "release")) or hasattr(
        kind, "standard_exponential"
    )
