"""The Laplace mechanism: correct, with the wrong scale, and in floating point, where only its ideal form is private."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_DWORK = "Dwork, McSherry, Nissim, Smith 2006, Calibrating noise to sensitivity, Prop. 1"
_MIRONOV = "Mironov 2012, On significance of the least significant bits for differential privacy"

EPSILON = 0.1
FLOAT_EPSILON = 1.0
PARALLEL = 20
BOUND = 100.0
CLAMP = 10.0
COUNT = Within(Interval(-10, 10), linf=1)
POSITIVE_COUNT = Within(Interval(0, CLAMP), linf=1)
VECTOR = Within(Box(-10, 10, 5), linf=1)
_RECORD = "one individual, who moves the answer by at most 1"


_on_count = partial(specimen, epsilon=EPSILON, make=claimed(data=COUNT, comment=_RECORD))


@_on_count(
    "laplace",
    source=_DWORK,
    why="the density changes by the factor e^(|move| / scale), and |move| / scale = ε",
)
def _laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism for one query of sensitivity 1: q + Lap(1/ε). Correct."""
    return data + rng.laplace(scale=1.0 / EPSILON, size=lanes)


@_on_count(
    "laplace-half-noise",
    true_epsilon=2 * EPSILON,
    source=f"{_DWORK}, with half the scale",
    why="the scale is half of what ε needs, so the loss is 2ε on the half-lines beside the data",
)
def _half_noise(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism with scale 1/(2ε): half the noise, so twice the loss, 2ε, on either side of the data."""
    return data + rng.laplace(scale=1.0 / (2.0 * EPSILON), size=lanes)


@_on_count(
    "laplace-parallel",
    source="DP-Sniper (Bichsel, Steffen, Bogunovic, Vechev, S&P 2021), LaplaceParallel",
    why="twenty releases of ε/20 compose to ε, reached where all twenty lie below both answers",
)
def _parallel(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Twenty answers to one query with ε/20 each (DP-Sniper's LaplaceParallel). Correct by composition.

    The loss is ε only where all twenty noises fall on one side, an event of mass 2^-20: hard to see.
    """
    return data + rng.laplace(scale=PARALLEL / EPSILON, size=(lanes, PARALLEL))


@specimen(
    "laplace-unclipped",
    epsilon=EPSILON,
    true_epsilon=4 * EPSILON,
    source="a mistake of practice: clipping the output in place of the input",
    why="the noise is scaled to the clipping window of width 1/4, but the unclipped query moves by 1 = 4 windows",
)
@claimed(data=COUNT, comment="one individual, whose value moves the answer by up to 1")
def _unclipped(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Clips after the noise instead of before: clip(q + Lap(w/ε), -w/2, w/2) with w = 1/4 and q unclipped.

    The noise fits queries clipped to a window of width w = 1/4. Unclipped ones move by 1 = 4w, and clipping the
    output is post-processing: 4ε.
    """
    noisy = data + rng.laplace(scale=0.25 / EPSILON, size=lanes)
    return np.clip(noisy, -0.125, 0.125)


@specimen(
    "laplace-per-coordinate",
    epsilon=EPSILON,
    true_epsilon=5 * EPSILON,
    source=f"{_DWORK}, with the L∞ for the L1 sensitivity",
    why="all five answers move by 1 at once, and independent noises' losses add: 5ε",
)
@claimed(data=VECTOR, comment="one individual, who moves each of five answers by at most 1")
def _per_coordinate(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Adds Lap(1/ε) to each of five answers, all of which one individual moves: L∞ taken for L1 sensitivity.

    The sensitivity that counts is the L1 distance, 5; the loss is 5ε where every answer lies below both.
    """
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, 5))


# --- on a computer ---

SNAPPING_SCALE = (1.0 + BOUND * 2.0**-49) / EPSILON
LATTICE = 2.0 ** math.ceil(math.log2(SNAPPING_SCALE))


@_on_count(
    "snapping",
    true_epsilon=1.0 / SNAPPING_SCALE,
    source=f"{_MIRONOV}, Thm 1, parameters of DP-Sniper's LaplaceFixed",
    why="a function of Laplace noise of scale (1 + 2^-49 B) / ε, on a lattice coarser than the scale",
)
def _snapping(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Snapping mechanism (Mironov 2012): clamp(round to a power of two Λ ≥ λ (clamp(q) + λ S ln U)). Correct.

    Λ is coarser than anything that the floating-point noise could reveal.
    """
    sign = 1.0 - 2.0 * rng.integers(0, 2, size=lanes)
    noisy = np.clip(data, -BOUND, BOUND) + SNAPPING_SCALE * sign * np.log1p(-rng.random(lanes))
    return np.asarray(np.clip(LATTICE * np.round(noisy / LATTICE), -BOUND, BOUND), dtype=np.float64)


@_on_count(
    "laplace-rounded",
    source="post-processing of the Laplace mechanism",
    why="rounding is post-processing; half-lines that end between lattice points attain ε",
)
def _rounded(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism, then rounding to a whole number. Correct, and nothing of the floating point is left."""
    return np.round(data + rng.laplace(scale=1.0 / EPSILON, size=lanes))


@specimen(
    "laplace-clamped",
    epsilon=EPSILON,
    source="post-processing of the Laplace mechanism",
    why="clamping is post-processing; the atom at 0 attains ε",
)
@claimed(data=POSITIVE_COUNT, comment=_RECORD)
def _clamped(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism, then clamping to [0, 10]: post-processing, with an atom at each end. Correct."""
    return np.clip(data + rng.laplace(scale=1.0 / EPSILON, size=lanes), 0.0, CLAMP)


@_on_count(
    "float-laplace",
    epsilon=FLOAT_EPSILON,
    source=_MIRONOV,
    why="ε in real arithmetic; in double precision some outputs of one answer are impossible for its neighbour",
    floating_point=True,
)
def _float_laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """The textbook's q + Lap(1/ε) in double precision. Correct in real arithmetic, infinite in floating point.

    0 + noise has as many digits after the point as the noise; 1 + noise is rounded to a multiple of 2^-53. So an
    output below ½ in size that is no multiple of 2^-53 shows that the answer was not 1. (All noise in this zoo that
    is neither snapped nor rounded shares the flaw; this specimen is about it.)
    """
    return data + rng.laplace(scale=1.0 / FLOAT_EPSILON, size=lanes)
