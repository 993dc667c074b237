"""The two bounds on ε as a picture in characters."""

from __future__ import annotations

from mechanisms.printed_numbers import as_given
from verify.document.charts import axis_scale

_AXIS = 60  # characters of the axis from 0 to the largest finite tick; infinity lies _GAP to the right of it
_GAP = 6


def draw_bounds(claim: float, low: float, high: float) -> list[str]:
    """The interval [low, high] of ε as four lines: the claim, the axis, the interval, the tick labels.

    Parameters
    ----------
    claim
        The claimed ε, finite.
    low, high
        The bounds, finite or infinite. If low > high (the audit contradicts the accountant) they are drawn as
        two points.

    Returns
    -------
    list of str
        Four lines of at most 72 characters.
    """
    top, step = axis_scale((claim, low, high))

    def at(epsilon: float) -> int:
        return _AXIS + _GAP if epsilon > top else round(epsilon / top * _AXIS)

    axis = ["─"] * (_AXIS + 1) + ["┄"] * (_GAP - 1) + ["┤"]
    labels = [" "] * (_AXIS + _GAP + 6)
    for i in range(round(top / step) + 1):
        axis[at(i * step)] = "┼"
        label = f"{i * step:.6g}"
        start = max(0, at(i * step) - len(label) // 2)
        labels[start : start + len(label)] = label
    axis[0] = "├"
    labels[_AXIS + _GAP : _AXIS + _GAP + 3] = "∞  "

    bar = [" "] * (_AXIS + _GAP + 1)
    if low <= high:
        bar[at(low) : at(high) + 1] = "█" * (at(high) - at(low) + 1)
    else:
        bar[at(low)] = bar[at(high)] = "◆"
    name = f"claim {as_given(claim)}"
    pointer = " " * at(claim) + f"▼ {name}"
    if at(claim) > _AXIS // 2:
        pointer = f"{name} ▼".rjust(at(claim) + 1)
    return [line.rstrip() for line in (pointer, "".join(axis), "".join(bar), "".join(labels))]
