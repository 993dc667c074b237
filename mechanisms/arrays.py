"""The array types that pass between the packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
"""A NumPy array of double-precision numbers."""
IntArray = npt.NDArray[np.int64]
"""A NumPy array of 64-bit integers."""


def plain_copy(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a plain array that nobody else holds, so that what is checked is what is used.

    Buffers of any kind may be used again at any time; what makes an array of itself may keep the one it made, whatever
    it is told, or make another one every time. It is asked once, and that is copied.
    """
    return np.array(np.asarray(values), subok=False)
