"""Picture of a verification: the empirical privacy-loss band beside what is proved."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from accountant.audit import trade_off
from verify.findings.printable import printable
from verify.verdict.result import Verification

_TITLE = 100  # characters
_LEAST_DELTA = 1e-7  # the least decade of the left axis


def plot_band(verification: Verification, path: Path) -> bool:
    """Draw a verification's band to a PNG file; return whether it has one.

    Left the profile's lower bound beside its upper bound, right both trade-off curves.
    """
    band, claim = verification.details.get("band"), verification.claim
    if band is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    grid = np.asarray(band["epsilon"], dtype=np.float64)
    lower = np.asarray(band["delta_lower"], dtype=np.float64)
    upper = None if band["delta_upper"] is None else np.asarray(band["delta_upper"], dtype=np.float64)
    percent = f"{100.0 * float(band['confidence']):.3g} %"
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)

    known = np.ones(grid.shape) if upper is None else upper
    least = max(_LEAST_DELTA, 0.3 * float(np.min(lower[lower > 0.0], initial=1.0)))
    left.fill_between(
        grid, np.maximum(lower, least), np.maximum(known, least), alpha=0.15, color="C0", linewidth=0,
        label="possible",
    )  # fmt: skip
    if upper is not None:
        words = textwrap.fill(printable(f"at most: {band['delta_upper_by']}"), 38).replace("$", r"\$")
        left.semilogy(grid, np.where(upper > 0.0, upper, np.nan), color="C0", label=words)
    left.semilogy(
        grid, np.where(lower > 0.0, lower, np.nan), color="C3", label=f"at least ({percent} confidence)"
    )
    left.axvline(claim.epsilon, color="black", linestyle="--", linewidth=1, label="claim")
    if claim.delta > 0.0:
        left.plot([claim.epsilon], [claim.delta], "k^", markersize=7)
    left.set(xlabel="ε", ylabel="δ", title="privacy profile", ylim=(least, 1.5), xlim=(0.0, grid[-1]))

    alpha = np.asarray(band["trade_off"]["alpha"], dtype=np.float64)
    reachable = np.asarray(band["trade_off"]["beta_upper"], dtype=np.float64)
    right.plot([0, 1], [1, 0], color="grey", linestyle=":", label="perfect privacy")
    if upper is not None:
        guaranteed = trade_off(grid, upper, alpha)
        right.fill_between(alpha, guaranteed, reachable, alpha=0.15, color="C0", linewidth=0)
        right.plot(alpha, guaranteed, color="C0", label="guaranteed")
    right.plot(alpha, reachable, color="C3", linestyle="--", label="reached by a test")
    right.set(
        xlabel="false-positive rate", ylabel="false-negative rate", title="trade-off curve", aspect="equal"
    )
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small")
    words = f"{verification.subject}: {verification.verdict} (neighbours: {claim.neighbours})"
    title = printable(words, _TITLE)
    figure.suptitle(title, parse_math=False)
    figure.savefig(path, dpi=150)
    return True
