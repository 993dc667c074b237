"""Errors in a subject, with their place in its code."""

from __future__ import annotations

import traceback
from collections.abc import Collection

from accountant import Place
from mechanisms.parameters import DPWitnessError


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
    """Return an error's kind and message, and where in the code that is not this library's."""
    return f"{describe_error(error)} (at {failing_place(error)})"


def describe_input_error(error: Exception) -> str:
    """Return the message of an error in a user's input; that of the operating system without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def failing_place(
    error: BaseException, own: Collection[str] = ("dpwitness", "accountant", "mechanisms", "numpy")
) -> Place:
    """Return the last line of the traceback that is outside of these packages; of all, if there is none."""
    error = _original_error(error)
    lines = [
        (str(frame.f_globals.get("__name__")), Place(frame.f_code.co_filename, line))
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    outside = [place for name, place in lines if name.partition(".")[0] not in own]
    return (outside or [place for _, place in lines] or [Place("", 0)])[-1]


def _original_error(error: BaseException) -> BaseException:
    """Return a subject's own error: in a generator of ours, Python turns its `StopIteration` into a `RuntimeError`."""
    stopped = isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration)
    return error.__cause__ if stopped and error.__cause__ is not None else error
