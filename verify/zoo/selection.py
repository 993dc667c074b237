"""Selection of the best of five: report noisy max and the exponential mechanism, right and wrong."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_DING = "Ding, Wang, Wang, Zhang, Kifer 2018, Detecting violations of differential privacy, Alg."
_MCSHERRY = "McSherry, Talwar 2007, Mechanism design via differential privacy, Thm 6"

EPSILON = 0.1  # of noisy max
EXPONENTIAL_EPSILON = 1.0
OPTIONS = 5
ANSWERS = Within(Box(-10, 10, OPTIONS), linf=1)
_RECORD = "one individual, who moves each of five counts by at most 1"


def _winner(noisy: FloatArray) -> npt.NDArray[np.int64]:
    return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


def _maximum(noisy: FloatArray) -> FloatArray:
    return np.asarray(np.max(noisy, axis=1), dtype=np.float64)


_on_answers = partial(specimen, epsilon=EPSILON, make=claimed(data=ANSWERS, comment=_RECORD))


@_on_answers(
    "noisy-max-1",
    true_epsilon=0.0996441,
    source=f"{_DING} 5 (ReportNoisyMax1)",
    why="the winner's loss is below ε, and nears it the further behind it was; counts in [-10, 10] allow 0.996 ε",
)
def _laplace_index(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.int64]:
    """ReportNoisyMax1: argmax of q_i + Lap(2/ε). Correct; ε is approached where the winner was far behind."""
    return _winner(data + rng.laplace(scale=2.0 / EPSILON, size=(lanes, OPTIONS)))


@_on_answers(
    "noisy-max-2",
    source=f"{_DING} 6 (ReportNoisyMax2)",
    why="the exponential law has no memory: a count that is not ahead wins with e^-ε times the probability",
)
def _exponential_index(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.int64]:
    """ReportNoisyMax2: argmax of q_i + Exp(2/ε). Correct, and ε is attained at ordinary counts.

    It has the law of permute-and-flip (McKenna and Sheldon 2020; Ding et al. 2021).
    """
    return _winner(data + rng.exponential(scale=2.0 / EPSILON, size=(lanes, OPTIONS)))


@_on_answers(
    "noisy-max-3",
    true_epsilon=OPTIONS * EPSILON / 2,
    source=f"{_DING} 7 (ReportNoisyMax3)",
    why="the value is released, not the index: five noises of ε/2 each are seen at once",
)
def _laplace_value(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """ReportNoisyMax3: the largest q_i + Lap(2/ε) itself in place of its index.

    The maximum is below t if all five are, and each of the five pays ε/2: 5ε/2 for t below all counts.
    """
    return _maximum(data + rng.laplace(scale=2.0 / EPSILON, size=(lanes, OPTIONS)))


@_on_answers(
    "noisy-max-4",
    true_epsilon=math.inf,
    source=f"{_DING} 8 (ReportNoisyMax4)",
    why="positive noise: a maximum below the largest count is impossible",
)
def _exponential_value(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """ReportNoisyMax4: the largest q_i + Exp(2/ε) itself in place of its index.

    The noise is positive, so a maximum below the largest count is impossible: infinite, on the event of mass
    (1 - e^(-ε/2))^5 = 2.8e-7 that all five noises are below 1. Just above it the ratio is large, not infinite.
    """
    return _maximum(data + rng.exponential(scale=2.0 / EPSILON, size=(lanes, OPTIONS)))


def selection_law(utilities: FloatArray, rate: float) -> FloatArray:
    """P(option i) ∝ e^(rate · u_i), shape (options,)."""
    weights = np.exp(rate * (np.asarray(utilities, dtype=np.float64) - np.max(utilities)))
    return np.asarray(weights / weights.sum())


def _select(utilities: FloatArray, rate: float, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    cumulative = np.cumsum(selection_law(utilities, rate))
    return np.minimum(np.searchsorted(cumulative, rng.random(lanes), side="right"), OPTIONS - 1)


_on_utilities = partial(
    specimen,
    epsilon=EXPONENTIAL_EPSILON,
    make=claimed(
        data=ANSWERS, comment="one individual, who moves the utility of each of five options by at most 1"
    ),
)


@_on_utilities(
    "exponential",
    true_epsilon=0.9999805,
    source=_MCSHERRY,
    why="ε/2 from the option's own weight and ε/2 from the sum of weights, almost attained by one far behind",
)
def _exponential(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    """Exponential mechanism: P(i) ∝ e^(ε u_i / 2). Correct: ε/2 for the numerator, ε/2 for the normalisation."""
    return _select(data, EXPONENTIAL_EPSILON / 2.0, rng, lanes)


@_on_utilities(
    "exponential-missing-half",
    true_epsilon=1.9999999968,
    source=f"{_MCSHERRY}, without the factor 1/2",
    why="weight and normalisation move by ε each when one utility rises and the others fall",
)
def _missing_half(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    """Exponential mechanism with P(i) ∝ e^(ε u_i): right for utilities that all move one way, else 2ε.

    The factor 1/2 was dropped although an individual may raise one utility and lower the others.
    """
    return _select(data, EXPONENTIAL_EPSILON, rng, lanes)
