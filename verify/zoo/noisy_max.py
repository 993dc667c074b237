"""Report noisy max: which of five counts is largest (Ding, Wang, Wang, Zhang, Kifer 2018, Alg. 5-8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.laws import TAIL, exponential_cdf, laplace_cdf, laplace_density, quadrature
from verify.zoo.oracle import Masses, Oracle, by_likelihood_ratio, half_lines
from verify.zoo.specimen import Specimen

EPSILON = 0.1
QUERIES = 5
ANSWERS = Within(Box(-10, 10, QUERIES), linf=1)
UNIT = "one individual, who moves each of five counts by at most 1"


def _winner(noisy: FloatArray) -> npt.NDArray[np.int64]:
    return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


def _largest(noisy: FloatArray) -> FloatArray:
    return np.asarray(np.max(noisy, axis=1), dtype=np.float64)


@claimed(data=ANSWERS, unit=UNIT)
def laplace_index(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.int64]:
    """ReportNoisyMax1: argmax of q_i + Lap(2/ε). Correct; ε is approached where the winner was far behind."""
    return _winner(data + rng.laplace(scale=2.0 / EPSILON, size=(lanes, QUERIES)))


@claimed(data=ANSWERS, unit=UNIT)
def exponential_index(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.int64]:
    """ReportNoisyMax2: argmax of q_i + Exp(2/ε). Correct, and ε is attained at ordinary counts.

    It has the law of permute-and-flip (McKenna and Sheldon 2020; Ding et al. 2021).
    """
    return _winner(data + rng.exponential(scale=2.0 / EPSILON, size=(lanes, QUERIES)))


@claimed(data=ANSWERS, unit=UNIT)
def laplace_value(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """ReportNoisyMax3: the largest q_i + Lap(2/ε) itself in place of its index.

    The maximum is below t if all five are, and each of the five pays ε/2: 5ε/2 for t below all counts.
    """
    return _largest(data + rng.laplace(scale=2.0 / EPSILON, size=(lanes, QUERIES)))


@claimed(data=ANSWERS, unit=UNIT)
def exponential_value(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """ReportNoisyMax4: the largest q_i + Exp(2/ε) itself in place of its index.

    The noise is positive, so a maximum below the largest count is impossible: infinite, on the event of mass
    (1 - e^(-ε/2))^5 = 2.8e-7 that all five noises are below 1. Just above it the ratio is large, not infinite.
    """
    return _largest(data + rng.exponential(scale=2.0 / EPSILON, size=(lanes, QUERIES)))


# --- exact probabilities -------------------------------------------------------------------------

_Law = Callable[[FloatArray], FloatArray]


def _exponential_density(x: FloatArray) -> FloatArray:
    return np.where(x >= 0.0, np.exp(-np.maximum(x, 0.0)), 0.0)


def index_law(counts: Sequence[float], density: _Law, cdf: _Law, scale: float) -> FloatArray:
    """P(index i wins) = ∫ f(x - q_i) Π_{j≠i} F(x - q_j) dx, noise of law (f, F) times `scale`; shape (counts,)."""
    q = np.asarray(counts, dtype=np.float64)
    lower, upper = q.min() - TAIL * scale, q.max() + TAIL * scale
    x, w = quadrature(q, lower, upper, scale)
    below = cdf((x - q[:, None]) / scale)
    laws = []
    for i in range(len(q)):
        others = np.prod(np.delete(below, i, axis=0), axis=0)
        laws.append(float(np.sum(w * density((x - q[i]) / scale) / scale * others)))
    return np.array(laws)


def laplace_index_law(counts: Sequence[float], scale: float = 2.0 / EPSILON) -> FloatArray:
    """Law of ReportNoisyMax1's index."""
    return index_law(counts, laplace_density, laplace_cdf, scale)


def exponential_index_law(counts: Sequence[float], scale: float = 2.0 / EPSILON) -> FloatArray:
    """Law of ReportNoisyMax2's index."""
    return index_law(counts, _exponential_density, exponential_cdf, scale)


def _index_masses(
    law: Callable[[Sequence[float]], FloatArray], data: FloatArray, other: FloatArray
) -> Masses:
    return by_likelihood_ratio(law(data.tolist()), law(other.tolist()))


def _value_masses(cdf: _Law) -> Masses:
    scale = 2.0 / EPSILON
    grid = np.concatenate([np.geomspace(1e-3, 1.0, 200), np.linspace(1.0, 400.0, 8001)]) - 200.0 * (
        cdf is laplace_cdf
    )
    return half_lines(lambda t: cdf(t / scale) ** QUERIES, lambda t: cdf((t - 1.0) / scale) ** QUERIES, grid)


_SOURCE = "Ding, Wang, Wang, Zhang, Kifer 2018, Detecting violations of differential privacy, Alg."
_ZEROS, _ONES = np.zeros(QUERIES), np.ones(QUERIES)
_BEHIND = np.array([-4.0, 9.0, 9.0, 9.0, 9.0])
_FURTHER_BEHIND = np.array([-5.0, 10.0, 10.0, 10.0, 10.0])
_SECOND = np.array([2.0, 9.0, -10.0, -10.0, -10.0])
_FAR_SECOND = np.array([1.0, 10.0, -9.0, -9.0, -9.0])
_LOW = "the reported maximum is at most t"

SPECIMENS = (
    Specimen(
        "noisy-max-1",
        laplace_index,
        EPSILON,
        0.0996441,
        True,
        f"{_SOURCE} 5 (ReportNoisyMax1)",
        "the winner's loss is below ε, and nears it the further behind it was; counts in [-10, 10] allow 0.996 ε",
        Oracle(
            _BEHIND,
            _FURTHER_BEHIND,
            "the first count wins",
            lambda: _index_masses(laplace_index_law, _BEHIND, _FURTHER_BEHIND),
        ),
    ),
    Specimen(
        "noisy-max-2",
        exponential_index,
        EPSILON,
        EPSILON,
        True,
        f"{_SOURCE} 6 (ReportNoisyMax2)",
        "the exponential law has no memory: a count that is not ahead wins with e^-ε times the probability",
        Oracle(
            _SECOND,
            _FAR_SECOND,
            "the first count wins",
            lambda: _index_masses(exponential_index_law, _SECOND, _FAR_SECOND),
        ),
    ),
    Specimen(
        "noisy-max-3",
        laplace_value,
        EPSILON,
        QUERIES * EPSILON / 2,
        False,
        f"{_SOURCE} 7 (ReportNoisyMax3)",
        "the value is released, not the index: five noises of ε/2 each are seen at once",
        Oracle(_ZEROS, _ONES, _LOW, lambda: _value_masses(laplace_cdf)),
    ),
    Specimen(
        "noisy-max-4",
        exponential_value,
        EPSILON,
        math.inf,
        False,
        f"{_SOURCE} 8 (ReportNoisyMax4)",
        "positive noise: a maximum below the largest count is impossible",
        Oracle(_ZEROS, _ONES, _LOW, lambda: _value_masses(exponential_cdf)),
    ),
)
