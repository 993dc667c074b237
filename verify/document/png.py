"""Drawings of reports as one PNG file; matplotlib draws them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mechanisms.numerics.printed_numbers import as_given
from verify.document.drawings import Chart, Laws, LossInterval, Style, axis_scale, shortened, shortened_label
from verify.document.elements import Block, Details, Document, Picture
from verify.findings.printable import printable

_STYLE = {
    "font.family": "serif",
    "mathtext.fontset": "cm",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_TITLE, _TITLE_LINE, _CAPTION = 100, 56, 320  # characters; of a line above one picture
_LINES: Mapping[Style, Mapping[str, str]] = {
    "proved": {"color": "C0"},
    "shown": {"color": "C3", "linestyle": "--"},
    "claim": {"color": "black", "linestyle": (0, (3, 3))},  # type: ignore[dict-item]
    "aside": {"color": "0.4", "linestyle": ":"},
}


@contextmanager
def written_figure(
    path: Path, size: tuple[float, float], *, layout: str | None = "constrained", **saving: Any
) -> Iterator[Any]:
    """Yield an empty figure in the style of all pictures, and write it to a PNG file at the end.

    Parameters
    ----------
    path
        The file.
    size
        Width and height in inches.
    layout, saving
        As matplotlib's `Figure` takes the one, and its `savefig` the others.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=layout)  # type: ignore[arg-type]  # a word
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(path, dpi=160, facecolor="white", **saving)


def draw_png(document: Document, path: Path) -> None:
    """Draw the pictures of a document beside each other."""
    blocks = (block for section in document.sections for block in (*section.blocks, *section.background))
    pictures = list(_pictures(blocks))
    columns = min(len(pictures), 2)
    rows = -(-len(pictures) // max(columns, 1))
    with written_figure(path, (6.4 * max(columns, 1), 4.8 * max(rows, 1))) as figure:
        for number, picture in enumerate(pictures, start=1):
            axes, drawing = figure.add_subplot(rows, columns, number), picture.drawing
            match drawing:
                case Chart():
                    _chart(axes, drawing)
                case LossInterval():
                    _interval(axes, drawing)
                case Laws():
                    _laws(axes, drawing)
            words = textwrap.fill(
                printable(str(picture.words), _CAPTION).replace(" %", "\N{NO-BREAK SPACE}%"), 72
            )
            axes.set_title(words, parse_math=False, fontsize="small", loc="left")
        title = textwrap.fill(printable(document.title, _TITLE), _TITLE_LINE * max(columns, 1))
        figure.suptitle(title, parse_math=False, x=0.01, ha="left")


def _pictures(blocks: Iterable[Block]) -> Iterable[Picture]:
    for block in blocks:
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Details):
            yield from _pictures(block.blocks)


def _chart(axes: Any, drawn: Chart) -> None:
    for area in drawn.areas:
        x, low, high = zip(*area.points, strict=True)
        colour, name = _LINES[area.style]["color"], _escape_label(area.name) or None
        axes.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0.8, label=name)
    for curve in drawn.curves:
        points = [point for point in curve.points if all(map(math.isfinite, point))]
        axes.plot(
            *zip(*points, strict=True), label=_escape_label(curve.name), **_LINES[curve.style]
        ) if points else None
    for axis, name in ((drawn.x, "x"), (drawn.y, "y")):
        axes.set(**{f"{name}label": axis.label, f"{name}scale": "log" if axis.logarithmic else "linear"})
    axes.set(xlim=(drawn.x.low, drawn.x.high), ylim=(drawn.y.low, drawn.y.high * 1.02))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")


def _interval(axes: Any, drawn: LossInterval) -> None:
    top, step = axis_scale((drawn.claim, drawn.low, drawn.high))
    infinity = top + step
    low, high = (min(end, infinity) for end in (drawn.low, drawn.high))
    if drawn.low <= drawn.high:
        width = max(high - low, 0.01 * infinity)  # to be seen
        start = max(high - width, 0.0)
        axes.barh([0], [width], left=[start], height=0.3, color="C0", alpha=1.0 if drawn.proved else 0.4)
    else:
        axes.plot([low, high], [0, 0], "o", color="C0")
    axes.axvline(drawn.claim, label=f"claim {as_given(drawn.claim)}", **_LINES["claim"])
    ticks = [step * i for i in range(round(top / step) + 1)]
    axes.set_xticks([*ticks, infinity], [*(f"{tick:.6g}" for tick in ticks), "∞"])
    axes.set(xlabel=drawn.axis_label, yticks=[], ylim=(-1, 1), xlim=(0, infinity))
    axes.legend(fontsize="x-small")


def _laws(axes: Any, drawn: Laws) -> None:
    names = [f"D: {drawn.event[1]}", f"D′: {drawn.event_prime[1]}"]
    if not drawn.bins:
        axes.bar(
            [0, 1], [drawn.event[0], drawn.event_prime[0]], color=["C0", "white"], edgecolor=["C0", "C3"]
        )
        axes.set_xticks([0, 1], [textwrap.fill(name, 30) for name in names])
        axes.set_ylabel("probability of the event")
        return
    places = range(len(drawn.bins))
    for side, (name, look) in enumerate(
        zip(names, ({"color": "C0"}, {"color": "white", "edgecolor": "C3"}), strict=True)
    ):
        shares = [each.probability_prime if side else each.probability for each in drawn.bins]
        label = _escape_label(f"event on {name}")
        axes.bar([at + 0.4 * side - 0.2 for at in places], shares, width=0.38, label=label, **look)
    for at in (number for number, each in enumerate(drawn.bins) if each.inside):
        axes.axvspan(at - 0.5, at + 0.5, color="0.5", alpha=0.15, linewidth=0)
    every = -(-len(drawn.bins) // 7)
    labels: Sequence[str] = [_escape_label(shortened_label(each.label, 12)) for each in drawn.bins]
    axes.set_xticks(list(places)[::every], labels[::every])
    axes.set(xlabel=_escape_label(drawn.reading), ylabel="share (shaded: in the event)")
    axes.margins(y=0.25)  # for the legend
    axes.legend(fontsize="x-small")


def _escape_label(text: str) -> str:
    return printable(shortened(text, 60)).replace("$", r"\$")
