"""Functions that keep what they claim in unusual ways: none is refuted.

What they return drifts, wraps around, comes in strange types or from strange arithmetic, and hardly leaves room below
the claim, which is ε = 1. Each is refuted with a probability of at most 1e-4 for each seed.
"""

import itertools
import math
import time
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import odd_containers
import odd_mechanisms
import odd_numbers
import odd_process
import odd_words
import pytest
from odd_ingredients import geometric, noisy, response

from mechanisms import Interval
from verify import Listed, verify

COUNTS, CLOCK = itertools.count(), time.perf_counter
Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Release:
    """A value and where it comes from."""

    value: object
    source: str = "here"


def spread_over_many(data, rng, modulus):
    """Return a large number whose remainder is a randomized response."""
    return int(rng.integers(10**9)) * modulus + int(response(data, rng))


def rejection(data, rng):
    """Return Laplace noise made by rejection, whose number of tries is the same for all data."""
    while abs(noise := rng.laplace()) > 30.0:
        pass
    return data + noise


def mixture(data, rng):
    """Return with probability 1/2 a response of ε = 1, and else nothing."""
    return response(data, rng) if rng.random() < 0.5 else None


def growing(data, rng):
    """Return a list whose length is a geometric variable that knows nothing of the data."""
    return [noisy(data, rng, 1.0), *rng.normal(size=int(rng.geometric(0.4)))]


def split(data, rng):
    """Return two answers of half the budget each."""
    return [noisy(data, rng, 2.0), noisy(1.0 - data, rng, 2.0)]


def caught(data, rng):
    """Raise with a probability that a response decides."""
    if response(data, rng):
        raise ValueError("too large")
    return 0.0


def two_calls_mixed(data, rng):
    """Return a sum of two half answers, and their order without their values."""
    first, second = noisy(data, rng, 2.0), noisy(data, rng, 2.0)
    return {"sum": first + second, "first": first > second}


OWN = {
    "counter": lambda data, rng: [next(COUNTS), noisy(data, rng)],
    "counter-in-a-dictionary": lambda data, rng: {"n": next(COUNTS), "x": response(data, rng)},
    "counter-as-a-word": lambda data, rng: [f"run-{next(COUNTS)}", noisy(data, rng)],
    "negative-counter": lambda data, rng: [-next(COUNTS), geometric(data, rng)],
    "noisy-counter": lambda data, rng: [next(COUNTS) + rng.normal(), noisy(data, rng)],
    "clock": lambda data, rng: [CLOCK(), noisy(data, rng)],
    "clock-in-nanoseconds": lambda data, rng: [time.perf_counter_ns(), response(data, rng)],
    "process-time": lambda data, rng: {"at": time.process_time(), "x": noisy(data, rng)},
    "address": lambda data, rng: [repr(object()), noisy(data, rng)],
    "identity": lambda data, rng: [id(object()), geometric(data, rng)],
    "parity-by-response": lambda data, rng: spread_over_many(data, rng, 2),
    "remainder-by-response": lambda data, rng: spread_over_many(data, rng, 97),
    "remainder-of-a-large-number": lambda data, rng: spread_over_many(data, rng, 10**7),
    "multiples": lambda data, rng: 12 * geometric(data, rng),
    "powers": lambda data, rng: 2 ** (geometric(data, rng) % 40),
    "wrapped": lambda data, rng: geometric(data, rng) % 17,
    "digits": lambda data, rng: list(map(int, str(abs(geometric(data, rng)) + 100))),
    "hexadecimal": lambda data, rng: hex(geometric(data, rng) + 1_000),
    "decimal": lambda data, rng: Decimal(str(noisy(data, rng))),
    "decimal-of-a-bit": lambda data, rng: Decimal(int(response(data, rng))) / 7,
    "fraction": lambda data, rng: Fraction(geometric(data, rng), 3),
    "fraction-of-a-float": lambda data, rng: Fraction(noisy(data, rng)),
    "dataclass": lambda data, rng: Release(noisy(data, rng)),
    "nested-dataclass": lambda data, rng: Release(Release(response(data, rng)), "there"),
    "named-tuple": lambda data, rng: Point(noisy(data, rng, 2.0), noisy(data, rng, 2.0)),
    "ordered": lambda data, rng: OrderedDict(a=noisy(data, rng), b=1),
    "order-of-keys": lambda data, rng: {"a": 1, "b": 2} if response(data, rng) else {"b": 2, "a": 1},
    "counts": lambda data, rng: dict(Counter(["x" if response(data, rng) else "y"])),
    "set": lambda data, rng: {int(response(data, rng)), 5},
    "bytes": lambda data, rng: bytes([int(response(data, rng)), *rng.bytes(3)]),
    "complex-parts": lambda data, rng: [noisy(data, rng), rng.normal()],
    "half-precision": lambda data, rng: np.float16(noisy(data, rng)),
    "whole-array": lambda data, rng: np.array([geometric(data, rng), 3], dtype=np.int64),
    "truths": lambda data, rng: np.array([response(data, rng), True]),
    "rejection": rejection,
    "mixture": mixture,
    "growing": growing,
    "split": split,
    "caught": caught,
    "two-calls-mixed": two_calls_mixed,
    "far-away": lambda data, rng: 2.0**30 + noisy(data, rng),
    "huge": lambda data, rng: 1e300 * noisy(data, rng),
    "tiny": lambda data, rng: 1e-300 * noisy(data, rng),
    "logarithm": lambda data, rng: math.exp(min(noisy(data, rng), 700.0)),
    "reciprocal": lambda data, rng: 1.0 / noisy(data, rng),
    "sign-and-size": lambda data, rng: [math.copysign(1.0, x := noisy(data, rng)), abs(x)],
    "clipped": lambda data, rng: min(max(noisy(data, rng), 0.0), 1.0),
    "or-nothing": lambda data, rng: x if (x := noisy(data, rng)) > 1.0 else math.nan,
    "or-infinity": lambda data, rng: x if (x := noisy(data, rng)) > 0.0 else -math.inf,
    "quarters": lambda data, rng: round(4.0 * noisy(data, rng)) / 4.0,
    "mod-one": lambda data, rng: noisy(data, rng) % 1.0,
    "uuid-like": lambda data, rng: f"{rng.integers(2**62):016x}-{int(response(data, rng))}",
    "sentence": lambda data, rng: f"about {noisy(data, rng):.1f} of them",
    "own-generator": lambda data, rng: noisy(data, np.random.default_rng(int(rng.integers(2**62)))),
    "global-noise": lambda data, rng: data + np.random.laplace(),  # noqa: NPY002
}


def wide(rng):
    """Return two-sided geometric noise of a tenth of the budget."""
    p = 1.0 - math.exp(-0.1)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def lanes_of(noisy_lanes):
    """Return a function that takes lanes, of the data and noise."""
    return lambda data, rng, lanes: noisy_lanes(data, rng.laplace(size=lanes))


def shares(data, rng, terms):
    """Return what is 1 but for rounding, made of many terms that tell the data, beside correct noise."""
    weights = rng.exponential(size=terms) + data
    return [sum((weights / weights.sum()).tolist()), noisy(data, rng)]


BESIDE_LARGE_NUMBERS = {
    "beside-1e14": lambda data, rng: 1e14 + noisy(data, rng),
    "beside-1e12": lambda data, rng: 1e12 + noisy(data, rng),
    "beside-1e11": lambda data, rng: noisy(data, rng) + 1e11,
    "beside-minus-1e13": lambda data, rng: noisy(data, rng) - 1e13,
    "beside-1e15": lambda data, rng: 1e15 + noisy(data, rng),
    "beside-a-third": lambda data, rng: 1e14 / 3.0 + noisy(data, rng),
    "data-first": lambda data, rng: (1e14 + data) + rng.laplace(),
    "noise-first": lambda data, rng: (1e14 + rng.laplace()) + data,
    "rounded-up": lambda data, rng: 1e14 + 0.995 * data + rng.laplace(scale=0.995),
    "lanes-beside-1e14": lanes_of(lambda data, noise: 1e14 + data + noise),
    "lanes-rounded-up": lanes_of(lambda data, noise: 1e14 + 0.995 * data + 0.995 * noise),
    "lanes-beside-1e12": lanes_of(lambda data, noise: data + noise - 1e12),
    "grid-beside-1e13": lambda data, rng: 1e13 + 0.1 * geometric(data, rng),
    "grid-in-another-order": lambda data, rng: 1e13 + 0.1 * round(data) + 0.1 * geometric(0.0, rng),
    "grid-beside-1e14": lambda data, rng: (1e14 + 0.1 * round(data)) + 0.1 * geometric(0.0, rng),
    "fine-grid-beside-1e14": lambda data, rng: (1e14 + 0.02 * round(data)) + 0.02 * geometric(0.0, rng),
    "wide-fine-grid-beside-1e14": lambda data, rng: (1e14 + 0.02 * round(10 * data)) + 0.02 * wide(rng),
    "wide-grid-beside-1e14": lambda data, rng: (1e14 + 0.1 * round(10 * data)) + 0.1 * wide(rng),
    "quarters-beside-1e14": lambda data, rng: 1e14 + round(4.0 * noisy(data, rng)) / 4.0,
    "decimals-beside-1e12": lambda data, rng: round(1e12 + noisy(data, rng), 2),
    "row-beside-1e14": lambda data, rng: [rng.normal(), 1e14 + noisy(data, rng), 7],
    "two-beside": lambda data, rng: [1e14 + noisy(data, rng, 2.0), noisy(data, rng, 2.0) - 1e13],
    "beside-in-single-precision": lambda data, rng: np.float32(1e5 + noisy(data, rng)),
    "shares-of-fifty": lambda data, rng: shares(data, rng, 50),
    "shares-of-thousands": lambda data, rng: shares(data, rng, 3_000),
    "whole-near-2^53": lambda data, rng: 2**53 + geometric(data, rng),
    "floats-near-2^53": lambda data, rng: float(2**53 + 2 * geometric(data, rng)),
    "relative": lambda data, rng: 1e14 * (1.0 + 1e-14 * noisy(data, rng)),
}


def running(step, beside=noisy):
    """Return a function that shows the sum of all its steps so far, beside something of the data."""
    total = 0

    def release(data, rng):
        nonlocal total
        total += step(data, rng)
        return [total, beside(data, rng)]

    return release


def numbered(show):
    """Return a function of the number of calls that came before."""
    count = itertools.count()
    return lambda data, rng: show(next(count), data, rng)


def nothing(data, rng):
    """Return the same for all data."""
    return 0


def half(data, rng):
    """Return an answer of half the budget."""
    return noisy(data, rng, 2.0)


def mean_so_far(step):
    """Return a function that shows the mean of its noisy answers so far."""
    answers = []

    def release(data, rng):
        answers.append(step(data, rng))
        return [math.fsum(answers[-1000:]) / len(answers), len(answers)]

    return release


STEPS = {
    "steps-of-a-tenth": running(lambda data, rng: 0.1),
    "steps-of-a-third": running(lambda data, rng: 1.0 / 3.0, beside=response),
    "random-steps": running(lambda data, rng: int(rng.integers(1, 4))),
    "exponential-steps": running(lambda data, rng: -rng.exponential()),
    "rare-steps": running(lambda data, rng: int(rng.random() < 0.1)),
    "frequent-steps": running(lambda data, rng: int(rng.random() < 0.9)),
    "walk": running(lambda data, rng: rng.normal()),
    "cauchy-walk": running(lambda data, rng: rng.standard_cauchy()),
    "noisy-steps": running(lambda data, rng: 1.0 + noisy(data, rng), beside=nothing),
    "halves": running(lambda data, rng: 1.0 + half(data, rng), beside=half),
    "geometric-steps": running(lambda data, rng: 20 + geometric(data, rng), beside=nothing),
    "steps-by-response": running(lambda data, rng: 1 + int(response(data, rng)), beside=nothing),
    "counts-responses": running(lambda data, rng: int(response(data, rng)), beside=nothing),
    "mean-so-far": mean_so_far(noisy),
    "squares": numbered(lambda n, data, rng: [n**2, noisy(data, rng)]),
    "wraps": numbered(lambda n, data, rng: [n % 256, noisy(data, rng)]),
    "wraps-late": numbered(lambda n, data, rng: [n % 10_000, noisy(data, rng)]),
    "one-two-one-two": numbered(lambda n, data, rng: [3 * (n // 2) + n % 2, noisy(data, rng)]),
    "jumps-every-ten": numbered(lambda n, data, rng: [n + 10 * (n // 10), noisy(data, rng)]),
    "jumps-every-seven": numbered(lambda n, data, rng: [n + 10 * (n // 7), noisy(data, rng)]),
    "two-counters": numbered(lambda n, data, rng: [n, -2 * n, noisy(data, rng)]),
    "counter-and-clock": numbered(lambda n, data, rng: [n, CLOCK(), noisy(data, rng)]),
    "counter-beside-1e14": numbered(lambda n, data, rng: [1e14 + n, noisy(data, rng)]),
    "counter-plus-noise": numbered(lambda n, data, rng: n + noisy(data, rng)),
    "clock-in-milliseconds": lambda data, rng: [round(time.time(), 3), noisy(data, rng)],
    "clock-in-seconds": lambda data, rng: [int(time.time()), response(data, rng)],
    "clock-in-words": lambda data, rng: [datetime.now().isoformat(), noisy(data, rng)],
    "time-and-a-noisy-value": lambda data, rng: CLOCK() + noisy(data, rng),
}
FAMILIES = [OWN, BESIDE_LARGE_NUMBERS, STEPS]
FAMILIES += [each.SUBJECTS for each in (odd_containers, odd_words, odd_numbers, odd_process, odd_mechanisms)]
SUBJECTS = dict(itertools.chain.from_iterable(family.items() for family in FAMILIES))
FEW = (
    "rounded-up",
    "fine-grid-beside-1e14",
    "counter",
    "address",
    "parity-by-response",
    "decimal",
    "nested-dataclass",
    "or-nothing",
    "masked-at-random",
    "rare-labels-that-tell",
    "pool-in-any-order",
    "piecewise",
)


def test_no_name_is_twice_there():
    assert len(SUBJECTS) == sum(map(len, FAMILIES)) > 250


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FEW)
def test_a_few_with_few_draws(name):
    assert (
        verify(SUBJECTS[name], epsilon=1.0, neighbours=Interval(0, 1), samples=20_000).verdict == "unproven"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SUBJECTS)
def test_none_is_refuted(name, seed):
    result = verify(SUBJECTS[name], epsilon=1.0, neighbours=Listed([(0.0, 1.0)]), effort="quick", seed=seed)
    assert result.verdict == "unproven"
