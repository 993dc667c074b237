"""Can a function's outputs be read, and do they hold anything unusual: errors, what is no number, several shapes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from verify.findings import Finding, Statement
from verify.functions.probe_result import SeenOutputs, words_of
from verify.functions.runs import FunctionRuns
from verify.outputs.output_readings import Readings
from verify.outputs.shapes import shown
from verify.subject_error import SubjectError


def check_readable(runs: FunctionRuns, seen: Sequence[SeenOutputs], tried: int) -> None:
    """Refuse a function of which nothing can be read; `tried` is how many other data sets were tried.

    Raises
    ------
    SubjectError
        If it always raises, or returns nothing.
    """
    beside = f" ({tried} other data sets were tried)" if tried else ""
    readings = [one.readings for one in seen]
    if all(len(r.raised) == len(r) for r in readings):
        error = readings[0].raised[0]
        raise SubjectError(f"{runs.name} raised {error.message} (at {error.where}) in every call{beside}")
    if all(map(_is_empty, readings)) or all(map(_is_none, readings)):
        raise SubjectError(
            f"{runs.name} returned nothing in every call{beside}: must return a number or an array of numbers, or words"
        )


def _is_empty(readings: Readings) -> bool:
    """Return whether all outputs are lists of nothing."""
    no_number = bool(np.isnan(readings.values).all()) and readings.shapes != ("",)
    return not readings.raised and not readings.words and no_number


def _is_none(readings: Readings) -> bool:
    """Return whether all outputs are None."""
    words = readings.words.get(0)
    return (
        words is not None
        and len(readings.words) == 1
        and bool(words.present.all())
        and words.spoken == {"None"}
    )


def unusual_outputs(seen: Sequence[SeenOutputs]) -> Iterator[Finding]:
    """Yield what is unusual about outputs: errors, what is no number, several shapes."""
    raised = next((one for one in seen if one.readings.raised), None)
    if raised is not None:
        error = next(iter(raised.readings.raised.values()))
        never = next((words_of(one.data) for one in seen if not one.readings.raised), None)
        yield Statement.RAISES.finding(
            error.where,
            error=error.message,
            raised=len(raised.readings.raised),
            calls=len(raised.readings),
            data=words_of(raised.data),
            never=f", and in none on {never}" if never else "",
        )
    missing = next((one for one in seen if _misses_numbers(one.readings)), None)
    if missing is not None:
        yield Statement.NAN.finding(
            failing=all(np.isnan(one.readings.values).all() for one in seen),
            count=int(np.isnan(missing.readings.values).any(axis=1).sum()),
            outputs=len(missing.readings),
            data=words_of(missing.data),
        )
    shapes = dict.fromkeys(
        shown(shape) for one in seen for shape in one.readings.shapes if shape != "nothing"
    )
    if len(shapes) > 1:
        listed = ", ".join([*list(shapes)[:4], *(["..."] if len(shapes) > 4 else [])])
        yield Statement.SHAPES.finding(shapes=listed)


def _misses_numbers(readings: Readings) -> bool:
    """Return whether an output of numbers holds NaN; what a set may hold is absent where it does not."""
    numbers = not readings.raised and not readings.words and len(readings.shapes) == 1
    in_sets = any(name.endswith("}") for name in readings.names)
    return numbers and bool(np.isnan(readings.values).any()) and not in_sets
