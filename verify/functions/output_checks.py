"""Can a function's outputs be read, and do they hold anything unusual: errors, what is no number, several shapes?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verify.findings import Statement
from verify.functions.probe_result import Probe, words_of
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data
from verify.outputs.output_readings import Readings
from verify.outputs.shapes import shown
from verify.subject_error import SubjectError


def check_readable(runs: FunctionRuns, seen: Sequence[Readings], tried: int) -> None:
    """Refuse a function of which nothing can be read; `tried` is how many other data sets were tried.

    Raises
    ------
    SubjectError
        If it always raises, or returns nothing.
    """
    beside = f" ({tried} other data sets were tried)" if tried else ""
    if all(len(readings.raised) == len(readings) for readings in seen):
        error = seen[0].raised[0]
        raise SubjectError(f"{runs.name} raised {error.message} (at {error.where}) in every call{beside}")
    empty = [
        r for r in seen if not r.raised and not r.words and np.isnan(r.values).all() and r.shapes != ("",)
    ]
    if len(empty) == len(seen) or all(map(_is_none, seen)):
        raise SubjectError(
            f"{runs.name} returned nothing in every call{beside}: must return a number or an array of numbers, or words"
        )


def _is_none(readings: Readings) -> bool:
    """Return whether all outputs are None."""
    words = readings.words.get(0)
    return (
        words is not None
        and len(readings.words) == 1
        and bool(words.present.all())
        and words.spoken == {"None"}
    )


def look_at_outputs(datasets: Sequence[Data], seen: Sequence[Readings], result: Probe) -> None:
    """Look for outputs that are errors, not numbers, or of several shapes."""
    raised = [(data, r) for data, r in zip(datasets, seen, strict=True) if r.raised]
    if raised:
        data, readings = raised[0]
        error = next(iter(readings.raised.values()))
        never = next((words_of(d) for d, r in zip(datasets, seen, strict=True) if not r.raised), None)
        result.findings.append(
            Statement.RAISES.finding(
                error.where,
                error=error.message,
                raised=len(readings.raised),
                calls=len(readings),
                data=words_of(data),
                never=f", and in none on {never}" if never else "",
            )
        )
    missing = [
        (data, int(np.isnan(r.values).any(axis=1).sum()), len(r))
        for data, r in zip(datasets, seen, strict=True)
        if not r.raised and not r.words and len(r.shapes) == 1 and np.isnan(r.values).any()
        if not any(name.endswith("}") for name in r.names)  # what a set may hold is absent where it does not
    ]
    if missing:
        data, count, n = missing[0]
        nothing_else = all(np.isnan(r.values).all() for r in seen)
        found = Statement.NAN.finding(failing=nothing_else, count=count, outputs=n, data=words_of(data))
        result.findings.append(found)
    shapes = dict.fromkeys(shown(shape) for r in seen for shape in r.shapes if shape != "nothing")
    if len(shapes) > 1:
        listed = ", ".join([*list(shapes)[:4], *(["..."] if len(shapes) > 4 else [])])
        result.findings.append(Statement.SHAPES.finding(shapes=listed))
