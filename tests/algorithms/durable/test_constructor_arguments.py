"""The constructor arguments of a learner are recorded by parameter name."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from algorithms.durable.constructor_arguments import build_watched, differing


class Base:
    def __init__(
        self, gate: Any, epsilon: float, *, horizon: int = 7, name: str | None = None, **more: Any
    ) -> None:
        self.inner = Inner(epsilon=2 * epsilon)
        self.gate = gate
        horizon += 1


class Learner(Base):
    def __init__(self, gate: Any, table: Any, epsilon: float, **more: Any) -> None:
        super().__init__(gate, 3 * epsilon, **more)


class Inner:
    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon


def test_the_outermost_constructor_counts() -> None:
    made, arguments = build_watched(
        lambda gate: Learner(gate, [1, 2], np.float64(0.5), horizon=np.int64(9)), "gate"
    )
    assert isinstance(made, Learner)
    assert arguments == {"gate": "gate", "epsilon": 0.5, "horizon": 9, "name": None}
    assert type(arguments["epsilon"]) is float
    assert type(arguments["horizon"]) is int
    _, arguments = build_watched(lambda gate: Base(gate, 1.0, extra=None), 0)
    assert arguments == {"gate": 0, "epsilon": 1.0, "horizon": 7, "name": None, "extra": None}
    assert sys.getprofile() is None


def test_what_has_no_constructor_has_no_arguments() -> None:
    assert build_watched(lambda gate: [gate], 1) == ([1], {})


def test_errors_pass_and_a_profile_function_stays() -> None:
    with pytest.raises(ZeroDivisionError):
        build_watched(lambda gate: 1 // 0, None)
    assert sys.getprofile() is None

    def mine(*_: Any) -> None:
        pass

    sys.setprofile(mine)
    try:
        assert build_watched(Inner, 1.0)[1] == {}
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)


def test_what_differs_is_named_with_both_values() -> None:
    saved, now = {"a": 1.0, "b": math.nan, "c": None, "d": 2}, {"a": 1, "b": math.nan, "c": 3, "e": 2}
    assert differing(saved, now) == ["c (None then, 3 now)"]
