"""Noise with a scale computed from the data, and a leak too rare for a sampled test."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.add_or_remove_one import AddOrRemoveOne
from verify.neighbouring.replace_one import ReplaceOne
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

EPSILON = 1.0
RECORDS = 3
MOST_RECORDS = 10
LEAK = 1e-9
MARK = 1e6
COUNT = Within(Interval(-10, 10), linf=1)
_RECORD = "one individual's number in [0, 1]"


@specimen(
    "median-local-sensitivity",
    epsilon=EPSILON,
    true_epsilon=math.inf,
    source="Nissim, Raskhodnikova, Smith 2007, Smooth sensitivity and sampling, section 2.1",
    why="the local sensitivity is itself private, and 0 where two neighbours would be needed to move the median",
)
@claimed(data=ReplaceOne(Interval(0, 1), RECORDS), comment=_RECORD)
def _median_local_sensitivity(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Median of three numbers + Lap(LS/ε), LS the sensitivity of the median at these very data.

    At 0, 0, 0 it is 0 and the median is released as it is; at 0, 0, 1 it is 1.
    """
    low, median, high = np.sort(data)
    local_sensitivity = float(max(high - median, median - low))
    return float(median) + local_sensitivity / EPSILON * rng.laplace(size=lanes)


@specimen(
    "mean-secret-count",
    epsilon=EPSILON,
    true_epsilon=math.inf,
    source="a mistake of practice: the number of records used as if it were public",
    why="the scale 1/(nε) tells n: far outputs are e^|x| times likelier with one record than with two",
)
@claimed(data=AddOrRemoveOne(Interval(0, 1), MOST_RECORDS), comment=f"{_RECORD}, present or not")
def _mean_secret_count(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Mean of n numbers + Lap(1/(n ε)), where n itself is private: the noise's scale reveals n.

    The tails of Lap(1/ε) and Lap(1/(2ε)) have an unbounded ratio.
    """
    n = max(len(data), 1)
    return np.sum(data) / n + rng.laplace(scale=1.0 / (n * EPSILON), size=lanes)


@specimen(
    "curator",
    epsilon=EPSILON,
    true_epsilon=math.inf,
    source="Wang, Xiang, Cheng, Ji, Sun, Wang 2024, Curator attack: when blackbox auditing loses its power",
    why="once in 10^9 calls the answer itself is released",
    hidden=True,
)
@claimed(data=COUNT, comment="one individual, who moves the answer by at most 1")
def _curator(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism that once in 10^9 calls releases the answer itself, marked by 10^6. Infinite loss.

    No test with far fewer than 10^9 draws can see it: the report of such a test must say so.
    """
    noisy = data + rng.laplace(scale=1.0 / EPSILON, size=lanes)
    return np.where(rng.random(lanes) < LEAK, MARK + data, noisy)
