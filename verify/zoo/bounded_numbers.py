"""Local randomizers of one number in [-1, 1]: Duchi's two points and the piecewise mechanism."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import AnyTwo
from verify.zoo.oracle import Masses, Oracle, by_likelihood_ratio
from verify.zoo.specimen import Specimen

EPSILON = 1.0
NUMBER = AnyTwo(Interval(-1, 1))
_UNIT = "one user's number"

HALF = math.exp(EPSILON / 2)
WIDTH = (HALF + 1) / (HALF - 1)  # C: outputs lie in [-C, C]


@claimed(data=NUMBER, model="local", unit=_UNIT)
def duchi(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Duchi, Jordan and Wainwright's mechanism: ±(e^ε + 1)/(e^ε - 1), + with probability ½ + x (e^ε - 1)/(2(e^ε + 1)).

    Correct: the two probabilities at x = ±1 are e^ε / (e^ε + 1) and 1 / (e^ε + 1).
    """
    slope = math.tanh(EPSILON / 2)
    return np.where(rng.random(lanes) < 0.5 + 0.5 * slope * data, 1.0, -1.0) / slope


def _window(value: float) -> float:
    """Left end l(x) of the likely window, of width C - 1."""
    return (WIDTH + 1) / 2 * value - (WIDTH - 1) / 2


@claimed(data=NUMBER, model="local", unit=_UNIT)
def piecewise(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Piecewise mechanism: uniform on a window [l(x), l(x) + C - 1] with e^(ε/2) / (e^(ε/2) + 1), else outside it.

    Correct: the density in the window is e^ε times the density outside.
    """
    left = _window(data)
    inside = left + (WIDTH - 1) * rng.random(lanes)
    outside = -WIDTH + (WIDTH + 1) * rng.random(lanes)
    outside = np.where(outside < left, outside, outside + (WIDTH - 1))
    return np.where(rng.random(lanes) < HALF / (HALF + 1), inside, outside)


def _piecewise_masses() -> Masses:
    # The windows of x = -1 and x = 1 are the two ends of [-C, C] and do not meet; the middle has width 2.
    likely = HALF / (HALF + 1)
    end = (1 - likely) * (WIDTH - 1) / (WIDTH + 1)
    middle = 1 - likely - end
    return by_likelihood_ratio(np.array([likely, middle, end]), np.array([end, middle, likely]))


def _duchi_masses() -> Masses:
    likely = math.exp(EPSILON) / (math.exp(EPSILON) + 1)
    return by_likelihood_ratio(np.array([likely, 1 - likely]), np.array([1 - likely, likely]))


SPECIMENS = (
    Specimen(
        "duchi",
        duchi,
        EPSILON,
        EPSILON,
        True,
        "Duchi, Jordan, Wainwright 2018, Minimax optimal procedures for locally private estimation",
        "the two outputs' probabilities at x = 1 are those at x = -1 exchanged, in the ratio e^ε",
        Oracle(np.array(1.0), np.array(-1.0), "the output is the positive one", _duchi_masses),
    ),
    Specimen(
        "piecewise",
        piecewise,
        EPSILON,
        EPSILON,
        True,
        "Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, Collecting and analyzing multidimensional data, Alg. 2",
        "the density takes two values, in the ratio e^ε",
        Oracle(np.array(-1.0), np.array(1.0), "the output is in the window of -1", _piecewise_masses),
    ),
)
