"""Reports of the progress of a verification."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Function that is called with the share done, from 0 to 1, and a description of the present step."""


def no_progress(share: float, doing: str) -> None:
    """Ignore a report of progress."""


def subprogress(progress: Progress, start: float, end: float) -> Progress:
    """Return the function to which a stage reports its own share, if it takes the whole from `start` to `end`.

    Examples
    --------
    >>> subprogress(print, 0.5, 1.0)(0.5, "final test")
    0.75 final test
    """
    return lambda share, doing: progress(start + (end - start) * share, doing)
