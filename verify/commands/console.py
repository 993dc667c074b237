"""The console of results on standard output, and tables of lines on it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

_NARROWEST, _USUAL = 20, 80  # columns


def result_console() -> Console:
    """Return the console that shows results on standard output, as wide as the terminal.

    Where that does not know how wide it is (``COLUMNS=0``), or is too narrow for any word, it is as if it were usual.
    """
    console = Console()
    if console.width < _NARROWEST:
        console.width = _USUAL
    return console


def print_lines(console: Console, heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a line for each row, cut at the console's width."""
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        shown = line if len(line) <= console.width else f"{line[: console.width - 1]}…"
        console.print(Text(shown, style="bold" if row is heading else ""), no_wrap=True)
    console.print()
