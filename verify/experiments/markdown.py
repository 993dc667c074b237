"""The report beside a picture: what the paper shows, what we see, and why they differ; in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from verify.experiments.comparisons import in_words
from verify.experiments.experiment import (
    Experiment,
    FigureLine,
    PaperStatement,
    Results,
    Scale,
    Seen,
    Size,
    TableContent,
)
from verify.subjects.resolve import every_learner


def report(
    experiment: Experiment,
    scale: Scale,
    size: Size,
    lines: Sequence[FigureLine],
    results: Results,
    *,
    note: str = "",
    content: TableContent | None = None,
) -> str:
    """Return the report of an experiment.

    Every sentence about what was measured is made by a rule from the numbers at hand.

    Parameters
    ----------
    experiment, scale, size, lines, results
        What was simulated, and how much.
    note
        A warning that goes first, such as that the data are made up.
    content
        The cells, of a table.
    """
    found = [(statement, statement.seen(results)) for statement in experiment.statements]
    parts = [f"# {experiment.name}: {experiment.title}", f"*{experiment.source}*"]
    if note:
        parts.append(f"**{note}**")
    if content is not None:
        parts.append(_markdown_table(content))
    parts += ["## What the paper shows", experiment.shows, "## What we see"]
    parts.append(
        "\n".join(_told(statement, seen) for statement, seen in found) or "Nothing is claimed of it."
    )
    differing = [
        reason for statement, seen in found if seen.holds is not True for reason in statement.why.splitlines()
    ]
    if differing:
        parts += ["## Why they differ", "\n".join(f"- {why}" for why in dict.fromkeys(differing))]
    parts += ["## Settings", experiment.setting]
    if lines:
        parts += [_size(scale, size, results), _markdown_table(_learners(lines, results))]
    return "\n\n".join(parts) + "\n"


def _told(statement: PaperStatement, seen: Seen) -> str:
    return f"- {statement.says} - {'**differs**' if seen.holds is False else seen.result}: {seen.words}."


def _size(scale: Scale, size: Size, results: Results) -> str:
    seconds = sum(runs.trace.seconds for points in results.values() for _, runs in points)
    runs = next(iter(results.values()))[0][1].trace.runs
    smaller = "" if scale == "paper" else " (quick: fewer rounds, runs or parameter values than the paper's)"
    return (
        f"Scale {scale}{smaller}: {size.horizon:,} rounds, {runs} runs of each configuration; {seconds:,.0f} s by the "
        "clock in all."
    )


def _learners(lines: Sequence[FigureLine], results: Results) -> TableContent:
    """Return every line with its learner, final regret, and what is known of its privacy claim."""
    rows = []
    for line in lines:
        configuration = line.points[-1][1]
        runs = results[line.name][-1][1]
        privacy = "" if line.role == "baseline" else f"ε = {configuration.epsilon:g}"
        if "noise_multiplier" in configuration.settings:
            privacy += f", noise x {configuration.settings['noise_multiplier']}"
        claim = every_learner[configuration.learner].as_printed
        rows.append((line.label, configuration.learner, line.role, privacy, in_words(runs.final), claim))
    return TableContent(
        ("line", "learner", "role", "privacy (last point)", "final regret", "its privacy claim"), tuple(rows)
    )


def _markdown_table(content: TableContent) -> str:
    """Return a table in Markdown."""
    rows = [content.columns, tuple("---" for _ in content.columns), *content.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
