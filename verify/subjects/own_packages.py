"""Imports of a user's code whose own packages are called as those of this library are.

``import mechanisms`` in a file beside a folder ``mechanisms`` means that folder; everywhere else it means this
library. Who imports is known by the ``__import__`` in a module's builtins, so that imports in functions, long after
loading, find the right ones, too. Not covered: `importlib.import_module` of one of these names.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import itertools
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from accountant.provenance import LIBRARY

_LIBRARY_FOLDERS = [Path(__file__).resolve().parents[2] / name for name in LIBRARY]


class OwnPackages:
    """The modules beside a user's file that have names of this library's packages.

    Parameters
    ----------
    file
        The file that imports them.

    Attributes
    ----------
    builtins
        The builtins of its module, with an ``__import__`` that finds them.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.root = file.resolve(), str(file.resolve().parent)
        self.builtins: dict[str, Any] = {**vars(builtins), "__import__": self._import}
        self._found: dict[str, Path] = {}  # files and folders, by top-level name
        self._away: dict[
            str, ModuleType
        ] = {}  # their modules while the library's are in place; or the reverse
        self._in_place = False
        self._known: dict[tuple[str, str, Sequence[str], int], ModuleType] = {}  # what imports came to

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each Python file of those that were imported."""
        return {
            str(file.relative_to(found.parent)): hashlib.sha256(file.read_bytes()).hexdigest()
            for found in self._found.values()
            for file in (sorted(found.rglob("*.py")) if found.is_dir() else [found])
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a user's module, with a loader of its own; see `importlib.abc.MetaPathFinder`."""
        spec = PathFinder.find_spec(name, self._folders() if path is None else path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec if name.partition(".")[0] in self._found else None
        if not is_of_a_user(spec.origin) or _is_of_library(spec.loader.path):
            return None
        spec.loader = _UsersLoader(self, name, spec.loader.path)
        return spec

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """Import as the builtin function does, but the user's own packages before this library's."""
        package = str((globals or {}).get("__package__", "")) if level else ""
        top = (package or name).partition(".")[0]
        if top not in LIBRARY:
            with self._asked():
                return builtins.__import__(name, globals, locals, fromlist, level)
        key = package, name, tuple(fromlist or ()), level
        if key not in self._known:
            with self._asked():
                self._known[key] = self._imported(top, name, globals, fromlist, level)
        return self._known[key]

    def _imported(
        self, top: str, name: str, globals: Mapping[str, Any] | None, fromlist: Sequence[str], level: int
    ) -> ModuleType:
        """Import a module with a name of this library's packages: the user's or, if that has no such name, ours."""
        with self._placed(False):
            if not self._owns(top):
                return builtins.__import__(name, globals, None, fromlist, level)
        with self._placed(True):
            try:
                found = builtins.__import__(name, globals, None, fromlist, level)
            except ModuleNotFoundError as error:
                if level or not str(error.name).startswith(top):
                    raise
            else:
                if level or all(each == "*" or hasattr(found, each) for each in fromlist or ()):
                    return found
        with self._placed(False):
            return builtins.__import__(name, globals, None, fromlist, level)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Be asked for modules first."""
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)

    def _folders(self) -> list[str]:
        """Return the folders where the file's imports are looked for: without this library's, and those after it."""
        library = str(_LIBRARY_FOLDERS[0].parent)
        return [self.root, *itertools.takewhile(lambda folder: os.path.realpath(folder) != library, sys.path)]

    def _owns(self, top: str) -> bool:
        """Return True if a top-level name is that of a user's file or folder, other than the importing file."""
        if top not in self._found:
            spec = PathFinder.find_spec(top, self._folders())
            places = [] if spec is None else [*(spec.submodule_search_locations or [str(spec.origin)])]
            if not places or _is_of_library(places[0]) or Path(places[0]).resolve() == self.file:
                return False
            self._found[top] = Path(places[0]).resolve()
        return True

    @contextmanager
    def _placed(self, theirs: bool) -> Iterator[None]:
        """Have the user's modules, or the library's, under the names that both have."""
        before = self._in_place
        self._place(theirs)
        try:
            yield
        finally:
            self._place(before)

    def _place(self, theirs: bool) -> None:
        if theirs != self._in_place:
            gone = {
                name: module for name, module in sys.modules.items() if name.partition(".")[0] in self._found
            }
            for name in gone:
                del sys.modules[name]
            sys.modules.update(self._away)
            self._away, self._in_place = gone, theirs


class _UsersLoader(SourceFileLoader):
    """Loads a module of a user's with the builtins of the file that imports it."""

    def __init__(self, packages: OwnPackages, name: str, path: str) -> None:
        super().__init__(name, path)
        self.packages = packages

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        vars(module)["__builtins__"] = self.packages.builtins
        super().exec_module(module)


def is_of_a_user(file: object) -> bool:
    """Return True for a Python file that is neither of an installed package nor of Python itself."""
    return isinstance(file, str) and file.endswith(".py") and not is_installed(os.path.abspath(file))


@functools.cache  # asked of all modules that are loaded, by every verification
def is_installed(file: str) -> bool:
    """Return True for a file or folder of an installed package or of Python itself."""
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _INSTALLED)


_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def _is_of_library(path: str) -> bool:
    return any(Path(path).resolve().is_relative_to(folder) for folder in _LIBRARY_FOLDERS)
