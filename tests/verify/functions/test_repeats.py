"""Calls that repeat each other are told from independent draws, whatever these are."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from mechanisms import Categories
from verify import verify
from verify.functions.repeats import _anywhere, repeated_share
from verify.outputs.read_lanes import read_lanes

LANES, CALLS = 256, 12


def calls_of(draw):
    return [read_lanes(draw(np.random.default_rng([1, call]), call), LANES) for call in range(CALLS)]


POOL = np.random.default_rng(3).laplace(size=500)

INDEPENDENT = {
    "laplace": lambda rng, call: rng.laplace(size=LANES),
    "coin": lambda rng, call: rng.random(LANES) < 0.5,
    "rare": lambda rng, call: rng.random(LANES) < 0.01,
    "constant": lambda rng, call: np.full(LANES, 3.0),
    "rounded": lambda rng, call: np.round(rng.normal(size=LANES), 2),
    "sorted coins": lambda rng, call: np.sort(rng.random(LANES) < 0.5),
    "from a pool": lambda rng, call: POOL[rng.integers(500, size=LANES)],
    "words": lambda rng, call: np.array(["a", "b", "c"])[rng.integers(3, size=LANES)],
    "mostly one": lambda rng, call: np.where(rng.random(LANES) < 0.9, 0.0, rng.normal(size=LANES)),
    "wide": lambda rng, call: rng.normal(size=(LANES, 20)),
    "a count": lambda rng, call: np.stack([np.full(LANES, 4.0), rng.normal(size=LANES)], axis=1),
}

FIXED = {
    name: lambda rng, call, draw=draw: draw(np.random.default_rng(7), call)
    for name, draw in INDEPENDENT.items()
}

PARTLY = {
    "one entry": lambda rng, call: np.stack(
        [np.random.default_rng(1).normal(size=LANES), rng.normal(size=LANES)], axis=1
    ),
    "a third of the lanes": lambda rng, call: np.where(
        np.arange(LANES) % 3 == 0, np.random.default_rng(1).normal(size=LANES), rng.normal(size=LANES)
    ),
    "another order": lambda rng, call: rng.permutation(POOL)[:LANES],
    "shifted": lambda rng, call: POOL[5 * call :][:LANES],
    "one of ten seeds": lambda rng, call: np.random.default_rng(rng.integers(10)).normal(size=LANES),
    "every other call": lambda rng, call: rng.normal(size=LANES) if call % 2 else POOL[:LANES],
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_lanes_pass(name):
    """Exact tests at a level of 1e-10."""
    assert repeated_share(calls_of(INDEPENDENT[name])) is None


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name for name in FIXED if name not in ("constant", "rare", "sorted coins")])
def test_a_fixed_seed_is_found(name):
    assert repeated_share(calls_of(FIXED[name])) == 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PARTLY)
def test_partial_repeats_are_found(name):
    assert repeated_share(calls_of(PARTLY[name])) > 0.25


@pytest.mark.parametrize(("draws", "shared"), [(6, 0), (6, 2), (6, 6), (20, 5)])
def test_common_outputs_are_too_many_as_the_ways_to_divide_them_say(draws, shared):
    """2^s C(2n - 2s, n - s) of C(2n, n) ways to divide the draws between two calls divide s pairs."""
    first, second = [*range(draws)], [*range(shared), *range(100, 100 + draws - shared)]
    chance = 2**shared * math.comb(2 * draws - 2 * shared, draws - shared) / math.comb(2 * draws, draws)
    assert _anywhere(first, second, 0.999 * chance) == 0.0
    assert _anywhere(first, second, 1.001 * chance) == shared / draws
    for twice in ([0, *first[:-1]], [0, 0, *first[2:]]):
        assert _anywhere(twice, second, 1.0) == _anywhere(second, twice, 1.0) == 0.0


def test_one_call_says_nothing():
    assert repeated_share(calls_of(INDEPENDENT["laplace"])[:1]) is None


BUFFER, WORDS, BY_NAME = np.zeros(2), [0], {"bit": [0]}


@dataclass
class Held:
    values: object


def answer(data, rng):
    """Randomized response of ε = 1."""
    return data if rng.random() < math.e / (1.0 + math.e) else 1 - data


def same_array(data, rng):
    BUFFER[:] = answer(data, rng), 0
    return BUFFER


def same_list(data, rng):
    WORDS[0] = answer(data, rng)
    return WORDS


def same_list_in_new_parts(data, rng):
    BY_NAME["bit"][0] = answer(data, rng)
    return {"answer": (BY_NAME["bit"], Held(BUFFER))}


def same_array_in_an_object(data, rng):
    return Held(same_array(data, rng))


@pytest.mark.slow_cells("same_list_in_new_parts")
@pytest.mark.parametrize("function", [same_array, same_list, same_list_in_new_parts, same_array_in_an_object])
def test_what_every_call_returns_in_the_same_object_is_read_as_it_was_returned(function):
    """Else each draw is the last one, and a leak goes unseen."""
    result = verify(function, epsilon=1.0, neighbours=Categories(2), samples=4_000, seed=0)
    assert result.verdict == "unproven"
    assert 0.5 < result.lower.epsilon < 1.0
