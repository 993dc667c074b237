"""The faults of functions by name: of their noise where they take a generator, of their gate where they take one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Direct, Recorder, Replay
from faults.fault import AnyFault
from faults.noise_faults import (
    AgainByHand,
    CachedNoise,
    Drawn,
    HalvedNoise,
    InPlaceOfReleased,
    RawValue,
    SharedNoise,
)
from mechanisms import Mechanism
from mechanisms.noise.mechanism import is_categorical

_Function = Callable[..., Any]
_FIXED = 20_261_123
_POOL = 16  # noises that are used again and again
_RARE = (0.6, 0.62)
_SELDOM = 0.02


@dataclass(frozen=True)
class FunctionFault(AnyFault):
    """A fault of a function; `plant` returns the function with it."""

    plant: Callable[[_Function], _Function]


def _as_it_is(function: _Function) -> _Function:
    return function


def _with_fixed_seed(function: _Function) -> _Function:
    def planted(data: Any, rng: np.random.Generator, **lanes: int) -> Any:
        return function(data, np.random.default_rng(_FIXED), **lanes)

    return planted


def _from_pool(function: _Function) -> _Function:
    def planted(data: Any, rng: np.random.Generator, **lanes: int) -> Any:
        if not lanes:
            return function(data, np.random.default_rng(int(rng.integers(_POOL))))
        pool = np.asarray(function(data, np.random.default_rng(_FIXED), lanes=_POOL))
        return pool[rng.integers(_POOL, size=lanes["lanes"])]

    return planted


def _twice(function: _Function) -> _Function:
    def planted(data: Any, rng: np.random.Generator, **lanes: int) -> Any:
        first, second = (np.asarray(function(data, rng, **lanes)) for _ in range(2))
        return np.stack([first, second], axis=1 if lanes else 0)

    return planted


def _seldom(function: _Function) -> _Function:
    def planted(data: Any, rng: np.random.Generator, **lanes: int) -> Any:
        struck = rng.random(tuple(lanes.values())) < _SELDOM
        outputs = function(data, rng, **lanes)
        fixed = function(data, np.random.default_rng(_FIXED), **lanes)
        if not lanes:
            return fixed if struck else outputs
        given, other = np.asarray(outputs), np.asarray(fixed)[:1]
        return np.where(struck.reshape(-1, *(1,) * (given.ndim - 1)), other, given)

    return planted


def _rare_value(function: _Function) -> _Function:
    def planted(data: Any, rng: np.random.Generator, **lanes: int) -> Any:
        values = np.asarray(data, dtype=np.float64)
        rare = ((values >= _RARE[0]) & (values <= _RARE[1])).any()
        return function(data, np.random.default_rng(_FIXED) if rare else rng, **lanes)

    return planted


_CERTAIN = "the output is a function of the data alone: some neighbours are told apart with certainty"

FUNCTION_FAULTS: dict[str, FunctionFault] = {
    fault.name: fault
    for fault in (
        FunctionFault("none", "nothing: the function as it is", "it is that function", _as_it_is, factor=1.0),
        FunctionFault(
            "fixed-seed", "noise comes from a generator with a fixed seed", _CERTAIN, _with_fixed_seed
        ),
        FunctionFault(
            "noise-from-pool",
            f"noise is one of {_POOL} that are used again and again",
            f"on each data set there are {_POOL} outputs, and others on its neighbour",
            _from_pool,
        ),
        FunctionFault("released-twice", "two outputs are returned", "both lose as much", _twice, factor=1.5),
        FunctionFault(
            "seldom-without-noise",
            f"with probability {_SELDOM:g} the noise has a fixed seed",
            f"that output tells neighbours apart with certainty, with probability {_SELDOM:g} (unless delta allows it)",
            _seldom,
        ),
        FunctionFault(
            "rare-value-without-noise",
            f"on data with a number in ({_RARE[0]:g}, {_RARE[1]:g}) the noise has a fixed seed",
            "such data are told apart from their neighbours with certainty",
            _rare_value,
        ),
    )
}
"""Faults of functions ``f(data, rng)`` and ``f(data, rng, lanes)``."""


class _MisusedGate:
    """The gate of a function that holds raw data, misused."""

    def __init__(self, gate: Recorder | Replay | Direct, misuse: InPlaceOfReleased) -> None:
        self._gate = gate
        self._misuse = misuse

    def __getattr__(self, name: str) -> Any:
        if name == "_gate":  # before `__init__`
            raise AttributeError(name)
        return getattr(self._gate, name)

    def release(self, mechanism: Mechanism, value: npt.ArrayLike) -> Any:
        """Release, and return other numbers."""
        returned = self._gate.release(mechanism, value)
        outputs, raw = np.atleast_1d(returned)[np.newaxis], np.atleast_1d(value)[np.newaxis]
        if outputs.shape != raw.shape:
            return returned
        categories = getattr(mechanism, "size", 0) if is_categorical(mechanism) else 0
        allowed = np.ones(raw.shape, dtype=bool)
        others = self._misuse.others(Drawn(mechanism, raw, outputs, allowed, categories, self._gate.random))
        if others is None:
            return returned
        return others[0].item() if np.ndim(value) == 0 else others[0]


def _on_misused_gate(misuse: Callable[[], InPlaceOfReleased], function: _Function) -> _Function:
    def planted(data: Any, gate: Any) -> Any:
        return function(data, _MisusedGate(gate, misuse()))

    return planted


_FULL = "the value itself is used in place of the released one"
GATE_FUNCTION_FAULTS: dict[str, FunctionFault] = {
    "none": FUNCTION_FAULTS["none"],
    **{
        name: FunctionFault(name, words, why, functools.partial(_on_misused_gate, misuse), factor=factor)
        for name, words, why, misuse, factor in (
            ("raw-value", _FULL, _CERTAIN, RawValue, math.inf),
            (
                "half-noise",
                "half of the noise is taken away again",
                "it lets twice as much through",
                HalvedNoise,
                1.5,
            ),
            (
                "shared-noise",
                "the first noise that is drawn serves for all values",
                "differences of two values are exact",
                SharedNoise,
                math.inf,
            ),
            (
                "cached-noise",
                "a value that comes again gets the same noise",
                "equal outputs tell that values are equal",
                CachedNoise,
                math.inf,
            ),
            (
                "released-again-by-hand",
                "every value is released a second time without the gate",
                "both lose as much",
                AgainByHand,
                1.5,
            ),
        )
    },
}
"""Faults of functions ``f(data, gate)``."""
