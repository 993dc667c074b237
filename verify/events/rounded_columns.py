"""Columns with floating-point rounding removed, where it shows in the last bits of their values.

A claim is about the mechanism as it is written, in real arithmetic. There 0.3 + 2 · 0.1 and 0.2 + 3 · 0.1 are one
number, and 1 - p - q is 0 where p + q is 1; in floating point they are several, a few units in the last place apart,
and which one it is may depend on the data. A column in which values come so close to each other again and again is read
rounded, to 39 to 42 bits, by the search and by the final count alike. Draws of a density hardly ever come so close, and
columns of whole numbers are read as they are.

Draws of a density do come so close if a large public number is added to them: in 1e14 + x, x is in the last bits
alone. Such draws fill the machine's numbers where they are, as results of rounding do not. The large
number is then taken away, and the rest is read in steps of several units in the last place. The machine's rounding
is no longer small beside it: its largest addition to a loss is known (`Event.rounding`), and a bound must exceed the
claim by more than that.
"""
# ruff: noqa: D102 (the methods of every event are documented once, at `Event`)

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.event import Event
from verify.events.families import runs
from verify.events.view_sample import Column, ReadOnce, ViewSample, WorldSamples, column_named

_CLOSE = 2.0**-42
"""Largest difference of values that differ by rounding, relative to their size: 2048 units of the last place."""

_NOTHING, _AROUND = 2.0**-44, 2.0**-34
"""Relative to the size of most values: the size of rounding, and that below which there are hardly other values."""

_BITS = (42, 41, 40, 39)  # kept of each value: one may split close values that another does not
_MOST_VALUES = 1 << 17  # of each world, in all columns
_FEWEST_ROWS = 4096
_OFTEN = 4  # so many values must show rounding


@dataclass(frozen=True, kw_only=True)
class _Beside:
    """Criteria for reading numbers beside a large one; units are those of the last place. Chosen by hand.

    Attributes
    ----------
    large
        The middle half of the values spans less than this part of their size: draws of a density come close, too.
    narrowest
        Units that it spans at least: less may be the rounding of a sum of many terms.
    apart
        Units by which different values differ at least if none differ by rounding.
    filled
        Share of the different numbers to be expected of a density that are there.
    step, steps
        The fewest units of a step, and the number of steps of the middle half otherwise.
    moved
        Units by which an output differs at most from that in real arithmetic: two sums, rounded to half a unit each.
    slope
        Change of the logarithm of a density over the span of its middle half, where it changes most: 1.4 for Laplace
        noise; for Gaussian noise 4.5, seen once in a thousand draws.
    """

    large: float = 2.0**-34
    narrowest: float = 16.0
    apart: float = 8.0
    filled: float = 0.75
    step: float = 8.0
    steps: float = 16.0
    moved: float = 1.0
    slope: float = 6.0


_BESIDE = _Beside()


@dataclass(frozen=True, slots=True)
class _Offset:
    """Rounding of a column beside a large number: values minus that number, to a multiple of a step.

    Attributes
    ----------
    large
        The number that is taken away.
    step
        A power of two.
    adds
        Bound on the loss that rounding may add.
    """

    large: float
    step: float
    adds: float

    def values(self, values: FloatArray) -> FloatArray:
        """Return the differences, rounded; before, the difference of numbers so near to each other is exact."""
        return np.asarray(np.round((values - self.large) / self.step) * self.step + 0.0)

    def description(self, column: str) -> str:
        """Return the words for a column that is read like this."""
        return f"{column} {'minus' if self.large > 0.0 else 'plus'} {abs(self.large):.15g}"


@dataclass(frozen=True, slots=True)
class _Roundoff:
    """Rounding of a column: values up to `nothing` in size become 0, the others keep `bits` bits."""

    nothing: float
    bits: int
    adds: ClassVar[float] = 0.0

    def values(self, values: FloatArray) -> FloatArray:
        """Return the values, rounded; NaN and infinity stay."""
        mantissa, exponent = np.frexp(values)
        unit = 2.0**self.bits
        rounded = np.ldexp(np.round(mantissa * unit) / unit, exponent)
        return np.where(np.abs(values) <= self.nothing, 0.0, rounded)

    def description(self, column: str) -> str:
        """Return the words for a column that is read like this."""
        return column


def _rebuild_roundoff(data: Mapping[str, float]) -> _Roundoff | _Offset:
    """Rebuild the rounding of a column from its attributes."""
    if "large" in data:
        return _Offset(float(data["large"]), float(data["step"]), float(data["adds"]))
    return _Roundoff(float(data["nothing"]), int(data["bits"]))


@dataclass(frozen=True, slots=True)
class RoundedColumns:
    """Some columns, each with its rounding."""

    columns: tuple[Column, ...]
    roundoffs: tuple[_Roundoff | _Offset, ...]

    def values(self, sample: ViewSample) -> ReadOnce:
        """Return the sample with these columns rounded."""
        values = sample.values.copy(order="F")
        for index, roundoff in zip(sample.places_of(self.columns), self.roundoffs, strict=True):
            values[:, index] = roundoff.values(values[:, index])
        return ReadOnce(values, self.rounded_columns(sample.columns))

    def rounded_columns(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns of a view, these in the words for their rounding."""
        read = {column.name: how for column, how in zip(self.columns, self.roundoffs, strict=True)}
        return tuple(
            replace(column, words=read[column.name].description(column.words))
            if column.name in read
            else column
            for column in columns
        )


@dataclass(frozen=True, slots=True)
class OfRounded(Event):
    """An event of a view of which some columns are rounded."""

    kind: ClassVar[str] = "rounded_columns"
    event: Event
    rounded: RoundedColumns

    def holds(self, sample: ViewSample) -> npt.NDArray[np.bool_]:
        return self.event.holds(sample.read_values(self.rounded))

    @property
    def rounding(self) -> float:
        return sum(how.adds for how in self.rounded.roundoffs)

    @property
    def description(self) -> str:
        return f"{self.event.description} (up to rounding)"

    def to_dict(self) -> dict[str, Any]:
        both = zip(self.rounded.columns, self.rounded.roundoffs, strict=True)
        return {
            "kind": self.kind,
            "event": self.event.to_dict(),
            "rounded": {column.name: asdict(how) for column, how in both},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> OfRounded:
        read = tuple(column_named(name, columns) for name in data["rounded"])
        rounded = RoundedColumns(read, tuple(map(_rebuild_roundoff, data["rounded"].values())))
        return cls(Event.rebuild(data["event"], rounded.rounded_columns(columns)), rounded)


def rounded_columns(worlds: WorldSamples) -> RoundedColumns | None:
    """Return the columns that show rounding, each with the rounding to read it with; None if none does."""
    columns = worlds[0].columns
    rows = max(_FEWEST_ROWS, _MOST_VALUES // len(columns))
    found: dict[Column, _Roundoff | _Offset] = {}
    for index, column in enumerate(columns):
        if column.kind == "real":
            roundoff = _roundoff_of(np.concatenate([world.values[:rows, index] for world in worlds]))
            if roundoff is not None:
                found[column] = roundoff
    return RoundedColumns(tuple(found), tuple(found.values())) if found else None


def _roundoff_of(values: FloatArray) -> _Roundoff | _Offset | None:
    """Return the rounding for values; None if none of them shows rounding.

    It does if values come within 2^-42 of each other, relative to their own size, at least four times; or if there are
    different ones among those as small as rounding is for most values (2^-44 of the 99 % quantile of their sizes), and
    hardly any that are a little larger. Of the numbers of bits that one is taken which leaves the fewest values close.
    Where values come close because there is a large number beside them, that is taken away.
    """
    present = np.sort(values[np.isfinite(values)])
    if present.size == 0 or (present == np.round(present)).all():
        return None
    size = float(np.abs(present[[present.size // 200, -1 - present.size // 200]]).max())
    nothing = _NOTHING * size if _is_nothing(present, size) else 0.0
    if nothing == 0.0 and _close(present) < _OFTEN:
        return None
    if nothing == 0.0 and _spread(present) < _BESIDE.large * size:
        offset = _offset_of(present, float(np.spacing(size)))
        if offset is not None:
            return offset
    left = [_close(_Roundoff(nothing, bits).values(present), 2.0 ** (1.5 - bits)) for bits in _BITS]
    return _Roundoff(nothing, _BITS[int(np.argmin(left))])


def _spread(ordered: FloatArray) -> float:
    """Return the span of the middle half."""
    return float(ordered[3 * ordered.size // 4] - ordered[ordered.size // 4])


def _offset_of(ordered: FloatArray, unit: float) -> _Offset | None:
    """Return the rounding of values beside a large number; None if they may differ by rounding only.

    They do not if all that differ do so by many units. Nor do draws of a density: of n draws, n/2 lie in the middle
    half. If it spans s units, they take about s (1 - exp(-n / 2s)) different values; results of rounding take a few
    around each of those that there are in real arithmetic.
    """
    spread = _spread(ordered)
    apart = not _close(ordered, _BESIDE.apart * 2.0**-53)
    if not apart:
        span, middle = spread / unit, ordered[ordered.size // 4 : 3 * ordered.size // 4 + 1]
        expected = span * -math.expm1(-middle.size / span) if span else 0.0
        if span < _BESIDE.narrowest or np.unique(middle).size < _BESIDE.filled * expected:
            return None
    plain = 10.0 ** math.ceil(math.log10(8.0 * max(spread, unit)))
    large = float(np.round(np.median(ordered) / plain) * plain)
    if apart:
        return _Offset(large, unit, 0.0)
    step = 2.0 ** math.floor(math.log2(max(_BESIDE.step * unit, spread / _BESIDE.steps)))
    moved = 2.0 * _BESIDE.moved * unit  # outputs of both worlds
    return _Offset(large, step, moved * (1.0 / step + _BESIDE.slope / spread))


def _is_nothing(ordered: FloatArray, size: float) -> bool:
    """Return True if values around 0 differ by rounding only."""
    small, larger = (
        ordered[np.searchsorted(ordered, -most) : np.searchsorted(ordered, most, side="right")]
        for most in (_NOTHING * size, _AROUND * size)
    )
    others = small.size - int(runs(small)[1].max(initial=0))
    return others >= _OFTEN and larger.size - small.size <= others // 1000


def _close(ordered: FloatArray, relative: float = _CLOSE) -> int:
    """Return the number of neighbouring values that differ by no more; a pair counts as often as its rarer value."""
    starts, lengths = runs(ordered)
    if starts.size < 2:
        return 0
    different = ordered[starts]
    near = np.diff(different) <= relative * np.abs(different[1:])
    return int(np.minimum(lengths[1:], lengths[:-1])[near].sum())
