"""Drawings of reports in text characters: bounds and laws; curves need a page or a PNG."""

from __future__ import annotations

from collections.abc import Callable

from mechanisms.numerics.printed_numbers import as_given, percent
from verify.document.drawings import Bin, Drawing, Laws, LossInterval, axis_scale, shortened
from verify.findings.printable import printable

_AXIS = 60  # characters of the axis from 0 to the largest finite tick; infinity lies _GAP to the right of it
_GAP = 6


_BARS = 48  # characters of bars
_HEIGHTS = " ▁▂▃▄▅▆▇█"


def characters(drawing: Drawing) -> list[str]:
    """Return the lines of a drawing, of at most 72 characters; none of one that characters do not show."""
    match drawing:
        case LossInterval():
            return _interval(drawing)
        case Laws():
            return _laws(drawing)
        case _:
            return []


def _laws(drawn: Laws) -> list[str]:
    """Return the bars of both laws, marks under the bins in the event, and bars of its probabilities."""
    lines, bins = [], drawn.bins
    if bins:
        wide = max(1, min(_BARS // len(bins), 8))
        most = max(max(each.probability, each.probability_prime) for each in bins) or 1.0

        def bars(name: str, share: Callable[[Bin], float]) -> str:
            tall = (-(-share(each) // (most / 8.0)) for each in bins)  # a share above 0 is visible
            return f"{name:<14}" + "".join(_HEIGHTS[min(int(each), 8)] * wide for each in tall)

        lines = [
            bars("on D", lambda each: each.probability),
            bars("on D′", lambda each: each.probability_prime),
        ]
        lines.append(f"{'event':<14}" + "".join(("─" if each.inside else " ") * wide for each in bins))
        shown = shortened(f"{bins[0].label} to {bins[-1].label}: {drawn.reading}", 58)
        lines.append(f"{'':<14}{printable(shown)}")
    most = max(drawn.event[0], drawn.event_prime[0]) or 1.0
    for name, share in (("D", drawn.event[0]), ("D′", drawn.event_prime[0])):
        bar = "█" * max(round(40 * share / most), int(share > 0.0))
        lines.append(f"{f'P(event | {name})':<14}{percent(share):>9}  {bar}")
    return [line.rstrip() for line in lines]


def _interval(drawn: LossInterval) -> list[str]:
    """Return four lines: the claim, the axis, the interval, the labels of ticks."""
    claim, low, high = drawn.claim, drawn.low, drawn.high
    top, step = axis_scale((claim, low, high))

    def column_of(epsilon: float) -> int:
        return _AXIS + _GAP if epsilon > top else round(epsilon / top * _AXIS)

    axis = ["─"] * (_AXIS + 1) + ["┄"] * (_GAP - 1) + ["┤"]
    labels = [" "] * (_AXIS + _GAP + 6)
    for i in range(round(top / step) + 1):
        axis[column_of(i * step)] = "┼"
        label = f"{i * step:.6g}"
        start = max(0, column_of(i * step) - len(label) // 2)
        labels[start : start + len(label)] = label
    axis[0] = "├"
    labels[_AXIS + _GAP : _AXIS + _GAP + 3] = "∞  "

    bar = [" "] * (_AXIS + _GAP + 1)
    if low <= high:
        bar[column_of(low) : column_of(high) + 1] = "█" * (column_of(high) - column_of(low) + 1)
    else:
        bar[column_of(low)] = bar[column_of(high)] = "◆"
    name = f"claim {as_given(claim)}"
    pointer = " " * column_of(claim) + f"▼ {name}"
    if column_of(claim) > _AXIS // 2:
        pointer = f"{name} ▼".rjust(column_of(claim) + 1)
    return [line.rstrip() for line in (pointer, "".join(axis), "".join(bar), "".join(labels))]
