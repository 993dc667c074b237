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
    """Return a plain copy of an array to which no other reference exists, so that the values checked are those used.

    The caller may change a buffer at any time, and an object with an ``__array__`` method may return an array that it
    keeps, even where a copy is requested, or a different one at each call. So it is converted once, and the result is
    copied.
    """
    return np.array(np.asarray(values), subok=False)
