"""Functions that are called again, after others and beside others: state of any kind shows, purity does not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accountant.gates.trying import Trying
from mechanisms import Box, Interval, OneHot

BOX = Box(0, 1, 3)


def running_maximum() -> Callable[[Any], Any]:
    largest = [1e-9]

    def scaled(values: Any) -> Any:
        largest[0] = max(largest[0], float(values.max()))
        return values / largest[0]

    return scaled


def default_argument() -> Callable[[Any], Any]:
    def scaled(values: Any, seen: list[float] = [1e-9]) -> Any:  # noqa: B006 (the fault)
        seen.append(float(values.max()))
        return values / max(seen)

    return scaled


def of_the_class() -> Any:
    class OfTheClass:
        largest = 1e-9

        def __call__(self, values: Any) -> Any:
            OfTheClass.largest = max(OfTheClass.largest, float(values.max()))
            return values / OfTheClass.largest

        def method(self, values: Any) -> Any:
            return self(values)

    return OfTheClass


def buffer() -> Callable[[Any], Any]:
    held = np.full((1, 1, 3), 1e-9)

    def scaled(values: Any) -> Any:
        np.maximum(held, values, out=held)  # each world and lane has its own
        return values / held

    return scaled


def generator() -> Callable[[Any], Any]:
    def running() -> Any:
        largest, values = 1e-9, None
        while True:
            values = yield None if values is None else values / largest
            largest = max(largest, float(values.max()))

    run = running()
    next(run)
    return run.send


def counter() -> Callable[[Any], Any]:
    calls: list[int] = []

    def grows(values: Any) -> Any:
        calls.append(1)
        return values * 0 + len(calls) / 1000

    return grows


def same_as_last() -> Callable[[Any], Any]:
    last = [None]

    def repeated(values: Any) -> Any:
        same, last[0] = np.array_equal(values, last[0]), values
        return values * 0 + same

    return repeated


def flag() -> Callable[[Any], Any]:
    seen = [0.0]

    def flagged(values: Any) -> Any:
        seen[0] = max(seen[0], float(values.max() > 0.9))
        return values * 0 + seen[0]

    return flagged


def mean() -> Callable[[Any], Any]:
    state = [0.0, 0]

    def centred(values: Any) -> Any:
        state[0] += float(values.mean())
        state[1] += 1
        return np.clip(values - state[0] / state[1], 0, 1)

    return centred


IMPURE = [
    running_maximum(),
    default_argument(),
    of_the_class()(),
    of_the_class()().method,
    functools.partial((kind := of_the_class()).__call__, kind()),
    buffer(),
    generator(),
    counter(),
    same_as_last(),
    flag(),
    mean(),
    lambda values: values - values.mean(axis=0),  # of the worlds
    lambda values: values / values.max(),  # of worlds and lanes
    lambda values: np.sort(values, axis=0),
]


def tried(function: Any, domain: Any = BOX, rounds: int = 6) -> dict[str, str]:
    gate = Trying(np.random.SeedSequence(0))
    rng = np.random.default_rng(0)
    for user in range(rounds):
        value = domain.extremes()[user % 3] if isinstance(domain, OneHot) else rng.random(domain.shape) * 0.8
        gate.private(np.reshape(value, (1, *domain.shape)), domain, user).map(function, into=domain)
    return gate.impure


@pytest.mark.parametrize("function", IMPURE)
def test_functions_that_remember_or_mix_are_found(function: Any) -> None:
    (where,) = tried(function)
    assert "tests/accountant/gates/test_trying.py:" in where


PURE = [
    lambda values: values,
    lambda values: np.clip(values * 3 - 1, 0, 1),
    lambda values: np.cumsum(values, axis=-1) / 3,
    lambda values: values @ np.full((3, 3), 1 / 3),
    lambda values: np.sort(values, axis=-1),
    np.square,
    np.abs,
    functools.partial(np.power, 0.5),
]


@pytest.mark.parametrize("function", PURE)
@pytest.mark.parametrize("domain", [BOX, OneHot(3)])
def test_pure_functions_are_not_blamed(function: Any, domain: Any) -> None:
    if domain == BOX or function(np.eye(3)).tolist() == np.eye(3).tolist():
        assert tried(function, domain) == {}


def test_a_new_function_every_round_may_depend_on_public_randomness() -> None:
    gate = Trying(0)
    for user in range(10):
        threshold = gate.random.random()
        gate.private(np.array([[0.4]]), Box(0, 1, 1), user).map(
            lambda values, above=threshold: (values > above) * 1.0, into=Box(0, 1, 1)
        )
    assert gate.impure == {}


def test_the_function_cannot_change_the_value_and_may_fail_on_others() -> None:
    def picky(values: Any) -> Any:
        if values.shape[0] > 1 or (values > 0.9).any():
            raise RuntimeError("never seen such")
        values *= 0.5
        return values

    gate = Trying(0)
    value = gate.private(np.array([0.5]), Interval(0, 1), 1)
    halved = value.map(picky, into=Interval(0, 1))
    assert (value._values.item(), halved._values.item()) == (0.5, 0.25)
    assert gate.impure == {}
