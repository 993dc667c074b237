"""What a value rests on that nothing in this library proves.

Only this library's own classes, exactly and as they were imported, are known to do what they say. Everything
else that takes part in a release (a mechanism, a domain, a noise source, a theorem) is an `Assumption`: a
subclass may override what matters, an instance or a class may have been patched, a number may be no number.

A value is judged by its exact type, then part by part; what it says of itself (``__class__``, ``__module__``,
names) is never asked.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, unique
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt


@unique
class AssumptionKind(Enum):
    """Why nothing proves it; the value is a short stable name, which reports and JSON show."""

    FOREIGN_CLASS = "foreign-class"
    PATCHED = "patched"
    DECLARED_FUNCTION = "declared-function"
    DECLARED_STABILITY = "declared-stability"
    ROUNDING = "rounding"
    OPENDP = "opendp"
    CLAIM = "claim"
    INTERNALS = "internals"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that a guarantee rests on and nobody checked.

    Attributes
    ----------
    kind
        Why nothing proves it.
    message
        What is taken to be true, as a clause: "your class TooQuiet is as quiet as it says".
    where
        ``"file.py:12"``, or "" if there is no such line.
    """

    kind: AssumptionKind
    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.message}, {self.where}" if self.where else self.message


_PLAIN = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        Fraction,
        slice,
        range,
        type(Ellipsis),
        type(NotImplemented),
    }
    | {np.bool_, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8, np.float64}
)  # exactly these types, no subclass: they hold a value and nothing else
_BIT_GENERATORS = (np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.Philox, np.random.MT19937)


@dataclass(frozen=True, eq=False)
class _Own:
    """One class of this library, as it was imported.

    Attributes
    ----------
    cls
        The class itself.
    bases
        Its method resolution order.
    bodies
        It and those of its bases that are this library's, each with what it held.
    functions, codes
        Their functions, and what each of them ran.
    names
        The fields, if it is a data class.
    attributes
        The names under which an instance that holds something hides what the class has; not those of fields and
        cached properties.
    """

    cls: type
    bases: tuple[type, ...]
    bodies: tuple[tuple[type, dict[str, Any]], ...]
    functions: tuple[types.FunctionType, ...]
    codes: list[tuple[Any, ...]]
    names: tuple[str, ...] | None
    attributes: frozenset[str]

    def names_of(self, value: object) -> Iterable[str]:
        """Return the fields of an instance: what a data class declares, else what the instance holds."""
        return tuple(getattr(value, "__dict__", ())) if self.names is None else self.names

    def rebased(self) -> bool:
        """Whether it has other bases than it had."""
        now = self.cls.__mro__
        return now is not self.bases and list(map(id, now)) != list(map(id, self.bases))

    def altered(self) -> str | None:
        """Return what no longer is as it was imported, in words."""
        if self.rebased():
            return f"the bases of {self.cls.__qualname__}"
        for cls, body in self.bodies:
            if vars(cls) != body and (name := _first_difference(vars(cls), body)):
                return f"{cls.__qualname__}.{name}"
        return None

    def rewritten(self) -> str | None:
        """Return the function that runs other code than it did, in words."""
        if list(map(_runs, self.functions)) == self.codes:
            return None
        both = zip(self.functions, self.codes, strict=True)
        return next(f.__qualname__ for f, ran in both if _runs(f) != ran)


_watched: list[tuple[type, dict[str, Any]]] = []  # classes that are not known to do what they say
_own: dict[int, _Own] = {}  # by the class's identity: a metaclass may claim to equal anything
_modules: list[tuple[types.ModuleType, dict[str, Any]]] = []


def _take(cls: type) -> None:
    """Take a class for this library's own, as it is now."""
    held = [c for c in cls.__mro__ if c.__module__.partition(".")[0] == cls.__module__.partition(".")[0]]
    bases = [_own[id(c)].cls for c in cls.__mro__ if id(c) in _own and c not in held]
    bodies = tuple((c, dict(vars(c))) for c in [*held, *bases])
    functions = tuple(f for c in held for f in map(_function, vars(c).values()) if f is not None)
    cached = {n for c in cls.__mro__ for n, v in vars(c).items() if isinstance(v, cached_property)}
    names = tuple(field.name for field in fields(cls)) if is_dataclass(cls) else None
    hidable = {n for c in cls.__mro__ for n in vars(c)} - cached - set(names or ())
    _own[id(cls)] = _Own(
        cls, cls.__mro__, bodies, functions, list(map(_runs, functions)), names, frozenset(hidable)
    )


def library_package(package: str) -> None:
    """Take all classes of a package's loaded modules for the library's own, as they are now.

    Called where the package's import ends, before any code of a user that could change them. The instances of a data
    class are judged by their fields, others by what they hold. A class that needs another judgement has a method
    ``rests_on(self)`` that returns its assumptions instead.

    Raises
    ------
    ValueError
        If the package is no neighbour of this one.
    """
    folder = os.path.dirname(os.path.dirname(sys.modules[package].__file__ or ""))
    if folder != os.path.dirname(os.path.dirname(__file__)):
        raise ValueError(f"package={package!r}: must be one of this library")
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            _modules.append((module, {n: v for n, v in vars(module).items() if _fixed(v)}))
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == name and id(value) not in _own:
                    _take(value)


def watch_package(package: str) -> None:
    """Let `altered_library` say, too, what of a package's loaded modules is no longer as it is now.

    That its classes do what they say is not taken for granted; see `library_package`.
    """
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            held = {n: v for n, v in vars(module).items() if _fixed(v)}
            _modules.append((module, held))
            own = (v for v in held.values() if isinstance(v, type) and v.__module__ == name)
            _watched.extend((cls, dict(vars(cls))) for cls in own if id(cls) not in _own)


def assumptions_of(value: object) -> tuple[Assumption, ...]:
    """Return what a value rests on, part by part, each once; nothing for what is this library's own throughout.

    Parameters
    ----------
    value
        A mechanism, domain, sensitivity, transformation, noise source, theorem, plan, or a tuple of such.

    Notes
    -----
    Functions that only see released values (of `PostProcessed`) are not looked into: whatever they do costs
    nothing.
    """
    return tuple(dict.fromkeys(_found(value)))


def class_assumptions(cls: type) -> tuple[Assumption, ...]:
    """Return the assumption that a class does what it says; nothing for this library's own, as it was imported."""
    own = _own.get(id(cls))
    if own is None:
        return (_foreign(cls),)
    altered = own.altered() or own.rewritten()
    return () if altered is None else (_patched(altered),)


def altered_library() -> tuple[Assumption, ...]:
    """Return what of the whole library is no longer as it was imported: classes, functions, names of modules."""
    seen: dict[str, None] = {}
    for known in list(_own.values()):
        for what in (known.altered(), known.rewritten()):
            if what is not None:
                seen[what] = None
    for module, held in _modules:
        now = vars(module)
        for name, value in held.items():
            if now.get(name) is not value:
                seen[f"{module.__name__}.{name}"] = None
    for cls, body in _watched:
        if name := _first_difference(vars(cls), body):
            seen[f"{cls.__qualname__}.{name}"] = None
    return tuple(_patched(what) for what in seen)


_Value = TypeVar("_Value")
_MOST_KEPT = 4096
_MOST_ENTRIES = 256  # of an array in a value that is kept


class _Part(NamedTuple):
    """One part of an examined value: the object, its class, and what its fields held."""

    value: Any
    own: _Own
    read: Callable[[Any], tuple[Any, ...]]
    fields: tuple[Any, ...]

    def unchanged(self) -> bool:
        """Whether it still holds the same objects, is of its class and hides nothing of it."""
        return (
            type(self.value) is self.own.cls
            and self.own.attributes.isdisjoint(getattr(self.value, "__dict__", ()))
            and all(map(operator.is_, self.read(self.value), self.fields))
        )


class _Array(NamedTuple):
    """An array in an examined value, and what it held: whoever holds it can write into it."""

    value: npt.NDArray[Any]
    content: tuple[Any, ...]

    def unchanged(self) -> bool:
        """Whether it still holds the same, bit for bit."""
        return _content(self.value) == self.content


def _content(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    return array.dtype.str, array.shape, array.tobytes()


@dataclass(frozen=True, eq=False)
class _Examined:
    """A value that rests on nothing, as it was when it was examined.

    Attributes
    ----------
    value, copy
        The value, and the gate's own copy of it.
    parts
        The value and its parts, in tuples too: the same objects in the fields of each are the same parts.
    classes
        Their classes, each once.
    """

    value: Any
    copy: Any
    parts: tuple[_Part | _Array, ...]
    classes: tuple[_Own, ...]

    def unchanged(self) -> bool:
        """Whether the value is still made of the same objects, of their classes and hiding nothing of them."""
        return all(part.unchanged() for part in self.parts)

    def unaltered(self) -> bool:
        """Whether the classes are as they were imported, and run what they ran."""
        return all(own.altered() is None and own.rewritten() is None for own in self.classes)


_kept: dict[int, _Examined] = {}  # by the value's identity
_equal: dict[Any, _Examined] = {}  # by the exact values of all fields


def examined(value: _Value) -> tuple[_Value, tuple[Assumption, ...]]:
    """Return a copy of a value that nobody else holds, and what the value rests on.

    The copy is rebuilt from the exact values of the fields, and the same for equal ones: whatever later happens
    to the original, to its attributes or its caches, has no effect on it. Parts of a user's own classes cannot be
    rebuilt: they stay what they are, and are assumptions.

    Raises
    ------
    ParameterError
        If a field holds by now what its class does not allow.
    """
    known = _kept.get(id(value))
    if known is not None and known.value is value and known.unchanged() and known.unaltered():
        return known.copy, ()
    parts: list[_Part | _Array] = []
    try:
        key = _key(value, parts)
    except _Unknown:
        return _rebuilt(value), assumptions_of(value)
    known = _equal.get(key)
    if known is None or not known.unaltered():
        assumptions = assumptions_of(value)
        copy = _rebuilt(value)
        if assumptions:
            return copy, assumptions
    else:
        copy = known.copy
    for store in (_kept, _equal):
        if len(store) >= _MOST_KEPT:
            store.clear()
    classes = tuple({id(part.own): part.own for part in parts if isinstance(part, _Part)}.values())
    _kept[id(value)] = _equal[key] = _Examined(value, copy, tuple(parts), classes)
    return copy, ()


class _Unknown(Exception):
    """A part is not this library's own: there is no telling which values are equal."""


def _key(value: Any, parts: list[_Part | _Array]) -> Any:
    """Return what two values share exactly if they are the same, part by part and type by type."""
    cls = type(value)
    if cls in _PLAIN:
        return cls, value
    if cls is tuple:
        return tuple(_key(part, parts) for part in value)
    if cls is np.ndarray and value.dtype.kind in "biufc" and value.size <= _MOST_ENTRIES:
        parts.append(_Array(value, _content(value)))
        return cls, _content(value)
    own = _own.get(id(cls))
    if cls is np.random.Generator or (own is not None and issubclass(cls, Enum)):
        return cls, id(value)
    if own is None or hasattr(cls, "rests_on") or _hiding(value, own):
        raise _Unknown
    parts.append(_part(value, own))
    return (cls, *[_key(getattr(value, name), parts) for name in own.names_of(value)])


def _part(value: Any, own: _Own) -> _Part:
    read = _reader(tuple(own.names_of(value)))
    return _Part(value, own, read, read(value))


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda value: ()
    return operator.attrgetter(*names, names[0])  # of one name alone it would return no tuple


def _rebuilt(value: Any) -> Any:
    cls = type(value)
    if cls is tuple:
        return tuple(map(_rebuilt, value))
    if cls is np.ndarray:
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    own = _own.get(id(cls))
    if own is None or own.names is None or getattr(cls, "opaque", False):
        return value
    return cls(**{f.name: _rebuilt(getattr(value, f.name)) for f in fields(cls) if f.init})


def _found(value: Any) -> Iterator[Assumption]:
    cls = type(value)
    if cls in _PLAIN or (cls is np.ndarray and value.dtype.kind in "biufcSU"):
        return
    if cls in (tuple, list, frozenset, set):
        for part in value:
            yield from _found(part)
        return
    if cls is dict or cls is types.MappingProxyType:
        yield from _found([*value.keys(), *value.values()])
        return
    if cls is np.random.Generator:
        if type(value.bit_generator) not in _BIT_GENERATORS:
            yield _foreign(type(value.bit_generator))
        return
    own = _own.get(id(cls))
    if own is None:
        yield _foreign(cls, value)
        return
    altered = own.altered() or own.rewritten()
    hidden = _hiding(value, own)
    if altered is not None:
        yield _patched(altered)
    if hidden:
        yield _patched(f"{cls.__qualname__}.{min(hidden)}")
    if issubclass(cls, Enum):
        return
    if hasattr(cls, "rests_on"):
        yield from cls.rests_on(value)
    else:
        yield from _found([getattr(value, name) for name in own.names_of(value)])


def _hiding(value: Any, own: _Own) -> set[str]:
    """Return the names under which an instance holds something in place of what its class has."""
    held = getattr(value, "__dict__", None)
    return held.keys() & own.attributes if held else set()


def _foreign(cls: type, value: object = None) -> Assumption:
    kind = AssumptionKind.FOREIGN_CLASS
    if isinstance(value, type):
        return Assumption(kind, f"your class {value.__qualname__} does what it says", _place(value))
    if isinstance(value, types.FunctionType):
        code = value.__code__
        where = f"{_shown(code.co_filename)}:{code.co_firstlineno}"
        return Assumption(kind, f"your function {value.__qualname__} does what it says", where)
    names = {name for c in cls.__mro__ for name in vars(c)}
    if "release" in names and "profile" in names:
        does = "is as quiet as it says"
    elif "check" in names and "widths" in names:
        does = "is as wide as it says"
    elif "laplace" in names:
        does = "draws the noise that it says"
    else:
        does = "does what it says"
    return Assumption(kind, f"your class {cls.__qualname__} {does}", _place(cls))


def _patched(what: str) -> Assumption:
    return Assumption(AssumptionKind.PATCHED, f"what was put in place of {what} does the same")


_sources: dict[int, tuple[type, str, int]] = {}  # by identity: a metaclass may say what equals what


def _place(cls: type) -> str:
    known = _sources.get(id(cls))
    if known is None or known[0] is not cls:  # finding a class reads and parses its whole file
        if len(_sources) >= _MOST_KEPT:
            _sources.clear()
        known = _sources[id(cls)] = (cls, *_source(cls))
    _, file, line = known
    return f"{_shown(file)}:{line}" if line >= 0 else ""


def _source(cls: type) -> tuple[str, int]:
    try:
        return inspect.getsourcefile(cls) or "", inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return "", -1


def _shown(file: str) -> str:
    path = os.path.relpath(file) if os.path.isabs(file) else file
    return os.path.basename(file) if path.startswith(os.pardir) else path


def _function(value: object) -> types.FunctionType | None:
    """Return the Python function behind an entry of a class's body."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, classmethod | staticmethod):
        value = value.__func__
    elif isinstance(value, cached_property):
        value = value.func
    return value if isinstance(value, types.FunctionType) else None


_runs: Callable[[types.FunctionType], tuple[Any, ...]] = operator.attrgetter(
    "__code__", "__defaults__", "__kwdefaults__"
)


def _fixed(value: object) -> bool:
    """Whether a module's name is bound once: classes, functions, modules, numbers."""
    return callable(value) or isinstance(value, types.ModuleType | int | float | str)


_KEPT_BY_PYTHON = {"__annotations__", "__slotnames__"}
"""What comes up in a class when it is asked for its annotations, or when an instance is copied or pickled."""


def _first_difference(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """Return the first name that differs, "" if none does; what Python itself keeps in a class is left out."""
    names = sorted({*now, *then} - _KEPT_BY_PYTHON)
    return next((n for n in names if now.get(n, _Own) is not then.get(n, _Own)), "")
