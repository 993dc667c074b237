"""Columns without the rounding of floating-point arithmetic, where the last bits of their values would show it.

A claim is about the mechanism as it is written, in real arithmetic. There 0.3 + 2 · 0.1 and 0.2 + 3 · 0.1 are one
number, and 1 - p - q is 0 where p + q is 1; in floating point they are several, a few units in the last place apart,
and which one it is may tell the data. A column in which values come so close to each other again and again is read
rounded, to 39 to 42 bits, by the search and by the final count alike. Draws of a density hardly ever come so close, and
columns of whole numbers are read as they are.
"""
# ruff: noqa: D102 (the methods of every event are documented once, at `Event`)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.event import Event, event_from_dict
from verify.events.families import runs
from verify.events.view_sample import Column, ReadOnce, ViewSample, WorldSamples, column_index

_CLOSE = 2.0**-42
"""How close values are to each other, relative to their own size, if they differ by rounding: 2048 units at most."""

_NOTHING, _AROUND = 2.0**-44, 2.0**-34
"""To the size of most values: what is as small as rounding, and up to where there are hardly any others then."""

_BITS = (42, 41, 40, 39)  # kept of each value: where one splits what is close, another may not
_LOOKED_AT = 1 << 17  # values of each world, in all columns
_FEWEST_ROWS = 4096
_OFTEN = 4  # so many values must show rounding


@dataclass(frozen=True, slots=True)
class _Roundoff:
    """How a column is read: values up to `nothing` in size are 0, the others have so many bits."""

    nothing: float
    bits: int

    def of(self, values: FloatArray) -> FloatArray:
        """Return the values rounded; NaN and infinity stay what they are."""
        mantissa, exponent = np.frexp(values)
        unit = 2.0**self.bits
        rounded = np.ldexp(np.round(mantissa * unit) / unit, exponent)
        return np.where(np.abs(values) <= self.nothing, 0.0, rounded)


@dataclass(frozen=True, slots=True)
class RoundedColumns:
    """Some columns, and how each of them is read."""

    indices: tuple[int, ...]
    columns: tuple[Column, ...]
    roundoffs: tuple[_Roundoff, ...]

    def of(self, sample: ViewSample) -> ReadOnce:
        """Return the sample with these columns rounded."""
        values = sample.values.copy(order="F")
        for index, roundoff in zip(self.indices, self.roundoffs, strict=True):
            values[:, index] = roundoff.of(values[:, index])
        return ReadOnce(values, sample.columns)


@dataclass(frozen=True, slots=True)
class OfRounded(Event):
    """An event of a view of which some columns are rounded."""

    kind: ClassVar[str] = "rounded_columns"
    event: Event
    rounded: RoundedColumns

    def holds(self, sample: ViewSample) -> npt.NDArray[np.bool_]:
        return self.event.holds(sample.read(self.rounded))

    @property
    def words(self) -> str:
        return f"{self.event.words} (numbers that differ by rounding only are taken for one)"

    def to_dict(self) -> dict[str, Any]:
        both = zip(self.rounded.columns, self.rounded.roundoffs, strict=True)
        return {
            "kind": self.kind,
            "event": self.event.to_dict(),
            "rounded": {column.name: [how.nothing, how.bits] for column, how in both},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> OfRounded:
        indices = tuple(column_index(name, columns) for name in data["rounded"])
        roundoffs = tuple(_Roundoff(float(nothing), int(bits)) for nothing, bits in data["rounded"].values())
        rounded = RoundedColumns(indices, tuple(columns[i] for i in indices), roundoffs)
        return cls(event_from_dict(data["event"], columns), rounded)


def rounded_columns(worlds: WorldSamples) -> RoundedColumns | None:
    """Return the columns that show rounding, and how they are to be read; None if none does."""
    columns = worlds[0].columns
    rows = max(_FEWEST_ROWS, _LOOKED_AT // len(columns))
    found = {}
    for index, column in enumerate(columns):
        if column.kind == "real":
            roundoff = _roundoff_of(np.concatenate([world.values[:rows, index] for world in worlds]))
            if roundoff is not None:
                found[index] = roundoff
    if not found:
        return None
    return RoundedColumns(tuple(found), tuple(columns[i] for i in found), tuple(found.values()))


def _roundoff_of(values: FloatArray) -> _Roundoff | None:
    """Return how values are to be rounded; None if nothing looks like rounding.

    It does if values come within 2^-42 of each other, relative to their own size, at least four times; or if there are
    different ones among those as small as rounding is for most values (2^-44 of the 99 % quantile of their sizes), and
    hardly any that are a little larger. Of the numbers of bits that one is taken which leaves the fewest values close.
    """
    present = np.sort(values[np.isfinite(values)])
    if present.size == 0 or (present == np.round(present)).all():
        return None
    size = float(np.abs(present[[present.size // 200, -1 - present.size // 200]]).max())
    nothing = _NOTHING * size if _is_nothing(present, size) else 0.0
    if nothing == 0.0 and _close(present) < _OFTEN:
        return None
    left = [_close(_Roundoff(nothing, bits).of(present), 2.0 ** (1.5 - bits)) for bits in _BITS]
    return _Roundoff(nothing, _BITS[int(np.argmin(left))])


def _is_nothing(ordered: FloatArray, size: float) -> bool:
    """Return whether values around 0 differ by rounding only."""
    small, larger = (
        ordered[np.searchsorted(ordered, -most) : np.searchsorted(ordered, most, side="right")]
        for most in (_NOTHING * size, _AROUND * size)
    )
    others = small.size - int(runs(small)[1].max(initial=0))
    return others >= _OFTEN and larger.size - small.size <= others // 1000


def _close(ordered: FloatArray, relative: float = _CLOSE) -> int:
    """Return how often neighbouring values differ, by no more than that; each pair as often as its rarer value."""
    starts, lengths = runs(ordered)
    if starts.size < 2:
        return 0
    different = ordered[starts]
    near = np.diff(different) <= relative * np.abs(different[1:])
    return int(np.minimum(lengths[1:], lengths[:-1])[near].sum())
