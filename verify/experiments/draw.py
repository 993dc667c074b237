"""Pictures of experiments as PNG files: lines with bands, and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.numerics.printed_numbers import counted_noun
from verify.document.png import written_figure
from verify.experiments.experiment import FigureAxis, FigureLine, PlotAxes, Quantity, Results, TableContent
from verify.findings.printable import printable

_DASHES = {"baseline": "-", "published": "--", "certified": "-", "own": "-."}
_MARKS = {"baseline": "", "published": " (as published)", "certified": " (certified)", "own": ""}
_TITLE = 72  # characters in a line


def draw_figure(
    lines: Sequence[FigureLine], results: Results, path: Path, title: str, shown: PlotAxes
) -> None:
    """Draw a quantity of lines against the rounds or a parameter, the legend beneath.

    Parameters
    ----------
    lines, results
        The lines, and their simulated runs.
    path
        A PNG file.
    title
        Some lines.
    shown
        The axes.
    """
    x, y, band = shown.x, shown.y, shown.band
    with written_figure(path, (6.4, 4.6)) as canvas:
        axes = canvas.add_subplot()
        several = False
        for number, line in enumerate(lines):
            places, mean, spread = _curve(results[line.name], x, y, band)
            several = several or bool(spread.any())
            first = next((each for each in lines if each.role == "baseline"), None)
            black = "black" if line is first else "0.55"  # a second baseline is grey
            colour = black if line.role == "baseline" else f"C{line.colour}"
            (drawn,) = axes.plot(
                places,
                mean,
                _DASHES[line.role],
                color=colour,
                linewidth=1.6,
                marker="osv^Dx"[number % 6],
                markersize=4,
                markevery=1
                if x.of is not None and len(places) <= 20
                else _marks(places, x, number, len(lines)),
                label=printable(line.label + _MARKS[line.role], 90),
            )
            axes.fill_between(
                places, mean - spread, mean + spread, color=drawn.get_color(), alpha=0.18, linewidth=0
            )
        if shown.optimum:
            best = _best_reward(results)
            label = f"Optimal Policy ({best:.4g})"
            axes.axhline(best, color="grey", linestyle=":", linewidth=1.4, label=label)
        if x.logarithmic:
            axes.set_xscale("log")
        if shown.log_y:
            axes.set_yscale("log")
        elif not y.more_is_better:
            axes.set_ylim(bottom=0)
        if x.of is None:
            longest = max(int(points[0][1].trace.rounds[-1]) for points in results.values())
            axes.set_xlim(1 if x.logarithmic else 0, max(2, longest))
            if not x.logarithmic:
                axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        words = "\n".join(textwrap.fill(printable(part, 200), _TITLE) for part in title.split("\n"))
        axes.set_title(words, parse_math=False, fontsize="medium", loc="left")
        axes.grid(alpha=0.25)
        runs = next(iter(results.values()))[0][1].trace.runs
        canvas.legend(
            loc="outside lower center",
            ncols=2,
            fontsize="small",
            frameon=False,
            title=f"mean of {counted_noun(runs, 'run')}" + (f", shaded: {band}" if several else ""),
            title_fontsize="small",
        )


def draw_table(content: TableContent, path: Path, title: str, note: str = "") -> None:
    """Draw a table as a picture.

    Parameters
    ----------
    content
        The cells.
    path
        A PNG file.
    title, note
        Above it.
    """
    cells = [[textwrap.fill(printable(cell), 34) for cell in row] for row in content.rows]
    heads = [textwrap.fill(printable(name), 34) for name in content.columns]
    widths = [
        max(len(part) for cell in column for part in cell.split("\n"))
        for column in zip(heads, *cells, strict=True)
    ]
    heights = [max(cell.count("\n") + 1 for cell in row) for row in [heads, *cells]]
    size = (max(5.0, 0.085 * sum(widths) + 0.25 * len(widths)), 0.6 + 0.2 * sum(heights))
    with written_figure(path, size, layout=None, bbox_inches="tight", pad_inches=0.15) as canvas:
        axes = canvas.add_axes((0.02, 0.02, 0.96, 0.96))
        axes.axis("off")
        words = "\n".join(part for part in (title, note) if part)
        axes.set_title(
            textwrap.fill(words, 100) if not note else words, parse_math=False, fontsize=10, loc="left"
        )
        table = axes.table(
            cellText=cells,
            colLabels=heads,
            colWidths=[(width + 2) / (sum(widths) + 2 * len(widths)) for width in widths],
            cellLoc="left",
            loc="upper center",
            edges="horizontal",
        )
        table.auto_set_font_size(False)
        table.set_fontsize(8)
        for (row, _), cell in table.get_celld().items():
            cell.set_height(0.93 * heights[row] / sum(heights))
            cell.get_text().set_parse_math(False)
            if row == 0:
                cell.get_text().set_fontweight("bold")


def _curve(
    points: Sequence[tuple[float, Any]], x: FigureAxis, y: Quantity, band: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return places, means and half the height of the band."""
    if x.of is None:
        runs = points[0][1]
        places, values = runs.trace.rounds.astype(np.float64), y.values(runs)
    else:
        places = np.array([x.of(value) for value, _ in points])
        values = np.stack([y.values(runs)[-1] for _, runs in points])
        order = np.argsort(places)
        places, values = places[order], values[order]
    runs_count = values.shape[1]
    deviation = values.std(axis=1, ddof=1) if runs_count > 1 else np.zeros(len(places))
    spread = deviation if band == "± standard deviation" else 2.0 * deviation / np.sqrt(runs_count)
    return places, values.mean(axis=1), spread


def _best_reward(results: Results) -> float:
    """Return the best reward of a round, which is the same for all."""
    trace = next(iter(results.values()))[0][1].trace
    return float((trace.regret + trace.reward)[-1].mean() / trace.rounds[-1])


def _marks(places: FloatArray, x: FigureAxis, number: int, lines: int) -> list[int]:
    """Return the indices of a line's marks: at most eight, evenly spaced on the axis, between those of other lines."""
    scale = np.log(np.maximum(places, 1.0)) if x.logarithmic else places
    wanted = scale[0] + (scale[-1] - scale[0]) * (np.arange(8) + (number + 0.5) / lines) / 8
    return sorted({int(np.abs(scale - place).argmin()) for place in wanted})
