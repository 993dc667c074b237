"""A local randomizer of a direction: the hemisphere mechanism, whose message is a vector."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Categories
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import AnyTwo
from verify.zoo.oracle import Masses, Oracle, by_likelihood_ratio
from verify.zoo.specimen import Specimen

EPSILON = 1.0
SIZE = 5
DIRECTION = AnyTwo(Categories(2 * SIZE))
_UNIT = "one user's direction, one of the ten along the axes"

LIKELY = math.exp(EPSILON) / (math.exp(EPSILON) + 1)


def direction(category: int) -> FloatArray:
    """The unit vector along axis category // 2, negative for odd categories; shape (5,)."""
    axis: FloatArray = np.eye(SIZE)[category // 2]
    return -axis if category % 2 else axis


@claimed(data=DIRECTION, model="local", unit=_UNIT)
def hemisphere(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """A uniform point of the hemisphere around the direction with e^ε / (e^ε + 1), else of the other. Correct."""
    point = rng.standard_normal((lanes, SIZE))
    point /= np.linalg.norm(point, axis=1, keepdims=True)
    side = np.where(rng.random(lanes) < LIKELY, 1.0, -1.0)
    mirrored: FloatArray = point * (side * np.sign(point @ direction(data)))[:, None]
    return mirrored


def _masses() -> Masses:
    return by_likelihood_ratio(np.array([LIKELY, 1 - LIKELY]), np.array([1 - LIKELY, LIKELY]))


_SOURCE = (
    "Duchi, Jordan, Wainwright 2018, Minimax optimal procedures for locally private estimation, section 4.2"
)

SPECIMENS = (
    Specimen(
        "hemisphere",
        hemisphere,
        EPSILON,
        EPSILON,
        True,
        _SOURCE,
        "the density takes two values in the ratio e^ε, exchanged by the opposite direction",
        Oracle(np.array(0), np.array(1), "the first coordinate is positive", _masses),
    ),
)
