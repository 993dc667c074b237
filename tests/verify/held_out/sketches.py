"""Sketches of a stream: heavy hitters, counts in hashed cells, the number of different elements."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import laplace_sum
from oracle import Oracle

from mechanisms import Categories
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne

LOSS = "the sum of the losses of the cells that move is at least t"
LEBEDA = "Lebeda and Tětek 2023, Better differentially private approximate histograms (the error of Chan et al. 2012)"


def misra_gries(stream: Iterable[int], size: int) -> dict[int, int]:
    """Misra and Gries 1982: an element without a counter lowers all counters if none is free."""
    counters: dict[int, int] = {}
    for element in stream:
        if element in counters:
            counters[element] += 1
        elif len(counters) < size:
            counters[element] = 1
        else:
            counters = {key: count - 1 for key, count in counters.items() if count > 1}
    return counters


TWICE = np.array([0, 0, 1, 1, 2, 2, 3])


@held_out(
    data=AddOrRemoveOne(Categories(4), 7),
    epsilon=1.0,
    true_epsilon=3.0,
    source=LEBEDA,
    oracle=Oracle(TWICE, TWICE[:-1], LOSS, lambda: laplace_sum(1.0, 3)),
    limit=2.986,
)
def misra_gries_sketch(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(1/ε) on the three counters, all of which one element can lower."""
    counters = misra_gries(np.asarray(data).tolist(), 3)
    return np.array([counters.get(key, 0) for key in range(4)]) + rng.laplace(size=(lanes, 4))


ROWS = np.array([[0, 1, 2, 3, 0, 1, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3]])


@held_out(
    data=ReplaceOne(Categories(8), 5),
    epsilon=1.0,
    true_epsilon=4.0,
    source="Cormode and Muthukrishnan 2005, count-min sketch, with the noise of a histogram",
    oracle=Oracle(np.zeros(5, dtype=int), np.array([3, 0, 0, 0, 0]), LOSS, lambda: laplace_sum(1.0, 4)),
    limit=3.968,
)
def count_min_sketch(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(1/ε) on two rows of four cells; a replaced record moves two cells in each row. A matrix."""
    table = np.stack([np.bincount(row[np.asarray(data)], minlength=4) for row in ROWS])
    return table + rng.laplace(size=(lanes, 2, 4))


@held_out(
    data=AddOrRemoveOne(Categories(50), 8),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source="Smith, Song, Thakurta 2020, The Flajolet-Martin sketch itself preserves privacy, at small cardinalities",
    oracle=Oracle(np.array([0]), np.zeros(0, dtype=int), "some register is not 0", impossible(1.0)),
    limit=9.687,
)
def hyper_log_log(data: FloatArray, rng: np.random.Generator) -> list[int]:
    """Wrong: four registers of a HyperLogLog sketch with a secret hash and no noise, private for large sets only."""
    registers = [0] * 4
    hashes = rng.integers(2**40, size=50).tolist()  # a random function of the element
    for element in set(np.ravel(data).tolist()):
        rest = hashes[element] >> 2
        rank = 39 - rest.bit_length()
        registers[hashes[element] & 3] = max(registers[hashes[element] & 3], rank)
    return registers


HELD_OUT = (misra_gries_sketch, count_min_sketch, hyper_log_log)
