"""Laplace noise on a computer: snapped, rounded, clamped (all right), and as it comes (right on paper only)."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.laplace_noise import shifted_laplace
from verify.zoo.laws import laplace_cdf
from verify.zoo.oracle import Masses, Oracle
from verify.zoo.specimen import Specimen

EPSILON = 0.1
FLOAT_EPSILON = 1.0
BOUND = 100.0
CLAMP = 10.0
COUNT = Within(Interval(-10, 10), linf=1)
POSITIVE_COUNT = Within(Interval(0, CLAMP), linf=1)
_UNIT = "one individual, who moves the answer by at most 1"

SNAPPING_SCALE = (1.0 + BOUND * 2.0**-49) / EPSILON
LATTICE = 2.0 ** math.ceil(math.log2(SNAPPING_SCALE))


@claimed(data=COUNT, unit=_UNIT)
def snapping(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Snapping mechanism (Mironov 2012): clamp(round to a power of two Λ ≥ λ (clamp(q) + λ S ln U)). Correct.

    Λ is coarser than anything that the floating-point noise could reveal.
    """
    sign = 1.0 - 2.0 * rng.integers(0, 2, size=lanes)
    noisy = np.clip(data, -BOUND, BOUND) + SNAPPING_SCALE * sign * np.log1p(-rng.random(lanes))
    return np.asarray(np.clip(LATTICE * np.round(noisy / LATTICE), -BOUND, BOUND), dtype=np.float64)


@claimed(data=COUNT, unit=_UNIT)
def rounded(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism, then rounding to a whole number. Correct, and nothing of the floating point is left."""
    return np.round(data + rng.laplace(scale=1.0 / EPSILON, size=lanes))


@claimed(data=POSITIVE_COUNT, unit=_UNIT)
def clamped(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism, then clamping to [0, 10]: post-processing, with an atom at each end. Correct."""
    return np.clip(data + rng.laplace(scale=1.0 / EPSILON, size=lanes), 0.0, CLAMP)


@claimed(data=COUNT, unit=_UNIT)
def float_laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """The textbook's q + Lap(1/ε) in double precision. Correct in real arithmetic, infinite in floating point.

    0 + noise has as many digits after the point as the noise; 1 + noise is rounded to a multiple of 2^-53. So an
    output below ½ in size that is no multiple of 2^-53 shows that the answer was not 1. (All noise in this zoo that
    is neither snapped nor rounded shares the flaw; this specimen is about it.)
    """
    return data + rng.laplace(scale=1.0 / FLOAT_EPSILON, size=lanes)


def snapping_masses(data: float, other: float) -> Masses:
    """Masses of "at most Λ k" for all k, i.e. of noisy values below the rounding edge Λ (k + ½)."""
    edges = LATTICE * (np.arange(-6, 6) + 0.5)
    return laplace_cdf((edges - data) / SNAPPING_SCALE), laplace_cdf((edges - other) / SNAPPING_SCALE)


def _rounded_masses() -> Masses:
    edges = np.arange(-200, 200) + 0.5
    return laplace_cdf((edges - 0.5) * EPSILON), laplace_cdf((edges - 1.5) * EPSILON)


def _clamped_masses() -> Masses:
    grid = np.linspace(0.0, CLAMP, 1001)[:-1]
    return laplace_cdf(grid * EPSILON), laplace_cdf((grid - 1.0) * EPSILON)


_MIRONOV = "Mironov 2012, On significance of the least significant bits for differential privacy"
_LOW = "the output is at most t"

SPECIMENS = (
    Specimen(
        "snapping",
        snapping,
        EPSILON,
        1.0 / SNAPPING_SCALE,
        True,
        f"{_MIRONOV}, Thm 1, parameters of DP-Sniper's LaplaceFixed",
        "a function of Laplace noise of scale (1 + 2^-49 B) / ε, on a lattice coarser than the scale",
        Oracle(np.array(-8.0), np.array(-7.0), _LOW, lambda: snapping_masses(-8.0, -7.0)),
    ),
    Specimen(
        "laplace-rounded",
        rounded,
        EPSILON,
        EPSILON,
        True,
        "post-processing of the Laplace mechanism",
        "rounding is post-processing; half-lines that end between lattice points attain ε",
        Oracle(np.array(0.5), np.array(1.5), _LOW, _rounded_masses),
    ),
    Specimen(
        "laplace-clamped",
        clamped,
        EPSILON,
        EPSILON,
        True,
        "post-processing of the Laplace mechanism",
        "clamping is post-processing; the atom at 0 attains ε",
        Oracle(np.array(0.0), np.array(1.0), _LOW, _clamped_masses),
    ),
    Specimen(
        "float-laplace",
        float_laplace,
        FLOAT_EPSILON,
        FLOAT_EPSILON,
        True,
        _MIRONOV,
        "ε in real arithmetic; in double precision some outputs of one answer are impossible for its neighbour",
        Oracle(np.array(0.0), np.array(1.0), _LOW, lambda: shifted_laplace(1.0 / FLOAT_EPSILON)),
        floating_point=True,
    ),
)
