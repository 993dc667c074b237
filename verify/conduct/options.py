"""Checks of what a verification is called with, before anything is drawn."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from typing import Any

from algorithms.problems import LinearBandit

MOST_WORKERS = 1_000
"""Processes of a black-box test."""

_LONGEST = 60  # characters of a value that are shown


def check_number(name: str, value: Any) -> float:
    """Return a number as a float; NaN and infinity are left to the rule of the parameter.

    Raises
    ------
    ValueError
        If the value is no real number, or larger than every float.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name}={_shown(value)}: must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}={_shown(value)}: is larger than every float") from None


def check_types(
    *,
    epsilon: Any,
    delta: Any,
    problem: Any,
    settings: Any,
    horizon: Any,
    effort: Any,
    samples: Any,
    confidence: Any,
    false_alarm: Any,
    flags: Mapping[str, Any],
    adversary: Any,
    workers: Any,
    wealth: Any,
    progress: Any,
) -> None:
    """Refuse what is of a wrong type, as `verify.verification.verify` takes it; ranges are checked where they matter.

    Parameters
    ----------
    flags
        Those that are true or false, by name.

    Raises
    ------
    ValueError
        Whose message names the parameter, the value and the rule.
    """
    for name, value in (("epsilon", epsilon), ("delta", delta), ("samples", samples)):
        if value is not None:
            check_number(name, value)
    for name, value in (("confidence", confidence), ("false_alarm", false_alarm)):
        check_number(name, value)
    for name, value in (("workers", workers), ("horizon", horizon)):
        missing = value is None and name == "horizon"
        if not missing and (isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1):
            raise ValueError(f"{name}={_shown(value)}: must be a whole number of at least 1")
    if workers > MOST_WORKERS:
        raise ValueError(f"workers={_shown(workers)}: must be at most {MOST_WORKERS}")
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name}={_shown(value)}: must be True or False")
    may_be_none = (
        ("problem", problem, _is_problem(problem), "a problem or its name"),
        ("settings", settings, isinstance(settings, Mapping), "a dictionary of parameters by name"),
        ("adversary", adversary, _is_adversary(adversary), "an adversary or its name"),
        ("wealth", wealth, isinstance(wealth, str | os.PathLike), "the path of a file"),
    )
    for name, value, right, words in may_be_none:
        if value is not None and not right:
            raise ValueError(f"{name}={_shown(value)}: must be {words}")
    if not isinstance(effort, str):
        raise ValueError(f"effort={_shown(effort)}: must be a name")
    if progress is not None and not callable(progress):
        raise ValueError(
            f"progress={_shown(progress)}: must be a function of a share and of what is being done"
        )


def _is_problem(value: Any) -> bool:
    return isinstance(value, str | LinearBandit) or hasattr(value, "structure")


def _is_adversary(value: Any) -> bool:
    return isinstance(value, str) or callable(getattr(value, "turn", None))


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:
        return f"{value:#x}"[:_LONGEST] + "..."
    said = repr(value)
    return said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."
