"""CSV files of simulations, with a row for each run and checkpoint, and of tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from verify.experiments.experiment import FigureLine, Results, TableContent

_COLUMNS = (
    "line", "role", "learner", "problem", "settings", "epsilon", "delta", "parameter", "run", "round", "regret",
    "reward",
)  # fmt: skip


def write_runs(lines: Sequence[FigureLine], results: Results, path: Path, *, only_last: bool = False) -> None:
    """Write a row for each run and checkpoint: cumulative expected regret and reward.

    Parameters
    ----------
    lines, results
        The lines, and their simulated runs.
    path
        The file.
    only_last
        True to write the end of each run only, as for a figure against a parameter.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(_COLUMNS)
        for line in lines:
            for (parameter, runs), (_, configuration) in zip(results[line.name], line.points, strict=True):
                settings = " ".join(f"{key}={value}" for key, value in configuration.settings.items())
                about = [
                    line.name, line.role, runs.learner, runs.problem, settings, repr(configuration.epsilon),
                    repr(configuration.delta), repr(parameter),
                ]  # fmt: skip
                trace = runs.trace
                kept = range(len(trace.rounds))[-1:] if only_last else range(len(trace.rounds))
                for run in range(trace.runs):
                    for i in kept:
                        regret, reward = float(trace.regret[i, run]), float(trace.reward[i, run])
                        rows.writerow([*about, run, int(trace.rounds[i]), repr(regret), repr(reward)])


def write_table(content: TableContent, path: Path) -> None:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(content.columns)
        rows.writerows(content.rows)
