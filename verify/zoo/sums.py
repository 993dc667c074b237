"""Sums over a stream: the total, all prefixes, and SmartSum's blocks, right and wrong."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_CHECKDP = "Wang, Ding, Kifer, Zhang 2020, CheckDP,"
_SHADOW = "Wang, Ding, Wang, Kifer, Zhang 2019, Proving differential privacy with shadow execution, PrefixSum"

EPSILON = 0.1
LENGTH = 10
BLOCK = 5
SMART_LENGTH = 11  # two whole blocks and one place of a third
STREAM = Within(Box(-10, 10, LENGTH), l1=1)
ALL_MOVE = Within(Box(-10, 10, LENGTH), linf=1)
SMART_STREAM = Within(Box(-10, 10, SMART_LENGTH), l1=1)
_RECORD = "one place of the stream, which changes by at most 1"


_on_stream = partial(specimen, epsilon=EPSILON, make=claimed(data=STREAM, comment=_RECORD))


@_on_stream(
    "partial-sum",
    source=f"{_CHECKDP} PartialSum",
    why="one place moves the sum by 1, and the noise has scale 1/ε",
)
def _partial_sum(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """PartialSum: Σ q_i + Lap(1/ε). Correct: one place moves the sum by at most 1."""
    return np.sum(data) + rng.laplace(scale=1.0 / EPSILON, size=lanes)


@_on_stream(
    "partial-sum-bad",
    true_epsilon=2 * EPSILON,
    source=f"{_CHECKDP} BadPartialSum",
    why="the noise has scale 1/(2ε)",
)
def _partial_sum_bad(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """BadPartialSum: Σ q_i + Lap(1/(2ε)). Half the noise, twice the loss."""
    return np.sum(data) + rng.laplace(scale=1.0 / (2.0 * EPSILON), size=lanes)


def _prefixes(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    return np.cumsum(data + rng.laplace(scale=1.0 / EPSILON, size=(lanes, LENGTH)), axis=1)


@_on_stream(
    "prefix-sum",
    source=_SHADOW,
    why="the running sums are computed from noisy terms, of which one moves by 1",
)
def _prefix_sum(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """PrefixSum: running sums of q_i + Lap(1/ε). Correct where one place changes.

    The running sums are a function of the noisy q_i, of which one moves.
    """
    return _prefixes(data, rng, lanes)


@specimen(
    "prefix-sum-all",
    epsilon=EPSILON,
    true_epsilon=LENGTH * EPSILON,
    source=f"{_SHADOW}; neighbours as in DP-Sniper",
    why="all ten terms move, and each costs ε",
)
@claimed(data=ALL_MOVE, comment="one individual, who is in all ten places and moves each by at most 1")
def _prefix_sum_all(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """PrefixSum held to a stronger neighbouring relation: every place may change by 1. The loss is 10 ε.

    So DP-Sniper tests it. The differences of the outputs are the noisy q_i, each of which shows ε.
    """
    return _prefixes(data, rng, lanes)


def _in_blocks(data: FloatArray, ends: FloatArray, inner: FloatArray, *, restart: bool = True) -> FloatArray:
    """SmartSum with given noise: `ends` on each block's sum, `inner` within blocks.

    The output at a block's end is the noisy sum of the block, and within a block the last output plus the noisy
    q_i, as in the published pseudocode.
    """
    out = np.empty_like(inner)
    following = np.zeros(len(inner))
    total = 0.0
    for i in range(SMART_LENGTH):
        if (i + 1) % BLOCK == 0:
            following = total + data[i] + ends[:, i // BLOCK]
            total = 0.0 if restart else total + data[i]
        else:
            following = following + data[i] + inner[:, i]
            total += data[i]
        out[:, i] = following
    return out


def _smart_noise(rng: np.random.Generator, lanes: int, scale: float) -> tuple[FloatArray, FloatArray]:
    inner = rng.laplace(scale=scale, size=(lanes, SMART_LENGTH))
    return rng.laplace(scale=scale, size=(lanes, SMART_LENGTH // BLOCK)), inner


_on_smart_stream = partial(specimen, epsilon=EPSILON, make=claimed(data=SMART_STREAM, comment=_RECORD))


@_on_smart_stream(
    "smart-sum",
    source=f"Chan, Shi, Song 2011; {_CHECKDP} SmartSum",
    why="a place is in one inner release and in one block sum, each of ε/2",
)
def _smart_sum(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """SmartSum: a noise Lap(2/ε) for each place within a block and for each block's sum. Correct.

    A place is in one inner release and in one block sum: ε/2 each.
    """
    return _in_blocks(data, *_smart_noise(rng, lanes, 2.0 / EPSILON))


@_on_smart_stream(
    "smart-sum-bad",
    true_epsilon=math.inf,
    source=f"{_CHECKDP} BadSmartSum",
    why="the block sums are released without noise",
)
def _smart_sum_bad(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """BadSmartSum: the block sums carry no noise, so they are released exactly."""
    ends, inner = _smart_noise(rng, lanes, 2.0 / EPSILON)
    return _in_blocks(data, 0.0 * ends, inner)


@_on_smart_stream(
    "smart-sum-unreset",
    true_epsilon=1.5 * EPSILON,
    source=f"{_CHECKDP} SmartSum, without the line sum = 0",
    why="the first block's places are in two block sums: three releases of ε/2",
)
def _smart_sum_unreset(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """SmartSum that forgets to set the block's sum back to 0: block sums are prefix sums.

    A place of the first block is then in two block sums besides its inner release: 3 · ε/2.
    """
    return _in_blocks(data, *_smart_noise(rng, lanes, 2.0 / EPSILON), restart=False)
