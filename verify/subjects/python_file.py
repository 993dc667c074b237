"""Importing a user's Python file: what is run is what the file says now, not byte code that was kept of it."""

from __future__ import annotations

import ast
import functools
import importlib.util
import linecache
import marshal
import os
import sys
import sysconfig
import traceback
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from accountant.provenance import IMPORTED_AS, LIBRARY
from verify.conduct.process_state import subjects_own
from verify.subject_error import SubjectError, words_of_error
from verify.subjects.needed_statements import NeededStatements, needed_statements
from verify.subjects.notebook_cells import NotebookCode, notebook_code, place_in_cells

NOTEBOOK = ".ipynb"


class _FromSource(SourceFileLoader):
    """Compiles a file each time: byte code counts as a file's by its size and time stamp alone, which copying keeps."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is."""
        source = self.get_filename(fullname)
        return self.source_to_code(self.get_data(source), source)


class _Needed(_FromSource):
    """Runs only what one object of a script or notebook needs (`verify.subjects.needed_statements`)."""

    def __init__(self, name: str, path: str, wanted: str) -> None:
        super().__init__(name, path)
        self.wanted = wanted

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the statements that are needed, at their places."""
        path = self.get_filename(fullname)
        parts = read_parts(Path(path), self.wanted)
        if parts.notebook is not None:
            lines = parts.notebook.source.splitlines(keepends=True)
            # For whoever asks for a function's source.
            linecache.cache[path] = len(lines), None, lines, path
        return compile(ast.Module(list(parts.needed.kept), []), path, "exec", dont_inherit=True)


@dataclass(frozen=True)
class FileParts:
    """A script or notebook, as far as one object of it is concerned.

    Attributes
    ----------
    needed
        Its statements.
    notebook
        Its cells, if it is a notebook.
    """

    needed: NeededStatements
    notebook: NotebookCode | None

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is not run, in words; imports and definitions that nobody needs are not worth one."""
        plain = ast.Pass | ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        lines = [each for each in self.needed.left_out if not isinstance(each, plain)]
        if self.notebook is None:
            return tuple(f"line {each.lineno}" for each in lines)
        return (*self.notebook.not_python, *(place_in_cells(each.lineno) for each in lines))


def read_parts(path: Path, wanted: str) -> FileParts:
    """Read what an object of a script or notebook needs; nothing is run.

    Raises
    ------
    SubjectError
        If the file cannot be read, or nothing in it sets the object's name.
    """
    notebook = notebook_code(path) if path.suffix == NOTEBOOK else None
    try:
        tree = ast.parse(path.read_bytes() if notebook is None else notebook.source, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise SubjectError(f"{path}{line} does not import: {words_of_error(error)}") from None
    needed = needed_statements(tree, wanted)
    if not needed.known:
        defined = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
        also = "" if notebook is None or not notebook.not_python else f"; not read: {notebook.not_python[0]}"
        raise SubjectError(
            f"{path} has no object {wanted!r} at top level; it defines {', '.join(defined) or 'nothing'}{also}"
        )
    return FileParts(needed, notebook)


def import_file(path: Path, needed_by: str | None = None) -> ModuleType:
    """Import a file, with its own folder on the path: in front until it is imported, then at the end.

    So what its functions import when they run is found beside it, too, and hides nothing that others import.

    Parameters
    ----------
    path
        A Python file or, with `needed_by`, a notebook.
    needed_by
        The name of an object: only what it needs is run.

    Raises
    ------
    SubjectError
        If there is no such file, it does not import (the message names the line), or a module of a user's was run from
        byte code that is not of its source.
    """
    if not path.is_file():
        raise SubjectError(f"{path}: no such file")
    if path.suffix != ".py" and not (path.suffix == NOTEBOOK and needed_by is not None):
        raise SubjectError(f"{path}: not a Python file")
    name = f"{IMPORTED_AS}{path.stem}"
    loader = _FromSource(name, str(path)) if needed_by is None else _Needed(name, str(path), needed_by)
    specification = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    known = set(sys.modules)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(path.parent))
    if path.suffix == NOTEBOOK:
        vars(module)["display"] = lambda *shown, **how: None  # IPython's
    try:
        with subjects_own():
            loader.exec_module(module)
    except KeyboardInterrupt:  # Ctrl-C, or a time limit
        raise
    except SubjectError:
        sys.modules.pop(specification.name, None)
        raise
    except BaseException as error:  # whatever a user's file raises
        sys.modules.pop(specification.name, None)
        line = _line_in(error, path)
        hint = ""
        if isinstance(error, ImportError) and "no known parent package" in str(error):
            hint = (
                "; name the object in a file outside of its package, which imports it by the package's name"
            )
        elif needed_by is None and not isinstance(error, SyntaxError):
            hint = f"; of a script, {path}::object runs only what the object needs"
        raise SubjectError(f"{path}{line} does not import: {words_of_error(error)}{hint}") from error
    finally:
        with suppress(ValueError):  # the file has changed the path itself
            sys.path.remove(str(path.parent))
    beside = str(path.absolute().parent)
    if beside not in sys.path:
        sys.path.append(beside)
    check_byte_code(sys.modules.keys() - known)
    return module


def check_byte_code(names: Collection[str]) -> None:
    """Raise `SubjectError` if one of some loaded modules of a user's was run from byte code not of its source."""
    for module in of_users(names):
        kept, file = getattr(module, "__cached__", None), module.__file__
        ours = isinstance(module.__loader__, _FromSource)
        if kept and file and not ours and _is_stale(Path(kept), Path(file)):
            raise SubjectError(f"{file}: was run from byte code of another version; remove {kept}")


def of_users(names: Collection[str]) -> list[ModuleType]:
    """Return those loaded Python modules that are of no installed package, of this library or of Python itself."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name in names
        and name.partition(".")[0] not in _NO_USERS
        and _is_of_a_user(getattr(module, "__file__", None))
    ]


def is_package_of_users(name: str) -> bool:
    """Whether a top-level module or package that need not be loaded would be found in a user's file or folder."""
    spec = None if name in _NO_USERS or name in sys.builtin_module_names else PathFinder.find_spec(name)
    if spec is None:
        return False
    if spec.has_location:
        return _is_of_a_user(spec.origin)
    return any(not _is_installed(os.path.abspath(each)) for each in spec.submodule_search_locations or ())


_NO_USERS = frozenset({*LIBRARY, "__main__"})
_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def _is_of_a_user(file: object) -> bool:
    return isinstance(file, str) and file.endswith(".py") and not _is_installed(os.path.abspath(file))


@functools.cache  # asked of all modules that are loaded, by every verification
def _is_installed(file: str) -> bool:
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _INSTALLED)


def _is_stale(kept: Path, file: Path) -> bool:
    """Whether there is byte code for a file that Python would take as its own, and that is not."""
    try:
        code = marshal.loads(kept.read_bytes()[_HEADER:])
        return bool(code != compile(file.read_bytes(), str(file), "exec", dont_inherit=True))
    except (OSError, EOFError, ValueError, TypeError, SyntaxError):  # none that could be run
        return False


_HEADER = 16  # bytes before the code: PEP 552


def _line_in(error: BaseException, path: Path) -> str:
    """Return ``:line`` of the file's own last frame in a traceback."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}" if error.lineno else ""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if Path(frame.f_code.co_filename) == path]
    return f":{lines[-1]}" if lines else ""
