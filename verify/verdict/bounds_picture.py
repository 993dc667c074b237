"""The two bounds on ε as a picture in characters."""

from __future__ import annotations

from collections.abc import Mapping

from verify.document.charts import axis_scale
from verify.sentences import number

_AXIS = 60  # characters of the axis from 0 to the largest finite tick; infinity lies _GAP to the right of it
_GAP = 6

Glyphs = Mapping[str, str]
_PARTS = ("axis", "start", "end", "tick", "gap", "bar", "claim", "point")
UNICODE: Glyphs = dict(zip(_PARTS, "─├┤┼┄█▼◆", strict=True))
ASCII: Glyphs = dict(zip(_PARTS, "-||+.#v*", strict=True))


def draw_bounds(claim: float, low: float, high: float, glyphs: Glyphs = UNICODE) -> list[str]:
    """The interval [low, high] of ε as four lines: the claim, the axis, the interval, the tick labels.

    Parameters
    ----------
    claim
        The claimed ε, finite.
    low, high
        The bounds, finite or infinite. If low > high (the audit contradicts the accountant) they are drawn as
        two points.
    glyphs
        `UNICODE` or `ASCII`.

    Returns
    -------
    list of str
        Four lines of at most 72 characters.
    """
    top, step = axis_scale((claim, low, high))

    def at(epsilon: float) -> int:
        return _AXIS + _GAP if epsilon > top else round(epsilon / top * _AXIS)

    axis = [glyphs["axis"]] * (_AXIS + 1) + [glyphs["gap"]] * (_GAP - 1) + [glyphs["end"]]
    labels = [" "] * (_AXIS + _GAP + 6)
    for i in range(round(top / step) + 1):
        axis[at(i * step)] = glyphs["tick"]
        label = f"{i * step:.6g}"
        start = max(0, at(i * step) - len(label) // 2)
        labels[start : start + len(label)] = label
    axis[0] = glyphs["start"]
    labels[_AXIS + _GAP : _AXIS + _GAP + 3] = "inf" if glyphs is ASCII else "∞  "

    bar = [" "] * (_AXIS + _GAP + 1)
    if low <= high:
        bar[at(low) : at(high) + 1] = glyphs["bar"] * (at(high) - at(low) + 1)
    else:
        bar[at(low)] = bar[at(high)] = glyphs["point"]
    mark, name = glyphs["claim"], f"claim {number(claim)}"
    pointer = " " * at(claim) + f"{mark} {name}"
    if at(claim) > _AXIS // 2:
        pointer = f"{name} {mark}".rjust(at(claim) + 1)
    return [line.rstrip() for line in (pointer, "".join(axis), "".join(bar), "".join(labels))]
