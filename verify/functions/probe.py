"""A first look at a function before anything is tested: what its outputs look like, and what is wrong with it.

A few outputs are drawn on every data set of the known pairs, on one pair several times over, with one generator and
two global random states, and on one data set with many generators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings import Finding, FindingKind, Statement
from verify.functions.elsewhere import Elsewhere, look_elsewhere
from verify.functions.noise_checks import foreign_randomness, never_varies, repeated_noise, without_noise
from verify.functions.output_checks import check_readable, unusual_outputs
from verify.functions.probe_result import Probe, SeenOutputs, words_of
from verify.functions.runs import FunctionRuns, same_data
from verify.neighbouring.adjacency import Adjacency, Data, Pair
from verify.outputs.output_layout import Layout, layout_of
from verify.outputs.wide_outputs import BLOCKS, KEPT, MOST_COLUMNS


@dataclass(frozen=True, kw_only=True)
class _Look:
    """How much a first look sees; chosen by hand so that it costs a small part of a quick verification.

    Attributes
    ----------
    lanes, calls
        Outputs on a data set: in one call, or at least so many calls.
    all_calls
        Calls on all data sets together, if there are few.
    more
        Outputs on either data set of the first pair, of functions whose outputs vary in form.
    seconds
        For the outputs on one data set.
    """

    lanes: int = 64
    calls: int = 8
    all_calls: int = 256
    more: int = 1_024
    seconds: float = 10.0


_LOOK = _Look()


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
    datasets = _new([data for pair in pairs for data in (pair.data, pair.other)], [])
    n = _LOOK.lanes if runs.together else max(_LOOK.calls, _LOOK.all_calls // len(datasets))
    seen: list[SeenOutputs] = []

    def look_on(datasets: Sequence[Data]) -> None:
        for data in datasets:
            seen.append(_first_outputs(runs, data, len(seen), n, seed, min(seconds / 2.0, _LOOK.seconds)))

    look_on(datasets)
    others = Elsewhere(0, None)
    if len({row for one in seen for row in one.readings.rows}) == 1:
        others = look_elsewhere(runs, adjacency, datasets, seen[0].readings.rows[0], seed)
    first = pairs[0] if others.pair is None else others.pair
    look_on(_new([first.data, first.other], datasets))
    check_readable(runs, seen, others.tried)
    layout = _layout(runs, first, seen, seed)
    runs.width = layout.width

    randomness = foreign_randomness(runs, first, n, seed)
    findings = [] if randomness is None else [randomness.finding()]
    unlike = None
    if never_varies(runs, first, seen, seed):
        reason = without_noise(runs, adjacency, seen, others.tried, seed)
        findings.append(reason)
        if reason.kind is FindingKind.DETERMINISTIC:
            output = seen[0].readings.rows[0]
            unlike = seen[0].data, next(one.data for one in seen if one.readings.rows[0] != output)
    else:
        # What varies with the global random state only is said already.
        if not runs.effects.drew and randomness is Statement.OWN_RANDOMNESS:
            findings.append(Statement.IGNORES_GENERATOR.finding())
        if runs.together:
            findings += repeated_noise(runs, first.data, seed)
    findings += unusual_outputs(seen)
    findings += _side_effects(runs)
    return Probe(layout, findings, randomness is not Statement.OWN_RANDOMNESS, unlike, others.pair)


def _layout(runs: FunctionRuns, pair: Pair, seen: Sequence[SeenOutputs], seed: int) -> Layout:
    """Return the layout for outputs like those seen; more of them are drawn where words and shapes vary."""
    readings = [one.readings for one in seen]
    layout = layout_of(readings)
    if not (runs.subject.single_lanes and layout.varied):
        return layout
    for world, data in enumerate((pair.data, pair.other)):
        readings.append(runs.outputs(data, _LOOK.more, SpawnKey.PROBE.sequence(seed, 7, world)))
    return layout_of(readings)


def _new(datasets: Sequence[Data], known: Sequence[Data]) -> list[Data]:
    """Return each data set once that is not known."""
    found: list[Data] = []
    for data in datasets:
        if not any(same_data(data, other) for other in (*known, *found)):
            found.append(data)
    return found


def _first_outputs(
    runs: FunctionRuns, data: Data, before: int, n: int, seed: int, seconds: float
) -> SeenOutputs:
    """Return n outputs on a data set, before which there were so many others."""
    try:
        with time_limit(seconds):
            return SeenOutputs(data, runs.watched(data, n, SpawnKey.PROBE.sequence(seed, 0, before)))
    except TimeLimitReached:
        calls = f"one call for {n} lanes" if runs.together else f"{n} calls"
        others = f"; on {before} other data set{'s' * (before > 1)} it ended" if before else ""
        finding = Statement.CALLS_TOO_LONG.finding(
            calls=calls, data=words_of(data), seconds=seconds, others=others
        )
        raise NeverEnds(finding) from None


def _side_effects(runs: FunctionRuns) -> Iterator[Finding]:
    """Yield what calls did besides returning something, and that not all of it is looked at."""
    if runs.width > MOST_COLUMNS:
        yield Statement.WIDE.finding(entries=runs.width, kept=KEPT, blocks=BLOCKS)
    if runs.effects.warned:
        yield Statement.WARNS.finding(warnings=runs.effects.warned)
    if runs.effects.printed:
        yield Statement.PRINTS.finding(text=" ".join(runs.effects.printed.split()))
    if runs.effects.changed_data:
        yield Statement.CHANGES_DATA.finding()
