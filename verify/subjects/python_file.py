"""Importing a user's Python file."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from verify.subject_error import SubjectError, words_of_error

IMPORTED_AS = "dpwitness_subject_"
"""How the name under which a file is imported begins: it hides no other module."""


def import_file(path: Path) -> ModuleType:
    """Import a file, with its own folder on the path.

    Raises
    ------
    SubjectError
        If there is no such file, or it does not import; the message names the line.
    """
    if not path.is_file():
        raise SubjectError(f"{path}: no such file")
    specification = importlib.util.spec_from_file_location(f"{IMPORTED_AS}{path.stem}", path)
    if specification is None or specification.loader is None:
        raise SubjectError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        specification.loader.exec_module(module)
    except KeyboardInterrupt:  # Ctrl-C, or a time limit
        raise
    except BaseException as error:  # whatever a user's file raises
        sys.modules.pop(specification.name, None)
        line = _line_in(error, path)
        raise SubjectError(f"{path}{line} does not import: {words_of_error(error)}") from error
    finally:
        with suppress(ValueError):  # the file has changed the path itself
            sys.path.remove(str(path.parent))
    return module


def _line_in(error: BaseException, path: Path) -> str:
    """Return ``:line`` of the file's own last frame in a traceback."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}" if error.lineno else ""
    line = ""
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line
