"""The identity of a result: a digest of code, parameters and versions that determine it.

Values are taken apart as `pickle` does it, and read in an order that is the same in every process. Classes and
functions count with the code of their modules and of all that these use (`algorithms.code_fingerprint`), Python, NumPy
and SciPy with their versions.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from algorithms.code_fingerprint import fingerprint, known_digests
from dpwitness import LIBRARY, is_python_module
from mechanisms.parameters import DPWitnessError

_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))


class NoIdentity(DPWitnessError, ValueError):
    """A value has no identity that survives the process; the message names it."""


@functools.cache
def environment() -> str:
    """Return the versions on which the last bits of results depend."""
    major, minor = sys.version_info[:2]  # 3.12 adds numbers up with less rounding
    return f"python {major}.{minor}, numpy {version('numpy')}, scipy {version('scipy')}"


def identity(value: object) -> str:
    """Return a digest of a value and of the code of its classes and functions, in hexadecimal.

    Equal values of the same code have the same digest in every process and on every machine with the same versions.

    Raises
    ------
    NoIdentity
        If a part of it cannot be taken apart, or its code has no source.
    """
    digest = _ValueDigest()
    digest.add(value)
    modules = (name for name in digest.modules if not is_python_module(name))
    packages = {name.partition(".")[0] for name in modules} - {"numpy", "scipy"}
    packages |= _neighbours_of(packages.difference(LIBRARY))
    code = known_digests(frozenset(digest.modules), frozenset(packages.union(LIBRARY)))
    for name in sorted(digest.written):
        if name.partition(".")[0] in packages and name not in code:
            raise NoIdentity(f"{name}: has no source file, so changes of its code cannot be found")
    digest.hasher.update(f"code {fingerprint(code)} {environment()}".encode())
    return digest.hasher.hexdigest()[:32]


def _neighbours_of(packages: set[str]) -> set[str]:
    """Return the loaded modules in the folders of these modules' files: a script imports some of them."""
    loaded = [(name, module) for name, module in list(sys.modules.items()) if "." not in name]
    files = {name: getattr(module, "__file__", None) for name, module in loaded}
    folders = {os.path.dirname(file) for name in packages if (file := files.get(name))}
    return {name for name, file in files.items() if folders and file and os.path.dirname(file) in folders}


class _ValueDigest:
    """Digest of values, added piece by piece."""

    def __init__(self) -> None:
        self.hasher = hashlib.sha256()
        self.modules: set[str] = set()
        self.written: set[str] = set()  # those of which Python code was read
        self._inside: list[int] = []

    def add(self, value: object) -> None:
        """Add a value and all that it holds."""
        if id(value) in self._inside:  # it holds itself
            self._add_words("up", len(self._inside) - self._inside.index(id(value)))
            return
        self._inside.append(id(value))
        try:
            self._add_content(value)
        finally:
            self._inside.pop()

    def _add_content(self, value: Any) -> None:
        match value:
            case enum.Enum():
                self._add_named(type(value), value.name)
            case np.generic():
                self._add_words("number", value.dtype.str)
                self.hasher.update(value.tobytes())
            case float():
                self._add_words("float", value.hex())
            case complex():
                self._add_words("complex", value.real.hex(), value.imag.hex())
            case _ if type(value) in _PLAIN:
                self._add_words(type(value).__name__, repr(value))
            case np.ndarray() if value.dtype != object:
                self._add_words("array", value.dtype.str, value.shape)
                self.hasher.update(np.ascontiguousarray(value).tobytes())
            case list() | tuple() if type(value) in (list, tuple):
                self._add_all(type(value).__name__, value)
            case dict() if type(value) is dict:
                self._add_unordered("dict", value.items())
            case set() | frozenset() if type(value) in (set, frozenset):
                self._add_unordered("set", value)
            case ModuleType():
                self.modules.add(value.__name__)
                self._add_words("module", value.__name__)
            case type():
                if "<locals>" in value.__qualname__:
                    raise NoIdentity(
                        f"{value.__qualname__}: is a class made in a function; make it in a module"
                    )
                self._add_named(value)
            case FunctionType():
                self._add_function(value)
            case MethodType():
                self._add_all("method", (value.__func__, value.__self__))
            case BuiltinFunctionType():
                self._add_all("built-in", (value.__self__, value.__name__))
            case functools.partial():
                self._add_all("partial", (value.func, value.args, value.keywords))
            case _:
                self._add_object(value)

    def _add_object(self, value: Any) -> None:
        try:
            own = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if own is None else own(value)
        except Exception as error:  # a user's object may raise anything
            raise NoIdentity(f"{type(value).__qualname__}: has no identity ({error})") from None
        if isinstance(reduced, str):
            self.modules.add(type(value).__module__)
            self._add_words("global", type(value).__module__, reduced)
            return
        made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        kept = _uncached_state(type(value), state)
        self._add_all("object", (made, arguments, kept, list(items or ()), list(pairs or ())))

    def _add_function(self, value: FunctionType) -> None:
        self._add_named(value)
        if value.__name__ == "<lambda>" or "<locals>" in value.__qualname__:  # others may have its name
            self._add_code(value.__code__)
        try:
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
        except ValueError:
            raise NoIdentity(f"{value.__qualname__}: closes over a name that has no value") from None
        self._add_all("closure", (cells, value.__defaults__, value.__kwdefaults__))

    def _add_code(self, code: CodeType) -> None:
        self._add_words("code", code.co_code.hex(), code.co_names, code.co_varnames)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add_code(constant)
            else:
                self.add(constant)

    def _add_named(self, value: Any, *more: str) -> None:
        self.modules.add(value.__module__)
        if isinstance(value, FunctionType) or any(
            isinstance(own, FunctionType) for own in vars(value).values()
        ):
            self.written.add(value.__module__)
        self._add_words("name", value.__module__, value.__qualname__, *more)

    def _add_all(self, kind: str, values: Iterable[object]) -> None:
        listed = list(values)
        self._add_words(kind, len(listed))
        for each in listed:
            self.add(each)

    def _add_unordered(self, kind: str, values: Iterable[object]) -> None:
        """Add values without an order of their own, in the order of their digests."""
        self._add_words(kind, *sorted(self._digests(values)))

    def _digests(self, values: Iterable[object]) -> Iterator[str]:
        for each in values:
            part = _ValueDigest()
            part.modules, part.written, part._inside = self.modules, self.written, self._inside
            part.add(each)
            yield part.hasher.hexdigest()

    def _add_words(self, *words: object) -> None:
        self.hasher.update(f"{words!r}\n".encode())


def _uncached_state(kind: type[Any], state: Any) -> Any:
    """Return the state of an object without its cached properties, which follow from the rest."""
    if not isinstance(state, dict):
        return state
    return {
        name: each
        for name, each in state.items()
        if not isinstance(getattr(kind, name, None), functools.cached_property)
    }
