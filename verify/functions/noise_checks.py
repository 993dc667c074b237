"""Does a function's noise come from the generator it is given, afresh for every output, or is there none?"""

from __future__ import annotations

from collections.abc import Sequence

from verify.conduct.spawn_keys import SpawnKey
from verify.findings import Statement
from verify.functions.elsewhere import remembers_elsewhere
from verify.functions.probe_result import Probe
from verify.functions.repeats import repeated_share
from verify.functions.runs import FunctionRuns, same_data
from verify.neighbouring.adjacency import Adjacency, Data, Pair
from verify.outputs.output_readings import Readings
from verify.subject_error import SubjectError

CERTAIN = 1_000
"""Equal outputs after which a function counts as deterministic."""

_REPEATED_CALLS, _REPEATED_LANES = 12, 256  # calls, and lanes of each, in which repeated noise is looked for
_COMMAND_CALLS = 4  # where every call starts a process


def look_at_repeats(runs: FunctionRuns, pair: Pair, n: int, seed: int, result: Probe) -> None:
    """Draw with one generator, up to four times, the second and third time with other global random states.

    What depends on the number of the call (every other one, say) differs between the second and the third, too, or
    between the first and the last. The number of calls is odd, so that it moves on from one draw to the next.
    """
    for world, data in enumerate((pair.data, pair.other)):
        sequence = SpawnKey.PROBE.sequence(seed, 1, world)
        elsewhere = SpawnKey.PROBE.sequence(seed, 2, world)
        first, second, third = (
            runs.watched(data, n | 1, sequence, global_seed=used).rows
            for used in (sequence, elsewhere, elsewhere)
        )
        if first == second == third:
            continue
        fourth = runs.watched(data, n | 1, sequence).rows
        if first != fourth or second != third:
            result.repeatable = False
            result.findings.append(Statement.OWN_RANDOMNESS.finding())
            return
        if first != second:
            result.findings.append(Statement.GLOBAL_RANDOMNESS.finding())
            return


def look_at_calls(runs: FunctionRuns, data: Data, seed: int, result: Probe) -> None:
    """Look for calls with different generators that repeat each other's noise: their lanes are no independent draws."""
    if result.unlike is not None or result.nothing_to_test:
        return
    sequences = SpawnKey.PROBE.sequence(seed, 4).spawn(
        _REPEATED_CALLS if runs.subject.single_lanes else _COMMAND_CALLS
    )
    share = repeated_share([runs.watched(data, _REPEATED_LANES, sequence) for sequence in sequences])
    if share is not None:
        result.findings.append(Statement.REPEATS.finding(share=f"up to {share:.0%}"))


def look_at_noise(
    runs: FunctionRuns,
    adjacency: Adjacency,
    pair: Pair,
    datasets: Sequence[Data],
    seen: Sequence[Readings],
    tried: int,
    seed: int,
    result: Probe,
) -> None:
    """Look for outputs that never vary, and for a generator that is never used.

    `tried` is on how many other data sets a function was tried that returns the same on all of these.
    """
    if _still(runs, pair, datasets, seen, seed):
        _look_at_stillness(runs, adjacency, datasets, seen, tried, seed, result)
    elif not runs.seen.drew and result.repeatable:
        pass  # it varies with the global random state only, which is said already
    elif not runs.seen.drew:
        result.findings.append(Statement.IGNORES_GENERATOR.finding())


def _still(
    runs: FunctionRuns, pair: Pair, datasets: Sequence[Data], seen: Sequence[Readings], seed: int
) -> bool:
    """Return whether the outputs on a data set never vary, in many calls on two of them."""
    rows = [readings.rows for readings in seen]
    if any(len(set(row)) > 1 for row in rows):
        return False
    for world, data in enumerate((pair.data, pair.other)):
        sequence = SpawnKey.PROBE.sequence(seed, 3, world)
        more = set(runs.watched(data, CERTAIN, sequence).rows)
        first = next(row[0] for known, row in zip(datasets, rows, strict=True) if same_data(known, data))
        if len(more) == 1 and more != {first} and runs.together:
            raise SubjectError(
                f"{runs.name} returned one and the same output for all {CERTAIN} lanes of a call, and another in "
                "another call: lanes must be independent draws"
            )
        if more != {first}:
            return False
    return True


def _look_at_stillness(
    runs: FunctionRuns,
    adjacency: Adjacency,
    datasets: Sequence[Data],
    seen: Sequence[Readings],
    tried: int,
    seed: int,
    result: Probe,
) -> None:
    """Say why outputs never vary: remembered, constant, or without noise."""
    firsts = [readings.rows[0] for readings in seen]
    if runs.seen.drew and not runs.seen.drew_last:
        result.findings.append(Statement.REMEMBERS_OUTPUT.finding())
    elif len(set(firsts)) == 1:
        result.findings.append(Statement.CONSTANT_OUTPUT.finding(tried=tried))
    elif runs.subject.single_lanes and remembers_elsewhere(runs, adjacency, datasets, seed):
        result.findings.append(Statement.REMEMBERS_OWN_DRAW.finding())
    else:
        unlike = next(data for data, first in zip(datasets, firsts, strict=True) if first != firsts[0])
        result.unlike = datasets[0], unlike
        result.findings.append(Statement.DETERMINISTIC.finding(calls=CERTAIN))
