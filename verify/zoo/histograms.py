"""Noisy histograms: independent noise, too little noise, one noise for all cells, and which cells are empty."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Box, Integers
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.laplace_noise import shifted_laplace
from verify.zoo.laws import laplace_cdf, laplace_survival
from verify.zoo.oracle import Masses, Oracle
from verify.zoo.specimen import Specimen

EPSILON = 0.1
CELLS = 5
COUNTS = Within(Box(0, 10, CELLS), l1=1)
WHOLE_COUNTS = Within(Integers(0, 10, CELLS), l1=1)
_UNIT = "one individual, counted in one of five cells"

SPARSE_EPSILON = 1.0
SPARSE_DELTA = 0.01
THRESHOLD = 1.0 + math.log(1.0 / (2.0 * SPARSE_DELTA)) / SPARSE_EPSILON


@claimed(data=COUNTS, unit=_UNIT)
def noisy_hist_1(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """NoisyHist1: each cell + Lap(1/ε). Correct: one individual changes one cell by 1."""
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, CELLS))


@claimed(data=COUNTS, unit=_UNIT)
def noisy_hist_2(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """NoisyHist2: each cell + Lap(ε) in place of Lap(1/ε). The loss is 1/ε = 10."""
    return np.asarray(data) + rng.laplace(scale=EPSILON, size=(lanes, CELLS))


@claimed(data=COUNTS, unit=_UNIT)
def shared_noise(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Adds one and the same Lap(1/ε) to all cells: differences of cells are released exactly."""
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, 1))


@claimed(data=WHOLE_COUNTS, unit=_UNIT)
def occupied_cells(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Noise on occupied cells only, without a threshold: a cell that is left out is certainly empty."""
    counts = np.asarray(data, dtype=np.float64)
    noisy = counts + rng.laplace(scale=1.0 / EPSILON, size=(lanes, CELLS))
    return np.where(counts > 0, noisy, np.nan)


def _sparse(data: FloatArray, threshold: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    counts = np.asarray(data, dtype=np.float64)
    noisy = counts + rng.laplace(scale=1.0 / SPARSE_EPSILON, size=(lanes, CELLS))
    return np.where((counts > 0) & (noisy > threshold), noisy, np.nan)


@claimed(data=WHOLE_COUNTS, unit=_UNIT)
def stable_hist(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Stability-based histogram: occupied cells whose noisy count exceeds 1 + ln(1/2δ)/ε. Correct.

    A single individual's cell appears with probability ½ e^(-ε (threshold - 1)) = δ.
    """
    return _sparse(data, THRESHOLD, rng, lanes)


@claimed(data=WHOLE_COUNTS, unit=_UNIT)
def low_threshold(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Stability-based histogram with the threshold ln(1/2δ)/ε, one too low.

    A single individual's cell appears with probability δ e^ε = 2.7 δ, and never without that individual.
    """
    return _sparse(data, THRESHOLD - 1.0, rng, lanes)


def _thresholded(count: int, other: int) -> Masses:
    """Masses of "the first cell is shown, at t or more" for the larger of the two counts against the smaller."""
    grid = np.linspace(THRESHOLD, 12.0, 2001)
    return laplace_survival((grid - count) * SPARSE_EPSILON), laplace_survival(
        (grid - other) * SPARSE_EPSILON
    )


_SOURCE = "Ding, Wang, Wang, Zhang, Kifer 2018, Detecting violations of differential privacy, Alg."
_STABLE = "Korolova, Kenthapadi, Mishra, Ntoulas 2009; Bun, Nissim, Stemmer 2016; Vadhan 2017, Thm 3.5"
_ZEROS, _FIRST = np.zeros(CELLS), np.eye(CELLS)[0]
_NOBODY, _SOMEBODY = np.zeros(CELLS, dtype=np.int64), np.eye(CELLS, dtype=np.int64)[0]

SPECIMENS = (
    Specimen(
        "noisy-hist-1",
        noisy_hist_1,
        EPSILON,
        EPSILON,
        True,
        f"{_SOURCE} 9 (NoisyHist1)",
        "one cell moves by 1 and its noise has scale 1/ε",
        Oracle(_ZEROS, _FIRST, "the first cell is at most t", lambda: shifted_laplace(1.0 / EPSILON)),
    ),
    Specimen(
        "noisy-hist-2",
        noisy_hist_2,
        EPSILON,
        1.0 / EPSILON,
        False,
        f"{_SOURCE} 10 (NoisyHist2)",
        "the scale is ε in place of 1/ε: the loss is 1/ε",
        Oracle(_ZEROS, _FIRST, "the first cell is at most t", lambda: shifted_laplace(EPSILON)),
    ),
    Specimen(
        "hist-shared-noise",
        shared_noise,
        EPSILON,
        math.inf,
        False,
        "a mistake of practice: one draw broadcast over an array",
        "the noise cancels in the difference of two cells",
        Oracle(
            _ZEROS,
            _FIRST,
            "the first two cells are equal",
            lambda: (np.array([1.0]), np.array([0.0])),
        ),
    ),
    Specimen(
        "hist-occupied-cells",
        occupied_cells,
        EPSILON,
        math.inf,
        False,
        "a mistake of practice: GROUP BY, then noise (Wilson et al. 2020, Differentially private SQL, section 2.2)",
        "which cells are shown is computed from raw data",
        Oracle(_SOMEBODY, _NOBODY, "the first cell is shown", lambda: (np.array([1.0]), np.array([0.0]))),
    ),
    Specimen(
        "stable-hist",
        stable_hist,
        SPARSE_EPSILON,
        SPARSE_EPSILON + 2.0 * math.log1p(-SPARSE_DELTA),
        True,
        _STABLE,
        "δ pays for a cell that appears with its only individual; two occupied cells at δ give ε + 2 ln(1 - δ)",
        Oracle(
            10 * _SOMEBODY,
            9 * _SOMEBODY,
            "the first cell is shown, at t or more",
            lambda: _thresholded(10, 9),
        ),
        SPARSE_DELTA,
    ),
    Specimen(
        "stable-hist-low-threshold",
        low_threshold,
        SPARSE_EPSILON,
        math.inf,
        False,
        f"{_STABLE}, with the threshold one too low",
        "a single individual's cell appears with probability e^ε δ > δ and is impossible otherwise",
        Oracle(
            _SOMEBODY,
            _NOBODY,
            "the first cell is shown",
            lambda: (
                np.atleast_1d(laplace_cdf(-(THRESHOLD - 2.0) * SPARSE_EPSILON)),
                np.array([0.0]),
            ),
        ),
        SPARSE_DELTA,
    ),
)
