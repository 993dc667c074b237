"""The picture of a simulation: the regret over the rounds, on a PNG file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from algorithms.simulate import Trace


def plot_regret(trace: Trace, title: str, path: Path) -> None:
    """Draw the mean cumulative regret and a band of two standard errors to a PNG file.

    Parameters
    ----------
    trace
        The simulation.
    title
        What was simulated.
    path
        Where to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    (line,) = axes.plot(trace.rounds, trace.regret_mean, label=f"mean of {trace.runs} runs")
    if trace.runs > 1:
        band = 2 * trace.regret_sem
        axes.fill_between(
            trace.rounds,
            trace.regret_mean - band,
            trace.regret_mean + band,
            color=line.get_color(),
            alpha=0.25,
            linewidth=0,
            label="± 2 standard errors",
        )
    axes.set_xscale("log")
    axes.set_xlim(1, max(2, int(np.max(trace.rounds))))
    axes.set_xlabel("round t")
    axes.set_ylabel("cumulative regret")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=150)
