"""The picture of a regret claim: regret between its limits, the bound, and the same learner without privacy."""

from __future__ import annotations

from pathlib import Path

from verify.findings.printable import printable
from verify.regret_claims.regret_report import RegretReport

_TITLE = 90  # characters


def plot_claim(report: RegretReport, twin: RegretReport | None, path: Path) -> None:
    """Draw a report to a PNG file, both axes logarithmic.

    Parameters
    ----------
    report, twin
        What was found, and of a learner without privacy on the same instance, if there is one.
    path
        Where to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rounds = [each.round for each in report.outcome]
    (line,) = axes.plot(rounds, [each.mean for each in report.outcome], label=f"mean of {report.lanes} runs")
    axes.fill_between(
        rounds,
        [each.lower for each in report.outcome],
        [each.upper for each in report.outcome],
        color=line.get_color(),
        alpha=0.2,
        linewidth=0,
        label=f"limits on expected regret, all at once (error {report.error:g})",
    )
    axes.plot(
        rounds, [each.trivial for each in report.outcome], color="grey", linestyle=":", label="worst possible"
    )
    bounds = [each.bound for each in report.outcome]
    if max(bounds) < float("inf"):
        axes.plot(rounds, bounds, color="black", linestyle="--", label="theorem")
    if twin is not None:
        means = [each.mean for each in twin.outcome]
        axes.plot([each.round for each in twin.outcome], means, label=f"without privacy ({twin.learner})")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("round t")
    axes.set_ylabel("cumulative regret")
    title = f"{report.learner}, epsilon = {report.epsilon:g}, {report.problem}: {report.verdict}"
    title = f"{printable(title, _TITLE)}\n(neighbours: {report.neighbours})"
    axes.set_title(title, parse_math=False, fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize="small")
    figure.savefig(path, dpi=150)
