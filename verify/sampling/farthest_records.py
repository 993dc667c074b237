"""Records with images far apart under a transformation, for lower bounds and tests of the mechanism after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms import Categories, Sensitivity, Transformed
from mechanisms.numerics.rounding import down
from mechanisms.transformations.transformation import parts_of

_MOST_CATEGORIES = 64  # with results to compare
_MOST_COORDINATES = 8  # that differ alone
_MOST_NUMBERS = 8  # of each parameter of a transformation
_FAR = 1e6  # beyond the bounds of most clipping


@dataclass(frozen=True)
class FarRecords:
    """The results of a transformation on two records, and their distance, rounded down."""

    record: Any
    other: Any
    start: npt.NDArray[Any]
    end: npt.NDArray[Any]
    moved: Sensitivity


def farthest_records(mechanism: Transformed) -> list[FarRecords]:
    """Return the two pairs of tried records with the results that are furthest apart: in L1, and in L2."""
    assert mechanism.takes is not None
    records = _records_of(mechanism)
    given = records[..., np.newaxis] if mechanism.takes.shape == () else records
    results = np.array(mechanism.transformation.apply(given)).reshape(len(records), -1)
    if isinstance(mechanism.results, Categories):
        other = int(np.argmax(results[:, 0] != results[0, 0]))
        apart = 1.0 if results[other, 0] != results[0, 0] else 0.0
        places = {(0, other): Sensitivity(apart, apart, apart)}
    else:
        numbers = results.astype(np.float64)
        between = numbers[:, np.newaxis] - numbers
        norms = np.abs(between).sum(axis=-1), np.square(between).sum(axis=-1)
        found = [tuple(map(int, np.unravel_index(np.argmax(norm), norm.shape))) for norm in norms]
        places = {(i, j): _distance(numbers[i], numbers[j]) for i, j in dict.fromkeys(found)}
    return [
        FarRecords(records[i].tolist(), records[j].tolist(), results[i], results[j], moved)
        for (i, j), moved in places.items()
    ]


def _records_of(mechanism: Transformed) -> npt.NDArray[Any]:
    """Return records to try: every category; or numbers, the transformation's own and large ones among them."""
    takes = mechanism.takes
    if isinstance(takes, Categories):
        return np.arange(min(takes.size, _MOST_CATEGORIES))
    assert takes is not None
    held = [np.ravel(each) for part in parts_of(mechanism.transformation) for each in vars(part).values()]
    own = [each[np.isfinite(each)][:_MOST_NUMBERS] for each in held if each.dtype.kind in "if"]
    numbers = np.unique(np.concatenate([[-_FAR, -1.0, 0.0, 0.5, 1.0, _FAR], *own, *(-each for each in own)]))
    if takes.shape == ():
        return numbers
    size = takes.shape[0]
    single = np.eye(size)[:_MOST_COORDINATES]
    spread = [np.full((1, size), number) for number in numbers]
    return np.concatenate([*spread, *(number * single for number in (-_FAR, 0.75, 1.0, _FAR))])


def _distance(start: npt.NDArray[np.float64], end: npt.NDArray[np.float64]) -> Sensitivity:
    """Return the distance of two vectors of floats, every norm rounded down."""
    exact = [abs(Fraction(x) - Fraction(y)) for x, y in zip(start.tolist(), end.tolist(), strict=True)]
    l1, largest = down(sum(exact, Fraction(0))), down(max(exact))
    if sum(each > 0 for each in exact) < 2:
        return Sensitivity(l1, l1, l1)
    square = sum((each * each for each in exact), Fraction(0))
    l2 = math.sqrt(down(square))
    while Fraction(l2) ** 2 > square:
        l2 = math.nextafter(l2, 0.0)
    return Sensitivity(l1, l2, largest)
