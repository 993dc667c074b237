"""Which pairs of neighbours a function is tested on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verify.conduct.conduct import Conduct
from verify.conduct.progress import stretch
from verify.functions.draw_budget import Budget
from verify.functions.probe_result import Probe
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data, Pair
from verify.neighbouring.listed import Listed
from verify.neighbouring.neighbour_search import MOST_EXAMPLES, SearchResult, search_neighbours
from verify.neighbouring.pair_draws import Draw
from verify.neighbouring.path import first_change, path
from verify.sampling.stage_sizes import FINALISTS

_COMMAND_SEEDS, _COMMAND_EXAMPLES = 12, 12  # pairs that are looked at where every call starts a process


def known_pairs(runs: FunctionRuns) -> list[Pair]:
    """Return the known pairs that are looked at."""
    subject = runs.subject
    return list(subject.neighbours.seeds())[: None if subject.single_lanes else _COMMAND_SEEDS]


def pairs_to_test(
    budget: Budget, looked: Probe, known: Sequence[Pair], draw: Draw, delta: float, conduct: Conduct
) -> SearchResult:
    """Return the most telling pairs; of a function without noise, neighbours between which its output changes.

    Where a few pairs are listed, there is nothing to search.
    """
    runs, neighbours = budget.runs, budget.runs.subject.neighbours
    if looked.unlike is not None:
        change = looked.elsewhere or _change(runs, *looked.unlike, conduct.seed)
        if change is not None:
            return SearchResult((change,), 0, 0)
    if isinstance(neighbours, Listed) and len(known) <= FINALISTS:
        return SearchResult(tuple(known), 0, 0)
    found = search_neighbours(
        neighbours,
        draw,
        samples=budget.search,
        delta=delta,
        error=conduct.effort.false_alarm / 2.0,
        seed=conduct.seed,
        seeds=len(known),
        examples=MOST_EXAMPLES if runs.subject.single_lanes else _COMMAND_EXAMPLES,
        final_samples=budget.samples // 4,
        tell=stretch(conduct.progress, 0.0, 0.25),
    )
    if looked.elsewhere is None:
        return found
    return replace(found, pairs=(looked.elsewhere, *found.pairs)[:FINALISTS])


def _change(runs: FunctionRuns, data: Data, other: Data, seed: int) -> Pair | None:
    """Return neighbours between two data sets on which the output, which never varies, changes."""
    neighbours, sequence = runs.subject.neighbours, np.random.SeedSequence(seed)
    along = path(neighbours, data, other)
    if along is None:
        return None
    return first_change(along, lambda at: runs.outputs(at, 1, sequence).rows[0], neighbours)
