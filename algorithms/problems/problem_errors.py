"""What is wrong with a problem, said before anything runs."""

from __future__ import annotations

from mechanisms.parameters import DPWitnessError


class ProblemError(DPWitnessError, ValueError):
    """A structure or problem that cannot be built: names the parameter, its value and the broken rule."""


class SettingError(ProblemError):
    """A setting given by name (``--set key=value``) that is unknown, malformed or out of range."""


def require_size(name: str, value: int, limit: int, of: str) -> None:
    """Refuse a size (a number of arms, positions ...) that is not in 1..`limit`.

    Parameters
    ----------
    name, value
        The parameter and its value.
    limit
        The largest value allowed.
    of
        What the limit counts, for the message ("arms").

    Raises
    ------
    ProblemError
        If ``value`` is not an integer with ``1 <= value <= limit``.
    """
    require_count(name, value)
    if value > limit:
        raise ProblemError(f"{name} = {value}: must be at most the number of {of}, {limit}")


def require_count(name: str, value: int) -> None:
    """Refuse a count that is not a positive integer.

    Raises
    ------
    ProblemError
        If ``value`` is not an integer, or below 1.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProblemError(f"{name} = {value!r}: must be an integer")
    if value < 1:
        raise ProblemError(f"{name} = {value}: must be at least 1")
