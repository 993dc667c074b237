"""Sums over a stream, and trees of counts: what one record takes part in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from held_out_entry import held_out
from noise_laws import laplace_sum, laplace_survival
from oracle import Masses, Oracle

from mechanisms import Integers, Interval
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne, Within

BITS = ReplaceOne(Integers(0, 1), 8)
NUMBERS = ReplaceOne(Interval(0, 1), 8)
POINTS = AddOrRemoveOne(Interval(0, 1), 6)
LOSS = "the sum of the losses of the cells that move is at least t"
CHAN = "Chan, Shi, Song 2011, Private and continual release of statistics, the binary mechanism"
FIRST_BIT = np.zeros((8, 1), dtype=int), np.eye(8, 1, dtype=int)
FIRST_NUMBER = np.zeros(8), np.eye(8)[0]


def nodes(leaves: FloatArray) -> FloatArray:
    """All 15 sums of the binary tree over eight leaves."""
    levels = [np.asarray(leaves, dtype=float).reshape(8)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels)


@held_out(
    data=BITS,
    epsilon=1.0,
    true_epsilon=1.0,
    source=CHAN,
    oracle=Oracle(*FIRST_BIT, LOSS, lambda: laplace_sum(4.0, 4)),
    limit=0.9917,
)
def tree_counter(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: all nodes of a tree over eight bits with Lap(4/ε); a bit lies in four."""
    return nodes(data) + rng.laplace(scale=4.0, size=(lanes, 15))


@held_out(
    data=BITS,
    epsilon=1.0,
    true_epsilon=4 / 3,
    source=f"{CHAN}, with the level forgotten that code often forgets",
    oracle=Oracle(*FIRST_BIT, LOSS, lambda: laplace_sum(3.0, 4)),
    limit=1.324,
)
def tree_counter_level(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: log2(8) = 3 levels in place of 4."""
    return nodes(data) + rng.laplace(scale=3.0, size=(lanes, 15))


@held_out(
    data=NUMBERS,
    epsilon=1.0,
    true_epsilon=1.5,
    source="moving averages of sensor data; the count of windows is the bug",
    oracle=Oracle(np.zeros(8), np.eye(8)[3], LOSS, lambda: laplace_sum(2.0, 3)),
    limit=1.493,
)
def sliding_windows(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: sums of every window of three with Lap(2/ε); a number lies in three windows, not two."""
    sums = np.convolve(data, np.ones(3), "valid")
    return sums + rng.laplace(scale=2.0, size=(lanes, len(sums)))


@held_out(
    data=NUMBERS,
    epsilon=1.0,
    true_epsilon=8.0,
    source="running totals published daily, each with noise for one release",
    oracle=Oracle(*FIRST_NUMBER, LOSS, lambda: laplace_sum(1.0, 8)),
    limit=7.339,
)
def every_prefix(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: each of eight prefix sums gets its own Lap(1/ε), and the first number is in all."""
    return np.cumsum(data) + rng.laplace(size=(lanes, 8))


@held_out(
    data=POINTS,
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="Zhang, Xiao, Xie 2016, PrivTree, Algorithm 2 with fanout 2",
)
def priv_tree(data: FloatArray, rng: np.random.Generator) -> Any:
    """Correct: counts with Lap(3/ε) and a decay of 3 ln 2 / ε per level; nested lists of varying depth."""
    points = np.asarray(data)
    decay = 3.0 * math.log(2.0)

    def split(low: float, high: float, depth: int) -> Any:
        count = int(((points >= low) & ((points < high) | (high == 1.0))).sum())
        biased = max(2.0 - decay, count - depth * decay)
        if depth == 4 or biased + rng.laplace(scale=3.0) <= 2.0:
            return "."
        middle = (low + high) / 2.0
        return [split(low, middle, depth + 1), split(middle, high, depth + 1)]

    return split(0.0, 1.0, 0)


def four_splits() -> Masses:
    """The root splits, or all four nodes above the records do; their siblings are empty in both data sets."""
    three, two = float(laplace_survival(0.0)), float(laplace_survival(1.0))
    return np.array([three, three**4]), np.array([two, two**4])


@held_out(
    data=POINTS,
    epsilon=1.0,
    true_epsilon=4.0,
    source="Cormode, Procopiuc, Srivastava, Shen, Yu 2012, Differentially private spatial decompositions, without its "
    "budget per level",
    oracle=Oracle(
        np.zeros(3), np.zeros(2), "the path to the records splits, once or four times", four_splits
    ),
    limit=3.80,
)
def tree_without_decay(data: FloatArray, rng: np.random.Generator) -> Any:
    """Wrong: a node splits if its count + Lap(1/ε) exceeds 3; a record is in a node of each of four levels."""
    points = np.asarray(data)

    def split(low: float, high: float, depth: int) -> Any:
        count = int(((points >= low) & ((points < high) | (high == 1.0))).sum())
        if depth == 4 or count + rng.laplace() <= 3.0:
            return "."
        middle = (low + high) / 2.0
        return [split(low, middle, depth + 1), split(middle, high, depth + 1)]

    return split(0.0, 1.0, 0)


def haar(counts: FloatArray) -> FloatArray:
    """The mean of eight counts, and half the difference between the halves of every dyadic interval, by means."""
    counts = np.asarray(counts, dtype=float)
    coefficients = [counts.mean()]
    for size in (8, 4, 2):
        for first in range(0, 8, size):
            middle = first + size // 2
            coefficients.append((counts[first:middle].mean() - counts[middle : first + size].mean()) / 2)
    return np.array(coefficients)


CELLS = Within(Integers(0, 9, 8), l1=1)
FIRST_CELL = np.zeros(8, dtype=int), np.eye(8, dtype=int)[0]
XIAO = "Xiao, Wang, Gehrke 2011, Differential privacy via wavelet transforms (Privelet)"
WEIGHTS = np.array([8, 8, 4, 4, 2, 2, 2, 2])
REVERSED = np.array([8, 2, 4, 4, 8, 8, 8, 8])


@held_out(
    data=CELLS,
    epsilon=1.0,
    true_epsilon=1.0,
    source=XIAO,
    oracle=Oracle(*FIRST_CELL, LOSS, lambda: laplace_sum(4.0, 4)),
    limit=0.99172,
)
def wavelets(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: Haar coefficients with Lap(4 / weight); a cell moves one of each level, 1/4 of ε each."""
    return haar(data) + rng.laplace(size=(lanes, 8)) * 4.0 / WEIGHTS


@held_out(
    data=CELLS,
    epsilon=1.0,
    true_epsilon=1.5625,
    source=f"{XIAO}; the order of the levels is the bug",
    oracle=Oracle(
        *FIRST_CELL, "all coefficients that move are low",
        lambda: (np.array([1 / 16]), np.array([math.exp(-1.5625) / 16])),
    ),
    limit=1.5521,
)  # fmt: skip
def wavelets_reversed(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the weights of the levels from fine to coarse; the losses are 1/4, 1/16, 1/4 and 1."""
    return haar(data) + rng.laplace(size=(lanes, 8)) * 4.0 / REVERSED


@held_out(
    data=NUMBERS,
    epsilon=1.0,
    true_epsilon=1.0,
    source="Bolot et al. 2013, Private decayed predicate sums on streams, with the noise inside",
    oracle=Oracle(*FIRST_NUMBER, LOSS, lambda: laplace_sum(1.0, 1)),
    limit=0.99745,
)
def decayed_sum_noise_inside(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: each sum is 0.9 times the one before, and a record with Lap(1/ε); all later sums hold the record."""
    total, released = np.zeros(lanes), []
    for record in data:
        total = 0.9 * total + record + rng.laplace(size=lanes)
        released.append(total)
    return np.stack(released, axis=1)


HELD_OUT = (
    decayed_sum_noise_inside,
    tree_counter,
    tree_counter_level,
    sliding_windows,
    every_prefix,
    priv_tree,
    tree_without_decay,
    wavelets,
    wavelets_reversed,
)
