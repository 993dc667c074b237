"""The Gaussian mechanism: exact calibration, the classical formula inside and outside its range, wrong inputs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mechanisms import Box, GaussianProfile, Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_BALLE = "Balle, Wang 2018, Improving the Gaussian mechanism for differential privacy"
_DWORK = "Dwork, Roth 2014, The algorithmic foundations of differential privacy, Thm 3.22"

EPSILON, DELTA = 1.0, 0.01
CLASSIC = 0.9, 0.01
LARGE = 8.0, 0.2
TIGHT = 1.0, 0.001
VARIANCE = 4.0, 0.01
COORDINATES = 4
COUNT = Within(Interval(-10, 10), linf=1)
VECTOR = Within(Box(-10, 10, COORDINATES), linf=1)
_RECORD = "one individual, who moves the answer by at most 1"


def _classic_sigma(epsilon: float, delta: float) -> float:
    """σ = √(2 ln(1.25/δ)) / ε, proved for ε ≤ 1 only (Dwork and Roth 2014, Thm 3.22)."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


# The smallest σ that are private by the exact δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), μ = 1/σ (Balle, Wang, Thm 8).
SIGMA = 1.8778755609073876  # at (EPSILON, DELTA)
VARIANCE_SIGMA = 0.6690413226560559  # at VARIANCE
CLASSIC_SIGMA = _classic_sigma(*CLASSIC)
LARGE_SIGMA = _classic_sigma(*LARGE)
LOOSE_SIGMA = _classic_sigma(1.0, 0.1)


_on_count = partial(specimen, make=claimed(data=COUNT, comment=_RECORD))


@_on_count(
    "gaussian",
    epsilon=EPSILON,
    delta=DELTA,
    true_epsilon=EPSILON,
    source=f"{_BALLE}, Alg. 1",
    why="σ solves δ(ε) = δ exactly",
)
def _gaussian(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism calibrated exactly to (1, 0.01). Correct, and nothing is given away."""
    return data + SIGMA * rng.standard_normal(lanes)


@_on_count(
    "gaussian-classic",
    epsilon=CLASSIC[0],
    delta=CLASSIC[1],
    true_epsilon=GaussianProfile(1.0 / CLASSIC_SIGMA).epsilon(CLASSIC[1]),
    source=_DWORK,
    why="the classical σ is larger than needed for ε ≤ 1",
)
def _classic(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism with the classical σ at (0.9, 0.01). Correct: the formula holds for ε ≤ 1, with room."""
    return data + CLASSIC_SIGMA * rng.standard_normal(lanes)


@_on_count(
    "gaussian-classic-large",
    epsilon=LARGE[0],
    delta=LARGE[1],
    true_epsilon=GaussianProfile(1.0 / LARGE_SIGMA).epsilon(LARGE[1]),
    source=f"{_DWORK}, outside its range; {_BALLE}, section 2.3",
    why="the classical σ is too small for large ε: δ(8) is 0.48, not 0.2",
)
def _classic_large_epsilon(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism with the classical σ at ε = 8, δ = 0.2, beyond the ε ≤ 1 of its proof.

    σ falls as 1/ε, but at large ε privacy needs about 1/√(2ε) (Balle and Wang 2018, section 2.3).
    """
    return data + LARGE_SIGMA * rng.standard_normal(lanes)


@_on_count(
    "gaussian-wrong-delta",
    epsilon=TIGHT[0],
    delta=TIGHT[1],
    true_epsilon=GaussianProfile(1.0 / LOOSE_SIGMA).epsilon(TIGHT[1]),
    source=f"{_DWORK}, with another δ than claimed",
    why="σ was computed for δ = 0.1: δ(1) is 0.0031, not 0.001",
)
def _wrong_delta(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism with σ computed for δ = 0.1 and a claim of δ = 0.001."""
    return data + LOOSE_SIGMA * rng.standard_normal(lanes)


@specimen(
    "gaussian-wrong-sensitivity",
    epsilon=EPSILON,
    delta=DELTA,
    true_epsilon=GaussianProfile(2.0 / SIGMA).epsilon(DELTA),
    source=f"{_BALLE}, with the L∞ for the L2 sensitivity",
    why="four answers move by 1 each: μ is twice what it should be",
)
@claimed(data=VECTOR, comment="one individual, who moves each of four answers by at most 1")
def _wrong_sensitivity(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian noise for sensitivity 1 on four answers that all move: the L2 sensitivity is √4 = 2."""
    return np.asarray(data) + SIGMA * rng.standard_normal((lanes, COORDINATES))


@_on_count(
    "gaussian-variance",
    epsilon=VARIANCE[0],
    delta=VARIANCE[1],
    true_epsilon=GaussianProfile(1.0 / VARIANCE_SIGMA**2).epsilon(VARIANCE[1]),
    source="a mistake of practice: NumPy's scale is the standard deviation",
    why="σ < 1, so the variance is smaller than σ",
)
def _variance_for_scale(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism in which σ² was passed where the standard deviation belongs; σ < 1, so it is too small."""
    return data + VARIANCE_SIGMA**2 * rng.standard_normal(lanes)
