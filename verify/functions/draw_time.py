"""Estimate of the time of a function's draws from a few timed calls, against the time limit.

A test that is cut by a time limit shows little, and one that never came to its final draws shows nothing. So where all
draws that the effort asks for would not fit, bets are made instead, whose bound holds whenever they end.
"""

from __future__ import annotations

from dataclasses import dataclass

from verify.conduct.conduct import Conduct
from verify.conduct.spawn_keys import SpawnKey
from verify.functions.draw_budget import DrawBudget
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data


@dataclass(frozen=True, kw_only=True)
class _TimeEstimate:
    """Settings of the estimate of the time of all calls; the values were chosen by hand.

    Attributes
    ----------
    reserve
        Seconds for all that is not calls: choosing events, and the report.
    used
        Share of the time left that calls may take: later calls may be slower than the first.
    doubts
        Calls for each draw: a refutation is followed by draws that doubt it, of which there are as many as
        final ones (`verify.functions.doubts`).
    lanes
        Lanes of the call that is timed where a call answers for many: most of a call of few lanes is overhead.
    """

    reserve: float = 3.0
    used: float = 0.85
    doubts: float = 1.6
    lanes: int = 1 << 12


_ESTIMATE = _TimeEstimate()

LONG = 10.0
"""Seconds of all calls from which a test may be stopped before it has anything to say, so that bets are made first."""


def expected_seconds(runs: FunctionRuns, conduct: Conduct, data: Data) -> float:
    """Return the seconds that all calls which the effort asks for may take, and report them as progress.

    Parameters
    ----------
    runs
        Calls of the function, of which a first look has timed some.
    conduct
        The effort, and the seed of the calls.
    data
        A data set on which a call of many lanes is timed, if the first look's few were slow.
    """
    budget = DrawBudget(runs, conduct.effort)
    # A refutation is followed by draws that doubt it; the search of cheap functions has draws of its own.
    calls = _ESTIMATE.doubts * budget.samples
    calls += min(budget.samples, conduct.effort.search_samples) if budget.is_cheap else 0
    seconds, said = runs.seconds_a_draw, f"{budget.samples:,} draws"
    if runs.together and seconds * calls > LONG:
        before = runs.seconds
        runs.outputs(data, _ESTIMATE.lanes, SpawnKey.PROBE.sequence(conduct.seed, 8))
        seconds = min(seconds, (runs.seconds - before) / _ESTIMATE.lanes)
    # The time of a call of few lanes is mostly overhead, and tells nothing of many.
    said += "" if runs.together else f", whose calls take about {max(seconds * calls, 1.0):.0f} s"
    conduct.progress(0.0, said)
    return seconds * calls


def seconds_for_calls(conduct: Conduct) -> float:
    """Return the seconds that calls may take of those that are left."""
    left = conduct.seconds - conduct.elapsed_seconds
    return max(_ESTIMATE.used * (left - _ESTIMATE.reserve), 0.0)


def draws_fit(runs: FunctionRuns, conduct: Conduct, draws: int) -> bool:
    """Return whether the draws of a test, and those that doubt its result, fit into the time that is left."""
    return _ESTIMATE.doubts * runs.seconds_a_draw * draws <= seconds_for_calls(conduct)
