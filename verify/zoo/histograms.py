"""Noisy histograms: independent noise, too little noise, one noise for all cells, and omitted empty cells."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mechanisms import Box, Integers
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_SOURCE = "Ding, Wang, Wang, Zhang, Kifer 2018, Detecting violations of differential privacy, Alg."
_STABLE = "Korolova, Kenthapadi, Mishra, Ntoulas 2009; Bun, Nissim, Stemmer 2016; Vadhan 2017, Thm 3.5"

EPSILON = 0.1
CELLS = 5
COUNTS = Within(Box(0, 10, CELLS), l1=1)
WHOLE_COUNTS = Within(Integers(0, 10, CELLS), l1=1)
_RECORD = "one individual, counted in one of five cells"

SPARSE_EPSILON = 1.0
SPARSE_DELTA = 0.01
THRESHOLD = 1.0 + math.log(1.0 / (2.0 * SPARSE_DELTA)) / SPARSE_EPSILON


_on_counts = partial(specimen, epsilon=EPSILON, make=claimed(data=COUNTS, comment=_RECORD))


@_on_counts(
    "noisy-hist-1",
    source=f"{_SOURCE} 9 (NoisyHist1)",
    why="one cell moves by 1 and its noise has scale 1/ε",
)
def _noisy_hist_1(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """NoisyHist1: each cell + Lap(1/ε). Correct: one individual changes one cell by 1."""
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, CELLS))


@_on_counts(
    "noisy-hist-2",
    true_epsilon=1.0 / EPSILON,
    source=f"{_SOURCE} 10 (NoisyHist2)",
    why="the scale is ε in place of 1/ε: the loss is 1/ε",
)
def _noisy_hist_2(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """NoisyHist2: each cell + Lap(ε) in place of Lap(1/ε). The loss is 1/ε = 10."""
    return np.asarray(data) + rng.laplace(scale=EPSILON, size=(lanes, CELLS))


@_on_counts(
    "hist-shared-noise",
    true_epsilon=math.inf,
    source="a mistake of practice: one draw broadcast over an array",
    why="the noise cancels in the difference of two cells",
)
def _shared_noise(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Adds one and the same Lap(1/ε) to all cells: differences of cells are released exactly."""
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, 1))


@specimen(
    "hist-occupied-cells",
    epsilon=EPSILON,
    true_epsilon=math.inf,
    source="a mistake of practice: GROUP BY, then noise (Wilson et al. 2020, Differentially private SQL, section 2.2)",
    why="which cells are shown is computed from raw data",
)
@claimed(data=WHOLE_COUNTS, comment=_RECORD)
def _occupied_cells(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Noise on occupied cells only, without a threshold: a cell that is left out is certainly empty."""
    counts = np.asarray(data, dtype=np.float64)
    noisy = counts + rng.laplace(scale=1.0 / EPSILON, size=(lanes, CELLS))
    return np.where(counts > 0, noisy, np.nan)


def _sparse(data: FloatArray, threshold: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    counts = np.asarray(data, dtype=np.float64)
    noisy = counts + rng.laplace(scale=1.0 / SPARSE_EPSILON, size=(lanes, CELLS))
    return np.where((counts > 0) & (noisy > threshold), noisy, np.nan)


_on_whole_counts = partial(
    specimen, epsilon=SPARSE_EPSILON, delta=SPARSE_DELTA, make=claimed(data=WHOLE_COUNTS, comment=_RECORD)
)


@_on_whole_counts(
    "stable-hist",
    true_epsilon=SPARSE_EPSILON + 2.0 * math.log1p(-SPARSE_DELTA),
    source=_STABLE,
    why="δ pays for a cell that appears with its only individual; two occupied cells at δ give ε + 2 ln(1 - δ)",
)
def _stable_hist(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Stability-based histogram: noisy counts of occupied cells that exceed 1 + ln(1/2δ)/ε. Correct.

    A single individual's cell appears with probability ½ e^(-ε (threshold - 1)) = δ.
    """
    return _sparse(data, THRESHOLD, rng, lanes)


@_on_whole_counts(
    "stable-hist-low-threshold",
    true_epsilon=math.inf,
    source=f"{_STABLE}, with the threshold one too low",
    why="a single individual's cell appears with probability e^ε δ > δ and is impossible otherwise",
)
def _low_threshold(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Stability-based histogram with the threshold ln(1/2δ)/ε, one too low.

    A single individual's cell appears with probability δ e^ε = 2.7 δ, and never without that individual.
    """
    return _sparse(data, THRESHOLD - 1.0, rng, lanes)
