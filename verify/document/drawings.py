"""Drawings of reports as data; pages draw them as SVG, terminals in characters, files as PNG."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
_NUMBER_ALONE = re.compile(r"(?<![^\s(\[])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![^\s,)\]])")
_MOST_TICKS = 8
_SMALLEST, _LARGEST = 1e-300, 1e300  # of an axis that begins at 0

Style = Literal["proved", "shown", "claim", "aside"]
"""The role of a line: a proved bound, an observation, the claim, or a comparison."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, both finite; `low` is above 0 on a logarithmic one."""

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 to 1; values beyond an end lie at it."""
        low, high = self.low, self.high
        value = min(max(value, low), high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.0

    def ticks(self) -> list[float]:
        """Return round numbers on the axis."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [
                10.0**power for power in range(first, last + 1, max(1, (last - first) // _MOST_TICKS + 1))
            ]
        _, step = axis_scale([self.high - self.low])
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line through points (x, y); those that are not finite are left out."""

    name: str
    points: Sequence[tuple[float, float]]
    style: Style


@dataclass(frozen=True, slots=True)
class Area:
    """The area between two lines over the same x: points (x, lower, upper).

    It has the colour of the lines of its style. Without a name it is the band of one of them.
    """

    name: str
    points: Sequence[tuple[float, float, float]]
    style: Style = "proved"


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines and areas with their legend."""

    x: Axis
    y: Axis
    curves: Sequence[Curve]
    areas: Sequence[Area] = ()


@dataclass(frozen=True, slots=True)
class LossInterval:
    """The bounds [low, high] of ε on its axis, with the claim; infinity is its right end.

    Attributes
    ----------
    claim
        The claimed ε, finite.
    low, high
        The bounds, finite or infinite. Those that contradict each other (low > high) are drawn as two points.
    caption
        The caption of the bar.
    proved
        Whether its upper end is: else it is faint.
    """

    claim: float
    low: float
    high: float
    caption: str
    proved: bool = True

    @property
    def axis_label(self) -> str:
        """The words below its axis."""
        return f"ε: {self.caption if self.low <= self.high else 'the bounds contradict each other'}"


@dataclass(frozen=True, slots=True)
class Bin:
    """Some values of a reading: their label, how likely they are on D and on D′, and whether they are in the event."""

    label: str
    probability: float
    probability_prime: float
    inside: bool


@dataclass(frozen=True, slots=True)
class Laws:
    """The laws of a reading on D and on D′, the event shaded, beside the probabilities of the event.

    Attributes
    ----------
    reading
        The reading, in words.
    bins
        The bins in the order of the values; none where only the probabilities of the event are known.
    event, event_prime
        Probabilities of the event, each with its words.
    """

    reading: str
    bins: Sequence[Bin]
    event: tuple[float, str]
    event_prime: tuple[float, str]


Drawing: TypeAlias = Chart | LossInterval | Laws


def shortened(text: str, longest: int) -> str:
    """Return the beginning of a text in at most `longest` characters; a number is whole in it, or left out."""
    if len(text) <= longest:
        return text
    end = longest - 1
    cut = next((each.start() for each in _NUMBER.finditer(text) if each.start() < end < each.end()), end)
    return f"{text[:cut]}…"


def shortened_label(label: str, longest: int) -> str:
    """Return a label in at most `longest` characters, its numbers with as few digits as that takes.

    A label of one number is whole, however short it has to be.

    Examples
    --------
    >>> shortened_label("-2.5134e-05", 7), shortened_label("< 123456.7", 7), shortened_label("undecided", 7)
    ('-2.5e-5', '< 1e5', 'undeci…')
    """
    if len(label) <= longest:
        return label
    for digits in range(16, 0, -1):
        rounded = _NUMBER_ALONE.sub(lambda each: short_number(each[0], digits), label)  # noqa: B023
        if len(rounded) <= longest:
            return rounded
    return rounded if re.fullmatch(rf"(\D )?{_NUMBER.pattern}", rounded) else shortened(rounded, longest)


def short_number(number: float | str, digits: int) -> str:
    """Return a number rounded to `digits` digits, in few characters: with an exponent if that saves two."""
    if not Decimal(number):
        return "0"
    mantissa, _, exponent = f"{Decimal(number):.{digits - 1}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    short = f"{mantissa}e{int(exponent)}"
    plain = f"{Decimal(short):f}" if abs(int(exponent)) <= 20 else ""
    return plain if plain and len(plain) < len(short) + 2 else short


def axis_scale(values: Iterable[float]) -> tuple[float, float]:
    """Return where an axis from 0 ends that shows these, and the distance of ticks: four to eight of 1, 2 or 5.

    Numbers beyond 1e300 are not shown.
    """
    largest = max((value for value in values if value <= _LARGEST), default=1.0) or 1.0
    largest = max(largest, _SMALLEST)
    step = 10.0 ** math.floor(math.log10(largest))
    step = next(s for s in (step / 5.0, step / 2.0, step, step * 2.0) if largest * 1.15 / s <= 7.0)
    return math.ceil(largest * 1.15 / step - 1e-9) * step, step
