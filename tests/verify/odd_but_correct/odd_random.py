"""A generator of odd but correct functions: a private answer, twisted several times, beside what knows no data."""

import functools
import itertools
import random
from decimal import Decimal

import numpy as np
from odd_ingredients import geometric, noisy, response

ANSWERS = {
    "response": response,
    "noisy": noisy,
    "geometric": geometric,
    "two halves": lambda data, rng: (noisy(data, rng, 2.0), geometric(data, rng, 0.5)),
    "response of one's own": lambda data, rng: response(data, np.random.default_rng(rng.integers(2**62))),
    "unused budget": lambda data, rng: noisy(data, rng, 1.5),
    "sometimes": lambda data, rng: noisy(data, rng) if rng.random() < 0.3 else "nothing",
    "ties": lambda data, rng: max(0, min(3, geometric(data, rng))),
}
"""Each of (data, rng), and 1-private."""


@functools.cache
def _remembered(value):
    """Return the same object for the same answer: a cache of what is public."""
    return (value, random.Random(repr(value)).random())


def _raised(value):
    if len(repr(value)) % 3 == 0:
        raise KeyError(f"no {str(value)[:4]}")
    return value


def _repeated(value):
    return [value] * (sum(map(ord, repr(value)[:3])) % 4)


TWISTS = {
    "repr": repr,
    "rounded": lambda value: round(value, 1) if isinstance(value, float) else value,
    "cut word": lambda value: str(value)[:5],
    "hash": lambda value: (
        hash(repr(value).encode()[:3].hex()) % 7 if isinstance(value, tuple) else hash(value) % 97
    ),
    "half precision": lambda value: np.float16(value) if isinstance(value, float | int) else value,
    "in a set": lambda value: {str(value), "x"},
    "in an object array": lambda value: np.array([value, None], dtype=object),
    "remembered": lambda value: _remembered(repr(value)),
    "raised": _raised,
    "repeated": _repeated,
    "none": lambda value: None if repr(value) < "0" else value,
    "keyed": lambda value: {str(value)[:2]: value},
    "bytes": lambda value: repr(value).encode(),
    "decimal": lambda value: Decimal(repr(value)) if isinstance(value, float) else value,
    "nested": lambda value: [[value], ({"a": (value,)},)],
    "sorted digits": lambda value: sorted(repr(value)),
    "negated": lambda value: -value if isinstance(value, float | int) else value,
    "scalar": lambda value: np.asarray(value)[()] if isinstance(value, float | int) else value,
    "generator": lambda value: tuple(value for _ in range(2)),
    "infinite": lambda value: value / 0.0 if isinstance(value, np.floating) else value,
}
"""Functions of an answer alone."""

BESIDE = {
    "count": lambda rng, count: next(count),
    "length": lambda rng, count: [0.0] * int(rng.integers(4)),
    "word": lambda rng, count: "".join(rng.choice(list("abc"), size=int(rng.integers(1, 4)))),
    "object": lambda rng, count: repr(object()),
    "rare": lambda rng, count: None if rng.random() < 0.01 else 1,
    "normal": lambda rng, count: np.float32(rng.normal()),
    "unseeded": lambda rng, count: float(np.random.default_rng().random()),
    "constant": lambda rng, count: ("constant", 3.5, True),
    "seldom nan": lambda rng, count: float("nan") if rng.random() < 0.1 else rng.random(),
    "cauchy": lambda rng, count: rng.standard_cauchy(),
}
"""What no data enter, of a generator and the number of calls so far."""


def odd_function(seed):
    """Return a 1-private function of a number from [0, 1] and a generator, and its name."""
    chosen = random.Random(seed)
    answer = chosen.choice(list(ANSWERS))
    twists = chosen.sample(list(TWISTS), chosen.randint(0, 3))
    beside = chosen.sample(list(BESIDE), chosen.randint(0, 2))
    first, count = chosen.random() < 0.5, itertools.count()

    def function(data, rng):
        others = [BESIDE[name](rng, count) for name in beside]
        value = ANSWERS[answer](data, rng)
        for name in twists:
            value = TWISTS[name](value)
        shown = [value, *others] if first else [*others, value]
        return shown if others else value

    return function, " ".join([answer, *twists, "beside", *beside])
