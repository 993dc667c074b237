"""Some columns of a view, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.output_readings import Readings


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """Some columns of a view.

    Attributes
    ----------
    columns
        The columns.
    values
        Function that returns their values for n outputs, shape (n, columns); NaN where there is nothing.
    varies
        True if a few outputs hardly show all that there is: words, or outputs of several shapes.
    """

    columns: tuple[Column, ...]
    values: Callable[[Readings], FloatArray]
    varies: bool = False


def values_at_places(
    names: Sequence[str], read: Callable[[Readings, int], FloatArray], readings: Readings
) -> FloatArray:
    """Return the readings at places of n outputs; shape (n, places), NaN where outputs have no such place."""
    values = np.full((len(readings), len(names)), np.nan)
    for at, name in enumerate(names):
        if (place := readings.places.get(name)) is not None:
            values[:, at] = read(readings, place)
    return values
