"""The first calls of a function, before any test: the form of its outputs, and its faults.

A few outputs are drawn on every data set of the known pairs, on one pair several times over, with one generator and
two global random states, and on one data set with many generators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.numerics.printed_numbers import counted_noun
from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings.finding import Finding, FindingKind, Statement
from verify.findings.subject_error import SubjectError
from verify.functions.elsewhere import Elsewhere, look_elsewhere, remembers_elsewhere
from verify.functions.noise_checks import NoiseChecks
from verify.functions.probe_result import Probe, SeenOutputs, describe_data
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data, Pair, data_key
from verify.outputs.entries import SORTED
from verify.outputs.output_layout import OutputLayout, layout_of
from verify.outputs.output_readings import Readings
from verify.outputs.shapes import AN_ERROR, format_shape
from verify.outputs.wide_outputs import BLOCKS, KEPT, MOST_PLACES
from verify.outputs.word_columns import AN_ADDRESS


@dataclass(frozen=True, kw_only=True)
class _Look:
    """The number of calls of a first look, chosen by hand: it costs a small part of a quick verification.

    Attributes
    ----------
    lanes, calls
        Outputs on a data set: lanes of one call, or the smallest number of calls.
    all_calls
        Calls on all data sets together, if there are few data sets.
    more
        Outputs on either data set of the first pair, of functions whose outputs vary in form.
    seconds
        Time limit for the outputs on one data set.
    seldom, seldom_seconds
        Outputs on either data set of the first pair, of functions that have returned nothing so far, and the time
        limit for either data set.
    glances, glance_seconds
        Largest number of calls on either data set of the first pair at the very beginning, and the time limit of each.
    dear, surely_dear
        Estimated seconds of `all_calls` from which on these few calls are the whole first look; and seconds of one call
        from which on two calls on a data set, and three, are enough to decide so: faster ones may be slow by chance.
    """

    lanes: int = 64
    calls: int = 8
    all_calls: int = 256
    more: int = 1_024
    seconds: float = 10.0
    seldom: int = 1 << 14
    seldom_seconds: float = 1.0
    glances: int = 6
    glance_seconds: float = 60.0
    dear: float = 4.0
    surely_dear: tuple[float, float] = (1.0, 0.1)


_LOOK = _Look()
_FEW_CALLS = 2  # on a data set, that a glance makes at least


class NoOutput(Exception):
    """Calls took too long, or all of them were to end the process; `finding` describes it."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def glance(runs: FunctionRuns, pair: Pair, seed: int, seconds: float) -> Probe | None:
    """Return the results of a few calls on a pair; None if they cost so little that there is time for `probe`.

    If calls take long, the test of the function begins with this result: the form of its outputs, and no evidence
    against its draws (`check_dear_calls` looks for some later).

    Raises
    ------
    SubjectError
        If it returns unreadable outputs.
    NoOutput
        If a call takes longer than 60 s or half of `seconds`.
    """
    seen, least = list[SeenOutputs](), [math.inf, math.inf]
    for turn in range(_LOOK.glances):
        for side, data in enumerate((pair.data, pair.other)):
            before, limit = runs.seconds, min(seconds / 2.0, _LOOK.glance_seconds)
            seen.append(_first_outputs(runs, data, len(seen), 1, seed, limit, SpawnKey.GLANCE))
            if turn:  # a function may be compiled in its first call
                least[side] = min(least[side], runs.seconds - before)
        if turn and max(least) * _LOOK.all_calls < _LOOK.dear:
            runs.effects.printed = ""  # more of it is shown from the calls to come
            return None
        if turn and max(least) >= _LOOK.surely_dear[min(turn, 2) - 1]:
            break
    if all(one.readings.raised or _holds_nothing(one.readings) for one in seen):
        return None  # only more calls can show another output
    layout = layout_of([one.readings for one in seen])
    runs.width = layout.width
    rows = [{one.readings.rows[0] for one in seen[side::2]} for side in (0, 1)]
    never_vary = len(rows[0]) == len(rows[1]) == 1 and rows[0] != rows[1]
    unlike = (pair.data, pair.other) if never_vary else None
    return Probe(layout, [*_unusual_outputs(seen), *_side_effects(runs)], True, unlike, None)


def check_dear_calls(
    runs: FunctionRuns, looked: Probe, pair: Pair, seed: int, seconds: float
) -> list[Finding]:
    """Return evidence against the draws of a function with long calls, after only a few of them.

    Parameters
    ----------
    runs, looked, pair, seed
        As for `glance`, and its result.
    seconds
        That calls in a process of their own may take.
    """
    noise = NoiseChecks(runs, pair, seed)
    randomness = noise.foreign_randomness(1)
    findings = [] if randomness is None else [randomness.finding()]
    if looked.unlike is None:
        return findings
    if runs.effects.drew and not runs.effects.drew_last:
        return [*findings, Statement.REMEMBERS_OUTPUT.finding(draws=_FEW_CALLS)]
    if remembers_elsewhere(runs, [pair.data, pair.other], seed, seconds):
        return [*findings, Statement.REMEMBERS_OWN_DRAW.finding(draws=_FEW_CALLS)]
    return findings


def probe(runs: FunctionRuns, pairs: Sequence[Pair], seed: int, seconds: float) -> Probe:
    """Draw outputs of a function on the data sets of some pairs of neighbours, and on others if all outputs are equal.

    Raises
    ------
    SubjectError
        If it always raises one error, returns unreadable outputs, or repeats one draw on all lanes.
    NoOutput
        If the outputs on one data set take longer than 10 s or half of `seconds`, or it always ends the process.
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
    pairs, seen = _inside(runs, pairs, seen)
    others = Elsewhere(0, None)
    if len({row for one in seen for row in one.readings.rows}) == 1:
        others = look_elsewhere(runs, datasets, seen[0].readings.rows[0], seed)
    first = pairs[0] if others.pair is None else others.pair
    look_on(_new([first.data, first.other], datasets))
    if all(_holds_nothing(one.readings) for one in seen):
        seen += _seldom_something(runs, first, seed)
    _check_readable(runs, seen, others.tried)
    layout = _layout(runs, first, seen, seed)
    runs.width = layout.width

    noise = NoiseChecks(runs, first, seed)
    randomness = noise.foreign_randomness(n)
    findings = [] if randomness is None else [randomness.finding()]
    unlike = None
    if noise.is_deterministic(seen):
        reason = noise.without_noise(seen, others.tried)
        findings.append(reason)
        if reason.kind is FindingKind.DETERMINISTIC:
            output = seen[0].readings.rows[0]
            unlike = seen[0].data, next(one.data for one in seen if one.readings.rows[0] != output)
    else:
        # There is a finding already for outputs that vary only with the global random state.
        if not runs.effects.drew and randomness is Statement.OWN_RANDOMNESS:
            findings.append(Statement.IGNORES_GENERATOR.finding(draws=sum(len(one.readings) for one in seen)))
        if runs.together:
            findings += noise.repeated_noise()
    findings += _unusual_outputs(seen)
    findings += _side_effects(runs)
    return Probe(layout, findings, randomness is not Statement.OWN_RANDOMNESS, unlike, others.pair)


def _inside(
    runs: FunctionRuns, pairs: Sequence[Pair], seen: list[SeenOutputs]
) -> tuple[Sequence[Pair], list[SeenOutputs]]:
    """Return the pairs and outputs without data that are a guess and on which the function raises.

    Raises
    ------
    SubjectError
        If it raises on one of every two neighbours.
    NoOutput
        If it always ends the process.
    """
    inside = [pair for pair in pairs if not runs.is_outside(pair.data, pair.other)]
    if not inside:
        _check_readable(runs, seen, 0, of_guess=True)
        data, error = next(iter(runs.outside.values()))
        raise SubjectError(
            f"{runs.name} raised {error.said} (at {error.where}) on {describe_data(data)}, and on one of every two "
            "neighbours that were tried: its data are a guess; state them with @claimed(data=...) or --data"
        )
    return inside, [one for one in seen if not runs.is_outside(one.data)]


def _seldom_something(runs: FunctionRuns, pair: Pair, seed: int) -> Iterator[SeenOutputs]:
    """Yield many more outputs of a function that has returned nothing: it may return a value once in thousands."""
    affordable = _LOOK.seldom_seconds / max(runs.seconds_a_draw, 1e-9)
    n = int(min(_LOOK.seldom, max(affordable, 1.0)))
    for world, data in enumerate((pair.data, pair.other)):
        yield SeenOutputs(data, runs.outputs(data, n, SpawnKey.PROBE.sequence(seed, 12, world)))


def _layout(runs: FunctionRuns, pair: Pair, seen: Sequence[SeenOutputs], seed: int) -> OutputLayout:
    """Return the layout for outputs like those seen; more of them are drawn where words and shapes vary."""
    readings = [one.readings for one in seen]
    layout = layout_of(readings)
    if not (runs.subject.single_lanes and any(source.varies for source in layout.sources)):
        return layout
    for world, data in enumerate((pair.data, pair.other)):
        readings.append(runs.outputs(data, _LOOK.more, SpawnKey.PROBE.sequence(seed, 7, world)))
    return layout_of(readings)


def _new(datasets: Sequence[Data], known: Sequence[Data]) -> list[Data]:
    """Return each data set that is not known, once."""
    found: dict[bytes, Data] = {}
    for data in datasets:
        found.setdefault(data_key(data), data)
    return [data for key, data in found.items() if key not in map(data_key, known)]


def _first_outputs(
    runs: FunctionRuns,
    data: Data,
    before: int,
    n: int,
    seed: int,
    seconds: float,
    part: SpawnKey = SpawnKey.PROBE,
) -> SeenOutputs:
    """Return n outputs on a data set; `before` other data sets were called before."""
    try:
        with time_limit(seconds):
            return SeenOutputs(data, runs.outputs_with_effects(data, n, part.sequence(seed, 0, before)))
    except TimeLimitReached as error:
        calls = (
            f"one call for {n} lanes" if runs.together else counted_noun(n, "call") if n > 1 else "one call"
        )
        others = f"; on {counted_noun(before, 'other data set')} it ended" if before else ""
        others += "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        finding = Statement.CALLS_TOO_LONG.finding(
            calls=calls, data=describe_data(data), seconds=seconds, others=others
        )
        raise NoOutput(finding) from None


def _side_effects(runs: FunctionRuns) -> Iterator[Finding]:
    """Yield findings on the side effects of calls, and on outputs that are too wide to be read whole."""
    if runs.width > MOST_PLACES:
        yield Statement.WIDE.finding(entries=runs.width, kept=KEPT, blocks=BLOCKS)
    if runs.effects.warned:
        yield Statement.WARNS.finding(warnings=runs.effects.warned)
    if runs.effects.printed:
        yield Statement.PRINTS.finding(text=" ".join(runs.effects.printed.split()))
    if runs.effects.changed_data:
        yield Statement.CHANGES_DATA.finding()


def _check_readable(
    runs: FunctionRuns, seen: Sequence[SeenOutputs], tried: int, *, of_guess: bool = False
) -> None:
    """Refuse a function that always raises one and the same error; on data that are a guess, one that always ends.

    Of other data sets, `tried` were tried.

    Raises
    ------
    SubjectError
        If it does.
    NoOutput
        If that is the end of the process, by any of Python's ways.
    """
    errors = [error for one in seen for error in one.readings.raised.values()]
    calls = sum(len(one.readings) for one in seen)
    if len(errors) < calls or len({error.compared for error in errors}) > 1:  # outputs to compare
        return
    beside = f" ({tried} other data sets were tried)" if tried else ""
    first = errors[0]
    how = f"{first.said} (at {first.where}) in all {calls:,} calls{beside}"
    if first.error.startswith(SystemExit.__name__):
        raise NoOutput(Statement.ENDS_PROCESS.finding(how=f"was asked to end by {how}"))
    if not of_guess:
        raise SubjectError(f"{runs.name} {first.verb} {how}")


def _holds_nothing(readings: Readings) -> bool:
    """Return whether no output holds a number, or a word but None."""
    words = {word for words in readings.words.values() for word in words.distinct_words}
    return words <= {"None"} and bool(np.isnan(readings.values).all())


def _unusual_outputs(seen: Sequence[SeenOutputs]) -> Iterator[Finding]:
    """Yield findings on errors, NaN, several shapes, and addresses in memory (which are left out)."""
    raised = next((one for one in seen if one.readings.raised), None)
    if raised is not None:
        errors = list(raised.readings.raised.values())
        others = len({error.compared for error in errors}) - 1
        yield Statement.RAISES.finding(
            errors[0].where,
            verb=errors[0].verb,
            error=errors[0].said,
            others=f" (and {counted_noun(others, 'other error')})" if others else "",
            raised=len(raised.readings.raised),
            draws=len(raised.readings),
            data=describe_data(raised.data),
        )
    missing = next((one for one in seen if _misses_numbers(one.readings)), None)
    if missing is not None:
        yield Statement.NAN.finding(
            failing=all(np.isnan(one.readings.values).all() for one in seen),
            count=int(np.isnan(missing.readings.values).any(axis=1).sum()),
            draws=len(missing.readings),
            data=describe_data(missing.data),
        )
    shapes = dict.fromkeys(
        format_shape(shape) for one in seen for shape in one.readings.shapes if shape != AN_ERROR
    )
    if len(shapes) > 1:
        listed = ", ".join([*list(shapes)[:4], *(["..."] if len(shapes) > 4 else [])])
        yield Statement.SHAPES.finding(shapes=listed)
    words = (word for one in seen for words in one.readings.words.values() for word in words.distinct_words)
    if any(AN_ADDRESS in word for word in words):
        yield Statement.ADDRESSES.finding()


def _misses_numbers(readings: Readings) -> bool:
    """Return whether outputs of numbers hold NaN; in sets it marks an absent member, and does not count."""
    numbers = not readings.raised and not readings.words and len(readings.shapes) == 1
    in_sets = any(name.endswith("}") or SORTED in name for name in readings.names)
    return numbers and bool(np.isnan(readings.values).any()) and not in_sets
