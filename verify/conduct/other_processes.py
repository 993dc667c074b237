"""Draws repeated as in other processes: each time a user's modules are imported anew.

A coin that a module draws when it is imported, ``SECRET = os.urandom(1)``, or once for all that follows, is randomness
of its subject's like any other, and no view shows it; but in one process it is the same in all runs and draws. A bound
from these holds for an adversary that knows the coin. So before such a bound refutes a claim, its draws are repeated,
in a process that is forked for it: a few times the modules are run in place (old functions and classes see the new
values), and all generators that a process shares, and the hashes of texts, start anew. If nothing moves, from here or
among them, the bound stands. If something does, it may be a coin that no view shows, noise that is drawn once, or noise
that does not follow from the seed: then as many draws as were counted, in all, tell whether the probability of the
event moves, too: among the processes, or from the counts of the bound itself. State of extension modules, of files, or
of a module that is run as a script or typed at a prompt stays as it is.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy

from verify.conduct.interrupts import subject_exceptions
from verify.conduct.isolation import Reports, in_own_process
from verify.conduct.process_state import subjects_own
from verify.conduct.progress import no_progress

PROCESSES = 16
"""The number of repetitions: a fair coin comes up the same in all of them with a probability of 2^-15."""

_SECONDS = 60.0  # for all of them, of modules that take long to run
_LEAST = 10.0  # seconds that they have beyond the time limit
_FEWEST_EXPECTED = 5.0  # hits and misses of a process, on average, from which the χ² law is good
_LEVEL = 1e-6  # probability with which counts of the same law seem to differ
_HASH = hash
_OWN_FLAGS = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__name__"})


@dataclass(frozen=True, eq=False)
class Again:
    """A repetition of the draws behind a bound.

    Attributes
    ----------
    digest
        Function that repeats them, or the first of them, from their seed, and returns a digest of all that the bound
        rests on.
    count
        Function that repeats more of them, and returns the number in each event. None if a digest is enough: draws
        that do not follow from the seed are then no evidence.
    draws
        The number of draws that `count` makes of each event.
    counted
        For each event: how many lay in it here, of how many draws.
    """

    digest: Callable[[], str]
    count: Callable[[], Sequence[int]] | None = None
    draws: int = 0
    counted: Sequence[tuple[int, int]] = ()

    @classmethod
    def from_events(
        cls,
        inside: Callable[[int], Sequence[np.ndarray[Any, Any]]],
        few: int,
        many: int,
        counted: Sequence[tuple[int, int]],
    ) -> Again:
        """Return the repetition of draws in which events are counted.

        Parameters
        ----------
        inside
            Function that makes so many draws of each event's world, and returns which of them lie in the event.
        few, many
            Draws for the digest, and for the counts.
        counted
            As the attribute.
        """
        return cls(
            lambda: hashlib.sha256(b"".join(np.packbits(each).tobytes() for each in inside(few))).hexdigest(),
            lambda: [int(np.count_nonzero(each)) for each in inside(many)],
            many,
            counted,
        )

    def differ(self, counts: Sequence[Sequence[int]]) -> bool:
        """Return True if the counts of an event differ by more than chance, among processes or from those here."""
        events = [np.array(hits) for hits in zip(*counts, strict=True)]
        return any(map(self._vary, events)) or any(map(self._counts_differ, self.counted, events))

    def _counts_differ(self, here: tuple[int, int], hits: np.ndarray[Any, np.dtype[np.int_]]) -> bool:
        """Compare the counts here with those of all processes, by Fisher's exact test."""
        inside, draws = here
        total = int(hits.sum())
        table = np.array([[inside, draws - inside], [total, self.draws * hits.size - total]])
        return bool(scipy.stats.fisher_exact(table).pvalue < _LEVEL)

    def _vary(self, hits: np.ndarray[Any, np.dtype[np.int_]]) -> bool:
        misses = self.draws - hits
        if hits.size < 2 or min(hits.mean(), misses.mean()) < _FEWEST_EXPECTED:
            return False
        return bool(scipy.stats.chi2_contingency(np.array([hits, misses])).pvalue < _LEVEL)


def differs_in_other_processes(again: Again, modules: Sequence[ModuleType], seconds: float) -> bool:
    """Return True if the draws behind a bound depend on values that modules draw or keep once in a process.

    Parameters
    ----------
    again
        Repeats the draws.
    modules
        A user's modules that it uses, each after those that it imports; without any nothing is done.
    seconds
        Number of seconds left.
    """
    if not modules or "fork" not in multiprocessing.get_all_start_methods():
        return False
    seconds = min(max(seconds, 0.0), _SECONDS)

    def repeat_draws(_: Reports) -> bool:
        held, end = [(module, dict(vars(module))) for module in modules], time.monotonic() + seconds + _LEAST

        def repeated(work: Callable[[], Any]) -> Iterator[Any]:
            for _ in range(PROCESSES):
                try:
                    _run_again(held)
                    yield work()
                except subject_exceptions() as error:  # of a user's module
                    yield type(error).__qualname__
                if time.monotonic() > end:
                    return

        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            first = again.digest()  # before anything is run anew
            if all(digest == first for digest in repeated(again.digest)):
                return False
            return again.count is None or again.differ(
                [counts for counts in repeated(again.count) if isinstance(counts, list)]
            )

    # Else it was killed, or has ended itself.
    return in_own_process(repeat_draws, no_progress, seconds + _LEAST) is True


def _run_again(held: Sequence[tuple[ModuleType, Mapping[str, Any]]]) -> None:
    """Run modules again in place, with fresh generators: meant for a process that ends soon.

    References to their contents, in closures and as the classes of objects, use the new values from then on.

    Parameters
    ----------
    held
        The modules, each with its contents before it was first run again.
    """
    random.seed()
    np.random.seed()  # noqa: NPY002
    salt = os.urandom(8)
    builtins.hash = lambda value: _HASH((salt, value)) if isinstance(value, str | bytes) else _HASH(value)
    names = {module.__name__ for module, _ in held}
    for module, before in held:
        loader = getattr(module.__spec__, "loader", None)
        if loader is None or not hasattr(loader, "exec_module"):
            continue
        with subjects_own():
            loader.exec_module(module)
        seen = set[int]()
        for name, old in before.items():
            if name in vars(module):
                _renew(old, vars(module)[name], names, seen)


def _renew(old: Any, new: Any, modules: Collection[str], seen: set[int]) -> None:
    """Replace the state of an old function, class or object of some modules by that of the new one of its name."""
    if old is new or id(old) in seen or type(old).__qualname__ != type(new).__qualname__:
        return
    seen.add(id(old))
    if hasattr(old, "cache_clear"):
        old.cache_clear()
    elif isinstance(old, FunctionType):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
        if old.__code__.co_freevars == new.__code__.co_freevars:
            for cell, other in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
                _renew_cell(cell, other, modules, seen)
    elif isinstance(old, type):
        if old.__module__ in modules:
            _renew_class(old, new, modules, seen)
    elif isinstance(old, staticmethod | classmethod):
        _renew(old.__func__, new.__func__, modules, seen)
    elif isinstance(old, property):
        _renew(old.fget, new.fget, modules, seen)
    elif isinstance(old, functools.partial):
        _renew(old.func, new.func, modules, seen)
    elif type(old).__module__ in modules and hasattr(old, "__dict__"):
        vars(old).clear()
        vars(old).update(vars(new))


def _renew_cell(cell: CellType, other: CellType, modules: Collection[str], seen: set[int]) -> None:
    """Renew the value in a cell of a closure; a class or function itself stays: ``super()`` needs the class."""
    with suppress(ValueError):  # empty
        old, new = cell.cell_contents, other.cell_contents
        _renew(old, new, modules, seen)
        if not isinstance(old, type | FunctionType):
            cell.cell_contents = new


def _renew_class(old: type[Any], new: type[Any], modules: Collection[str], seen: set[int]) -> None:
    code = (FunctionType, staticmethod, classmethod, property, type)
    for name, value in list(vars(old).items()):
        if isinstance(value, code):
            _renew(value, vars(new).get(name), modules, seen)
        elif name not in vars(new) and not name.startswith("__"):
            with suppress(AttributeError, TypeError):
                delattr(old, name)
    for name, value in vars(new).items():
        if not isinstance(value, code) and name not in _OWN_FLAGS:
            with suppress(AttributeError, TypeError):
                setattr(old, name, value)
