"""Correct answers in containers of many shapes: nested, of random length, sets, arrays, masked, permuted, ragged."""

import asyncio
import enum
import math
from collections import deque

import numpy as np
from odd_ingredients import geometric, noisy, response


class Colour(enum.Enum):
    """Two labels."""

    RED = "red"
    BLUE = "blue"


def nested(depth, data, rng):
    """Return an answer within so many dictionaries."""
    return noisy(data, rng) if depth == 0 else {"child": nested(depth - 1, data, rng), "depth": depth}


def nested_at_random(data, rng):
    """Return an answer within a number of lists that knows nothing of the data."""
    answer = response(data, rng)
    for _ in range(int(rng.geometric(0.5))):
        answer = [answer]
    return answer


def run_lengths(data, rng):
    """Return a response and five coins as runs of equal bits."""
    runs = []
    for bit in [int(response(data, rng)), *rng.integers(0, 2, 5).tolist()]:
        if runs and runs[-1][0] == bit:
            runs[-1][1] += 1
        else:
            runs.append([bit, 1])
    return runs


def ragged(data, rng):
    """Return a triangle of one to three rows, whose corner is the answer."""
    rows = [[0.0] * (i + 1) for i in range(1 + int(rng.integers(3)))]
    rows[0][0] = noisy(data, rng)
    return rows


def edges(data, rng):
    """Return the edges of a random graph, one of them by a response."""
    drawn = [tuple(edge) for edge in rng.integers(0, 5, size=(4, 2)).tolist()]
    return [*sorted(drawn), (9, 9) if response(data, rng) else (8, 8)]


def awaited(data, rng):
    """Return what a coroutine does."""

    async def answer():
        await asyncio.sleep(0)
        return response(data, rng)

    coroutine = answer()
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def deep(data, rng):
    """Return an answer within twenty lists."""
    answer = noisy(data, rng)
    for _ in range(20):
        answer = [answer]
    return answer


def mixed_types(data, rng):
    """Return a response as one of four types, by a coin."""
    answer = response(data, rng)
    return [answer, int(answer), str(answer), [answer]][int(rng.integers(4))]


SUBJECTS = {
    "within-dictionaries": lambda data, rng: nested(3, data, rng),
    "within-lists-at-random": nested_at_random,
    "within-twenty-lists": deep,
    "mixed": lambda data, rng: {
        "a": [(1, {"b": noisy(data, rng)}), None],
        "c": {"d": [True, "x", rng.normal()]},
    },
    "mixed-types-by-coin": mixed_types,
    "rarely-very-long": lambda data, rng: [response(data, rng)] + [0] * int(min(rng.pareto(1.2), 200)),
    "edges": edges,
    "permuted": lambda data, rng: rng.permutation(4).tolist()[:: 1 if response(data, rng) else -1],
    "random-subset": lambda data, rng: (
        {i for i in range(6) if rng.random() < 0.5} | {7 + int(response(data, rng))}
    ),
    "frozen-set": lambda data, rng: frozenset([int(rng.integers(4)), 10 + int(response(data, rng))]),
    "outer-product": lambda data, rng: np.outer([1.0, rng.normal()], [noisy(data, rng), 1.0]),
    "ragged": ragged,
    "run-lengths": run_lengths,
    "awaited": awaited,
    "enumerated": lambda data, rng: (Colour.RED if response(data, rng) else Colour.BLUE).name,
    "from-a-generator": lambda data, rng: [noisy(data, rng, 2.0) for _ in range(2)],
    "mapped": lambda data, rng: tuple(map(float, (noisy(data, rng, 2.0), noisy(data, rng, 2.0)))),
    "last-of-a-deque": lambda data, rng: list(deque([noisy(data, rng), 1, 2], maxlen=2)),
    "numpy-scalars": lambda data, rng: (np.float32(noisy(data, rng)), np.int8(3)),
    "array-without-axes": lambda data, rng: np.array(noisy(data, rng)),
    "truth-without-axes": lambda data, rng: np.array(response(data, rng)),
    "masked-at-random": lambda data, rng: np.ma.array(
        [noisy(data, rng), rng.normal()], mask=[False, rng.random() < 0.5]
    ),
    "named-pairs": lambda data, rng: (("id", int(rng.integers(3))), ("value", geometric(data, rng))),
    "random-keys": lambda data, rng: {round(float(rng.random()), 1): response(data, rng)},
    "none-in-lists": lambda data, rng: [None if rng.random() < 0.3 else noisy(data, rng), None],
    "nan-beside": lambda data, rng: [math.nan if rng.random() < 0.1 else rng.normal(), noisy(data, rng)],
    "behind-many-zeros": lambda data, rng: np.concatenate([np.zeros(100), [noisy(data, rng)]]),
    "sorted-with-others": lambda data, rng: sorted([noisy(data, rng), rng.laplace(), rng.laplace() + 1.0]),
    "the-same-thrice": lambda data, rng: [x := noisy(data, rng), x * (1.0 + 1e-16), x + 0.0],
    "sums-to-one-or-more": lambda data, rng: [x := rng.random(), (1.0 if response(data, rng) else 1.5) - x],
}
