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
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt


@unique
class AssumptionKind(Enum):
    """Reason why an assumption is not proved; the value is a short stable name used in reports and JSON."""

    FOREIGN_CLASS = "foreign-class"
    PATCHED = "patched"
    DECLARED_FUNCTION = "declared-function"
    DECLARED_STABILITY = "declared-stability"
    OPENDP = "opendp"
    CLAIM = "claim"
    INTERNALS = "internals"
    DEVICE = "device"
    SEEDED = "seeded"


@dataclass(frozen=True, slots=True)
class Assumption:
    """Unverified assumption on which a guarantee rests.

    Attributes
    ----------
    kind
        The reason why it is not proved.
    message
        The assumption, as a clause: "your class TooQuiet is as quiet as it says".
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
class _Defaults:
    """A function with default arguments, as it was imported: they are compared as objects, not by what they equal."""

    function: types.FunctionType
    code: types.CodeType
    positional: tuple[Any, ...] | None
    by_name: dict[str, Any] | None
    held: dict[str, Any]  # by_name's content: whoever has the function can write into it

    @classmethod
    def of(cls, function: types.FunctionType) -> _Defaults:
        code, positional, by_name = _runs(function)
        return cls(function, code, positional, by_name, dict(by_name or {}))

    def same(self) -> bool:
        """Whether the function runs what it ran, with the same defaults."""
        code, positional, by_name = _runs(self.function)
        return (
            code is self.code
            and positional is self.positional
            and by_name is self.by_name
            and _holds(by_name or {}, self.held)
        )


@dataclass(frozen=True, eq=False)
class _Body:
    """What the body of one class held, as it was imported.

    Attributes
    ----------
    cls
        The class.
    held
        Its entries.
    functions, codes
        Its functions without default arguments, and what each of them ran.
    defaults
        Its other functions.
    """

    cls: type
    held: dict[str, Any]
    functions: tuple[types.FunctionType, ...]
    codes: list[tuple[Any, ...]]
    defaults: tuple[_Defaults, ...]

    @classmethod
    def of(cls, body: type) -> _Body:
        functions = [f for f in map(_function, vars(body).values()) if f is not None]
        plain = tuple(f for f in functions if f.__defaults__ is None and f.__kwdefaults__ is None)
        others = tuple(_Defaults.of(f) for f in functions if f not in plain)
        return cls(body, dict(vars(body)), plain, list(map(_runs, plain)), others)

    def altered(self) -> str | None:
        """Return what no longer is as it was imported, in words."""
        if not _holds(now := vars(self.cls), self.held) and (name := _first_difference(now, self.held)):
            return f"{self.cls.__qualname__}.{name}"
        return None

    def rewritten(self) -> str | None:
        """Return the function that runs other code than it did, in words."""
        if list(map(_runs, self.functions)) != self.codes:
            both = zip(self.functions, self.codes, strict=True)
            return next(f.__qualname__ for f, ran in both if _runs(f) != ran)
        return next((each.function.__qualname__ for each in self.defaults if not each.same()), None)


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
        The names under which an instance that holds something hides what the class has; not those of fields and
        cached properties.
    """

    cls: type
    bases: tuple[type, ...]
    bodies: tuple[_Body, ...]
    names: tuple[str, ...] | None
    given: tuple[str, ...]
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
        return _together((self,)).altered()


class _Classes:
    """Some classes of this library: whether all are as they were imported, in as few steps as Python can take.

    What they share is looked at once.
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
        # Views of what classes, and defaults by name, hold by then; and what they held.
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
        """Expect what was imported, in the order in which it stands now, and what Python itself keeps in a class."""
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

    def same(self) -> bool:
        """Whether all are as they were imported."""
        # What says that it equals something is caught by the comparison as objects. Codes have a type of their own.
        if self._holding != self._held or list(map(_code, self._functions)) != self._codes:
            return False
        found: list[Any] = list(map(_order, self._classes))
        for values in self._values:
            found += values
        found += map(_positional, self._positional)
        found += map(_by_name, self._by_name)
        return all(map(operator.is_, found, self._objects))

    def altered(self) -> str | None:
        """Return what no longer is as it was imported, in words."""
        if self.same():
            return None
        rebased = next((own.cls for own in self._owns if own.rebased()), None)
        if rebased is not None:
            return f"the bases of {rebased.__qualname__}"
        words = (body.altered() or body.rewritten() for body in self._bodies)
        found = next((what for what in words if what is not None), None)
        if found is None:
            self._expect()
        return found


_order: Callable[[type], tuple[type, ...]] = operator.attrgetter("__mro__")
_code: Callable[[types.FunctionType], types.CodeType] = operator.attrgetter("__code__")
_positional: Callable[[types.FunctionType], Any] = operator.attrgetter("__defaults__")
_by_name: Callable[[types.FunctionType], Any] = operator.attrgetter("__kwdefaults__")
_together = lru_cache(maxsize=1024)(_Classes)


_bodies: dict[int, _Body] = {}  # by the class's identity
_watched: list[tuple[type, dict[str, Any]]] = []  # classes that are not known to do what they say
_own: dict[int, _Own] = {}  # by the class's identity: a metaclass may claim to equal anything
_modules: list[tuple[types.ModuleType, dict[str, Any]]] = []


def _take(cls: type) -> None:
    """Take a class for this library's own, as it is now."""
    held = [c for c in cls.__mro__ if c.__module__.partition(".")[0] == cls.__module__.partition(".")[0]]
    bases = [_own[id(c)].cls for c in cls.__mro__ if id(c) in _own and c not in held]
    for each in held:
        if id(each) not in _bodies:
            _bodies[id(each)] = _Body.of(each)
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
    class are judged by their fields, others by what they hold. A class that needs another judgement has a method
    ``rests_on(self)`` that returns its assumptions instead.

    Raises
    ------
    ParameterError
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
    """Make `altered_library` also report later changes to the modules of a package that are loaded now.

    This alone does not make the package's classes trusted; see `library_package`.
    """
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            held = {n: v for n, v in vars(module).items() if _fixed(v)}
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
    return tuple(dict.fromkeys(_found(value)))


def class_assumptions(cls: type) -> tuple[Assumption, ...]:
    """Return the assumption that a class is correct; none for a class of this library that is as it was imported."""
    own = _own.get(id(cls))
    if own is None:
        return (_foreign(cls),)
    altered = own.altered()
    return () if altered is None else (_patched(altered),)


def altered_library() -> tuple[Assumption, ...]:
    """Return the parts of the library that were altered since import: classes, functions, names of modules."""
    seen: dict[str, None] = {}
    for known in list(_own.values()):
        if known.rebased():
            seen[f"the bases of {known.cls.__qualname__}"] = None
    for imported in list(_bodies.values()):
        for what in (imported.altered(), imported.rewritten()):
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


class _Array(NamedTuple):
    """An array in an examined value, and what it held: whoever holds it can write into it."""

    value: npt.NDArray[Any]
    content: tuple[Any, ...]


def _content(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    return array.dtype.str, array.shape, array.tobytes()


_Parts = dict[int, _Part | _Array]  # of a value, in tuples too, by their identity


class _State:
    """What the parts of a value held, and what their classes are made of."""

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
        """Whether the parts are as they were, and their classes as they were imported."""
        return (self._classes.same() or self._classes.altered() is None) and self.parts_unchanged()

    def parts_unchanged(self) -> bool:
        """Whether the parts are of their classes, hide nothing of them, and hold the same."""
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
        What it shares with all that are the same, and with nothing else.
    """

    def __init__(self, value: Any) -> None:
        parts, classes = _Parts(), dict[_Own, None]()
        self.value = value
        self.key = _key(value, parts, classes)
        super().__init__(parts, _together(tuple(classes)))


@dataclass(frozen=True, eq=False)
class _Copied:
    """An examined value, and the copy that is used in place of it: whoever sees the copy can write into it."""

    seen: Examination
    copy: Examination


_kept: dict[int, _Copied] = {}  # by the value's identity
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
    _kept[id(value)] = _Copied(seen, copy)
    copied = copy.value
    return copied, ()


def shared_copy(value: object, key: object) -> Examination | None:
    """Return a copy of a value that was examined, as it was examined itself: the same for all that have this key.

    None if it does not keep what it is made from, so that there is no telling whether it is the same.

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
    """A part is not this library's own as it was imported: there is no telling which values are equal."""


def _key(value: Any, parts: _Parts, classes: dict[_Own, None]) -> Any:
    """Return what two values share exactly if they are the same, part by part and type by type; collect the parts."""
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
    if own is None or hasattr(cls, "rests_on") or _hiding(value, own):
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
    altered = own.altered()
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


def _hiding(value: Any, own: _Own) -> frozenset[str]:
    """Return the names under which an instance holds something in place of what its class has."""
    held = getattr(value, "__dict__", None)
    return own.attributes.intersection(held) if held else frozenset()


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
    except Exception:  # no source; or, since Python 3.13 asks the class for its line, one that is not there
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


def _holds(now: Mapping[str, Any], then: dict[str, Any]) -> bool:
    """Whether both hold the same objects, in the same order: that one says it equals another is not asked."""
    return list(now) == list(then) and all(map(operator.is_, now.values(), then.values()))


def _fixed(value: object) -> bool:
    """Whether a module's name is bound once: classes, functions, modules, numbers."""
    return callable(value) or isinstance(value, types.ModuleType | int | float | str)


_KEPT_BY_PYTHON = {"__annotations__", "__slotnames__"}
"""What comes up in a class when it is asked for its annotations, or when an instance is copied or pickled."""


def _first_difference(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """Return the first name that differs, "" if none does; what Python itself keeps in a class is left out."""
    names = sorted({*now, *then} - _KEPT_BY_PYTHON)
    return next((n for n in names if now.get(n, _Own) is not then.get(n, _Own)), "")
