"""Lengths of the epochs of private successive elimination (Sajed & Sheffet 2019, Algorithm 2)."""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray


def epoch_pulls(epoch: FloatArray, arms: FloatArray, *, epsilon: float, horizon: int) -> FloatArray:
    """Return R_e, not rounded, of an epoch with `arms` arms left, at beta = 1 / T.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.round(epoch_pulls(np.array(1.0), np.array(2.0), epsilon=0.01, horizon=100)))
    10696.0
    """
    gap = 2.0**-epoch
    counted = arms * epoch**2 * horizon
    sampling = 32.0 * np.log(8.0 * counted) / gap**2
    privacy = 8.0 * np.log(4.0 * counted) / (epsilon * gap)
    return np.asarray(np.maximum(sampling, privacy) + 1.0)
