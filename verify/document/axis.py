"""Round numbers for an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable

_SMALLEST, _LARGEST = 1e-300, 1e300


def axis_scale(values: Iterable[float]) -> tuple[float, float]:
    """Return where an axis from 0 ends that shows these, and the distance of ticks: four to eight of 1, 2 or 5.

    What is beyond 1e300 is not shown.
    """
    largest = max((value for value in values if value <= _LARGEST), default=1.0) or 1.0
    largest = max(largest, _SMALLEST)
    step = 10.0 ** math.floor(math.log10(largest))
    step = next(s for s in (step / 5.0, step / 2.0, step, step * 2.0) if largest * 1.15 / s <= 7.0)
    return math.ceil(largest * 1.15 / step - 1e-9) * step, step
