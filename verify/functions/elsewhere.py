"""Search for data sets with other outputs, for a function that is constant on all known data sets.

A function that answers only above a threshold, or for one value in particular, looks constant on the known pairs. A few
more data sets are tried: those on the paths between the known ones, then some that Hypothesis generates. From one with
another output, bisection on the path to a known one leads to two neighbours that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from verify.conduct.isolation import Reports, in_own_process
from verify.conduct.progress import no_progress
from verify.conduct.spawn_keys import SpawnKey
from verify.findings.subject_error import SubjectError
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Adjacency, Data, Pair, data_key
from verify.neighbouring.generation import generated_pairs
from verify.neighbouring.path import first_change, path


@dataclass(frozen=True, kw_only=True)
class _Tries:
    """The number of other data sets to try, and of outputs to draw on each.

    Attributes
    ----------
    datasets
        Number of data sets.
    lanes, calls
        Number of outputs on each: of one call for many lanes, or of calls for one output each.
    """

    datasets: int = 96
    lanes: int = 64
    calls: int = 8


_TRIES = _Tries()
_COMMAND_TRIES = _Tries(datasets=12, calls=2)  # each call starts a process
_ON_A_PATH = 8  # data sets between two known ones
_SECONDS = 10.0  # for a call in a process of its own


@dataclass(frozen=True)
class Elsewhere:
    """The result of trying other data sets.

    Attributes
    ----------
    tried
        Number of data sets tried.
    pair
        Neighbours between which the output changes; None if there are none.
    """

    tried: int
    pair: Pair | None


def look_elsewhere(runs: FunctionRuns, known: Sequence[Data], same: object, seed: int) -> Elsewhere:
    """Try other data sets until an output on one differs from `same`, a row of `Readings.rows`, or all were tried."""
    adjacency = runs.subject.neighbours
    tries = _TRIES if runs.subject.single_lanes else _COMMAND_TRIES
    n = tries.lanes if runs.together else tries.calls
    tried = 0
    sequence = SpawnKey.PROBE.sequence(seed, 5)

    def rows(data: Data) -> list[tuple[Any, ...]]:
        return runs.outputs_with_effects(data, n, sequence).rows

    for data, pair in _new_datasets(adjacency, known, tries.datasets, seed):
        tried += 1
        if any(row != same for row in rows(data)) and not runs.is_outside(data):
            along = path(adjacency, known[0], data)
            change = None if along is None else first_change(along, rows, adjacency)
            if change is None and pair is not None and rows(pair.data) != rows(pair.other):
                change = pair
            if change is not None and not runs.is_outside(change.data, change.other):
                return Elsewhere(tried, change)
    return Elsewhere(tried, None)


def remembers_elsewhere(
    runs: FunctionRuns, known: Sequence[Data], seed: int, seconds: float = _SECONDS
) -> bool:
    """Return whether a function that looks deterministic has another output in another process.

    A function may draw noise from a generator of its own when it first sees a data set, and return the same output
    from then on; its outputs so far are those of a function without noise. It is therefore called on new data sets: in
    one process on the last of them only, in another on all of them, each for at most `seconds`. The two outputs on the
    last data set are compared.
    """
    new = [data for data, _ in _new_datasets(runs.subject.neighbours, known, 4, seed)]
    sequence = SpawnKey.PROBE.sequence(seed, 6)

    def last_output(datasets: Sequence[Data]) -> Any:
        def work(_: Reports) -> str:
            return repr([runs.outputs(data, 1, sequence).rows[0] for data in datasets][-1])

        return in_own_process(work, no_progress, seconds, errors=(SubjectError, ValueError))

    if not new:
        return False
    one, other = last_output(new[-1:]), last_output(new)
    return isinstance(one, str) and isinstance(other, str) and one != other


def _new_datasets(
    adjacency: Adjacency, known: Sequence[Data], most: int, seed: int
) -> Iterator[tuple[Data, Pair | None]]:
    """Yield at most `most` data sets that are not known; a generated one with the pair of neighbours it is of."""
    seen = set(map(data_key, known))

    def new(data: Data) -> bool:
        before = len(seen)
        seen.add(data_key(data))
        return len(seen) > before

    between = list(islice(filter(new, _between(adjacency, known)), most - most // 2))
    yield from ((data, None) for data in between)
    generated = (
        (data, pair) for pair in generated_pairs(adjacency, most, seed) for data in (pair.data, pair.other)
    )
    yield from islice((each for each in generated if new(each[0])), most - len(between))


def _between(adjacency: Adjacency, known: Sequence[Data]) -> Iterator[Data]:
    """Yield data sets on the paths from the first known one to the others."""
    for end in known[1:]:
        along = path(adjacency, known[0], end)
        if along is not None and along.steps > 1:
            places = np.unique(np.linspace(0, along.steps, _ON_A_PATH + 2).astype(int)[1:-1])
            yield from (along.at(int(place)) for place in places)
