"""Correct answers as numbers of odd sizes and laws: heavy tails, underflow, overflow, big integers, signs of zero."""

import decimal
import math
import random
import statistics

import numpy as np
from odd_ingredients import geometric, noisy, response

TINY = 2.0**10 * 5e-324


def scaled_at_random(data, rng):
    """Return a public factor with heavy tails, and an answer times that."""
    factor = abs(rng.standard_t(1.0))
    return [factor, factor * noisy(data, rng)]


def tries(data, rng):
    """Return how many tries a public coin took, and a response."""
    number = 1
    while rng.random() > 0.2:
        number += 1
    return [number, response(data, rng)]


def slower_on_one(data, rng):
    """Return a response; how long it takes depends on the data."""
    random.Random(0).sample(range(400), 200 * (1 + int(data > 0.5)))
    return response(data, rng)


def truth_or_number(data, rng):
    """Return a response as a truth value or as a whole number, by chance."""
    answer = response(data, rng)
    return answer if rng.random() < 0.5 else int(answer)


def whole_or_float(data, rng):
    """Return a whole number as an integer or as a float, by chance."""
    answer = geometric(data, rng)
    return answer if rng.random() < 0.5 else float(answer)


SUBJECTS = {
    "whole-or-float": whole_or_float,
    "integer-by-response": lambda data, rng: 1 if response(data, rng) else 1.0,
    "integers-in-a-list": lambda data, rng: [1 if rng.random() < 0.3 else 1.0, noisy(data, rng)],
    "integer-where-it-is-cut": lambda data, rng: max(0, noisy(data, rng)),
    "truth-or-number": truth_or_number,
    "truth-by-response": lambda data, rng: True if response(data, rng) else 1,
    "truths-in-a-list": lambda data, rng: [True if rng.random() < 0.3 else 1, noisy(data, rng)],
    "minus-by-chance": lambda data, rng: [0.0 * rng.normal(), noisy(data, rng)],
    "minus-of-a-noisy-number": lambda data, rng: 0.0 * noisy(data, rng),
    "rounded-to-a-zero-with-a-minus": lambda data, rng: float(np.round(noisy(data, rng))),
    "many-zeros-with-a-minus": lambda data, rng: np.append(0.0 * rng.normal(size=6), noisy(data, rng)),
    "exponential-of-an-answer": lambda data, rng: math.exp(noisy(data, rng)),
    "cubed-cauchy-beside": lambda data, rng: [noisy(data, rng), rng.standard_cauchy() ** 3],
    "scaled-at-random": scaled_at_random,
    "cauchy-added": lambda data, rng: noisy(data, rng) + 1e6 * rng.standard_cauchy(),
    "zipf-beside": lambda data, rng: [int(rng.zipf(1.5)) % 10**9, geometric(data, rng)],
    "underflow": lambda data, rng: TINY * geometric(data, rng),
    "denormal": lambda data, rng: 1e-310 * noisy(data, rng),
    "near-overflow": lambda data, rng: 1.7e308 * math.tanh(noisy(data, rng)),
    "sign-of-zero": lambda data, rng: -0.0 if response(data, rng) else 0.0,
    "nan-or-minus-infinity": lambda data, rng: math.nan if response(data, rng) else -math.inf,
    "rarely-infinite": lambda data, rng: math.inf if rng.random() < 0.01 else noisy(data, rng),
    "next-float": lambda data, rng: math.nextafter(1.0, 2.0) if response(data, rng) else 1.0,
    "beside-1e40": lambda data, rng: 10**40 + geometric(data, rng),
    "random-of-256-bits": lambda data, rng: (
        int.from_bytes(rng.bytes(32), "little") * 2 + int(response(data, rng))
    ),
    "factorial": lambda data, rng: math.factorial(20 + abs(geometric(data, rng)) % 10),
    "negative-powers-of-ten": lambda data, rng: decimal.Decimal(10) ** (-(geometric(data, rng) % 30)),
    "cut-to-a-range": lambda data, rng: min(max(geometric(data, rng), -2), 3),
    "thirds": lambda data, rng: math.floor(3.0 * noisy(data, rng)) / 3.0,
    "with-a-floor": lambda data, rng: max(noisy(data, rng), -3.0),
    "rounded-thrice": lambda data, rng: round(round(round(noisy(data, rng), 4), 2), 1),
    "largest-of-two": lambda data, rng: max(noisy(data, rng), rng.laplace()),
    "rank-among-five": lambda data, rng: int(np.sum(noisy(data, rng) > rng.laplace(size=5))),
    "median-of-three": lambda data, rng: statistics.median([noisy(data, rng), 0.3, 0.7]),
    "times-a-normal": lambda data, rng: noisy(data, rng) * rng.normal(),
    "modulo-ten": lambda data, rng: (geometric(data, rng) + 7) % 10,
    "tries": tries,
    "slower-on-one": slower_on_one,
    "poisson-beside-halves": lambda data, rng: [
        int(rng.poisson(3)),
        noisy(data, rng, 2.0),
        noisy(data, rng, 2.0),
    ],
}
