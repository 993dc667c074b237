"""How far a released value moves between neighbouring data sets, and whether that was declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms import Sensitivity

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
        What the mechanism is calibrated for.

    Returns
    -------
    tuple
        Where the first norm that is exceeded is exceeded, shape (...), and by what, in words.
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
