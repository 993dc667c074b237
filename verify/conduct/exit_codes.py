"""The exit codes of the commands and their meanings, on which scripts rely."""

from __future__ import annotations

from collections.abc import Iterable

GOOD = 0
"""Certified, within the budget, or done."""

BAD = 1
"""Refuted, or the budget is exceeded."""

INPUT_ERROR = 2
"""A usage or input error, or a result that could not be written."""

OPEN = 3
"""Neither certified nor refuted."""

OWN_ERROR = 4
"""An error of dpwitness's own."""

INTERRUPTED = 130
"""Ctrl-C, before there was anything to report."""


def worst(codes: Iterable[int]) -> int:
    """Return the worst of the exit codes of several results: bad before open before good."""
    return max(codes, key=(GOOD, OPEN, BAD).index)
