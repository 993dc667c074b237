"""Assumptions: the parts of a value on which its guarantee rests and which this library does not prove.

Only this library's own classes, exactly and as they were imported, are trusted to be correct. Everything else that
takes part in a release (a mechanism, a domain, a noise source, a theorem) is an `Assumption`: a subclass may override
any method, an instance or a class may have been patched, a number may be no number.

A value is judged by its exact type, then part by part; its own statements (``__class__``, ``__module__``, names) are
not used.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mechanisms.assumption import Assumption, AssumptionKind

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
class _Defaults:
    """A function with default arguments, as it was imported; the defaults are compared as objects, not by equality."""

    function: types.FunctionType
    code: types.CodeType
    positional: tuple[Any, ...] | None
    by_name: dict[str, Any] | None
    held: dict[str, Any]  # the content of by_name, which can be changed in place

    @classmethod
    def from_function(cls, function: types.FunctionType) -> _Defaults:
        code, positional, by_name = _runs(function)
        return cls(function, code, positional, by_name, dict(by_name or {}))

    def are_unchanged(self) -> bool:
        """Return True if the function has the code and the defaults that it had."""
        code, positional, by_name = _runs(self.function)
        return (
            code is self.code
            and positional is self.positional
            and by_name is self.by_name
            and _holds_same_objects(by_name or {}, self.held)
        )


@dataclass(frozen=True, eq=False)
class _Body:
    """The body of one class, as it was imported.

    Attributes
    ----------
    cls
        The class.
    held
        Its entries.
    functions, codes
        Its functions without default arguments, and `_runs` of each of them.
    defaults
        Its other functions.
    """

    cls: type
    held: dict[str, Any]
    functions: tuple[types.FunctionType, ...]
    codes: list[tuple[Any, ...]]
    defaults: tuple[_Defaults, ...]

    @classmethod
    def from_class(cls, body: type) -> _Body:
        functions = [f for f in map(_function, vars(body).values()) if f is not None]
        plain = tuple(f for f in functions if f.__defaults__ is None and f.__kwdefaults__ is None)
        others = tuple(_Defaults.from_function(f) for f in functions if f not in plain)
        return cls(body, dict(vars(body)), plain, list(map(_runs, plain)), others)

    def altered_entry(self) -> str | None:
        """Return the qualified name of the first entry that is another object than at import, or None."""
        if not _holds_same_objects(now := vars(self.cls), self.held) and (
            name := _first_difference(now, self.held)
        ):
            return f"{self.cls.__qualname__}.{name}"
        return None

    def rewritten_function(self) -> str | None:
        """Return the qualified name of the first function with other code or defaults than at import, or None."""
        if list(map(_runs, self.functions)) != self.codes:
            both = zip(self.functions, self.codes, strict=True)
            return next(f.__qualname__ for f, ran in both if _runs(f) != ran)
        return next((each.function.__qualname__ for each in self.defaults if not each.are_unchanged()), None)


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
        Its body and those of its bases that are this library's.
    names, given
        The fields, if it is a data class, and those of them that it is made from.
    attributes
        The names of class attributes that an attribute of an instance would hide, without fields and cached properties.
    """

    cls: type
    bases: tuple[type, ...]
    bodies: tuple[_Body, ...]
    names: tuple[str, ...] | None
    given: tuple[str, ...]
    attributes: frozenset[str]

    def names_of(self, value: object) -> Iterable[str]:
        """Return the field names of an instance: those that a data class declares, else those in its ``__dict__``."""
        return tuple(getattr(value, "__dict__", ())) if self.names is None else self.names

    def has_other_bases(self) -> bool:
        """Return True if the method resolution order is not that of the import."""
        now = self.cls.__mro__
        return now is not self.bases and list(map(id, now)) != list(map(id, self.bases))

    def altered_part(self) -> str | None:
        """Return the altered part of the class, in words; None if it is as it was imported."""
        return _together((self,)).altered_part()


class _Classes:
    """A check that some classes of this library are as they were imported, in as few steps as Python can take.

    Bodies that several of them inherit are checked once.
    """

    def __init__(self, owns: tuple[_Own, ...]) -> None:
        self._owns = owns
        self._bodies = tuple(dict.fromkeys(body for own in owns for body in own.bodies))
        ran = {f: runs for body in self._bodies for f, runs in zip(body.functions, body.codes, strict=True)}
        for each in (each for body in self._bodies for each in body.defaults):
            ran[each.function] = (each.code, each.positional, each.by_name)
        by_name = [
            (each.by_name, each.held) for body in self._bodies for each in body.defaults if each.by_name
        ]
        # Views of the present content of classes and of defaults by name; and their content at import.
        self._holding = [*(vars(body.cls) for body in self._bodies), *(now for now, _ in by_name)]
        self._values = [now.values() for now in self._holding]
        self._imported = [*(body.held for body in self._bodies), *(then for _, then in by_name)]
        self._functions, self._codes = list(ran), [code for code, _, _ in ran.values()]
        # A default where there was none, or by a name that is no argument's, changes no call that did not fail before.
        self._positional = [f for f, (_, given, _) in ran.items() if given is not None]
        self._by_name = [f for f, (_, _, given) in ran.items() if given is not None]
        self._defaults = [*(ran[f][1] for f in self._positional), *(ran[f][2] for f in self._by_name)]
        self._classes = [own.cls for own in owns]
        self._expect()

    def _expect(self) -> None:
        """Set the expected content: that of the import, in today's order, with the entries that Python itself adds."""
        self._held: list[dict[str, Any]] = []
        for now, then in zip(self._holding, self._imported, strict=True):
            kept = {name: value for name, value in dict(now).items() if name in _KEPT_BY_PYTHON}
            ordered = {
                name: then.get(name, kept.get(name)) for name in list(now) if name in then or name in kept
            }
            self._held.append(ordered if then.keys() <= ordered.keys() else then)
        # Bases that were changed and put back are another tuple of the same classes.
        orders = [(own.bases, own.cls.__mro__) for own in self._owns]
        self._objects: list[Any] = [
            now if list(map(id, now)) == list(map(id, then)) else then for then, now in orders
        ]
        self._objects += chain.from_iterable(held.values() for held in self._held)
        self._objects += self._defaults

    def are_unchanged(self) -> bool:
        """Return True if all are as they were imported."""
        # An object that claims to equal another one is caught by the comparison as objects. Codes have their own type.
        if self._holding != self._held or list(map(_code, self._functions)) != self._codes:
            return False
        found: list[Any] = list(map(_order, self._classes))
        for values in self._values:
            found += values
        found += map(_positional, self._positional)
        found += map(_by_name, self._by_name)
        return all(map(operator.is_, found, self._objects))

    def altered_part(self) -> str | None:
        """Return the first altered part, in words; None if all are as they were imported."""
        if self.are_unchanged():
            return None
        rebased = next((own.cls for own in self._owns if own.has_other_bases()), None)
        if rebased is not None:
            return f"the bases of {rebased.__qualname__}"
        parts = (body.altered_entry() or body.rewritten_function() for body in self._bodies)
        part = next((each for each in parts if each is not None), None)
        if part is None:
            self._expect()
        return part


_order: Callable[[type], tuple[type, ...]] = operator.attrgetter("__mro__")
_code: Callable[[types.FunctionType], types.CodeType] = operator.attrgetter("__code__")
_positional: Callable[[types.FunctionType], Any] = operator.attrgetter("__defaults__")
_by_name: Callable[[types.FunctionType], Any] = operator.attrgetter("__kwdefaults__")
_together = lru_cache(maxsize=1024)(_Classes)


_bodies: dict[int, _Body] = {}  # by the class's identity
_watched: list[tuple[type, dict[str, Any]]] = []  # classes that are not trusted
_own: dict[int, _Own] = {}  # by the class's identity: a metaclass may claim to equal anything
_modules: list[tuple[types.ModuleType, dict[str, Any]]] = []


def _take(cls: type) -> None:
    """Take a class for this library's own, as it is now."""
    held = [c for c in cls.__mro__ if c.__module__.partition(".")[0] == cls.__module__.partition(".")[0]]
    bases = [_own[id(c)].cls for c in cls.__mro__ if id(c) in _own and c not in held]
    for each in held:
        if id(each) not in _bodies:
            _bodies[id(each)] = _Body.from_class(each)
    bodies = tuple(_bodies[id(c)] for c in [*held, *bases])
    cached = {n for c in cls.__mro__ for n, v in vars(c).items() if isinstance(v, cached_property)}
    declared = fields(cls) if is_dataclass(cls) else ()
    names = tuple(field.name for field in declared) if is_dataclass(cls) else None
    given = tuple(field.name for field in declared if field.init)
    hidable = {n for c in cls.__mro__ for n in vars(c)} - cached - set(names or ())
    _own[id(cls)] = _Own(cls, cls.__mro__, bodies, names, given, frozenset(hidable))


def library_package(package: str) -> None:
    """Take all classes of a package's loaded modules for the library's own, as they are now.

    Called where the package's import ends, before any code of a user that could change them. The instances of a data
    class are judged by their fields, others by their contents. A class that needs another judgement has a method
    ``rests_on(self)`` that returns its assumptions instead.

    Raises
    ------
    ParameterError
        If the package is no neighbour of this one.
    """
    folder = os.path.dirname(os.path.dirname(sys.modules[package].__file__ or ""))
    if folder != os.path.dirname(os.path.dirname(__file__)):
        raise ValueError(f"package = {package!r}: must be one of this library")
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            _modules.append((module, {n: v for n, v in vars(module).items() if _is_bound_once(v)}))
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == name and id(value) not in _own:
                    _take(value)


def watch_package(package: str) -> None:
    """Make `altered_library` also report later changes to the modules of a package that are loaded now.

    This alone does not make the package's classes trusted; see `library_package`.
    """
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            held = {n: v for n, v in vars(module).items() if _is_bound_once(v)}
            _modules.append((module, held))
            own = (v for v in held.values() if isinstance(v, type) and v.__module__ == name)
            _watched.extend((cls, dict(vars(cls))) for cls in own if id(cls) not in _own)


def assumptions_of(value: object) -> tuple[Assumption, ...]:
    """Return the assumptions on which a value and its parts rest, each once; none if all of it is this library's own.

    Parameters
    ----------
    value
        A mechanism, domain, sensitivity, transformation, noise source, theorem, plan, or a tuple of such.

    Notes
    -----
    Functions that only see released values (of `PostProcessed`) are not inspected: post-processing costs no privacy.
    """
    return tuple(dict.fromkeys(_find_assumptions(value)))


def class_assumptions(cls: type) -> tuple[Assumption, ...]:
    """Return the assumption that a class is correct; none for a class of this library that is as it was imported."""
    own = _own.get(id(cls))
    if own is None:
        return (_foreign(cls),)
    altered = own.altered_part()
    return () if altered is None else (_patched(altered),)


def altered_library() -> tuple[Assumption, ...]:
    """Return the parts of the library that were altered since import: classes, functions, names of modules."""
    seen: dict[str, None] = {}
    for known in list(_own.values()):
        if known.has_other_bases():
            seen[f"the bases of {known.cls.__qualname__}"] = None
    for imported in list(_bodies.values()):
        for part in (imported.altered_entry(), imported.rewritten_function()):
            if part is not None:
                seen[part] = None
    for module, held in _modules:
        now = vars(module)
        for name, value in held.items():
            if now.get(name) is not value:
                seen[f"{module.__name__}.{name}"] = None
    for cls, body in _watched:
        if name := _first_difference(vars(cls), body):
            seen[f"{cls.__qualname__}.{name}"] = None
    return tuple(map(_patched, seen))


_Value = TypeVar("_Value")
_MOST_KEPT = 1024
_MOST_ENTRIES = 256  # of an array in a value that is kept


class _Part(NamedTuple):
    """One part of an examined value: the object, its class, and the content of its fields."""

    value: Any
    own: _Own
    read: Callable[[Any], tuple[Any, ...]]
    fields: tuple[Any, ...]


class _Array(NamedTuple):
    """An array in an examined value, and its content: other references to it can write into it."""

    value: npt.NDArray[Any]
    content: tuple[Any, ...]


def _content(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    return array.dtype.str, array.shape, array.tobytes()


_Parts = dict[int, _Part | _Array]  # of a value, in tuples too, by their identity


class _State:
    """The content of a value's parts, and their classes."""

    def __init__(self, parts: _Parts, classes: _Classes) -> None:
        own = [part for part in parts.values() if isinstance(part, _Part)]
        self._parts, self._read = [part.value for part in own], [part.read for part in own]
        with_names = [part for part in own if hasattr(part.value, "__dict__")]
        self._with_names = [part.value for part in with_names]
        self._hide_nothing = [part.own.attributes.isdisjoint for part in with_names]
        self._arrays = [part for part in parts.values() if isinstance(part, _Array)]
        self._classes = classes
        self._objects = [part.own.cls for part in own]
        self._objects += chain.from_iterable(part.fields for part in own)

    def unchanged(self) -> bool:
        """Return True if the parts are as they were, and their classes as they were imported."""
        same = self._classes.are_unchanged() or self._classes.altered_part() is None
        return same and self.parts_unchanged()

    def parts_unchanged(self) -> bool:
        """Return True if the parts are of their classes, hide nothing of them, and have the same content."""
        found: list[Any] = [*map(type, self._parts)]
        try:
            for fields in map(operator.call, self._read, self._parts):
                found += fields
        except AttributeError:
            return False
        return (
            all(map(operator.is_, found, self._objects))
            and all(map(operator.call, self._hide_nothing, map(_names, self._with_names)))
            and (not self._arrays or all(_content(each.value) == each.content for each in self._arrays))
        )


_names: Callable[[Any], dict[str, Any]] = operator.attrgetter("__dict__")


class Examination(_State):
    """A value that rests on nothing, as it was when it was examined.

    Attributes
    ----------
    value
        The value.
    key
        Equal for two values exactly if they are the same, part by part and type by type.
    """

    def __init__(self, value: Any) -> None:
        parts, classes = _Parts(), dict[_Own, None]()
        self.value = value
        self.key = _key(value, parts, classes)
        super().__init__(parts, _together(tuple(classes)))


@dataclass(frozen=True, eq=False)
class _CopiedValue:
    """An examined value, and the copy that is used in place of it, which can be changed in place, too."""

    seen: Examination
    copy: Examination


_kept: dict[int, _CopiedValue] = {}  # by the value's identity
_copies: dict[Any, Examination] = {}  # by the exact values of all fields


def examine_value(value: _Value) -> tuple[_Value, tuple[Assumption, ...]]:
    """Return a copy of a value to which no other reference exists, and the assumptions on which the value rests.

    The copy is rebuilt from the exact values of the fields, and is the same object for equal values: later changes to
    the original, its attributes or its caches do not affect it. Parts of a user's own classes cannot be rebuilt: they
    are kept as they are, and are assumptions.

    Raises
    ------
    ParameterError
        If a field now has a value that its class does not allow.
    """
    known = _kept.get(id(value))
    if (
        known is not None
        and known.seen.value is value
        and known.seen.unchanged()
        and known.copy.parts_unchanged()
    ):
        copied: _Value = known.copy.value
        return copied, ()
    seen = examination(value)
    copy = None if seen is None else shared_copy(seen.value, seen.key)
    if seen is None or copy is None:
        return rebuilt(value), assumptions_of(value)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[id(value)] = _CopiedValue(seen, copy)
    copied = copy.value
    return copied, ()


def shared_copy(value: object, key: object) -> Examination | None:
    """Return an examined copy of an examined value: the same for all values with this key.

    None if the copy, made from the value's fields, cannot be examined.

    Raises
    ------
    ParameterError
        As `examine_value`.
    """
    copy = _copies.get(key)
    if copy is None or not copy.parts_unchanged():
        copy = examination(rebuilt(value))
        if copy is None:
            return None
        if len(_copies) >= _MOST_KEPT:
            _copies.clear()
        _copies[key] = copy
    return copy


def examination(value: object) -> Examination | None:
    """Examine a value; None if it, or a part of it, is not this library's own as it was imported."""
    try:
        seen = Examination(value)
    except _Unknown:
        return None
    return seen if seen.unchanged() else None


class _Unknown(Exception):
    """A part is not this library's own as it was imported, so that equality of values cannot be decided."""


def _key(value: Any, parts: _Parts, classes: dict[_Own, None]) -> Any:
    """Return a key that two values share exactly if they are the same, part by part and type by type; collect parts."""
    cls = type(value)
    if cls in _PLAIN:
        return cls, value
    if cls is tuple:
        return tuple([_key(part, parts, classes) for part in value])
    if cls is np.ndarray and value.dtype.kind in "biufc" and value.size <= _MOST_ENTRIES:
        content = _content(value)
        parts[id(value)] = _Array(value, content)
        return cls, content
    if cls is np.random.Generator and type(value.bit_generator) in _BIT_GENERATORS:
        return cls, id(value)
    own = _own.get(id(cls))
    if own is None or hasattr(cls, "rests_on") or _hidden_names(value, own):
        raise _Unknown
    classes[own] = None
    if issubclass(cls, Enum):
        return cls, id(value)
    parts[id(value)] = _part(value, own)
    return (cls, *[_key(getattr(value, name), parts, classes) for name in own.names_of(value)])


def _part(value: Any, own: _Own) -> _Part:
    read = _reader(tuple(own.names_of(value)))
    return _Part(value, own, read, read(value))


@lru_cache(maxsize=1024)
def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda value: ()
    return operator.attrgetter(*names, names[0])  # of one name alone it would return no tuple


def rebuilt(value: Any) -> Any:
    """Return a copy of a value made from the exact values of its fields; parts of foreign classes are not copied."""
    cls = type(value)
    if cls in _PLAIN:
        return value
    if cls is tuple:
        return tuple(map(rebuilt, value))
    if cls is np.ndarray:
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    own = _own.get(id(cls))
    if own is None or own.names is None or getattr(cls, "opaque", False):
        return value
    return cls(**{name: rebuilt(getattr(value, name)) for name in own.given})


def _find_assumptions(value: Any) -> Iterator[Assumption]:
    cls = type(value)
    if cls in _PLAIN or (cls is np.ndarray and value.dtype.kind in "biufcSU"):
        return
    if cls in (tuple, list, frozenset, set):
        for part in value:
            yield from _find_assumptions(part)
        return
    if cls is dict or cls is types.MappingProxyType:
        yield from _find_assumptions([*value.keys(), *value.values()])
        return
    if cls is np.random.Generator:
        if type(value.bit_generator) not in _BIT_GENERATORS:
            yield _foreign(type(value.bit_generator))
        return
    own = _own.get(id(cls))
    if own is None:
        yield _foreign(cls, value)
        return
    altered = own.altered_part()
    hidden = _hidden_names(value, own)
    if altered is not None:
        yield _patched(altered)
    if hidden:
        yield _patched(f"{cls.__qualname__}.{min(hidden)}")
    if issubclass(cls, Enum):
        return
    if hasattr(cls, "rests_on"):
        yield from cls.rests_on(value)
    else:
        yield from _find_assumptions([getattr(value, name) for name in own.names_of(value)])


def _hidden_names(value: Any, own: _Own) -> frozenset[str]:
    """Return the names of an instance's own entries that hide an attribute of its class."""
    held = getattr(value, "__dict__", None)
    return own.attributes.intersection(held) if held else frozenset()


def _foreign(cls: type, value: object = None) -> Assumption:
    kind = AssumptionKind.FOREIGN_CLASS
    if isinstance(value, type):
        return Assumption(kind, f"your class {value.__qualname__} is correct", _location(value))
    if isinstance(value, types.FunctionType):
        code = value.__code__
        where = f"{_relative_path(code.co_filename)}:{code.co_firstlineno}"
        return Assumption(kind, f"your function {value.__qualname__} is correct", where)
    names = {name for c in cls.__mro__ for name in vars(c)}
    own = f"your class {cls.__qualname__}"
    if "release" in names and "profile" in names:
        message = f"the privacy profile of {own} is correct"
    elif "check" in names and "widths" in names:
        message = f"the widths of {own} are correct"
    else:
        message = f"{own} is correct"
    return Assumption(kind, message, _location(cls))


def _patched(part: str) -> Assumption:
    return Assumption(AssumptionKind.PATCHED, f"the replacement of {part} does the same")


_sources: dict[int, tuple[type, str, int]] = {}  # by identity: a metaclass may define equality


def _location(cls: type) -> str:
    known = _sources.get(id(cls))
    if known is None or known[0] is not cls:  # finding a class reads and parses its whole file
        if len(_sources) >= _MOST_KEPT:
            _sources.clear()
        known = _sources[id(cls)] = (cls, *_source(cls))
    _, file, line = known
    return f"{_relative_path(file)}:{line}" if line >= 0 else ""


def _source(cls: type) -> tuple[str, int]:
    try:
        return inspect.getsourcefile(cls) or "", inspect.getsourcelines(cls)[1]
    except Exception:  # no source; or, since Python 3.13 asks the class for its line, one that is not there
        return "", -1


def _relative_path(file: str) -> str:
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


def _holds_same_objects(now: Mapping[str, Any], then: dict[str, Any]) -> bool:
    """Return True if both hold the same objects, in the same order; equality is not enough."""
    return list(now) == list(then) and all(map(operator.is_, now.values(), then.values()))


def _is_bound_once(value: object) -> bool:
    """Return True for values to which a module binds a name once: classes, functions, modules, numbers, strings."""
    return callable(value) or isinstance(value, types.ModuleType | int | float | str)


_KEPT_BY_PYTHON = {"__annotations__", "__slotnames__"}
"""Entries that Python adds to a class when its annotations are read, or an instance is copied or pickled."""


def _first_difference(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """Return the first name with different objects, "" if there is none, without the entries that Python adds."""
    names = sorted({*now, *then} - _KEPT_BY_PYTHON)
    return next((n for n in names if now.get(n, _Own) is not then.get(n, _Own)), "")
