"""Places in the caller's code, for findings and ledger entries."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

_OWN_PACKAGES = frozenset({"accountant", "mechanisms", "numpy", "contextlib", "copy", "pickle"})


class Place(NamedTuple):
    """A line of source code: ``file`` and 1-based ``line``; with line 0 the name of an actor (`acting_for`)."""

    file: str
    line: int

    def __str__(self) -> str:
        if not self.line:
            return self.file
        try:
            path = os.path.relpath(self.file) if os.path.isabs(self.file) else self.file
        except OSError:  # the current folder was deleted
            path = os.pardir
        if path.startswith(os.pardir):
            path = _inside_package(self.file)
        return f"{path}:{self.line}"


def _inside_package(file: str) -> str:
    """Shorten the path of an installed package's file to ``package/…/file.py``."""
    folder, name = os.path.split(file)
    parts = [name]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return "/".join(parts) if len(parts) > 1 else file


_ACTING_FOR: ContextVar[Place | None] = ContextVar("acting for", default=None)


@contextmanager
def acting_for(who: str) -> Iterator[None]:
    """Attribute the calls in this block to an actor by name, not to a line of code."""
    token = _ACTING_FOR.set(Place(who, 0))
    try:
        yield
    finally:
        _ACTING_FOR.reset(token)


def calling_place() -> Place:
    """Return the innermost line outside the packages that act for their caller, or the actor of `acting_for`."""
    asked = _ACTING_FOR.get()
    if asked is not None:
        return asked
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OWN_PACKAGES:
            break
        frame = frame.f_back
    return _place(frame.f_code.co_filename, frame.f_lineno)


_place = functools.lru_cache(maxsize=4096)(Place)
"""A line as a `Place`: of the same line the same object."""
