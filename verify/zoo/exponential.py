"""The exponential mechanism, right and with the utility's sensitivity misread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.oracle import Oracle, by_likelihood_ratio
from verify.zoo.specimen import Specimen

EPSILON = 1.0
OPTIONS = 5
UTILITIES = Within(Box(-10, 10, OPTIONS), linf=1)
_UNIT = "one individual, who moves the utility of each of five options by at most 1"


def selection_law(utilities: Sequence[float] | FloatArray, rate: float) -> FloatArray:
    """P(option i) ∝ e^(rate · u_i), shape (options,)."""
    weights = np.exp(rate * (np.asarray(utilities, dtype=np.float64) - np.max(utilities)))
    return np.asarray(weights / weights.sum())


def _select(utilities: FloatArray, rate: float, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    cumulative = np.cumsum(selection_law(utilities, rate))
    return np.minimum(np.searchsorted(cumulative, rng.random(lanes), side="right"), OPTIONS - 1)


@claimed(data=UTILITIES, unit=_UNIT)
def exponential(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    """Exponential mechanism: P(i) ∝ e^(ε u_i / 2). Correct: ε/2 for the numerator, ε/2 for the normalisation."""
    return _select(data, EPSILON / 2.0, rng, lanes)


@claimed(data=UTILITIES, unit=_UNIT)
def missing_half(data: FloatArray, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.intp]:
    """Exponential mechanism with P(i) ∝ e^(ε u_i): right for utilities that all move one way, else 2ε.

    The factor 1/2 was dropped although an individual may raise one utility and lower the others.
    """
    return _select(data, EPSILON, rng, lanes)


_SOURCE = "McSherry, Talwar 2007, Mechanism design via differential privacy, Thm 6"
_UP = np.array([-3.0, 0.0, 0.0, 0.0, 0.0])
_DOWN = np.array([-4.0, 1.0, 1.0, 1.0, 1.0])
_FAR_UP = np.array([-5.5, 0.0, 0.0, 0.0, 0.0])
_FAR_DOWN = np.array([-6.5, 1.0, 1.0, 1.0, 1.0])


def _oracle(data: FloatArray, other: FloatArray, rate: float) -> Oracle:
    return Oracle(
        data,
        other,
        "the first option is chosen",
        lambda: by_likelihood_ratio(selection_law(data, rate), selection_law(other, rate)),
    )


SPECIMENS = (
    Specimen(
        "exponential",
        exponential,
        EPSILON,
        0.9999805,
        True,
        _SOURCE,
        "ε/2 from the option's own weight and ε/2 from the sum of weights, almost attained by one far behind",
        _oracle(_FAR_UP, _FAR_DOWN, EPSILON / 2.0),
    ),
    Specimen(
        "exponential-missing-half",
        missing_half,
        EPSILON,
        1.9999999968,
        False,
        f"{_SOURCE}, without the factor 1/2",
        "weight and normalisation move by ε each when one utility rises and the others fall",
        _oracle(_UP, _DOWN, EPSILON),
    ),
)
