"""The place where a foreign bandit failed: the last line of its own, not of a library that it calls or of this one."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from accountant import Place
from dpwitness import is_installed, is_of_package

_CALLING = Path(__file__).resolve().parent
_VERIFY = _CALLING.parent.parent
_REMOTE = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
_NUMERIC = ("numpy", "scipy")


def place_in_bandit(error: BaseException) -> str | None:
    """Return the last line of an exception's traceback that is the bandit's.

    An installed package is the bandit's only if no other line is.

    Returns
    -------
    str or None
        "" if the bandit was called wrongly, and no line is its own; None if the exception came neither from a bandit
        nor from calling it: then the verifier itself is at fault.
    """
    every = _lines(error)
    lines = [each for each in every if _is_foreign(each.file)]
    if not lines and not any(Path(each.file).resolve().parent == _CALLING for each in every):
        return None
    own = [each for each in lines if not is_of_package(each.file)]
    shown = own or [each for each in lines if not set(_NUMERIC) & set(Path(each.file).parts)]
    return str(shown[-1]) if shown else ""


def _lines(error: BaseException) -> list[Place]:
    """Return the lines of a traceback, those of another process that it came from last."""
    found = [Place(each.filename, each.lineno or 0) for each in traceback.extract_tb(error.__traceback__)]
    there = _REMOTE.findall(str(error.__cause__ or ""))
    return found + [Place(file, int(line)) for file, line in there]


def _is_foreign(file: str) -> bool:
    """Return True if a file is neither this package's nor the standard library's."""
    if file.startswith("<frozen") or _VERIFY in Path(file).resolve().parents:
        return False
    return is_of_package(file) or not is_installed(file)
