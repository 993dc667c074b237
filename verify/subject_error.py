"""What is wrong with a subject, and where in its code."""

from __future__ import annotations

import traceback
from pathlib import Path

from accountant import Place


class SubjectError(ValueError):
    """The subject does not exist, does not import, or says nothing that could be verified."""


def words_of_error(error: BaseException) -> str:
    """Return an error's kind and message; whatever raises errors may have made up one that has none."""
    try:
        said = str(error)
    except Exception:
        said = "(its message cannot be read)"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def words_with_place(error: BaseException) -> str:
    """Return an error's kind and message, and where in the code that is not this library's."""
    return f"{words_of_error(error)} (at {failing_place(error)})"


def words_of_input_error(error: Exception) -> str:
    """Return the message of an error in somebody's input; that of the operating system without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def failing_place(error: BaseException) -> Place:
    """Return the last line of the traceback that is outside this library's gates and mechanisms."""
    frames = traceback.extract_tb(error.__traceback__)
    own = {"accountant", "mechanisms", "numpy"}
    for frame in reversed(frames):
        if not own & set(Path(frame.filename).parts):
            return Place(frame.filename, frame.lineno or 0)
    return Place(frames[-1].filename, frames[-1].lineno or 0) if frames else Place("", 0)
