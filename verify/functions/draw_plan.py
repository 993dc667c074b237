"""The number of draws of a function that its time limit allows: a few calls are timed, the rest is planned by that.

A test that is cut by a time limit shows little, and one that never came to its final draws shows nothing. So where all
draws that the effort asks for would not fit, there are fewer from the beginning, and all stages shrink together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from verify.conduct.spawn_keys import SpawnKey
from verify.findings.finding import Finding, Statement
from verify.functions.draw_budget import DRAWS_OF_ALL_TESTS, DrawBudget
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data
from verify.sampling.stage_sizes import FEWEST_SAMPLES


@dataclass(frozen=True, kw_only=True)
class _Planning:
    """What a plan reckons with; the values were chosen by hand.

    Attributes
    ----------
    reserve
        Seconds for what no call takes: laying out events, and the report.
    used
        Share of the time left that calls are planned for: later calls may be slower than the first.
    doubts
        Calls for each planned draw: a refutation is followed by draws that doubt it, of which there are as many as
        final ones (`verify.functions.doubts`).
    digits
        Binary digits that are kept of a number of draws, so that a run on the same machine mostly plans the same.
    lanes
        Lanes of the call that is timed where a call answers for many: most of a call of few lanes is overhead.
    """

    reserve: float = 3.0
    used: float = 0.85
    doubts: float = 1.6
    digits: int = 4
    lanes: int = 1 << 12


_PLANNING = _Planning()


@dataclass(frozen=True)
class DrawPlan:
    """So many draws, as the time allows.

    Attributes
    ----------
    budget
        How draws are shared out, and how many the effort asks for.
    draws
        Of all tests together; at least 1,024.
    seconds
        That a draw takes.
    limit, begins
        The time limit, and how much of it was over when the plan was made; in seconds.
    """

    budget: DrawBudget
    draws: int
    seconds: float
    limit: float
    begins: float

    @property
    def description(self) -> str:
        """The plan in words, for the report of progress."""
        ends = self.begins + self.seconds * _calls(self.budget, self.draws)
        return f"{self.draws:,} draws of {self.seconds:.2g} s, about {max(ends - self.begins, 1.0):.0f} s"

    @property
    def finding(self) -> Finding:
        """The plan as a finding, with the time limit that suffices for all draws; or for any, if this is too short."""
        asked = self.budget.samples
        calls, all_calls = _calls(self.budget, self.draws), _calls(self.budget, asked)
        ends = math.ceil(self.begins + self.seconds * calls)
        if ends > self.limit:
            least = math.ceil(self.begins + self.seconds * calls / _PLANNING.used + _PLANNING.reserve)
            return Statement.TOO_DEAR.finding(
                seconds=self.seconds, draws=self.draws, ends=ends, limit=self.limit, least=least
            )
        return Statement.FEWER_DRAWS.finding(
            seconds=self.seconds,
            draws=self.draws,
            asked=asked,
            limit=self.limit,
            ends=ends,
            enough=math.ceil(self.begins + self.seconds * all_calls / _PLANNING.used + _PLANNING.reserve),
            bits=""
            if self.draws >= DRAWS_OF_ALL_TESTS
            else "; the lowest bits of numbers are not tested on so few",
        )


def plan_draws(
    runs: FunctionRuns, budget: DrawBudget, data: Data, *, seed: int, limit: float, spent: float
) -> DrawPlan | None:
    """Return how many draws fit into a time limit; None if all that the effort asks for do.

    Parameters
    ----------
    runs
        Calls of the function, of which a first look has timed some.
    budget
        How the draws would be shared out.
    data
        A data set on which a call of many lanes is timed, if the first look's few were slow.
    seed
        Of that call.
    limit, spent
        The time limit, and how much of it is over; seconds.
    """
    if budget.effort.given:
        return None
    asked, seconds = _calls(budget, budget.samples), runs.seconds_a_draw
    if seconds * asked <= _time(limit - spent):
        return None
    if runs.together:
        before = runs.seconds
        runs.outputs(data, _PLANNING.lanes, SpawnKey.PROBE.sequence(seed, 8))
        taken = runs.seconds - before
        spent, seconds = spent + taken, min(seconds, taken / _PLANNING.lanes)
        if seconds * asked <= _time(limit - spent):
            return None
    affordable = _draws(budget, _time(limit - spent) / seconds)
    return DrawPlan(budget, max(_rounded(affordable), FEWEST_SAMPLES), seconds, limit, spent)


def expected_draws(runs: FunctionRuns, budget: DrawBudget) -> str:
    """Return the number of draws in words, with about the time of their calls, for the report of progress.

    Of functions that answer for many lanes only the number: most of a call of few lanes is overhead.
    """
    draws = f"{budget.samples:,} draws"
    if runs.together or not runs.seconds:
        return draws
    return f"{draws}, whose calls take about {max(runs.seconds_a_draw * _calls(budget, budget.samples), 1.0):.0f} s"


def fits_time_limit(runs: FunctionRuns, draws: int, left: float) -> bool:
    """Return whether so many draws of a test, and those that doubt it, fit into so many seconds."""
    return _PLANNING.doubts * runs.seconds_a_draw * draws <= _time(left)


def _time(left: float) -> float:
    """Return the seconds that calls may take of those that are left."""
    return max(_PLANNING.used * (left - _PLANNING.reserve), 0.0)


def _calls(budget: DrawBudget, draws: int) -> float:
    """Return how many calls so many draws of all tests take, with the search and all doubts."""
    beside = min(draws, budget.effort.search_samples) if budget.is_cheap else 0
    return _PLANNING.doubts * draws + beside


def _draws(budget: DrawBudget, calls: float) -> int:
    """Return for how many draws so many calls do: the inverse of `_calls`."""
    most = budget.effort.search_samples if budget.is_cheap else 0
    return int(max((calls - most) / _PLANNING.doubts, calls / (_PLANNING.doubts + budget.is_cheap)))


def _rounded(draws: int) -> int:
    """Round down to four binary digits."""
    unit = 1 << max(draws.bit_length() - _PLANNING.digits, 0)
    return draws // unit * unit
