"""Confidence radii and indices that several learners share."""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray


def ratio_or_infinity(numerator: FloatArray | float, count: FloatArray) -> FloatArray:
    """Return ``numerator / count``, and +inf where nothing has been counted yet."""
    result = np.full(count.shape, np.inf)
    np.divide(numerator, count, out=result, where=count > 0)
    return result


def ucb1_radius(weight: float | FloatArray, count: FloatArray) -> FloatArray:
    """Return ``sqrt(weight / count)``, and +inf where the count is 0."""
    radius: FloatArray = np.sqrt(ratio_or_infinity(weight, count))
    return radius
