"""What code a learner consists of, so that a restart notices that it has changed."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType

_DEFINED = (type, FunctionType, type(functools.cache(len)))
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


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
        module = sys.modules.get(name)
        if name not in found and module is not None and name.partition(".")[0] in packages:
            found.add(name)
            waiting += _used_by(module)
    digests = {name: _digest(sys.modules[name]) for name in sorted(found)}
    return {name: digest for name, digest in digests.items() if digest}


def fingerprint(digests: dict[str, str]) -> str:
    """Return one short word for all of them."""
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _used_by(module: ModuleType) -> set[str]:
    """Return the modules that the names in a module come from: modules, classes and functions.

    Not a package's own modules: which of them it has depends on what else the process imported.
    """
    used = set()
    for value in list(vars(module).values()):
        kind = type(value)  # nothing is asked of the value itself: it may be a proxy of anything
        if issubclass(kind, ModuleType):
            used.add(value.__name__)
        elif issubclass(kind, _DEFINED):
            used.add(str(value.__module__))
    return {name for name in used if not name.startswith(f"{module.__name__}.")}


@functools.cache
def _digest(module: ModuleType) -> str:
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]
