"""Drawings of reports as SVG: text, lines and areas in colours that the page around them sets, for light and for dark.

Lines differ by more than their colour, and bars too. Written by hand: the plain install has no library that draws.
"""

from __future__ import annotations

import math
from html import escape

from mechanisms.numerics.printed_numbers import as_given
from verify.document.drawings import (
    Axis,
    Chart,
    Drawing,
    Laws,
    LossInterval,
    axis_scale,
    short_number,
    shortened,
    shortened_label,
)
from verify.findings.printable import printable

_WIDTH, _HEIGHT = 480.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 14.0, 12.0, 44.0
_LEGEND = 20.0  # height of a line of the legend
_LONGEST_NAME = 44  # characters of a line of the legend
_LONGEST = 56  # characters of a line of its own
_BARS = 150.0  # height of the bars of two laws
_MOST_LABELS = 7  # of their bins
_TICK_DIGITS = 4


def svg(drawing: Drawing, words: str) -> str:
    """Return a drawing as SVG, with its description in words."""
    match drawing:
        case Chart():
            inside, height = _chart(drawing)
        case LossInterval():
            inside, height = _interval(drawing)
        case Laws():
            inside, height = _laws(drawing)
    said = escape(printable(words))
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img" aria-label="{said}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{said}</title>{inside}</svg>'
    )


def _chart(drawn: Chart) -> tuple[str, float]:
    """Return the elements of a picture of lines and areas with its legend, and its height."""
    x, y, curves, areas = drawn.x, drawn.y, drawn.curves, drawn.areas
    plot_width, plot_height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def coordinates(point: tuple[float, float]) -> str:
        across, up = x.share(point[0]), y.share(point[1])
        return f"{_LEFT + plot_width * across:.1f},{_TOP + plot_height * (1.0 - up):.1f}"

    parts = [_grid(x, y)]
    for area in areas:
        finite = [each for each in area.points if all(map(math.isfinite, each))]
        edge = [(each[0], each[1]) for each in finite] + [(each[0], each[2]) for each in reversed(finite)]
        parts.append(f'<polygon class="area of-{area.style}" points="{" ".join(map(coordinates, edge))}"/>')
    for curve in curves:
        line = " ".join(coordinates(point) for point in curve.points if all(map(math.isfinite, point)))
        parts.append(f'<polyline class="line {curve.style}" points="{line}"/>')
    legend: list[tuple[str, str]] = [(area.name, "area") for area in areas if area.name]
    legend += [(curve.name, f"line {curve.style}") for curve in curves]
    for row, (name, style) in enumerate(legend):
        parts.append(_legend(name, style, _HEIGHT + _LEGEND * row))
    return "".join(parts), _HEIGHT + _LEGEND * len(legend) + 4.0


def _interval(drawn: LossInterval) -> tuple[str, float]:
    claim, low, high = drawn.claim, drawn.low, drawn.high
    top, step = axis_scale((claim, low, high))
    left, right, base = 24.0, _WIDTH - 72.0, 64.0
    infinity = _WIDTH - 24.0

    def x_of(epsilon: float) -> float:
        return infinity if epsilon > top else left + (right - left) * epsilon / top

    parts = [f'<line class="axis" x1="{left}" y1="{base}" x2="{right}" y2="{base}"/>']
    parts.append(f'<line class="axis dots" x1="{right}" y1="{base}" x2="{infinity}" y2="{base}"/>')
    for i in range(round(top / step) + 1):
        parts.append(_tick(x_of(i * step), base, f"{i * step:.6g}"))
    parts.append(_tick(infinity, base, "∞"))
    if low <= high:
        width = max(x_of(high) - x_of(low), 4.0)
        start = max(x_of(high) - width, left)
        parts.append(
            f'<rect class="{"bar" if drawn.proved else "bar faint"}" x="{start:.1f}" y="{base - 8.0}" '
            f'width="{width:.1f}" height="16"/>'
        )
    else:
        parts += [f'<circle class="bar" cx="{x_of(end):.1f}" cy="{base}" r="6"/>' for end in (low, high)]
    mark = x_of(claim)
    tip = f"{mark:.1f},{base - 10.0} {mark - 7.0:.1f},{base - 22.0} {mark + 7.0:.1f},{base - 22.0}"
    anchor = "start" if mark < _WIDTH / 2 else "end"
    parts.append(f'<polygon class="mark" points="{tip}"/>')
    parts.append(
        f'<text x="{mark:.1f}" y="{base - 30.0}" text-anchor="{anchor}">claim {as_given(claim)}</text>'
    )
    parts.append(f'<text class="small" x="{left}" y="{base + 44.0}">{_text(drawn.axis_label)}</text>')
    return "".join(parts), base + 52.0


def _laws(drawn: Laws) -> tuple[str, float]:
    parts, top = [], 0.0
    if drawn.bins:
        parts, top = _histogram(drawn), _BARS + 92.0
    most = max(drawn.event[0], drawn.event_prime[0]) or 1.0
    for row, (name, (share, words)) in enumerate((("D", drawn.event), ("D′", drawn.event_prime))):
        at = top + 44.0 * row
        parts.append(
            f'<text x="{_LEFT}" y="{at + 14.0}">{_text(shortened(f"P(event | {name}): {words}", _LONGEST))}</text>'
        )
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 31.0}" text-anchor="end">{name}</text>')
        width = (_WIDTH - _LEFT - _RIGHT) * share / most
        kind = "law prime" if row else "law"
        parts.append(f'<rect class="{kind}" x="{_LEFT}" y="{at + 20.0}" width="{width:.1f}" height="14"/>')
    return "".join(parts), top + 84.0


def _histogram(drawn: Laws) -> list[str]:
    """Return the bars of both laws over bins of one width, those in the event on a shaded ground."""
    most = max(max(each.probability, each.probability_prime) for each in drawn.bins) or 1.0
    y, width = Axis("", 0.0, most), (_WIDTH - _LEFT - _RIGHT) / len(drawn.bins)
    base, parts = _TOP + _BARS, list[str]()
    for value in y.ticks():
        at = base - _BARS * y.share(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_WIDTH - _RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(value)}</text>')
    for number, each in enumerate(drawn.bins):
        left = _LEFT + width * number
        if each.inside:
            parts.append(
                f'<rect class="event" x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{_BARS}"/>'
            )
        for place, kind, share in (
            (0.1, "law", each.probability),
            (0.52, "law prime", each.probability_prime),
        ):
            tall = _BARS * y.share(share)
            parts.append(
                f'<rect class="{kind}" x="{left + place * width:.1f}" y="{base - tall:.1f}" '
                f'width="{0.38 * width:.1f}" height="{tall:.1f}"/>'
            )
    every = -(-len(drawn.bins) // _MOST_LABELS)
    for number, each in list(enumerate(drawn.bins))[::every]:
        room = max(int(width * every / 8.0), 3)
        label = _text(shortened_label(each.label, room))
        at = _LEFT + width * (number + 0.5)
        parts.append(f'<text x="{at:.1f}" y="{base + 17.0}" text-anchor="middle">{label}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}"/>')
    parts.append(f'<text x="{_LEFT}" y="{base + 38.0}">{_text(shortened(drawn.reading, _LONGEST))}</text>')
    for left, kind, name in (
        (0.0, "law", "on D"),
        (90.0, "law prime", "on D′"),
        (180.0, "event", "in the event"),
    ):
        parts.append(f'<rect class="{kind}" x="{_LEFT + left}" y="{base + 50.0}" width="14" height="12"/>')
        parts.append(f'<text x="{_LEFT + left + 22.0}" y="{base + 61.0}">{name}</text>')
    return parts


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
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{_text(x.label)}</text>')
    turn = f'transform="rotate(-90 14 {_TOP + height / 2})"'
    parts.append(f'<text x="14" y="{_TOP + height / 2}" text-anchor="middle" {turn}>{_text(y.label)}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    """Return a tick, which has few digits, in as few characters."""
    return short_number(value, _TICK_DIGITS)


def _tick(at: float, base: float, label: str) -> str:
    line = f'<line class="axis" x1="{at:.1f}" y1="{base - 5.0}" x2="{at:.1f}" y2="{base + 5.0}"/>'
    return f'{line}<text x="{at:.1f}" y="{base + 24.0}" text-anchor="middle">{label}</text>'


def _legend(name: str, style: str, height: float) -> str:
    sample = (
        f'<rect class="area" x="{_LEFT}" y="{height}" width="28" height="10"/>'
        if style == "area"
        else f'<polyline class="{style}" points="{_LEFT},{height + 5} {_LEFT + 28},{height + 5}"/>'
    )
    return f'{sample}<text x="{_LEFT + 36}" y="{height + 10}">{_text(name, _LONGEST_NAME)}</text>'


def _text(text: str, longest: int = 90) -> str:
    return escape(printable(text, longest))
