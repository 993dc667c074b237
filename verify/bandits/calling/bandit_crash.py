"""The line at which a foreign bandit failed: the last of its own code, not a library's."""

from __future__ import annotations

from pathlib import Path

from verify.findings.subject_error import failing_place, traceback_places

_CALLING = Path(__file__).resolve().parent


def place_in_bandit(error: BaseException) -> str | None:
    """Return the last line of an exception's traceback that is the bandit's.

    Returns
    -------
    str or None
        "" if the bandit was called wrongly, and no line is its own; None if the exception came neither from a bandit
        nor from calling it: then the verifier itself is at fault.
    """
    place = failing_place(error)
    called = any(Path(each.file).resolve().parent == _CALLING for each in traceback_places(error))
    return str(place) if place.file or called else None
