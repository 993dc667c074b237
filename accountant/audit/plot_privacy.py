"""Pictures of a composition: its privacy profile and its trade-off curve."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from mechanisms import PrivacyProfile
from mechanisms.arrays import FloatArray
from mechanisms.losses.composed_loss import ComposedLoss, compose
from mechanisms.losses.enclosure import lower_end

_POINTS = 80


def _profile_points(loss: ComposedLoss) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return epsilons from 0 to where δ is 1e-12, and bounds on δ there: NaN below where none is known."""
    reach = loss.epsilon(1e-12).upper
    if math.isinf(reach):
        reach = max(1.0, 1.5 * min(loss.epsilon(1e-2).upper, 100.0))
    grid = np.linspace(0.0, max(reach, 1e-6), _POINTS)
    found = [loss.delta(float(x), width=1e-4) for x in grid]  # finer than a line is wide
    return (
        grid,
        np.array([math.nan if (low := lower_end(one)) is None else low for one in found]),
        np.array([one.upper for one in found]),
    )


def trade_off(grid: FloatArray, delta: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the least false-negative rate at each false-positive rate that the profile allows.

    f(α) = max over ε of max(1 - δ - e^ε α, e^{-ε} (1 - δ - α), 0) (Dong, Roth & Su 2022, Prop. 2.12).
    """
    odds = np.exp(np.minimum(grid, 700.0))[:, None]
    keep = 1.0 - delta[:, None]
    lines = np.maximum(keep - odds * alpha, (keep - alpha) / odds)
    return np.asarray(np.maximum(lines.max(axis=0), 0.0))


def plot_privacy(counted: tuple[tuple[PrivacyProfile, int], ...], title: str, path: Path) -> None:
    """Draw the privacy profile and the trade-off curve of a composition to a PNG file.

    Parameters
    ----------
    counted
        Profiles with counts.
    title
        What it is.
    path
        Where to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    loss = compose(counted)
    grid, lower, upper = _profile_points(loss)
    alpha = np.concatenate([np.geomspace(1e-8, 0.01, 200), np.linspace(0.01, 1.0, 400)])
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    seen = upper > 0
    left.semilogy(grid[seen], upper[seen], label="at most")
    left.fill_between(grid[seen], np.maximum(lower[seen], 1e-300), upper[seen], alpha=0.3, linewidth=0)
    left.set(xlabel="ε", ylabel="δ", title="privacy profile", ylim=(1e-12, 1.5))
    right.plot(alpha, trade_off(grid, upper, alpha), label="guaranteed")
    right.plot([0, 1], [1, 0], color="grey", linestyle=":", label="perfect privacy")
    right.set(
        xlabel="false-positive rate", ylabel="false-negative rate", title="trade-off curve", aspect="equal"
    )
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.suptitle(f"{title} (neighbours: {loss.neighbouring})", parse_math=False)
    figure.savefig(path, dpi=150)
