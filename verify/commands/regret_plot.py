"""The picture of a simulation: the regret over the rounds, on a PNG file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verify.printable import printable

_TITLE = 80  # characters


def plot_regret(found: Mapping[str, Any], path: Path) -> None:
    """Draw the mean cumulative regret and a band of two standard errors to a PNG file.

    Parameters
    ----------
    found
        The simulation, as the command prints it.
    path
        Where to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rounds, mean = found["rounds"], np.asarray(found["regret_mean"])
    (line,) = axes.plot(rounds, mean, label=f"mean of {found['runs']} runs")
    if found["runs"] > 1:
        band = 2.0 * np.asarray(found["regret_sem"], dtype=np.float64)
        axes.fill_between(
            rounds,
            mean - band,
            mean + band,
            color=line.get_color(),
            alpha=0.25,
            linewidth=0,
            label="± 2 standard errors",
        )
    axes.set_xscale("log")
    axes.set_xlim(1, max(2, max(rounds)))
    axes.set_xlabel("round t")
    axes.set_ylabel("cumulative regret")
    title = f"{found['learner']} on {found['problem']}"
    axes.set_title(printable(title, _TITLE), parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=150)
