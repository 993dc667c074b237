"""Entry points of dpwitness, and modules of users that share names with its packages.

A user may have packages called `mechanisms`, `accountant`, `algorithms` or `verify`, too. Both are loaded then, and
one of them is *in place*: in `sys.modules`. While this library computes, its own are; while a user's code runs, the
user's (`verify.conduct.process_state`), so that pickles and `importlib.import_module` find them as well. An import
statement in a file of this library always finds the library's packages, one in a user's file the user's. Where no user
has such packages, nothing is changed. Every start of pytest imports this file: it loads nothing of the library.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import itertools
import os
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module, util
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

LIBRARY = ("mechanisms", "accountant", "algorithms", "verify")
"""The packages of this library."""

_EXPORTING = (
    "mechanisms", "accountant", "accountant.audit", "algorithms", "algorithms.problems", "algorithms.blocks",
)  # fmt: skip

_real = functools.cache(os.path.realpath)  # computed for the file of every import of a shared name

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_OURS = tuple(os.path.join(_real(os.path.join(_FOLDER, name)), "") for name in LIBRARY)


def main() -> None:
    """Run the command line."""
    keep_apart()
    put_in_place(None)
    library_module("verify.commands.command_line").main()


def __getattr__(name: str) -> Any:
    """Return the plugin for pytest: loaded by its file, since `verify` may be a user's."""
    if name != "pytest_plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = os.path.join(_FOLDER, "verify", "pytest_plugin.py")
    spec = util.spec_from_file_location("dpwitness_pytest_plugin", file)
    assert spec is not None
    assert spec.loader is not None
    plugin = util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin


def library_module(name: str) -> ModuleType:
    """Import a module of this library, also where a user has one of its name."""
    keep_apart()
    with library_in_place():
        return import_module(name)


def import_on_demand() -> None:
    """Let the library's packages import all that they export only when a name is first read from one of them.

    Until then their modules are imported one by one. It is for commands that run no code of a user's: this could
    change a class before its package takes it for the library's own (`mechanisms.assumptions.library_package`).
    """
    for name in _EXPORTING:
        parent, _, last = name.rpartition(".")
        spec = PathFinder.find_spec(name, [os.path.join(_FOLDER, parent)])
        if name not in sys.modules and spec is not None:
            module = sys.modules[name] = util.module_from_spec(spec)
            vars(module)["__getattr__"] = functools.partial(_run_package, module)
            if parent:
                setattr(sys.modules[parent], last, module)


def _run_package(package: ModuleType, name: str) -> Any:
    """Run the code of a package, and return the value of a name in it."""
    del vars(package)["__getattr__"]
    spec = package.__spec__
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(package)
    return getattr(package, name)


class OwnPackages:
    """A user's modules that have names of this library's packages.

    Parameters
    ----------
    file
        The file that imports them, with all that lie beside and below it; None for modules that any user's file can
        find.

    Attributes
    ----------
    names
        The top-level names among them that are known until now.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = "" if file is None else os.path.realpath(file)
        self.root = os.path.join(os.path.dirname(self.file), "") if self.file else ""
        self.names: set[str] = set()
        self._away: dict[str, ModuleType] = {}  # theirs while the library's are in place; or the reverse

    def modules(self) -> list[ModuleType]:
        """Return the loaded modules of these packages, each after those that it imports."""
        with library_in_place():
            return list(reversed(self._away.values()))

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each Python file of the imported packages."""
        with library_in_place():  # so that theirs are those that are away
            places = map(Path, map(self._find_path, sorted({name.partition(".")[0] for name in self._away})))
        return {
            str(file.relative_to(place.parent)): hashlib.sha256(file.read_bytes()).hexdigest()
            for place in places
            for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
        }

    def folders(self) -> list[str]:
        """Return the folders in which they are searched; for a user's file only those before this library's."""
        before = itertools.takewhile(
            lambda folder: os.path.realpath(folder) != os.path.realpath(_FOLDER), sys.path
        )
        return [self.root, *before] if self.file else sys.path

    def owns(self, top: str) -> bool:
        """Return True if a top-level name is that of one of these packages, and not of the importing file."""
        if top not in self.names:
            if not self.file and top in sys.modules and (_in_place is self or self not in _known):
                place = _place_of(sys.modules[top])
            else:
                place = self._find_path(top)
            if not place or _is_of_library(place) or place == self.file:
                return False
            self.names.add(top)
            if _in_place is self:
                self._away |= _remove_modules({top}, library=True)
        return True

    def _find_path(self, top: str) -> str:
        """Return the folder or file of a top-level name, "" if there is none."""
        spec = PathFinder.find_spec(top, self.folders())
        folders = () if spec is None else spec.submodule_search_locations or (str(spec.origin),)
        return os.path.realpath(next(iter(folders))) if folders else ""

    def exchange(self) -> None:
        """Put them in place of the library's, and their folder first in the path of new processes; or undo both."""
        if _in_place is not self and self.file:
            sys.path.insert(0, os.path.dirname(self.file))
        elif self.file:
            with suppress(ValueError):  # a user's code may have changed the path
                sys.path.remove(os.path.dirname(self.file))
        gone = _remove_modules(self.names)
        sys.modules.update(self._away)
        self._away = gone


_caller = OwnPackages(None)
_known: list[OwnPackages] = []  # the longest root first, of the same the newest
_in_place: OwnPackages | None = None  # None: the library's


def keep_apart() -> None:
    """Keep the library apart from other packages that Python finds under its names."""
    global _in_place
    # Else Python finds others' under these names now.
    as_it_finds = _in_place is (_caller if _caller in _known else None)
    if as_it_finds and {top for top in LIBRARY if _caller.owns(top)} and _in_place is None:
        _watch_imports(_caller)
        _in_place = _caller


def packages_of(file: Path) -> OwnPackages:
    """Return the packages of a user's file that is to be imported, as far as they are found beside it."""
    packages = OwnPackages(file)
    for top in LIBRARY:
        packages.owns(top)
    _watch_imports(packages)
    return packages


def _watch_imports(packages: OwnPackages) -> None:
    if not _known:
        sys.meta_path.insert(0, _Finder())
        builtins.__import__ = functools.partial(_import, builtins.__import__)
    _known.insert(0, packages)
    _known.sort(key=lambda each: -len(each.root))


def in_place() -> OwnPackages | None:
    """Return the user's packages that are in place, None if the library's are."""
    return _in_place


def put_in_place(packages: OwnPackages | None) -> None:
    """Put a user's packages in place, or the library's: None."""
    global _in_place
    if packages is not _in_place:
        for each in (_in_place, packages):
            if each is not None:
                each.exchange()
        _in_place = packages


def library_in_place() -> AbstractContextManager[None]:
    """Return a context in which the library's packages are in place."""
    return _place_temporarily(None)


@contextmanager
def _place_temporarily(packages: OwnPackages | None) -> Iterator[None]:
    before = _in_place
    put_in_place(packages)
    try:
        yield
    finally:
        put_in_place(before)


class _Finder:
    """A finder of the packages that are in place, before all other finders; see `importlib.abc.MetaPathFinder`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a package of one of the four names."""
        if name not in LIBRARY:
            return None
        if _in_place is None or name not in _in_place.names:
            return PathFinder.find_spec(name, [_FOLDER])
        return PathFinder.find_spec(name, _in_place.folders()) if _in_place.file else None


def _import(
    python_import: Callable[..., ModuleType],
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> ModuleType:
    """Import as the builtin function does, but of packages that share a name those of the importing file."""
    top = (str((globals or {}).get("__package__") or "") if level else name).partition(".")[0]
    if top not in LIBRARY:
        return python_import(name, globals, locals, fromlist, level)
    packages = _packages_for((globals or {}).get("__file__"))
    if packages is not None and packages.owns(top):
        with _place_temporarily(packages):
            try:
                found = python_import(name, globals, locals, fromlist, level)
            except ModuleNotFoundError as error:
                if level or not packages.file or str(error.name).partition(".")[0] != top:
                    raise
            else:
                if (
                    level
                    or not packages.file
                    or all(each == "*" or hasattr(found, each) for each in fromlist or ())
                ):
                    return found
    # The library's, or modules that a user's file imports from it in spite of its own packages.
    with library_in_place():
        return python_import(name, globals, locals, fromlist, level)


def _packages_for(file: object) -> OwnPackages | None:
    """Return the packages that are meant in a file: None for the library's, and in its own code."""
    if isinstance(file, str) and _is_of_library(_real(file)):
        return None
    if not is_of_a_user(file):
        return _in_place
    place = _real(str(file))
    theirs = [each for each in _known if place.startswith(each.root)]
    return _in_place if _in_place in theirs or not theirs else theirs[0]


def _remove_modules(tops: Collection[str], *, library: bool = False) -> dict[str, ModuleType]:
    """Remove the modules with these top-level names from `sys.modules`, perhaps the library's alone; return them."""
    if not tops:
        return {}
    first = tuple(tops)
    names = [name for name in list(sys.modules) if name.startswith(first) and name.partition(".")[0] in tops]
    if library:
        names = [name for name in names if _is_of_library(_place_of(sys.modules[name]))]
    return {name: sys.modules.pop(name) for name in names}


def _place_of(module: ModuleType) -> str:
    """Return the folder of a package, or the file of another module."""
    folders, file = getattr(module, "__path__", ()), getattr(module, "__file__", "")
    return os.path.realpath(str(next(iter(folders), file or "")))


def _is_of_library(path: str) -> bool:
    return os.path.join(path, "").startswith(_OURS) or path == _real(__file__)


def is_of_library(found: FunctionType | type) -> bool:
    """Return True for a function or class of this library's modules, False for a user's of the same name."""
    name = str(found.__globals__.get("__name__") if isinstance(found, FunctionType) else found.__module__)
    module = loaded_of_library(name)
    if module is None or not _is_of_library(_real(str(getattr(module, "__file__", "")))):
        return False
    if isinstance(found, FunctionType):
        return found.__globals__ is vars(module)
    return _holds(module, found)


def loaded_of_library(name: str) -> ModuleType | None:
    """Return this library's loaded module of a name, never a user's of the same name."""
    with library_in_place():
        return sys.modules.get(name) if name.partition(".")[0] in LIBRARY else None


@functools.cache
def field_types(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a class of this library; their names are those of its own modules."""
    with library_in_place():
        return get_type_hints(kind)


def is_of_python(found: type) -> bool:
    """Return True for a class of Python's own modules, False for one that claims to be of them."""
    name = str(found.__module__)
    return is_python_module(name) and _holds(sys.modules[name], found)


def is_python_module(name: str) -> bool:
    """Return True for the name of a loaded module of Python's own: not where a user's file hides it."""
    module = sys.modules.get(name) if name.partition(".")[0] in sys.stdlib_module_names else None
    return module is not None and not is_of_a_user(getattr(module, "__file__", None))


def _holds(module: ModuleType, found: type) -> bool:
    """Return True if a module holds this very class under its name, which any other class may have, too."""
    held: Any = module
    for part in found.__qualname__.split("."):
        held = vars(held).get(part) if isinstance(held, ModuleType | type) else None
    return held is found


def is_of_a_user(file: object) -> bool:
    """Return True for a Python file that is neither this library's nor of an installed package or Python itself."""
    if not (isinstance(file, str) and file.endswith(".py")) or is_installed(os.path.abspath(file)):
        return False
    return not _is_of_library(_real(file))


@functools.cache  # computed for all loaded modules, by every verification
def is_installed(file: str) -> bool:
    """Return True for a file or folder of an installed package or of Python itself."""
    return is_of_package(file) or _lies_below(file, _installed_in("stdlib", "platstdlib"))


@functools.cache
def is_of_package(file: str) -> bool:
    """Return True for a file or folder of an installed package, whichever of Python's folders of packages it lies in.

    Those of an environment, a user, a distribution and ``pip --target`` have one of two names. So a user's own file
    below a folder of such a name counts as installed; an editable installation, which lies elsewhere, does not.
    """
    named = {"site-packages", "dist-packages"}.intersection(os.path.realpath(file).split(os.sep))
    return bool(named) or _lies_below(file, _installed_in("purelib", "platlib"))


def _lies_below(file: str, folders: tuple[str, ...]) -> bool:
    return os.path.join(os.path.realpath(file), "").startswith(folders)


@functools.cache
def _installed_in(*names: str) -> tuple[str, ...]:
    """Return Python's folders of these names, each with a separator at its end."""
    return tuple(os.path.join(os.path.realpath(sysconfig.get_path(name)), "") for name in names)
