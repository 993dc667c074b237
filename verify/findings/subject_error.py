"""Errors in a subject, with their place in its code."""

from __future__ import annotations

import functools
import re
import traceback
from pathlib import Path

from accountant.place import Place
from dpwitness import is_installed, is_of_package
from mechanisms.parameters import DPWitnessError

_VERIFY = Path(__file__).resolve().parent.parent
_OWN = frozenset(_VERIFY.parent / name for name in ("verify", "accountant", "mechanisms", "dpwitness.py"))
_REMOTE = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
_NUMERIC = frozenset({"numpy", "scipy"})


class SubjectError(DPWitnessError, ValueError):
    """The subject does not exist, cannot be imported, or declares nothing that can be verified."""


def describe_error(error: BaseException) -> str:
    """Return an error's kind and message; without the message if the error's own code fails to give one."""
    error = _original_error(error)
    try:
        said = str(error)
    except Exception:
        said = "(its message cannot be read)"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def describe_error_with_location(error: BaseException) -> str:
    """Return an error's kind and message, and the line that is to blame."""
    return f"{describe_error(error)} (at {blamed_place(error)})"


def describe_input_error(error: Exception) -> str:
    """Return the message of an error in a user's input; that of the operating system without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def failing_place(error: BaseException) -> Place:
    """Return the last line of an error's traceback that is the subject's; without a file if there is none.

    A line of an installed package is the subject's only if no other is, and none of this library is but a learner's.
    """
    lines = [place for place in traceback_places(error) if _is_foreign(place.file)]
    own = [place for place in lines if not is_of_package(place.file)]
    shown = own or [place for place in lines if not _NUMERIC.intersection(Path(place.file).parts)]
    return (shown or [Place("", 0)])[-1]


def blamed_place(error: BaseException) -> Place:
    """Return `failing_place`, or the last line of all if no line is the subject's."""
    place = failing_place(error)
    return place if place.file else (traceback_places(error) or [place])[-1]


def traceback_places(error: BaseException) -> list[Place]:
    """Return the lines of a traceback, those of another process that it came from last."""
    error = _original_error(error)
    found = [
        Place(frame.f_code.co_filename, line or 0) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    there = _REMOTE.findall(str(error.__cause__ or ""))
    return found + [Place(file, int(line)) for file, line in there]


@functools.cache
def _is_foreign(file: str) -> bool:
    """Return True if a file is neither this library's, but for its learners, nor the standard library's."""
    path = Path(file).resolve()
    if file.startswith(("<frozen", "<string>")) or _OWN.intersection({path, *path.parents}):
        return False
    return is_of_package(file) or not is_installed(file)


def _original_error(error: BaseException) -> BaseException:
    """Return a subject's own error: in a generator of ours, Python turns its `StopIteration` into a `RuntimeError`."""
    stopped = isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration)
    return error.__cause__ if stopped and error.__cause__ is not None else error
