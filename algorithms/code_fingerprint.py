"""Digests of the code that a learner uses, so that a restart notices changed code.

The modules that count are found in two ways, each from the modules found before: by the values of the names in a loaded
module (modules, and the modules of classes and functions), and by the names in its import statements. A statement
``from package import name`` counts the module that assigns or defines `name`, followed through re-exports, so also one
of a plain value; where a name is bound in several ways, the module that binds it counts with all that it imports.
Statements inside functions, and calls of ``__import__`` and ``import_module`` with a written name, count in the
learner's own package, whether or not they have run yet; in this library only statements at the top of a module do.
Sources are read, nothing is imported for it.

Not counted are modules imported by a computed name, data files, environment variables, and other packages.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from types import FunctionType, ModuleType
from typing import Any

from dpwitness import LIBRARY

_DEFINED = (type, FunctionType, type(functools.cache(len)))
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTERS = ("__import__", "import_module")
LIBRARY_OF_LEARNERS = frozenset(LIBRARY) - {"verify"}
"""The packages of this library that a learner uses."""


def code_digests(modules: Iterable[str], packages: frozenset[str]) -> dict[str, str]:
    """Return a digest of each of these modules' code and of all that they use, within some packages.

    Comments, docstrings and layout do not count. A module without source (one typed at a prompt) is left out.

    Parameters
    ----------
    modules
        Names of modules to begin with.
    packages
        Top-level packages to look into; everything else is taken to be as it was.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and name.partition(".")[0] in packages and (name in sys.modules or _tree(name)):
            found.add(name)
            waiting += _used_by(sys.modules.get(name)) | _imported_by(name, packages)
    trees = ((name, _tree(name)) for name in sorted(found))
    return {name: _digest(tree) for name, tree in trees if tree is not None}


def module_digest(name: str) -> str | None:
    """Return the digest of one module's code; None if it has no source."""
    tree = _tree(name)
    return None if tree is None else _digest(tree)


def modules_used(modules: Iterable[str], packages: frozenset[str]) -> set[str]:
    """Return the modules of some packages that these use or import themselves."""
    used = {
        other for name in modules for other in _used_by(sys.modules.get(name)) | _imported_by(name, packages)
    }
    return {name for name in used if name.partition(".")[0] in packages}


def packages_named(modules: Iterable[str]) -> set[str]:
    """Return the top-level packages that import statements of these modules name, inside functions too."""
    trees = ((name, _tree(name)) for name in modules)
    return {
        imported.partition(".")[0]
        for name, tree in trees
        if tree is not None
        for statement in _imports(tree, inside=True)
        for imported, _ in _names_in(statement, name)
    }


@functools.cache
def known_digests(modules: frozenset[str], packages: frozenset[str]) -> dict[str, str]:
    """Return `code_digests` as they were when they were first asked for."""
    return code_digests(modules, packages)


def fingerprint(digests: dict[str, str]) -> str:
    """Return one short word for all of them."""
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def forget_sources() -> None:
    """Read all sources again the next time."""
    known_digests.cache_clear()
    _tree_then.cache_clear()
    _bindings_then.cache_clear()
    _names_then.cache_clear()


# --- modules that a module uses----------------------------------------------------------------------


def _used_by(module: ModuleType | None) -> set[str]:
    """Return the modules that the names in a module come from: modules, classes and functions.

    Not a package's own modules: which of them it has depends on the process's other imports.
    """
    used: set[str] = set()
    if module is None:
        return used
    for value in list(vars(module).values()):
        kind = type(value)  # nothing is asked of the value itself: it may be a proxy of anything
        if issubclass(kind, ModuleType):
            used.add(value.__name__)
        elif issubclass(kind, _DEFINED):
            used.add(str(value.__module__))
    return {name for name in used if not name.startswith(f"{module.__name__}.")}


def _imported_by(name: str, packages: frozenset[str]) -> set[str]:
    """Return the modules that a module's import statements name, within some packages."""
    used = {
        imported if attribute is None else _origin(imported, attribute)
        for imported, attribute in _names_then(name, _stamp(name))
        if imported.partition(".")[0] in packages
    }
    return used - {name}


@functools.cache
def _names_then(name: str, _: tuple[int, int] | None) -> tuple[tuple[str, str | None], ...]:
    """Return the names in a module's import statements; those inside functions count in users' modules only."""
    tree = _tree(name)
    if tree is None:
        return ()
    inside = name.partition(".")[0] not in LIBRARY_OF_LEARNERS
    return tuple(each for statement in _imports(tree, inside=inside) for each in _names_in(statement, name))


def _imports(tree: ast.AST, *, inside: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield import statements, those inside functions too if asked for; not those that only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and _for_type_checkers(node.test):
            for other in node.orelse:
                yield from _imports(ast.Module([other], []), inside=inside)
        elif inside and isinstance(node, ast.Call) and (called := _called_import(node)) is not None:
            yield called
        elif inside or not isinstance(node, (ast.expr, *_FUNCTIONS)):
            yield from _imports(node, inside=inside)


def _for_type_checkers(test: ast.expr) -> bool:
    """Return True if a condition is ``TYPE_CHECKING`` itself: a longer one may hold when the module runs."""
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def _called_import(call: ast.Call) -> ast.Import | ast.ImportFrom | None:
    """Return the statement equal to a call of ``__import__`` or ``import_module`` with a written name."""
    function, first = call.func, call.args[0] if call.args else None
    named = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if named not in _IMPORTERS or not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return None
    name = first.value.lstrip(".")
    if level := len(first.value) - len(name):
        return ast.ImportFrom(name, [ast.alias("*")], level)
    return ast.Import([ast.alias(name)])


def _names_in(statement: ast.Import | ast.ImportFrom, inside: str) -> Iterator[tuple[str, str | None]]:
    """Yield the names of a statement: a module, and an attribute of it (None for the whole)."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.name, None
        return
    origin = _absolute(statement, inside)
    if origin is not None:
        for alias in statement.names:
            yield origin, None if alias.name == "*" else alias.name


def _absolute(statement: ast.ImportFrom, inside: str) -> str | None:
    """Return the module that a statement in the module `inside` imports from."""
    if not statement.level:
        return statement.module
    package = inside if _is_package(inside) else inside.rpartition(".")[0]
    try:
        return resolve_name("." * statement.level + (statement.module or ""), package)
    except ImportError:  # it would fail there, too
        return None


def _origin(module: str, attribute: str) -> str:
    """Return the module that an attribute of a module is, or comes from."""
    seen: set[tuple[str, str]] = set()
    while (module, attribute) not in seen:
        seen.add((module, attribute))
        source = _bindings_then(module, _stamp(module)).get(attribute)
        # Defined there, or a package's own module, imported by its __init__.
        if source is None or source == (module, attribute):
            submodule = f"{module}.{attribute}"
            return submodule if _is_package(module) and _tree(submodule) is not None else module
        if source[1] is None:
            return source[0]
        module, attribute = source[0], source[1]
    return module


@functools.cache
def _bindings_then(name: str, _: tuple[int, int] | None) -> dict[str, tuple[str, str | None]]:
    """Return the names bound in a module by one import statement alone, each with its module and attribute."""
    bound: dict[str, tuple[str, str | None]] = {}
    tree = _tree(name)
    times = Counter[str]()
    for statement in () if tree is None else _imports(tree, inside=False):
        times.update(alias.asname or alias.name for alias in statement.names)
        if isinstance(statement, ast.ImportFrom):
            origin = _absolute(statement, name)
            for alias in statement.names:
                if origin is not None and alias.name != "*":
                    bound[alias.asname or alias.name] = (origin, alias.name)
        else:
            for alias in statement.names:
                if alias.asname:
                    bound[alias.asname] = (alias.name, None)
    if tree is not None and name.partition(".")[0] not in LIBRARY_OF_LEARNERS:
        times.update(_bound_otherwise(tree))
    return {name: source for name, source in bound.items() if times[name] == 1}


def _bound_otherwise(tree: ast.Module) -> Iterator[str]:
    """Yield the names that anything but an import statement binds in a module, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield node.name


# --- sources -------------------------------------------------------------------------------------


def _tree(name: str) -> ast.Module | None:
    """Return a module's source, parsed, without docstrings; None if there is none. Nothing is imported for it."""
    return _tree_then(name, _stamp(name))


def _stamp(name: str) -> tuple[int, int] | None:
    """Return time and size of a user's file, which may be read again in one process; None for this library's."""
    if name.partition(".")[0] in LIBRARY_OF_LEARNERS:
        return None
    try:
        module = sys.modules.get(name)
        spec = find_module(name) if module is None else None
        found = os.stat((spec.origin if spec is not None else getattr(module, "__file__", None)) or "")
    except (ImportError, AttributeError, OSError, TypeError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


@functools.cache
def _tree_then(name: str, _: tuple[int, int] | None) -> ast.Module | None:
    try:
        module = sys.modules.get(name)
        if module is not None:
            return _undocumented(inspect.getsource(module))
        spec = find_module(name)
        loader: Any = None if spec is None else spec.loader
        source = None if loader is None else loader.get_source(name)
        return None if source is None else _undocumented(source)
    except (OSError, TypeError, SyntaxError, ImportError, AttributeError):
        return None


@functools.lru_cache(maxsize=4096)  # sources that are read again are mostly the same
def _undocumented(source: str) -> ast.Module:
    tree = ast.parse(source)
    for node in _outside_expressions(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _outside_expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it that are in no expression: there, nothing has a docstring, and most nodes are."""
    yield node
    for below in ast.iter_child_nodes(node):
        if not isinstance(below, ast.expr):
            yield from _outside_expressions(below)


def find_module(name: str) -> ModuleSpec | None:
    """Find a module without importing anything."""
    parent, _, _ = name.rpartition(".")
    if not parent:
        return PathFinder.find_spec(name)
    loaded = sys.modules.get(parent)
    if loaded is not None:
        return PathFinder.find_spec(name, getattr(loaded, "__path__", []))
    above = find_module(parent)
    return None if above is None else PathFinder.find_spec(name, above.submodule_search_locations or [])


def _is_package(name: str) -> bool:
    module = sys.modules.get(name)
    if module is not None:
        return hasattr(module, "__path__")
    spec = find_module(name)
    return spec is not None and spec.submodule_search_locations is not None


@functools.lru_cache(maxsize=4096)
def _digest(tree: ast.Module) -> str:
    said: list[str] = []
    _write_down(tree, said)
    return hashlib.sha256("".join(said).encode()).hexdigest()[:16]


_UNSAID = {"ctx", "kind", "type_comment", "type_ignores"}
"""Fields of nodes that follow from the others, or do nothing."""


def _write_down(part: Any, said: list[str]) -> None:
    """Write down a part of a tree, in the same words in every version of Python.

    Neither `ast.unparse` nor `ast.dump` does: versions differ in quotes, in new fields of nodes that are mostly empty,
    in the braces of formats, and in the characters that count as printable.
    """
    if isinstance(part, ast.AST):
        said.append(f"{type(part).__name__}(")
        for name in part._fields:
            value = getattr(part, name, None)
            if isinstance(part, ast.JoinedStr):
                value = [each for each in part.values if getattr(each, "value", None) != ""]
            if name not in _UNSAID and value is not None and value != []:
                said.append(f"{name}=")
                _write_down(value, said)
        said.append(")")
    elif isinstance(part, list):
        for each in part:
            _write_down(each, said)
            said.append(",")
    else:
        said.append(hex(part) if type(part) is int else ascii(part))
