"""Linear relations that the columns of a view satisfy without any noise: a total that is the sum of its parts.

The combination is then known exactly, however much noise each column has by itself. Such relations are the directions
in which the draws of one world do not spread at all; a singular value decomposition finds them. They show
11.3 of weighted-total-kept (without them 7.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.event import Near
from verify.events.families import EventFamily, counted_family
from verify.events.readings import Combination
from verify.events.view_sample import WorldSamples

MOST_COLUMNS = 64
"""Columns up to which relations are looked for."""

_ROWS = 256  # draws from which relations are found: at least four for each column
_CHECKED = 4096  # draws on which relations are compared
_NOTHING = 1e-9  # a spread, relative to the largest, that is that of rounding
_WORTH = 0.01  # share of these draws by which a mix has to fail more often than a short relation
_LARGEST_WEIGHT = 1000  # whole numbers up to which weights are taken to be whole
_UNITS = 12  # fractions of the smallest weight that may be the unit of whole numbers
_DOUBLE = 2.0**-40  # rounding of a few sums, relative to the size of values
_SINGLE = 2.0**-20  # the same in single precision


@dataclass(frozen=True, slots=True)
class _Relation:
    """Weights, and the weighted sum in one world, to within a tolerance."""

    weights: FloatArray
    centre: float
    tolerance: float


def relation_families(fit: WorldSamples, choose: WorldSamples) -> Iterator[EventFamily]:
    """That a linear relation among measurements holds with the value that it has in one world, and that it does not.

    Relations are found on the first draws of one world; the one that most often fails in the other world is counted,
    on the draws that follow. Where both worlds satisfy the same relations with the same values, nothing is counted.
    """
    columns = [column for column in fit[0].columns if column.kind == "real"]
    if not 2 <= len(columns) <= MOST_COLUMNS:
        return
    at = fit[0].places_of(columns)
    bases = [_null_directions(world.values[: max(2 * _ROWS, 8 * len(columns)), at]) for world in fit]
    if not any(bases):
        return
    heads = [_finite(world.values[:_CHECKED, at]) for world in fit]
    for basis, own, other in zip(bases, heads, heads[::-1], strict=True):
        for relation in _telling_relations(basis, own, other):
            places = np.flatnonzero(relation.weights)
            weights = tuple(relation.weights[places].tolist())
            reading = Combination(tuple(columns[i] for i in places.tolist()), weights)
            near = Near(reading, relation.centre, relation.tolerance)
            # The draws on which it was not laid out.
            yield counted_family(
                (near, replace(near, complement=True)), (fit[0].rows(_CHECKED), fit[1].rows(_CHECKED)), choose
            )


def _telling_relations(basis: Sequence[FloatArray], own: FloatArray, other: FloatArray) -> list[_Relation]:
    """Return the relation of one world that fails most often in the other, and a mix of all if that fails more often.

    In a mix hardly anything cancels: it fails wherever any of the relations does.
    """
    if not basis or not len(other):
        return []
    unit = max(_unit(own), _unit(other))
    size = np.maximum(np.abs(own).max(axis=0), np.abs(other).max(axis=0))

    def checked(weights: FloatArray) -> tuple[float, _Relation]:
        """Return the excess share of failures in the other world, and the relation with these weights."""
        values, tolerance = own @ weights, unit * float(np.sum(np.abs(weights) * size))
        centre = _tidy_number(float(np.median(values)), tolerance)
        there, here = (np.mean(np.abs(v - centre) > tolerance) for v in (other @ weights, values))
        return float(there - here), _Relation(weights, centre, tolerance)

    each = [checked(weights) for weights in basis]
    best, shown = max(each, key=lambda found: (round(found[0], 2), -np.count_nonzero(found[1].weights)))
    if best <= 0.0:
        return []
    mixed = np.sum([np.cos(k) / np.abs(w * size).max() * w for k, w in enumerate(basis, start=1)], axis=0)
    more, mix = checked(mixed / np.abs(mixed).max())
    return [shown, mix] if more > best + _WORTH else [shown]


def _null_directions(values: FloatArray) -> list[FloatArray]:
    """Return weights w for which w·x is the same for all rows x, to rounding: whole numbers, or 1 the largest.

    Columns that are constant are left out; as many weights are 0 as can be.

    Parameters
    ----------
    values
        Shape (n, columns). Rows with NaN or infinity are passed over, and so are those beyond the first few.
    """
    columns = values.shape[1]
    rows = _finite(values)[: max(_ROWS, 4 * columns)]
    if not 2 <= columns <= MOST_COLUMNS or len(rows) < 4 * columns:
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        centred = rows - rows.mean(axis=0)
        spread = np.abs(centred).max(axis=0)
    size = np.abs(rows).max(axis=0)
    unit = _unit(rows)
    varied = np.flatnonzero(spread > unit * size)
    if varied.size < 2 or not np.isfinite(spread).all():
        return []
    scaled = centred[:, varied] / spread[varied]
    nothing = max(_NOTHING, unit * float((size[varied] / spread[varied]).max()))
    if not _may_be_singular(scaled, nothing):
        return []
    _, singular, directions = np.linalg.svd(scaled, full_matrices=False)
    null = directions[singular < nothing * singular[0]]
    found = []
    for weights in _echelon(null) / spread[varied]:
        found.append(np.zeros(columns))
        found[-1][varied] = _tidy(weights, 1e3 * unit)
    return found


def _may_be_singular(rows: FloatArray, nothing: float) -> bool:
    """Return True if the smallest singular value is less than `nothing` of the largest; sometimes if it is not.

    Its square, an eigenvalue of the Gram matrix, costs much less and has half the digits.
    """
    squares = np.linalg.eigvalsh(rows.T @ rows)
    return bool(squares[0] < max(1e-10, nothing**2) * squares[-1])


def _finite(values: FloatArray) -> FloatArray:
    """Return the rows without NaN and infinity."""
    return np.asarray(values[np.isfinite(values).all(axis=1)])


def _unit(values: FloatArray) -> float:
    """Return a bound on the rounding of sums, relative to the size of values."""
    with np.errstate(over="ignore"):
        single = np.array_equal(values, values.astype(np.float32))
    return _SINGLE if single and not np.array_equal(values, np.rint(values)) else _DOUBLE


def _echelon(basis: FloatArray) -> FloatArray:
    """Return a basis of the same space, each vector of which has a coordinate that is 1 there and 0 in the others.

    These coordinates follow from the space alone, whichever orthonormal basis of it is given: the pivots of its
    projector, the largest first, and the first of those that are equal.
    """
    left = basis.T @ basis
    pivots: list[int] = []
    for _ in range(len(basis)):
        pivots.append(int(np.argmax(np.round(np.diag(left), 9))))
        row = left[pivots[-1]]
        left = left - np.outer(row, row) / row[pivots[-1]]
    reduced: FloatArray = np.linalg.solve(basis[:, pivots], basis).astype(np.float64)
    reduced[np.abs(reduced) < 1e-7] = 0.0
    return reduced


def _tidy(weights: FloatArray, within: float) -> FloatArray:
    """Return a multiple with whole numbers as weights, if they nearly are; else one with 1 as the largest weight.

    The first weight is positive.
    """
    weights = weights * np.sign(weights[np.flatnonzero(weights)[0]])
    used = np.abs(weights[weights != 0.0])
    for parts in range(1, _UNITS + 1):
        scaled = weights * (parts / used.min())
        whole = np.round(scaled)
        if np.abs(whole).max() <= _LARGEST_WEIGHT and np.abs(scaled - whole).max() <= within:
            return np.asarray(whole + 0.0)
    return np.asarray(weights / used.max())


def _tidy_number(number: float, tolerance: float) -> float:
    """1 rather than 0.99999999999999989, where both lie well within the tolerance."""
    tidy = round(number, 9)
    return (tidy if abs(tidy - number) <= 0.1 * tolerance else number) + 0.0
