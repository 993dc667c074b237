"""A first look at a function before anything is tested: what its outputs look like, and what is wrong with it.

A few outputs are drawn on every data set of the known pairs, on one pair several times over, with one generator and
two global random states, and on one data set with many generators.
"""

from __future__ import annotations

from collections.abc import Sequence

from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings import Finding, Statement
from verify.functions.elsewhere import Elsewhere, look_elsewhere
from verify.functions.noise_checks import look_at_calls, look_at_noise, look_at_repeats
from verify.functions.output_checks import check_readable, look_at_outputs
from verify.functions.probe_result import Probe, words_of
from verify.functions.runs import FunctionRuns, same_data
from verify.neighbouring.adjacency import Adjacency, Data, Pair
from verify.outputs.output_layout import Layout, layout_of
from verify.outputs.output_readings import Readings
from verify.outputs.wide_outputs import BLOCKS, KEPT, MOST_COLUMNS

LANES, CALLS = 64, 8  # outputs on a data set: in one call, or at least so many calls
ALL_CALLS = 256  # calls on all data sets together, if there are few
MORE = 1_024  # outputs on either data set of the first pair, of functions whose outputs vary in form
CALL_SECONDS = 10.0  # for the outputs on one data set


class NeverEnds(Exception):
    """A call took too long; `finding` says which."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def probe(
    runs: FunctionRuns, adjacency: Adjacency, pairs: Sequence[Pair], seed: int, seconds: float
) -> Probe:
    """Look at a function on the data sets of some pairs of neighbours, and on others if all those look alike.

    Raises
    ------
    SubjectError
        If it always raises, returns nothing that can be read, or repeats one draw on all lanes.
    NeverEnds
        If the outputs on one data set take longer than 10 s or half of `seconds`.
    RaisedInLanes
        If it raises while it works on several lanes at once.
    """
    datasets = _different([data for pair in pairs for data in (pair.data, pair.other)])
    n = LANES if runs.together else max(CALLS, ALL_CALLS // len(datasets))
    seen = [_first_outputs(runs, data, number, n, seed, seconds) for number, data in enumerate(datasets)]
    others = Elsewhere(0, None)
    first = seen[0].rows[0]
    if all(row == first for readings in seen for row in readings.rows):
        others = look_elsewhere(runs, adjacency, datasets, first, seed)
        if others.pair is not None:
            pairs = [others.pair, *pairs]
            more = _different([*datasets, others.pair.data, others.pair.other])[len(datasets) :]
            seen += [
                _first_outputs(runs, data, number, n, seed, seconds)
                for number, data in enumerate(more, start=len(datasets))
            ]
            datasets += more
    check_readable(runs, seen, others.tried)
    result = Probe(_layout(runs, pairs[0], seen, seed), elsewhere=others.pair)
    runs.width = result.layout.width
    look_at_repeats(runs, pairs[0], n, seed, result)
    look_at_noise(runs, adjacency, pairs[0], datasets, seen, others.tried, seed, result)
    if runs.together:
        look_at_calls(runs, pairs[0].data, seed, result)
    look_at_outputs(datasets, seen, result)
    _look_beside(runs, result)
    return result


def _layout(runs: FunctionRuns, pair: Pair, seen: Sequence[Readings], seed: int) -> Layout:
    """Return the layout for outputs like those seen; more of them are drawn where words and shapes vary."""
    layout = layout_of(seen)
    if not (runs.subject.single_lanes and layout.varied):
        return layout
    more = [
        runs.outputs(data, MORE, SpawnKey.PROBE.sequence(seed, 7, world))
        for world, data in enumerate((pair.data, pair.other))
    ]
    return layout_of([*seen, *more])


def _different(datasets: Sequence[Data]) -> list[Data]:
    """Return each data set once."""
    found: list[Data] = []
    for data in datasets:
        if not any(same_data(data, known) for known in found):
            found.append(data)
    return found


def _first_outputs(
    runs: FunctionRuns, data: Data, number: int, n: int, seed: int, seconds: float
) -> Readings:
    """Return n outputs on a data set, before which there were so many others."""
    sequence = SpawnKey.PROBE.sequence(seed, 0, number)
    limit = min(seconds / 2.0, CALL_SECONDS)
    try:
        with time_limit(limit):
            return runs.watched(data, n, sequence)
    except TimeLimitReached:
        raise NeverEnds(_endless(runs, data, n, runs.together, limit, number)) from None


def _look_beside(runs: FunctionRuns, result: Probe) -> None:
    """Say what calls did besides returning something."""
    if result.layout.width > MOST_COLUMNS:
        result.findings.append(Statement.WIDE.finding(entries=result.layout.width, kept=KEPT, blocks=BLOCKS))
    if runs.seen.warned:
        result.findings.append(Statement.WARNS.finding(warnings=runs.seen.warned))
    if runs.seen.printed:
        result.findings.append(Statement.PRINTS.finding(text=" ".join(runs.seen.printed.split())))
    if runs.seen.changed_data:
        result.findings.append(Statement.CHANGES_DATA.finding())


def _endless(runs: FunctionRuns, data: Data, n: int, together: bool, limit: float, before: int) -> Finding:
    calls = f"one call for {n} lanes" if together else f"{n} calls"
    others = f"; on {before} other data set{'s' * (before > 1)} it ended" if before else ""
    return Statement.CALLS_TOO_LONG.finding(calls=calls, data=words_of(data), seconds=limit, others=others)
