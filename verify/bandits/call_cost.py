"""The cost of a run of foreign code: its function calls, counted and not timed, so that results repeat anywhere."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from verify.bandits.calling.plain_bandit import PlainBandit
from verify.conduct.process_state import subjects_own

# A call of NumPy takes about as long as so many of others, with the array arithmetic around it.
_NUMPY_CALL = 10
SCAN_ROUNDS = 32
"""Rounds of the runs in which calls are counted."""
_COUNTED = 8  # runs of a bandit of which the mean is taken


def run_cost(bandit: PlainBandit, rounds: int) -> float:
    """Return the cost of one run of `rounds` rounds, on rewards drawn by coins: the mean of a few runs."""
    table = bandit.records.coins(rounds, np.random.default_rng(0))
    seeds = np.random.SeedSequence(0)
    bandit.actions(table, 1, seeds)  # also for work that is done only once
    return cost_of(lambda: bandit.actions(table, _COUNTED, seeds)) / _COUNTED


def cost_of(run: Callable[[], object]) -> int:
    """Count the calls that `run` makes, those of NumPy ten times; rounded up to 2^k or 3 · 2^k.

    One unit takes roughly 0.06 microseconds. The count depends on the versions of Python and NumPy, not on the
    machine; it is rounded because rare calls (a cache that fills) should not matter.
    """
    units = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal units
        if event == "call":
            units += _weight(str(frame.f_globals.get("__name__", "")))
        elif event == "c_call":
            units += _weight(_module_of(argument))

    with _no_collection(), subjects_own():  # so that changing to it is not counted
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            run()
        finally:
            _set_back(before)
    return _rounded_up(max(units, 1))


def _set_back(profiler: Any) -> None:
    """Let a profiler that was at work before go on: a function, or an object of `cProfile`, which is none."""
    if profiler is None or callable(profiler):
        sys.setprofile(profiler)
    else:
        profiler.enable()


def _weight(module: str) -> int:
    return _NUMPY_CALL if module.partition(".")[0] == "numpy" else 1


def _module_of(function: Any) -> str:
    """Return the module of a built-in function, of its object's type for a bound one."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        return type(owner).__module__
    return str(getattr(function, "__module__", None) or "")


def _rounded_up(units: int) -> int:
    power = 1 << (units - 1).bit_length()  # the smallest power of two that is not less
    smaller = power - power // 4
    return smaller if smaller >= units else power


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector, which runs when it likes and may call anything, from being counted."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
