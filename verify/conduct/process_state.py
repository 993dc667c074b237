"""Global state of the process: changes that a subject makes to it last for the subject's calls alone.

``np.seterr(all="raise")``, ``warnings.simplefilter("error")``, ``os.chdir``, a locale, a recursion limit or another
``sys.stdout`` hold for the whole process. So does the choice between a user's packages and this library's of the same
names (`dpwitness`). The verifier's own computations underflow harmlessly, and would raise under such settings. So a
subject finds its own state again whenever it is called, the verifier never sees it, and the caller finds the state from
before.
"""

from __future__ import annotations

import locale
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
import scipy.special

from dpwitness import in_place, put_in_place

_State = tuple[Any, ...]
_Step = TypeVar("_Step")


def _streams() -> _State:
    return sys.stdin, sys.stdout, sys.stderr


def _set_streams(streams: _State) -> None:
    sys.stdin, sys.stdout, sys.stderr = streams


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return None


def _set_folder(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _filters() -> _State:
    return warnings.showwarning, *warnings.filters


def _set_filters(state: _State) -> None:
    warnings.showwarning, warnings.filters = state[0], list(state[1:])
    # Leaving it, Python forgets which warnings it has shown under other filters.
    with warnings.catch_warnings():
        pass


_PARTS: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (lambda: (np.geterr(), np.geterrcall()), lambda state: (np.seterr(**state[0]), np.seterrcall(state[1]))),
    (scipy.special.geterr, lambda errors: scipy.special.seterr(**errors)),
    (np.get_printoptions, lambda printed: np.set_printoptions(**printed)),
    (_filters, _set_filters),
    (_streams, _set_streams),
    (_folder, _set_folder),
    (lambda: locale.setlocale(locale.LC_ALL), lambda name: locale.setlocale(locale.LC_ALL, name)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    (in_place, put_in_place),
)
"""For each part of the state, the function that reads it and the one that sets it."""

_theirs: _State | None = None  # as the subject left it; None: it was not called yet, or nothing is judged
_is_theirs = False  # True while the process is in it


def _state() -> _State:
    return tuple(read() for read, _ in _PARTS)


def _set(state: _State) -> None:
    for (read, set_part), part in zip(_PARTS, state, strict=True):
        if read() != part:
            with suppress(OSError, RecursionError, locale.Error):  # it cannot be set here, or any more
                set_part(part)


@contextmanager
def ignore_float_errors() -> Iterator[None]:
    """Judge with floating-point errors ignored, and keep the state of the process; see `subjects_own`."""
    global _theirs
    before, before_theirs = _state(), _theirs
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    _theirs = before
    try:
        put_in_place(None)
        np.seterr(all="ignore")
        scipy.special.seterr(all="ignore")  # type: ignore[arg-type]  # its stubs spell it "ignored"
        yield
    finally:
        _theirs = before_theirs
        _set(before)
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)


@contextmanager
def subjects_own() -> Iterator[None]:
    """Run a subject's code in the state in which its code left the process, while it is judged; also a decorator."""
    global _theirs, _is_theirs
    if _is_theirs:
        yield
        return
    ours, judged = _state(), _theirs is not None
    if _theirs is not None:
        _set(_theirs)
    _is_theirs = True
    try:
        yield
    finally:
        _theirs, _is_theirs = _state() if judged else None, False
        _set(ours)


def own_steps(steps: Iterable[_Step]) -> Iterator[_Step]:
    """Yield the steps of a subject, each done in the subject's own state."""
    following = iter(steps)
    while True:
        with subjects_own():
            try:
                step = next(following)
            except StopIteration:
                return
        yield step
