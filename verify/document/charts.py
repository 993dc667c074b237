"""Pictures of reports as SVG: text, lines and areas in colours that the page around them sets, for light and for dark.

Lines differ by more than their colour. Drawn by hand: the plain install has no library that draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from mechanisms.printed_numbers import as_given
from verify.findings.printable import printable

_WIDTH, _HEIGHT = 480.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 14.0, 12.0, 44.0
_LEGEND = 20.0  # height of a line of the legend
_LONGEST_NAME = 44  # characters of a line of the legend
_MOST_TICKS = 8
_SMALLEST, _LARGEST = 1e-300, 1e300  # of an axis that begins at 0

Style = Literal["proved", "shown", "claim", "aside"]
"""The part that a line plays: what is proved, what was seen, what is claimed, and what is there to compare."""


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
    """A named line through points (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    style: Style


@dataclass(frozen=True, slots=True)
class Area:
    """The area between two lines over the same x: points (x, lower, upper)."""

    name: str
    points: Sequence[tuple[float, float, float]]


def chart(x: Axis, y: Axis, curves: Iterable[Curve], areas: Iterable[Area] = (), words: str = "") -> str:
    """Return a picture of lines and areas with its legend.

    Points that are not finite are left out.
    """
    curves, areas = list(curves), list(areas)
    plot_width, plot_height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(point: tuple[float, float]) -> str:
        across, up = x.share(point[0]), y.share(point[1])
        return f"{_LEFT + plot_width * across:.1f},{_TOP + plot_height * (1.0 - up):.1f}"

    parts = [_grid(x, y)]
    for area in areas:
        finite = [each for each in area.points if all(map(math.isfinite, each))]
        edge = [(each[0], each[1]) for each in finite] + [(each[0], each[2]) for each in reversed(finite)]
        parts.append(f'<polygon class="area" points="{" ".join(map(place, edge))}"/>')
    for curve in curves:
        line = " ".join(place(point) for point in curve.points if all(map(math.isfinite, point)))
        parts.append(f'<polyline class="line {curve.style}" points="{line}"/>')
    legend: list[tuple[str, str]] = [(area.name, "area") for area in areas]
    legend += [(curve.name, f"line {curve.style}") for curve in curves]
    for row, (name, style) in enumerate(legend):
        parts.append(_legend(name, style, _HEIGHT + _LEGEND * row))
    return _svg("".join(parts), _WIDTH, _HEIGHT + _LEGEND * len(legend) + 4.0, words)


def interval(
    claim: float, low: float, high: float, words: str = "", *, caption: str, proved: bool = True
) -> str:
    """Return a picture of the bounds [low, high] of ε on its axis, with the claim; infinity is its right end.

    `caption` says what the bar shows; it is faint unless its upper end is `proved`.

    Bounds that contradict each other (low > high) are drawn as two points.
    """
    top, step = axis_scale((claim, low, high))
    left, right, base = 24.0, _WIDTH - 72.0, 64.0
    infinity = _WIDTH - 24.0

    def at(epsilon: float) -> float:
        return infinity if epsilon > top else left + (right - left) * epsilon / top

    parts = [f'<line class="axis" x1="{left}" y1="{base}" x2="{right}" y2="{base}"/>']
    parts.append(f'<line class="axis dots" x1="{right}" y1="{base}" x2="{infinity}" y2="{base}"/>')
    for i in range(round(top / step) + 1):
        parts.append(_tick(at(i * step), base, f"{i * step:.6g}"))
    parts.append(_tick(infinity, base, "∞"))
    if low <= high:
        width = max(at(high) - at(low), 4.0)
        start = min(at(low), infinity - width)
        parts.append(
            f'<rect class="{"bar" if proved else "bar faint"}" x="{start:.1f}" y="{base - 8.0}" '
            f'width="{width:.1f}" height="16"/>'
        )
    else:
        parts += [f'<circle class="bar" cx="{at(end):.1f}" cy="{base}" r="6"/>' for end in (low, high)]
    mark = at(claim)
    tip = f"{mark:.1f},{base - 10.0} {mark - 7.0:.1f},{base - 22.0} {mark + 7.0:.1f},{base - 22.0}"
    anchor = "start" if mark < _WIDTH / 2 else "end"
    parts.append(f'<polygon class="mark" points="{tip}"/>')
    parts.append(
        f'<text x="{mark:.1f}" y="{base - 30.0}" text-anchor="{anchor}">claim {as_given(claim)}</text>'
    )
    said = _said(f"ε: {caption}" if low <= high else "ε: the bounds contradict each other")
    parts.append(f'<text class="small" x="{left}" y="{base + 44.0}">{said}</text>')
    return _svg("".join(parts), _WIDTH, base + 52.0, words)


def _svg(inside: str, width: float, height: float, words: str) -> str:
    """Return a picture of this size that says in words what it shows."""
    said = escape(printable(words))
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{said}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{said}</title>{inside}</svg>'
    )


def axis_scale(values: Iterable[float]) -> tuple[float, float]:
    """Return where an axis from 0 ends that shows these, and the distance of ticks: four to eight of 1, 2 or 5.

    What is beyond 1e300 is not shown.
    """
    largest = max((value for value in values if value <= _LARGEST), default=1.0) or 1.0
    largest = max(largest, _SMALLEST)
    step = 10.0 ** math.floor(math.log10(largest))
    step = next(s for s in (step / 5.0, step / 2.0, step, step * 2.0) if largest * 1.15 / s <= 7.0)
    return math.ceil(largest * 1.15 / step - 1e-9) * step, step


def _grid(x: Axis, y: Axis) -> str:
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    parts = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"/>']
    for value in x.ticks():
        at = _LEFT + width * x.share(value)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{_TOP + height}"/>')
        place = f'x="{at:.1f}" text-anchor="middle"'
        if at > _LEFT + width - _RIGHT:  # the half of it would be outside of the picture
            place = f'x="{_WIDTH}" text-anchor="end"'
        parts.append(f'<text {place} y="{_TOP + height + 18}">{_short(value)}</text>')
    for value in y.ticks():
        at = _TOP + height * (1.0 - y.share(value))
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_LEFT + width}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(value)}</text>')
    middle = _LEFT + width / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{_said(x.label)}</text>')
    turn = f'transform="rotate(-90 14 {_TOP + height / 2})"'
    parts.append(f'<text x="14" y="{_TOP + height / 2}" text-anchor="middle" {turn}>{_said(y.label)}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    """Return a round number in at most five characters."""
    return (
        f"{value:g}"
        if 1e-3 <= value < 1e4 or value == 0.0
        else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    )


def _tick(at: float, base: float, label: str) -> str:
    line = f'<line class="axis" x1="{at:.1f}" y1="{base - 5.0}" x2="{at:.1f}" y2="{base + 5.0}"/>'
    return f'{line}<text x="{at:.1f}" y="{base + 24.0}" text-anchor="middle">{label}</text>'


def _legend(name: str, style: str, height: float) -> str:
    sample = (
        f'<rect class="area" x="{_LEFT}" y="{height}" width="28" height="10"/>'
        if style == "area"
        else f'<polyline class="{style}" points="{_LEFT},{height + 5} {_LEFT + 28},{height + 5}"/>'
    )
    return f'{sample}<text x="{_LEFT + 36}" y="{height + 10}">{_said(name, _LONGEST_NAME)}</text>'


def _said(text: str, longest: int = 90) -> str:
    return escape(printable(text, longest))
