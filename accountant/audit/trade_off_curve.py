"""The trade-off curve that a privacy profile allows."""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray


def trade_off(grid: FloatArray, delta: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the least false-negative rate at each false-positive rate that the profile allows.

    f(α) = max over ε of max(1 - δ - e^ε α, e^{-ε} (1 - δ - α), 0) (Dong, Roth & Su 2022, Prop. 2.12).
    """
    odds = np.exp(np.minimum(grid, 700.0))[:, None]
    keep = 1.0 - delta[:, None]
    lines = np.maximum(keep - odds * alpha, (keep - alpha) / odds)
    return np.asarray(np.maximum(lines.max(axis=0), 0.0))
