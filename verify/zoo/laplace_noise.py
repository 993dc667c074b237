"""The Laplace mechanism, right and with the wrong scale."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.laws import laplace_cdf, laplace_cells
from verify.zoo.oracle import Masses, Oracle, half_lines
from verify.zoo.specimen import Specimen

EPSILON = 0.1
PARALLEL = 20
COUNT = Within(Interval(-10, 10), linf=1)
VECTOR = Within(Box(-10, 10, 5), linf=1)
_UNIT = "one individual, who moves the answer by at most 1"
_DWORK = "Dwork, McSherry, Nissim, Smith 2006, Calibrating noise to sensitivity, Prop. 1"


@claimed(data=COUNT, unit=_UNIT)
def laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism for one query of sensitivity 1: q + Lap(1/ε). Correct."""
    return data + rng.laplace(scale=1.0 / EPSILON, size=lanes)


@claimed(data=COUNT, unit=_UNIT)
def half_noise(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Laplace mechanism with scale 1/(2ε): half the noise, so twice the loss, 2ε, on either side of the data."""
    return data + rng.laplace(scale=1.0 / (2.0 * EPSILON), size=lanes)


@claimed(data=COUNT, unit=_UNIT)
def parallel(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Twenty answers to one query with ε/20 each (DP-Sniper's LaplaceParallel). Correct by composition.

    The loss is ε only where all twenty noises fall on one side, an event of mass 2^-20: hard to see.
    """
    return data + rng.laplace(scale=PARALLEL / EPSILON, size=(lanes, PARALLEL))


@claimed(data=COUNT, unit="one individual, whose value moves the answer by up to 1")
def unclipped(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Clips after the noise instead of before: clip(q + Lap(w/ε), -w/2, w/2) with w = 1/4 and q unclipped.

    The noise fits queries clipped to a window of width w = 1/4. Unclipped ones move by 1 = 4w, and clipping the
    output is post-processing: 4ε.
    """
    noisy = data + rng.laplace(scale=0.25 / EPSILON, size=lanes)
    return np.clip(noisy, -0.125, 0.125)


@claimed(data=VECTOR, unit="one individual, who moves each of five answers by at most 1")
def per_coordinate(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Adds Lap(1/ε) to each of five answers, all of which one individual moves: L∞ taken for L1 sensitivity.

    The sensitivity that counts is the L1 distance, 5; the loss is 5ε where every answer lies below both.
    """
    return np.asarray(data) + rng.laplace(scale=1.0 / EPSILON, size=(lanes, 5))


# --- exact probabilities -------------------------------------------------------------------------


def shifted_laplace(scale: float, move: float = 1.0) -> Masses:
    """Masses of "at most t" for Lap(scale) around 0 and around `move`."""
    grid = np.linspace(-12.0 * scale, 12.0 * scale + move, 4001)
    return half_lines(lambda t: laplace_cdf(t / scale), lambda t: laplace_cdf((t - move) / scale), grid)


def laplace_sum(scale: float, copies: int, cells: int = 64) -> Masses:
    """Masses of the best events on `copies` independent Lap(scale), all moved by 1.

    Each copy's loss ln p/q lies in [-1/scale, 1/scale]: 1/scale below both centres (mass ½), -1/scale above both,
    linear between them. Its law is put on a lattice of `cells` steps and convolved with itself.
    """
    edges = np.linspace(0.0, 1.0, cells + 1)
    inner = laplace_cells(edges / scale)
    other_inner = laplace_cells((edges - 1.0) / scale)
    p = np.concatenate([[0.5], inner, [1.0 - 0.5 - inner.sum()]])
    q = np.concatenate([[0.5 * math.exp(-1.0 / scale)], other_inner, [0.5]])
    # Position 2j is the loss of atom j in half cells: the ends are half a cell beyond the first and last midpoint.
    place = np.concatenate([[0], 1 + 2 * np.arange(cells), [2 * cells]])
    one_p, one_q = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    np.add.at(one_p, place, p)
    np.add.at(one_q, place, q)
    total_p, total_q = np.ones(1), np.ones(1)
    for _ in range(copies):
        total_p, total_q = np.convolve(total_p, one_p), np.convolve(total_q, one_q)
    return np.cumsum(total_p), np.cumsum(total_q)


def _clipped() -> Masses:
    # t = -1/8 is the atom "clipped below", on which both answers' laws are tails.
    grid, scale = np.linspace(-0.125, 0.125, 101)[:-1], 0.25 / EPSILON
    return half_lines(
        lambda t: laplace_cdf((t + 0.125) / scale), lambda t: laplace_cdf((t - 0.875) / scale), grid
    )


_ZERO, _ONE = np.array(0.0), np.array(1.0)
_LOW = "the answer is at most t"

SPECIMENS = (
    Specimen(
        "laplace",
        laplace,
        EPSILON,
        EPSILON,
        True,
        _DWORK,
        "the density changes by the factor e^(|move| / scale), and |move| / scale = ε",
        Oracle(_ZERO, _ONE, _LOW, lambda: shifted_laplace(1.0 / EPSILON)),
    ),
    Specimen(
        "laplace-half-noise",
        half_noise,
        EPSILON,
        2 * EPSILON,
        False,
        f"{_DWORK}, with half the scale",
        "the scale is half of what ε needs, so the loss is 2ε on the half-lines beside the data",
        Oracle(_ZERO, _ONE, _LOW, lambda: shifted_laplace(0.5 / EPSILON)),
    ),
    Specimen(
        "laplace-parallel",
        parallel,
        EPSILON,
        EPSILON,
        True,
        "DP-Sniper (Bichsel, Steffen, Bogunovic, Vechev, S&P 2021), LaplaceParallel",
        "twenty releases of ε/20 compose to ε, reached where all twenty lie below both answers",
        Oracle(
            _ZERO,
            _ONE,
            "the sum of the twenty losses is at least t",
            lambda: laplace_sum(PARALLEL / EPSILON, PARALLEL),
        ),
    ),
    Specimen(
        "laplace-unclipped",
        unclipped,
        EPSILON,
        4 * EPSILON,
        False,
        "a mistake of practice: clipping the output in place of the input",
        "the noise is scaled to the clipping window of width 1/4, but the unclipped query moves by 1 = 4 windows",
        Oracle(np.array(-0.125), np.array(0.875), "the output is at most t", _clipped),
    ),
    Specimen(
        "laplace-per-coordinate",
        per_coordinate,
        EPSILON,
        5 * EPSILON,
        False,
        f"{_DWORK}, with the L∞ for the L1 sensitivity",
        "all five answers move by 1 at once, and independent noises' losses add: 5ε",
        Oracle(
            np.zeros(5),
            np.ones(5),
            "the sum of the five losses is at least t",
            lambda: laplace_sum(1.0 / EPSILON, 5),
        ),
    ),
)
