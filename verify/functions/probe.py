"""A first look at a function before anything is tested: what its outputs look like, and what is wrong with it.

A few outputs are drawn on every data set of the known pairs, on one pair several times over, with one generator and
two global random states, and on one data set with many generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from verify.functions.columns import Layout, layout_of
from verify.functions.readings import Readings
from verify.functions.repeats import repeated_share
from verify.functions.runs import FunctionRuns, same_data
from verify.functions.shapes import shown
from verify.functions.wide import BLOCKS, KEPT, MOST_COLUMNS
from verify.neighbouring.adjacency import Data, Pair
from verify.subjects.subject import SubjectError
from verify.time_limit import TimeLimitReached, time_limit
from verify.verdict import Finding

LANES, CALLS = 64, 8  # outputs on a data set: in one call, or at least so many calls
ALL_CALLS = 256  # calls on all data sets together, if there are few
CERTAIN = 1_000  # equal outputs after which a function counts as deterministic
CALL_SECONDS = 10.0  # for the outputs on one data set
REPEATED_CALLS, REPEATED_LANES = 12, 256  # calls, and lanes of each, in which repeated noise is looked for
COMMAND_CALLS = 4  # where every call starts a process
PROBE = 9  # first entry of the spawn keys


NOTHING_TO_TEST = frozenset({"constant", "remembers", "repeats"})
"""Kinds of findings after which no draws say anything."""

REPEATS = (
    "calls with different generators repeat each other's outputs on {share} of the lanes: it draws from a generator "
    "with a fixed seed, or sets back the state of the one it gets. Outputs are not independent, and counts of them "
    "prove nothing; noise that is always the same protects nobody"
)
"""What is said of calls that are not independent of each other."""


class NeverEnds(Exception):
    """A call took too long; `finding` says which."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass
class Probe:
    """What a first look showed.

    Attributes
    ----------
    layout
        The columns of the view.
    findings
        What is wrong with the function, or worth knowing.
    repeatable
        Whether the same data and generator gave the same outputs again.
    unlike
        Two data sets with different outputs, if on each the output never varied.
    """

    layout: Layout
    findings: list[Finding] = field(default_factory=list)
    repeatable: bool = True
    unlike: tuple[Data, Data] | None = None


def probe(runs: FunctionRuns, pairs: Sequence[Pair], seed: int, seconds: float) -> Probe:
    """Look at a function on the data sets of some pairs.

    Raises
    ------
    SubjectError
        If it always raises, returns nothing that can be read, or repeats one draw on all lanes.
    NeverEnds
        If the outputs on one data set take longer than 10 s or half of `seconds`.
    RaisedInLanes
        If it raises while it works on several lanes at once.
    """
    together = runs.together
    datasets: list[Data] = []
    for pair in pairs:
        datasets += [
            data for data in (pair.data, pair.other) if not any(same_data(data, known) for known in datasets)
        ]
    n = LANES if together else max(CALLS, ALL_CALLS // len(datasets))
    seen: list[Readings] = []
    for number, data in enumerate(datasets):
        sequence = np.random.SeedSequence(seed, spawn_key=(PROBE, 0, number))
        limit = min(seconds / 2.0, CALL_SECONDS)
        try:
            with time_limit(limit):
                seen.append(runs.watched(data, n, sequence))
        except TimeLimitReached:
            raise NeverEnds(_endless(runs, data, n, together, limit, number)) from None
    _check_readable(runs, datasets, seen)
    result = Probe(layout_of(seen))
    runs.width = result.layout.width
    _look_at_repeats(runs, pairs[0], n, seed, result)
    _look_at_noise(runs, pairs[0], datasets, seen, together, seed, result)
    if together:
        _look_at_calls(runs, pairs[0].data, seed, result)
    _look_at_outputs(datasets, seen, result)
    if result.layout.width > MOST_COLUMNS:
        _add(
            result,
            "wide",
            f"outputs have {result.layout.width:,} entries: looked at are the {KEPT} that differ most between the "
            f"known data sets, and sums of all numbers in {BLOCKS} blocks",
            failing=False,
        )
    if runs.seen.warned:
        _add(result, "warns", f"gives warnings, which are not audited: {runs.seen.warned}", failing=False)
    if runs.seen.printed:
        said = " ".join(runs.seen.printed.split())
        _add(
            result,
            "prints",
            f"prints to standard output ({said!r}): what is printed is not audited",
            failing=False,
        )
    if runs.seen.changed_data:
        _add(
            result,
            "changes-data",
            "changes its data argument; every call gets a copy of its own",
            failing=False,
        )
    return result


def words_of(data: Data) -> str:
    """Say a data set."""
    listed = repr(data.tolist())
    return f"data = {listed}" if len(listed) <= 400 else f"data = {listed[:400]}..."


def _endless(runs: FunctionRuns, data: Data, n: int, together: bool, limit: float, before: int) -> Finding:
    calls = f"one call for {n} lanes" if together else f"{n} calls"
    others = f"; on {before} other data set{'s' * (before > 1)} it ended" if before else ""
    return Finding(
        "time-limit",
        "",
        f"{calls} on {words_of(data)} took longer than {limit:.2g} s and were stopped{others}",
    )


def _check_readable(runs: FunctionRuns, datasets: Sequence[Data], seen: Sequence[Readings]) -> None:
    if all(len(readings.raised) == len(readings) for readings in seen):
        error = seen[0].raised[0]
        raise SubjectError(f"{runs.name} raised {error.message} (at {error.where}) in every call")
    empty = [
        r for r in seen if not r.raised and not r.words and np.isnan(r.values).all() and r.shapes != ("",)
    ]
    if len(empty) == len(seen) or all(map(_is_none, seen)):
        raise SubjectError(
            f"{runs.name} returned nothing in every call: must return a number or an array of numbers, or words"
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


def _look_at_repeats(runs: FunctionRuns, pair: Pair, n: int, seed: int, result: Probe) -> None:
    """Draw with one generator, up to four times, the second and third time with other global random states.

    What depends on the number of the call (every other one, say) differs between the second and the third, too, or
    between the first and the last. The number of calls is odd, so that it moves on from one draw to the next.
    """
    for world, data in enumerate((pair.data, pair.other)):
        sequence = np.random.SeedSequence(seed, spawn_key=(PROBE, 1, world))
        elsewhere = np.random.SeedSequence(seed, spawn_key=(PROBE, 2, world))
        first, second, third = (
            runs.watched(data, n | 1, sequence, global_seed=used).rows
            for used in (sequence, elsewhere, elsewhere)
        )
        if first == second == third:
            continue
        fourth = runs.watched(data, n | 1, sequence).rows
        if first != fourth or second != third:
            result.repeatable = False
            _add(
                result,
                "foreign-randomness",
                "two calls with the same data and generator state differ: it draws from a generator of its own, reads "
                "a clock, or remembers earlier calls; results cannot be repeated exactly",
                failing=False,
            )
            return
        if first != second:
            _add(
                result,
                "foreign-randomness",
                "it draws from the global random state of NumPy or Python (seeded here, so that results repeat): "
                "use the generator it is given for all draws",
                failing=False,
            )
            return


def _look_at_calls(runs: FunctionRuns, data: Data, seed: int, result: Probe) -> None:
    """Look for calls with different generators that repeat each other's noise: their lanes are no independent draws."""
    if result.unlike is not None or any(finding.kind in NOTHING_TO_TEST for finding in result.findings):
        return
    sequences = np.random.SeedSequence(seed, spawn_key=(PROBE, 4)).spawn(
        REPEATED_CALLS if runs.subject.single_lanes else COMMAND_CALLS
    )
    share = repeated_share([runs.watched(data, REPEATED_LANES, sequence) for sequence in sequences])
    if share is not None:
        _add(result, "repeats", REPEATS.format(share=f"up to {share:.0%}"))


def _look_at_noise(
    runs: FunctionRuns,
    pair: Pair,
    datasets: Sequence[Data],
    seen: Sequence[Readings],
    together: bool,
    seed: int,
    result: Probe,
) -> None:
    """Look for outputs that never vary, and for a generator that is never used."""
    rows = [readings.rows for readings in seen]
    still = all(len(set(row)) == 1 for row in rows)
    if still:
        for world, data in enumerate((pair.data, pair.other)):
            sequence = np.random.SeedSequence(seed, spawn_key=(PROBE, 3, world))
            more = set(runs.watched(data, CERTAIN, sequence).rows)
            first = next(row[0] for known, row in zip(datasets, rows, strict=True) if same_data(known, data))
            if len(more) == 1 and more != {first} and together:
                raise SubjectError(
                    f"{runs.name} returned one and the same output for all {CERTAIN} lanes of a call, and another in "
                    "another call: lanes must be independent draws"
                )
            still = still and more == {first}
    if still and runs.seen.drew and not runs.seen.drew_last:
        _add(
            result,
            "remembers",
            "it drew from its generator when it first saw a data set, and returned the same output ever after: it "
            "remembers its outputs, so that there are no independent ones, and nothing was tested",
        )
    elif still and len({row[0] for row in rows}) == 1:
        _add(
            result,
            "constant",
            "the output is always the same, whatever the data and the generator: nothing was tested",
        )
    elif still:
        result.unlike = (
            datasets[0],
            next(data for data, row in zip(datasets, rows, strict=True) if row[0] != rows[0][0]),
        )
        _add(
            result,
            "deterministic",
            f"the output never varied in {CERTAIN:,} calls on the same data, and depends on them: there is no noise",
        )
    elif not runs.seen.drew and result.repeatable:
        pass  # it varies with the global random state only, which is said already
    elif not runs.seen.drew:
        _add(
            result,
            "ignores-generator",
            "its output varies, but it never draws from the generator it is given",
            failing=False,
        )


def _look_at_outputs(datasets: Sequence[Data], seen: Sequence[Readings], result: Probe) -> None:
    """Look for outputs that are errors, not numbers, or of several shapes."""
    raised = [(data, r) for data, r in zip(datasets, seen, strict=True) if r.raised]
    if raised:
        data, readings = raised[0]
        error = next(iter(readings.raised.values()))
        never = next((words_of(d) for d, r in zip(datasets, seen, strict=True) if not r.raised), None)
        result.findings.append(
            Finding(
                "raises",
                error.where,
                f"raised {error.message} in {len(readings.raised)} of {len(readings)} calls on {words_of(data)}"
                + (f", and in none on {never}" if never else "")
                + ": that it raises can be seen, and is audited as part of the output",
            )
        )
    missing = [
        (data, int(np.isnan(r.values).any(axis=1).sum()), len(r))
        for data, r in zip(datasets, seen, strict=True)
        if not r.raised and not r.words and len(r.shapes) == 1 and np.isnan(r.values).any()
    ]
    if missing:
        data, count, n = missing[0]
        _add(
            result,
            "nan",
            f"{count} of {n} outputs on {words_of(data)} hold NaN or a masked entry, which is no number: audited as a "
            'value of its own, called "absent"',
            failing=all(np.isnan(r.values).all() for r in seen),
        )
    shapes = dict.fromkeys(shown(shape) for r in seen for shape in r.shapes if shape != "nothing")
    if len(shapes) > 1:
        _add(
            result,
            "shape",
            f"outputs have different shapes ({', '.join(list(shapes)[:4])}{', ...' * (len(shapes) > 4)}): the shape "
            "can be seen, and is audited as part of the output",
            failing=False,
        )


def _add(result: Probe, kind: str, message: str, *, failing: bool = True) -> None:
    result.findings.append(Finding(kind, "", message, failing))
