"""The import of a user's Python file: its current source runs, never stale byte code."""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import traceback
from collections.abc import Collection, Iterable
from contextlib import suppress
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from accountant.provenance import IMPORTED_AS
from dpwitness import OwnPackages, in_place, is_installed, is_of_a_user, packages_of, put_in_place
from verify.conduct.process_state import subjects_own
from verify.findings.subject_error import SubjectError, describe_error

own_packages: dict[str, OwnPackages] = {}
"""The packages of the imported files, by the names of their modules."""


class _FromSource(SourceFileLoader):
    """Compiles a file each time: byte code counts as a file's by its size and time stamp alone, which copying keeps."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is."""
        source = self.get_filename(fullname)
        return self.source_to_code(self.get_data(source), source)


def import_file(path: Path) -> ModuleType:
    """Import a file, with its own folder on the path: in front until it is imported, then at the end.

    So imports by its functions when they run are found beside it, too, and hide no module of others; its own packages
    may even have names of this library's (`dpwitness`).

    Raises
    ------
    SubjectError
        If there is no such file, it does not import (the message names the line), or a module of a user's was run from
        byte code that is not of its source.
    """
    if not path.is_file():
        raise SubjectError(f"{path}: no such file")
    if path.suffix != ".py":
        raise SubjectError(f"{path}: is no Python file; put what is verified into one")
    name = f"{IMPORTED_AS}{path.stem}"
    loader = _FromSource(name, str(path))
    specification = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    packages = packages_of(path)
    known = set(sys.modules)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        with subjects_own():
            others = in_place()
            put_in_place(packages)
            loader.exec_module(module)
            if not packages.names:
                put_in_place(others)
    except KeyboardInterrupt:  # Ctrl-C, or a time limit
        raise
    except SubjectError:
        sys.modules.pop(specification.name, None)
        raise
    except BaseException as error:  # a user's file may raise anything
        sys.modules.pop(specification.name, None)
        line = _line_in(error, path)
        hint = ""
        if isinstance(error, ImportError) and "no known parent package" in str(error):
            hint = (
                "; name the object in a file outside of its package, which imports it by the package's name"
            )
        elif not isinstance(error, SyntaxError):
            hint = "; the whole file is run: what is verified may need a file of its own"
        raise SubjectError(f"{path}{line} does not import: {describe_error(error)}{hint}") from error
    finally:
        with suppress(ValueError):  # the file has changed the path itself
            sys.path.remove(str(path.parent))
    beside = str(path.absolute().parent)
    if beside not in sys.path:
        sys.path.append(beside)
    check_byte_code([*of_users(sys.modules.keys() - known), *packages.modules()])
    own_packages[name] = packages
    return module


def check_byte_code(modules: Iterable[ModuleType]) -> None:
    """Raise `SubjectError` if one of some loaded modules of a user's was run from byte code not of its source."""
    for module in modules:
        kept, file = (getattr(module, name, None) for name in ("__cached__", "__file__"))
        ours = isinstance(module.__loader__, _FromSource)
        if kept and file and not ours and _is_stale(Path(kept), Path(file)):
            raise SubjectError(f"{file}: was run from byte code of another version; remove {kept}")


def of_users(names: Collection[str]) -> list[ModuleType]:
    """Return those loaded Python modules that are of no installed package, of this library or of Python itself."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name in names and name != "__main__" and is_of_a_user(getattr(module, "__file__", None))
    ]


def is_package_of_users(name: str) -> bool:
    """Return True if a top-level module or package that need not be loaded is found in a user's file or folder."""
    spec = None if name in sys.builtin_module_names else PathFinder.find_spec(name)
    if spec is None:
        return False
    if spec.has_location:
        return is_of_a_user(spec.origin)
    return any(not is_installed(os.path.abspath(each)) for each in spec.submodule_search_locations or ())


def _is_stale(kept: Path, file: Path) -> bool:
    """Return True if there is cached byte code that Python would run for a file, and it is not the file's own."""
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
