"""Readings with floating-point rounding removed, where sums and differences would show it.

A claim is about the mechanism as it is written, in real arithmetic. There the difference of y + 1 and y is 1; in
floating point it is 1 give or take the last bit of y, and reveals the size of y. A test of unrounded differences would
refute true claims.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.readings import ColumnValue, Combination, Reading
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample

_RELATIVE = 1e-12  # to the terms of a sum; rounding is 1e-16 of them


@dataclass(frozen=True, slots=True)
class Rounded(Reading):
    """A reading, rounded to a multiple of a step that is a power of two."""

    kind: ClassVar[str] = "rounded"
    reading: Reading
    step: float

    def values(self, sample: ViewSample) -> FloatArray:
        values = sample.read_values(self.reading) / self.step
        np.round(values, out=values)
        values *= self.step
        return values

    @property
    def description(self) -> str:
        return self.reading.description


@dataclass(frozen=True)
class Rounding:
    """The rounding of sums of columns, from the sizes of their values in a sample of both worlds."""

    worlds: Sequence[ViewSample]
    sizes: dict[str, tuple[float, bool]] = field(default_factory=dict)

    def round_reading(self, reading: Combination | ColumnSummary) -> Reading:
        """Return a sum or difference of columns, rounded to 1e-12 of its terms unless all values are whole numbers."""
        step = self.step(reading.columns)
        return reading if step == 0.0 else Rounded(reading, step)

    def step(self, columns: Sequence[Column]) -> float:
        """Return 1e-12 of the sum of the columns' sizes, or the next power of two; 0 if all values are whole."""
        terms = [self._size(column) for column in columns]
        size = sum(largest for largest, _ in terms)
        least = _RELATIVE * size
        if all(whole for _, whole in terms) or not 0.0 < least < math.inf:
            return 0.0
        return 2.0 ** math.ceil(math.log2(least))

    def _size(self, column: Column) -> tuple[float, bool]:
        """Return the largest finite value of a column, and True if all are whole."""
        if column.name not in self.sizes:
            largest, whole = 0.0, True
            for world in self.worlds:
                values = ColumnValue(column).values(world)
                values = values[np.isfinite(values)]
                largest = max(largest, float(np.abs(values).max(initial=0.0)))
                whole = whole and bool((values == np.round(values)).all())
            self.sizes[column.name] = largest, whole
        return self.sizes[column.name]
