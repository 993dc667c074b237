"""The catalogue as lines of text, for lists and completion: no learner is imported to read them."""

from __future__ import annotations

from pathlib import Path

NAMES = Path(__file__).with_name("names.txt")
"""The kind, name and facts of each entry, separated by tabs, a line each; a test fails when they are out of date."""

LEARNERS = ("learner", "model", "claim", "what it does")
PROBLEMS = ("problem", "kind", "what it is")
"""The headings of learners and problems."""


def rows_of(*kinds: str) -> list[list[str]]:
    """Return the names and facts of all entries of some kinds: learner, specimen, problem, figure, deployment."""
    rows = (line.split("\t") for line in NAMES.read_text(encoding="utf-8").splitlines())
    return [row for kind, *row in rows if kind in kinds]
