"""Where a bandit of others failed: the last line of its own, not of the libraries it calls, and not of this one."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

from accountant import Place

_CALLING = Path(__file__).resolve().parent
_VERIFY = _CALLING.parent.parent
_STANDARD = tuple(Path(sysconfig.get_paths()[key]).resolve() for key in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_REMOTE = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
_NUMERIC = ("numpy", "scipy")


def place_in_bandit(error: BaseException) -> str:
    """Return the last line of the traceback that is the bandit's, "" if none is.

    An installed package is the bandit's only if no other line is.
    """
    lines = [each for each in _lines(error) if _of_others(each.file)]
    own = [each for each in lines if not set(_INSTALLED) & set(Path(each.file).parts)]
    shown = own or [each for each in lines if not set(_NUMERIC) & set(Path(each.file).parts)]
    return str(shown[-1]) if shown else ""


def while_it_played(error: BaseException) -> bool:
    """Whether an exception came from a bandit or from calling it; else the verifier itself is at fault."""
    files = [each.file for each in _lines(error)]
    return any(_of_others(file) or Path(file).resolve().parent == _CALLING for file in files)


def _lines(error: BaseException) -> list[Place]:
    """Return the lines of a traceback, those of another process that it came from last."""
    found = [Place(each.filename, each.lineno or 0) for each in traceback.extract_tb(error.__traceback__)]
    there = _REMOTE.findall(str(error.__cause__ or ""))
    return found + [Place(file, int(line)) for file, line in there]


def _of_others(file: str) -> bool:
    """Whether a file is neither this package's nor the standard library's."""
    path = Path(file).resolve()
    if file.startswith("<frozen") or _VERIFY in path.parents:
        return False
    installed = bool(set(_INSTALLED) & set(path.parts))
    return installed or not any(root in path.parents for root in _STANDARD)
