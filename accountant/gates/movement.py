"""Movements of released values between neighbouring data sets, and their check against the sensitivity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.place import Place
from accountant.refusals import RoundingExceeded
from mechanisms import Sensitivity
from mechanisms.numerics.rounding import add_up

ROUNDING_SHARE = 1e-6
"""The most that floating point may add to the movement that a mechanism is calibrated for, as a share of it.

A record then loses more than it is charged by at most about this share. Sums of values as they were let in, or as
transformations gave them, are exact and add nothing: the share is for values that are scaled in between.
"""
_SLACK = 1 + 1e-9  # sums of floats on both sides


def distance(
    values: npt.NDArray[Any], origin: npt.NDArray[Any], *, categorical: bool
) -> npt.NDArray[np.float64]:
    """Return how far each coordinate is from `origin`'s: 0 or 1 between category names."""
    if categorical:
        moved: npt.NDArray[np.bool_] = np.not_equal(values, origin)
        return moved.astype(np.float64)
    apart: npt.NDArray[np.float64] = np.abs(np.subtract(values, origin, dtype=np.float64))
    return apart


def excess(moved: npt.NDArray[np.float64], limit: Sensitivity) -> tuple[npt.NDArray[np.bool_], str]:
    """Find the movements that no record should make.

    Parameters
    ----------
    moved
        Distances, shape (..., n).
    limit
        The sensitivity that the mechanism is calibrated for.

    Returns
    -------
    tuple
        A mask, shape (...), of the movements that exceed the first norm that is exceeded, and the excess in words.
    """
    l1 = moved.sum(axis=-1)
    broken = l1 > limit.l1 * _SLACK
    if broken.any():
        return broken, f"{l1.max():g} in L1 norm, more than the {limit.l1:g}"
    largest = moved.max(axis=-1, initial=0.0)
    broken = largest > limit.linf * _SLACK
    if broken.any():
        return broken, f"{largest.max():g} in one coordinate, more than the {limit.linf:g}"
    l2 = np.sqrt((moved * moved).sum(axis=-1))
    return l2 > limit.l2 * _SLACK, f"{l2.max(initial=0.0):g} in L2 norm, more than the {limit.l2:g}"


def with_rounding(moved: Sensitivity, further: float, calibrated: Sensitivity, place: Place) -> Sensitivity:
    """Return the sensitivity that a record is charged for when floating point may move it further.

    Where the mechanism is calibrated for the whole movement, it is that, hence an upper bound. Else it is the
    mechanism's own sensitivity, which the movement exceeds by `ROUNDING_SHARE` at most.

    Parameters
    ----------
    moved
        The movement of the value by the record in exact arithmetic.
    further
        The further movement of the computed value in L1 norm, hence in every norm.
    calibrated
        The mechanism's.
    place
        The line of the release.

    Raises
    ------
    RoundingExceeded
        If the computed value may move further than that.
    """
    in_all = Sensitivity(*(add_up(norm, further) for norm in (moved.l1, moved.l2, moved.linf)))
    if calibrated.covers(in_all) or not calibrated.covers(moved):  # the latter is refused anyway
        return in_all
    if not further <= ROUNDING_SHARE * calibrated.linf:
        raise RoundingExceeded(
            f"rounding could move the value by {further:g} more than the {calibrated.linf:g} that its mechanism is "
            "calibrated for: keep the numbers that are added to it small (a large public number that is added and "
            "taken away again cuts off digits)",
            place,
        )
    return Sensitivity(
        *map(min, (in_all.l1, in_all.l2, in_all.linf), (calibrated.l1, calibrated.l2, calibrated.linf))
    )
