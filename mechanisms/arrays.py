"""The array types that pass between the packages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
"""A NumPy array of double-precision numbers."""
IntArray = npt.NDArray[np.int64]
"""A NumPy array of 64-bit integers."""
